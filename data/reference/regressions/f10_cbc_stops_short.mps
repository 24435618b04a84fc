NAME milp_4_1596
OBJSENSE
    MAX
ROWS
 N  obj
 G  r0
 L  r1
 L  r2
COLUMNS
    MARKER  'MARKER'  'INTORG'
    x0  obj -2.5
    x0  r0 0.7
    MARKER  'MARKER'  'INTEND'
    x1  obj 0.9
    x1  r2 -16
    MARKER  'MARKER'  'INTORG'
    x2  obj 5
    x2  r0 0.4
    MARKER  'MARKER'  'INTEND'
    x3  obj 19
    x3  r0 5
    x3  r1 1
    MARKER  'MARKER'  'INTORG'
    x4  obj 12
    x4  r1 6
    x5  obj 1.8
    x5  r0 8
    x6  obj 4
    x6  r0 19
    x6  r1 16
    x6  r2 1.9
    MARKER  'MARKER'  'INTEND'
    x7  obj 11
    x7  r0 -15
RHS
    RHS  obj  -0.5
    RHS  r0  103
    RHS  r1  84.9
    RHS  r2  -10.4
RANGES
    RNG  r0  2.4
BOUNDS
 LO BND  x0  0
 UP BND  x0  6
 LO BND  x1  0
 UP BND  x1  12
 LO BND  x2  0
 UP BND  x2  14
 LO BND  x3  0
 UP BND  x3  6
 LO BND  x4  0
 UP BND  x4  14
 LO BND  x5  0
 UP BND  x5  10
 LO BND  x6  0
 UP BND  x6  9
 LO BND  x7  0
 UP BND  x7  12
ENDATA
