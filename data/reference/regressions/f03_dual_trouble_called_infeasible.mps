NAME lp_4_1683
ROWS
 N  obj
 E  r0
 G  r1
 G  r2
 L  r3
 L  r4
 L  r5
 E  r6
 L  r7
COLUMNS
    x0  obj 240000
    x0  r0 -13
    x0  r3 -0.002
    x0  r4 0.18
    x0  r7 1700
    x1  obj 10
    x1  r0 -150
    x1  r1 10
    x1  r4 -40
    x2  obj 10000
    x2  r1 1900
    x2  r4 0.0007
    x3  obj 0.3
    x3  r2 500
    x3  r4 1300
    x3  r5 0.16
    x3  r6 0.014
    x4  obj 140000
    x4  r2 1.5
    x4  r3 200
    x4  r4 190
    x4  r6 170000
RHS
    RHS  obj  -0.008
    RHS  r0  -613
    RHS  r1  7639.71
    RHS  r2  501.39
    RHS  r3  9199.998
    RHS  r4  1330.3128
    RHS  r5  1.06
    RHS  r6  170000.014
    RHS  r7  4300
RANGES
    RNG  r2  1.22
BOUNDS
 LO BND  x0  0
 UP BND  x0  7
 LO BND  x1  0
 UP BND  x1  14
 LO BND  x2  0
 UP BND  x2  7
 LO BND  x3  0
 UP BND  x3  12
 LO BND  x4  0
 UP BND  x4  11
ENDATA
