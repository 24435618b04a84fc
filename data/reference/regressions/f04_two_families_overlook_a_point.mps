NAME milp_4_651
ROWS
 N  obj
 E  r0
 E  r1
 E  r2
 E  r3
COLUMNS
    x0  obj 0.19
    x0  r0 0.016
    x0  r1 70000
    x0  r2 120
    x0  r3 0.003
    x1  obj -22
    x1  r0 3
    x1  r1 -0.001
    x1  r2 0.19
    x1  r3 20000
    MARKER  'MARKER'  'INTORG'
    x2  obj -190
    x2  r0 0.02
    x2  r2 -19000
    x2  r3 0.0005
    MARKER  'MARKER'  'INTEND'
RHS
    RHS  r0  12.068
    RHS  r1  209999.996
    RHS  r2  -18639.24
    RHS  r3  80000.0095
BOUNDS
 LO BND  x0  0
 UP BND  x0  6
 LO BND  x1  0
 UP BND  x1  14
 LO BND  x2  0
 UP BND  x2  12
ENDATA
