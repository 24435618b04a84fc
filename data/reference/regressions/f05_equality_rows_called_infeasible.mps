NAME milp_4_543
ROWS
 N  obj
 E  r0
 E  r1
COLUMNS
    MARKER  'MARKER'  'INTORG'
    x0  obj 0.07
    x0  r0 -1.6
    x0  r1 500
    x1  obj 1
    x1  r0 0.003
    x1  r1 40
    x2  obj -0.24
    x2  r0 190000
    x2  r1 -0.009
    x3  obj 7000
    x3  r1 -0.014
    x4  obj -2
    x4  r0 3
    x4  r1 120
    x5  obj 220
    x5  r0 0.001
    MARKER  'MARKER'  'INTEND'
RHS
    RHS  obj  -0.1
    RHS  r0  190008.617
    RHS  r1  2799.991
BOUNDS
 LO BND  x0  0
 UP BND  x0  7
 LO BND  x1  0
 UP BND  x1  8
 LO BND  x2  0
 UP BND  x2  6
 LO BND  x3  0
 UP BND  x3  5
 LO BND  x4  0
 UP BND  x4  8
 LO BND  x5  0
 UP BND  x5  11
ENDATA
