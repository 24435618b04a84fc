NAME lp_4_1381
ROWS
 N  obj
 G  r0
 G  r1
 L  r2
 G  r3
 G  r4
 E  r5
 L  r6
 L  r7
 E  r8
 E  r9
 G  r10
 L  r11
 E  r12
 L  r13
 G  r14
 E  r15
 G  r16
COLUMNS
    x0  obj -40
    x0  r0 1
    x0  r2 -120000
    x0  r3 0.2
    x0  r4 1.9
    x0  r8 160
    x0  r9 8000
    x0  r13 200
    x0  r14 13000
    x0  r15 160
    x1  obj 0.5
    x1  r0 5
    x1  r2 20
    x1  r3 -0.0005
    x1  r5 1400
    x1  r6 4
    x1  r9 14
    x1  r11 170000
    x1  r12 13000
    x2  obj 210000
    x2  r0 1
    x2  r1 -0.13
    x2  r2 140000
    x2  r3 -0.0003
    x2  r5 18
    x2  r8 160
    x2  r9 -5
    x2  r10 180000
    x2  r11 160000
    x2  r12 -0.013
    x2  r13 16
    x2  r14 -0.08
    x2  r15 160
    x2  r16 180000
    x3  obj -500
    x3  r2 -170000
    x3  r3 -600
    x3  r4 100
    x3  r7 0.0004
    x3  r10 0.09
    x3  r11 140
    x3  r13 1000
    x3  r14 30
    x3  r16 0.09
    x4  obj 24
    x4  r0 100
    x4  r1 0.013
    x4  r2 0.0019
    x4  r4 -2
    x4  r5 -150
    x4  r6 10
    x4  r10 -2
    x4  r11 10
    x4  r13 5000
    x4  r16 -2
    x5  obj 2.5
    x5  r0 0.2
    x5  r1 1300
    x5  r3 1600
    x5  r4 -5000
    x5  r9 19000
    x5  r10 16000
    x5  r11 -0.0014
    x5  r12 90
    x5  r13 0.1
    x5  r14 500
    x5  r16 16000
    x6  obj 200
    x6  r0 1900
    x6  r2 -160
    x6  r3 -0.003
    x6  r5 -0.12
    x6  r6 160000
    x6  r9 -190000
    x6  r10 -1
    x6  r11 0.1
    x6  r12 -70000
    x6  r14 1.9
    x6  r16 -1
RHS
    RHS  obj  -0.001
    RHS  r0  4119
    RHS  r1  6499.709
    RHS  r2  -100259.9943
    RHS  r3  7975.3922
    RHS  r4  -25002.2
    RHS  r5  3767.76
    RHS  r6  320042
    RHS  r8  480
    RHS  r9  -268963
    RHS  r10  259987
    RHS  r11  670030.473
    RHS  r12  -100550.013
    RHS  r13  45416.5
    RHS  r14  28503.72
    RHS  r15  480
    RHS  r16  259987
RANGES
    RNG  r14  1
BOUNDS
 LO BND  x0  0
 UP BND  x0  12
 LO BND  x1  0
 UP BND  x1  14
 LO BND  x2  0
 UP BND  x2  7
 LO BND  x3  0
 UP BND  x3  11
 LO BND  x4  0
 UP BND  x4  13
 LO BND  x5  0
 UP BND  x5  8
 LO BND  x6  0
 UP BND  x6  14
ENDATA
