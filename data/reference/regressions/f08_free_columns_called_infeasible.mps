NAME milp_4_1421
OBJSENSE
    MAX
ROWS
 N  obj
 L  r0
 E  r1
 E  r2
 L  r3
 E  r4
 L  r5
 E  r6
COLUMNS
    MARKER  'MARKER'  'INTORG'
    x0  obj -0.08
    x0  r5 -1700
    x0  r6 1.7
    x1  obj 0.0017
    x1  r1 130
    x1  r2 0.019
    x1  r3 0.9
    x1  r5 10000
    x1  r6 1.4
    x2  obj 0.7
    x2  r1 0.05
    x2  r6 150
    x3  obj 0.008
    x3  r3 2
    x3  r5 700
    x3  r6 1.5
    x4  obj 0.017
    x4  r5 -1000
    x4  r6 -0.13
    MARKER  'MARKER'  'INTEND'
    x5  obj -140000
    x5  r0 -16000
    x5  r2 16000
    MARKER  'MARKER'  'INTORG'
    x6  obj -0.2
    x6  r0 0.015
    x6  r2 1.5
    x6  r4 0.014
    x6  r5 0.2
    x6  r6 20
    MARKER  'MARKER'  'INTEND'
RHS
    RHS  r0  -30999.94
    RHS  r1  390.25
    RHS  r2  48006.057
    RHS  r3  2808.7
    RHS  r4  0.056
    RHS  r5  23400.8
    RHS  r6  845.24
BOUNDS
 LO BND  x0  0
 UP BND  x0  10
 LO BND  x1  0
 UP BND  x1  14
 LO BND  x2  0
 UP BND  x2  6
 LO BND  x3  0
 UP BND  x3  5
 LO BND  x4  0
 UP BND  x4  12
 LO BND  x5  0
 UP BND  x5  11
 LO BND  x6  0
 UP BND  x6  12
ENDATA
