NAME milp_4_101
OBJSENSE
    MAX
ROWS
 N  obj
 L  r0
 E  r1
 G  r2
 E  r3
 L  r4
 E  r5
 E  r6
COLUMNS
    MARKER  'MARKER'  'INTORG'
    x0  obj 1.2
    x0  r2 9
    x0  r3 9
    x0  r5 1.2
    x1  obj 23
    x1  r0 -6
    x1  r1 14
    x1  r4 0.4
    MARKER  'MARKER'  'INTEND'
    x2  obj -5
    x2  r0 -19
    x2  r1 -15
    x2  r4 18
    x3  obj 7
    x3  r0 1.2
    x3  r1 11
    x3  r2 0.7
    x3  r5 3
    MARKER  'MARKER'  'INTORG'
    x4  obj -23
    x4  r0 0.7
    x4  r5 7
    x5  obj 17
    x5  r0 0.2
    x5  r1 19
    x5  r2 -0.3
    x5  r3 -14
    x5  r5 1
    x5  r6 14
    x6  obj 17
    x6  r1 -0.1
    x6  r4 2
    x6  r5 -7
    x7  obj -12
    x7  r1 12
    x7  r2 3
    x7  r3 20
    x7  r4 4
    x7  r5 -13
    x7  r6 -6
    x8  obj 5
    x8  r0 -0.1
    x8  r2 -0.5
    x8  r3 5
    x8  r6 1.1
    MARKER  'MARKER'  'INTEND'
RHS
    RHS  obj  -4
    RHS  r0  -19.2
    RHS  r1  165
    RHS  r2  27.2
    RHS  r3  74
    RHS  r4  50
    RHS  r5  7.4
    RHS  r6  -1.8
RANGES
    RNG  r2  5
BOUNDS
 LO BND  x0  0
 PL BND  x0
 LO BND  x1  0
 PL BND  x1
 LO BND  x3  0
 UP BND  x3  8
 FR BND  x4
 LO BND  x5  0
 PL BND  x5
 FR BND  x6
 FR BND  x7
 FR BND  x8
ENDATA
