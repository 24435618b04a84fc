NAME milp_4_1011
OBJSENSE
    MAX
ROWS
 N  obj
 E  r0
 L  r1
 L  r2
 E  r3
 E  r4
 E  r5
 E  r6
COLUMNS
    x0  obj 19000
    x0  r1 1.4
    x0  r2 0.8
    x0  r3 3
    x0  r5 0.2
    MARKER  'MARKER'  'INTORG'
    x1  obj -6000
    x1  r0 150
    x1  r1 500
    x1  r2 130000
    x1  r5 180000
    x2  obj 300
    x2  r3 0.2
    x2  r4 6
    x2  r5 200
    x2  r6 -0.003
    x3  obj -0.0019
    x3  r1 -1.5
    x3  r2 0.014
    x3  r3 0.9
    x3  r6 50
    MARKER  'MARKER'  'INTEND'
RHS
    RHS  r0  300
    RHS  r1  1011.7
    RHS  r2  260602.47
    RHS  r3  14.1
    RHS  r4  18
    RHS  r5  360600.6
    RHS  r6  249.991
BOUNDS
 LO BND  x0  0
 UP BND  x0  14
 LO BND  x1  0
 UP BND  x1  6
 LO BND  x2  0
 UP BND  x2  14
 LO BND  x3  0
 UP BND  x3  5
ENDATA
