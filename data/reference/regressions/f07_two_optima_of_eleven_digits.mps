NAME milp_4_1359
ROWS
 N  obj
 L  r0
 G  r1
 G  r2
 L  r3
COLUMNS
    MARKER  'MARKER'  'INTORG'
    x0  obj 7
    x0  r0 -110
    x0  r1 7000
    x0  r2 -3
    x1  obj -1
    x1  r1 0.18
    x1  r3 1.5
    MARKER  'MARKER'  'INTEND'
    x2  obj 0.014
    x2  r0 130000
    x2  r3 0.004
    x3  obj 24
    x3  r0 1000
    x3  r1 18
    x3  r3 100
    MARKER  'MARKER'  'INTORG'
    x4  obj 11
    x4  r2 0.0006
    x4  r3 2
    MARKER  'MARKER'  'INTEND'
    x5  obj -0.004
    x5  r3 1000
    MARKER  'MARKER'  'INTORG'
    x6  obj 1000
    x6  r0 -14
    x7  obj -0.004
    x7  r1 2000
    x7  r2 80
    x7  r3 7000
    MARKER  'MARKER'  'INTEND'
RHS
    RHS  obj  -4000
    RHS  r0  520654
    RHS  r1  -96981.82
    RHS  r2  -2094.9982
    RHS  r3  33107.816
RANGES
    RNG  r2  4801
BOUNDS
 LO BND  x0  0
 PL BND  x0
 FR BND  x1
 FR BND  x3
 LO BND  x4  0
 UP BND  x4  11
 FR BND  x6
 LO BND  x7  0
 UP BND  x7  10
ENDATA
