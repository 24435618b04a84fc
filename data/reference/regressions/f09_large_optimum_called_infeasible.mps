NAME milp_4_1707
ROWS
 N  obj
 E  r0
 L  r1
 L  r2
 G  r3
 L  r4
 G  r5
COLUMNS
    MARKER  'MARKER'  'INTORG'
    x0  obj -18000
    x0  r0 -190
    x0  r4 -0.2
    x1  obj -24
    x1  r2 0.15
    x1  r4 17000
    x2  obj 20000
    x2  r2 0.3
    x2  r3 -14000
    x2  r4 -8
    MARKER  'MARKER'  'INTEND'
    x3  obj 900
    x3  r2 0.8
    MARKER  'MARKER'  'INTORG'
    x4  obj -400
    x4  r0 30
    x4  r1 0.0019
    x4  r3 12000
    x5  obj -80
    x5  r2 180
    x5  r3 0.18
    x5  r4 1.4
    MARKER  'MARKER'  'INTEND'
    x6  obj -1.2
    x6  r3 1.1
    x6  r4 80
    x6  r5 1700
    x7  obj 1200
    x7  r0 -1900
    x7  r3 0.03
    x7  r4 -800
RHS
    RHS  r0  -8020
    RHS  r1  0.1395
    RHS  r2  6.6
    RHS  r3  3003.42
    RHS  r4  31008.68
    RHS  r5  5100
RANGES
    RNG  r5  1
BOUNDS
 LO BND  x0  0
 PL BND  x0
 FR BND  x1
 LO BND  x2  0
 PL BND  x2
 LO BND  x3  0
 UP BND  x3  13
 LO BND  x4  0
 UP BND  x4  13
 LO BND  x5  0
 UP BND  x5  7
 FR BND  x6
 FR BND  x7
ENDATA
