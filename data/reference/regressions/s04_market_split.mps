NAME halves_of_four_markets
ROWS
 N  obj
 E  split[0]
 E  split[1]
 E  split[2]
 E  split[3]
COLUMNS
    MARKER  'MARKER'  'INTORG'
    pick[0]  split[0] 41
    pick[0]  split[1] 73
    pick[0]  split[2] 79
    pick[0]  split[3] 65
    pick[1]  split[0] 19
    pick[1]  split[1] 74
    pick[1]  split[2] 26
    pick[1]  split[3] 53
    pick[2]  split[0] 50
    pick[2]  split[1] 50
    pick[2]  split[2] 63
    pick[2]  split[3] 21
    pick[3]  split[0] 83
    pick[3]  split[1] 6
    pick[3]  split[2] 87
    pick[3]  split[3] 96
    pick[4]  split[0] 6
    pick[4]  split[1] 28
    pick[4]  split[2] 68
    pick[4]  split[3] 43
    pick[5]  split[0] 9
    pick[5]  split[1] 5
    pick[5]  split[2] 54
    pick[5]  split[3] 19
    pick[6]  split[0] 68
    pick[6]  split[1] 71
    pick[6]  split[2] 99
    pick[6]  split[3] 62
    pick[7]  split[0] 12
    pick[7]  split[1] 17
    pick[7]  split[2] 40
    pick[7]  split[3] 53
    pick[8]  split[0] 46
    pick[8]  split[1] 37
    pick[8]  split[2] 59
    pick[8]  split[3] 5
    pick[9]  split[0] 74
    pick[9]  split[1] 53
    pick[9]  split[2] 74
    pick[9]  split[3] 85
    pick[10]  split[0] 7
    pick[10]  split[1] 18
    pick[10]  split[2] 58
    pick[10]  split[3] 9
    pick[11]  split[0] 64
    pick[11]  split[1] 69
    pick[11]  split[2] 46
    pick[11]  split[3] 97
    pick[12]  split[0] 27
    pick[12]  split[1] 15
    pick[12]  split[2] 38
    pick[12]  split[3] 71
    pick[13]  split[0] 4
    pick[13]  split[1] 73
    pick[13]  split[2] 31
    pick[13]  split[3] 73
    pick[14]  split[0] 11
    pick[14]  split[1] 39
    pick[14]  split[2] 23
    pick[14]  split[3] 40
    pick[15]  split[0] 55
    pick[15]  split[1] 71
    pick[15]  split[2] 89
    pick[15]  split[3] 43
    pick[16]  split[0] 53
    pick[16]  split[1] 87
    pick[16]  split[2] 99
    pick[16]  split[3] 88
    pick[17]  split[0] 8
    pick[17]  split[1] 23
    pick[17]  split[2] 31
    pick[17]  split[3] 44
    pick[18]  split[0] 30
    pick[18]  split[1] 13
    pick[18]  split[2] 10
    pick[18]  split[3] 76
    pick[19]  split[0] 11
    pick[19]  split[1] 74
    pick[19]  split[2] 73
    pick[19]  split[3] 63
    pick[20]  split[0] 70
    pick[20]  split[1] 73
    pick[20]  split[2] 38
    pick[20]  split[3] 74
    pick[21]  split[0] 54
    pick[21]  split[1] 81
    pick[21]  split[2] 67
    pick[21]  split[3] 58
    pick[22]  split[0] 7
    pick[22]  split[1] 24
    pick[22]  split[2] 63
    pick[22]  split[3] 8
    pick[23]  split[0] 72
    pick[23]  split[1] 47
    pick[23]  split[2] 43
    pick[23]  split[3] 11
    pick[24]  split[0] 15
    pick[24]  split[1] 12
    pick[24]  split[2] 93
    pick[24]  split[3] 34
    pick[25]  split[0] 28
    pick[25]  split[1] 70
    pick[25]  split[2] 57
    pick[25]  split[3] 60
    pick[26]  split[0] 80
    pick[26]  split[1] 91
    pick[26]  split[2] 36
    pick[26]  split[3] 89
    pick[27]  split[0] 80
    pick[27]  split[1] 8
    pick[27]  split[2] 77
    pick[27]  split[3] 85
    pick[28]  split[0] 74
    pick[28]  split[1] 72
    pick[28]  split[2] 9
    pick[28]  split[3] 8
    pick[29]  split[0] 7
    pick[29]  split[1] 7
    pick[29]  split[2] 15
    pick[29]  split[3] 7
    MARKER  'MARKER'  'INTEND'
    short[0]  obj 1
    short[0]  split[0] 1
    short[1]  obj 1
    short[1]  split[1] 1
    short[2]  obj 1
    short[2]  split[2] 1
    short[3]  obj 1
    short[3]  split[3] 1
    over[0]  obj 1
    over[0]  split[0] -1
    over[1]  obj 1
    over[1]  split[1] -1
    over[2]  obj 1
    over[2]  split[2] -1
    over[3]  obj 1
    over[3]  split[3] -1
RHS
    RHS  split[0]  582
    RHS  split[1]  690
    RHS  split[2]  822
    RHS  split[3]  770
BOUNDS
 LO BND  pick[0]  0
 UP BND  pick[0]  1
 LO BND  pick[1]  0
 UP BND  pick[1]  1
 LO BND  pick[2]  0
 UP BND  pick[2]  1
 LO BND  pick[3]  0
 UP BND  pick[3]  1
 LO BND  pick[4]  0
 UP BND  pick[4]  1
 LO BND  pick[5]  0
 UP BND  pick[5]  1
 LO BND  pick[6]  0
 UP BND  pick[6]  1
 LO BND  pick[7]  0
 UP BND  pick[7]  1
 LO BND  pick[8]  0
 UP BND  pick[8]  1
 LO BND  pick[9]  0
 UP BND  pick[9]  1
 LO BND  pick[10]  0
 UP BND  pick[10]  1
 LO BND  pick[11]  0
 UP BND  pick[11]  1
 LO BND  pick[12]  0
 UP BND  pick[12]  1
 LO BND  pick[13]  0
 UP BND  pick[13]  1
 LO BND  pick[14]  0
 UP BND  pick[14]  1
 LO BND  pick[15]  0
 UP BND  pick[15]  1
 LO BND  pick[16]  0
 UP BND  pick[16]  1
 LO BND  pick[17]  0
 UP BND  pick[17]  1
 LO BND  pick[18]  0
 UP BND  pick[18]  1
 LO BND  pick[19]  0
 UP BND  pick[19]  1
 LO BND  pick[20]  0
 UP BND  pick[20]  1
 LO BND  pick[21]  0
 UP BND  pick[21]  1
 LO BND  pick[22]  0
 UP BND  pick[22]  1
 LO BND  pick[23]  0
 UP BND  pick[23]  1
 LO BND  pick[24]  0
 UP BND  pick[24]  1
 LO BND  pick[25]  0
 UP BND  pick[25]  1
 LO BND  pick[26]  0
 UP BND  pick[26]  1
 LO BND  pick[27]  0
 UP BND  pick[27]  1
 LO BND  pick[28]  0
 UP BND  pick[28]  1
 LO BND  pick[29]  0
 UP BND  pick[29]  1
ENDATA
