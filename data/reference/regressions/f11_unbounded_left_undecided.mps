NAME milp_4_1263
ROWS
 N  obj
 G  r0
 L  r1
 L  r2
 L  r3
COLUMNS
    MARKER  'MARKER'  'INTORG'
    x0  obj 20000
    x0  r0 140000
    MARKER  'MARKER'  'INTEND'
    x1  obj 130
    x1  r0 170
    MARKER  'MARKER'  'INTORG'
    x2  obj 4000
    MARKER  'MARKER'  'INTEND'
    x3  obj -1000
    x3  r0 40000
    x3  r3 0.05
    MARKER  'MARKER'  'INTORG'
    x4  obj -7
    x5  obj 11000
    x6  obj 160000
    x6  r1 -0.2
    x6  r2 -0.0015
    MARKER  'MARKER'  'INTEND'
    x7  obj -2.1
    x7  r0 70000
    MARKER  'MARKER'  'INTORG'
    x8  obj 11
    x8  r1 130
    MARKER  'MARKER'  'INTEND'
    x9  obj 0.015
    x9  r2 16000
RHS
    RHS  obj  -70
    RHS  r0  1210168.9
    RHS  r1  270
    RHS  r2  82600
    RHS  r3  30.2
RANGES
    RNG  r0  3.2
BOUNDS
 LO BND  x0  0
 UP BND  x0  8
 FR BND  x1
 LO BND  x2  0
 UP BND  x2  13
 FR BND  x3
 LO BND  x4  0
 UP BND  x4  9
 FR BND  x5
 FR BND  x6
 FR BND  x7
 LO BND  x8  0
 PL BND  x8
ENDATA
