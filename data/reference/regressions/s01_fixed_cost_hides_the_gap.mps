NAME crews_and_a_licence
ROWS
 N  obj
 G  cover[1]
 G  cover[2]
 G  cover[3]
 G  cover[4]
 G  cover[5]
 G  cover[6]
 G  cover[7]
 G  cover[8]
 G  cover[9]
 G  cover[10]
 G  cover[11]
 G  cover[12]
 G  cover[13]
 G  cover[14]
 G  cover[15]
 G  cover[16]
 G  cover[17]
 G  cover[18]
 G  cover[19]
 G  cover[20]
 G  cover[21]
 G  cover[22]
 G  cover[23]
 G  cover[24]
 G  cover[25]
 G  cover[26]
 G  cover[27]
 G  cover[28]
 G  cover[29]
 G  cover[30]
 G  licensed
COLUMNS
    MARKER  'MARKER'  'INTORG'
    licence  obj 200000
    licence  licensed 40
    crew[1]  obj 14
    crew[1]  cover[11] 1
    crew[1]  cover[12] 1
    crew[1]  cover[16] 1
    crew[1]  cover[21] 1
    crew[1]  licensed -1
    crew[2]  obj 48
    crew[2]  cover[14] 1
    crew[2]  cover[23] 1
    crew[2]  cover[30] 1
    crew[2]  licensed -1
    crew[3]  obj 44
    crew[3]  cover[29] 1
    crew[3]  licensed -1
    crew[4]  obj 27
    crew[4]  cover[7] 1
    crew[4]  cover[19] 1
    crew[4]  cover[30] 1
    crew[4]  licensed -1
    crew[5]  obj 15
    crew[5]  cover[2] 1
    crew[5]  cover[4] 1
    crew[5]  cover[8] 1
    crew[5]  cover[17] 1
    crew[5]  cover[20] 1
    crew[5]  cover[22] 1
    crew[5]  cover[26] 1
    crew[5]  licensed -1
    crew[6]  obj 40
    crew[6]  cover[2] 1
    crew[6]  cover[11] 1
    crew[6]  cover[15] 1
    crew[6]  cover[25] 1
    crew[6]  cover[29] 1
    crew[6]  licensed -1
    crew[7]  obj 50
    crew[7]  cover[25] 1
    crew[7]  licensed -1
    crew[8]  obj 47
    crew[8]  cover[12] 1
    crew[8]  cover[18] 1
    crew[8]  cover[25] 1
    crew[8]  licensed -1
    crew[9]  obj 43
    crew[9]  cover[3] 1
    crew[9]  cover[10] 1
    crew[9]  cover[16] 1
    crew[9]  cover[19] 1
    crew[9]  cover[21] 1
    crew[9]  cover[27] 1
    crew[9]  licensed -1
    crew[10]  obj 16
    crew[10]  cover[1] 1
    crew[10]  cover[10] 1
    crew[10]  cover[12] 1
    crew[10]  cover[19] 1
    crew[10]  cover[22] 1
    crew[10]  cover[26] 1
    crew[10]  licensed -1
    crew[11]  obj 29
    crew[11]  cover[7] 1
    crew[11]  cover[10] 1
    crew[11]  cover[15] 1
    crew[11]  cover[17] 1
    crew[11]  cover[18] 1
    crew[11]  cover[24] 1
    crew[11]  licensed -1
    crew[12]  obj 23
    crew[12]  cover[8] 1
    crew[12]  cover[9] 1
    crew[12]  cover[17] 1
    crew[12]  cover[19] 1
    crew[12]  cover[25] 1
    crew[12]  cover[26] 1
    crew[12]  licensed -1
    crew[13]  obj 44
    crew[13]  cover[3] 1
    crew[13]  cover[14] 1
    crew[13]  cover[19] 1
    crew[13]  cover[22] 1
    crew[13]  cover[23] 1
    crew[13]  licensed -1
    crew[14]  obj 32
    crew[14]  cover[4] 1
    crew[14]  cover[6] 1
    crew[14]  cover[9] 1
    crew[14]  cover[15] 1
    crew[14]  cover[26] 1
    crew[14]  cover[28] 1
    crew[14]  cover[30] 1
    crew[14]  licensed -1
    crew[15]  obj 41
    crew[15]  cover[1] 1
    crew[15]  cover[10] 1
    crew[15]  cover[11] 1
    crew[15]  cover[15] 1
    crew[15]  cover[17] 1
    crew[15]  cover[26] 1
    crew[15]  licensed -1
    crew[16]  obj 42
    crew[16]  cover[2] 1
    crew[16]  cover[4] 1
    crew[16]  cover[6] 1
    crew[16]  cover[11] 1
    crew[16]  cover[13] 1
    crew[16]  cover[17] 1
    crew[16]  cover[21] 1
    crew[16]  cover[28] 1
    crew[16]  licensed -1
    crew[17]  obj 7
    crew[17]  cover[9] 1
    crew[17]  cover[15] 1
    crew[17]  cover[16] 1
    crew[17]  cover[21] 1
    crew[17]  cover[23] 1
    crew[17]  cover[24] 1
    crew[17]  cover[25] 1
    crew[17]  licensed -1
    crew[18]  obj 51
    crew[18]  cover[5] 1
    crew[18]  cover[12] 1
    crew[18]  cover[13] 1
    crew[18]  cover[16] 1
    crew[18]  cover[18] 1
    crew[18]  cover[22] 1
    crew[18]  cover[24] 1
    crew[18]  cover[27] 1
    crew[18]  licensed -1
    crew[19]  obj 38
    crew[19]  cover[4] 1
    crew[19]  licensed -1
    crew[20]  obj 39
    crew[20]  cover[8] 1
    crew[20]  cover[14] 1
    crew[20]  licensed -1
    crew[21]  obj 44
    crew[21]  cover[5] 1
    crew[21]  cover[9] 1
    crew[21]  cover[13] 1
    crew[21]  licensed -1
    crew[22]  obj 52
    crew[22]  cover[2] 1
    crew[22]  cover[20] 1
    crew[22]  cover[27] 1
    crew[22]  cover[29] 1
    crew[22]  licensed -1
    crew[23]  obj 38
    crew[23]  cover[27] 1
    crew[23]  cover[29] 1
    crew[23]  licensed -1
    crew[24]  obj 16
    crew[24]  cover[4] 1
    crew[24]  cover[7] 1
    crew[24]  licensed -1
    crew[25]  obj 52
    crew[25]  cover[2] 1
    crew[25]  cover[8] 1
    crew[25]  cover[16] 1
    crew[25]  licensed -1
    crew[26]  obj 55
    crew[26]  cover[3] 1
    crew[26]  cover[6] 1
    crew[26]  cover[7] 1
    crew[26]  cover[20] 1
    crew[26]  cover[26] 1
    crew[26]  cover[28] 1
    crew[26]  licensed -1
    crew[27]  obj 29
    crew[27]  cover[1] 1
    crew[27]  cover[9] 1
    crew[27]  cover[10] 1
    crew[27]  cover[13] 1
    crew[27]  cover[27] 1
    crew[27]  licensed -1
    crew[28]  obj 33
    crew[28]  cover[3] 1
    crew[28]  cover[4] 1
    crew[28]  cover[17] 1
    crew[28]  licensed -1
    crew[29]  obj 19
    crew[29]  cover[5] 1
    crew[29]  cover[9] 1
    crew[29]  cover[13] 1
    crew[29]  cover[19] 1
    crew[29]  cover[23] 1
    crew[29]  cover[28] 1
    crew[29]  cover[30] 1
    crew[29]  licensed -1
    crew[30]  obj 37
    crew[30]  cover[14] 1
    crew[30]  cover[21] 1
    crew[30]  cover[30] 1
    crew[30]  licensed -1
    crew[31]  obj 13
    crew[31]  cover[2] 1
    crew[31]  cover[5] 1
    crew[31]  cover[8] 1
    crew[31]  cover[11] 1
    crew[31]  cover[16] 1
    crew[31]  cover[18] 1
    crew[31]  cover[20] 1
    crew[31]  cover[22] 1
    crew[31]  cover[24] 1
    crew[31]  cover[27] 1
    crew[31]  cover[28] 1
    crew[31]  licensed -1
    crew[32]  obj 10
    crew[32]  cover[1] 1
    crew[32]  cover[29] 1
    crew[32]  licensed -1
    crew[33]  obj 56
    crew[33]  cover[3] 1
    crew[33]  cover[6] 1
    crew[33]  cover[23] 1
    crew[33]  licensed -1
    crew[34]  obj 8
    crew[34]  cover[1] 1
    crew[34]  cover[7] 1
    crew[34]  cover[8] 1
    crew[34]  cover[10] 1
    crew[34]  licensed -1
    crew[35]  obj 49
    crew[35]  cover[5] 1
    crew[35]  cover[6] 1
    crew[35]  cover[7] 1
    crew[35]  cover[11] 1
    crew[35]  cover[20] 1
    crew[35]  cover[29] 1
    crew[35]  licensed -1
    crew[36]  obj 16
    crew[36]  cover[5] 1
    crew[36]  cover[22] 1
    crew[36]  cover[23] 1
    crew[36]  cover[24] 1
    crew[36]  cover[25] 1
    crew[36]  licensed -1
    crew[37]  obj 43
    crew[37]  cover[15] 1
    crew[37]  cover[18] 1
    crew[37]  cover[30] 1
    crew[37]  licensed -1
    crew[38]  obj 41
    crew[38]  cover[3] 1
    crew[38]  cover[12] 1
    crew[38]  cover[14] 1
    crew[38]  cover[24] 1
    crew[38]  cover[28] 1
    crew[38]  licensed -1
    crew[39]  obj 33
    crew[39]  cover[1] 1
    crew[39]  cover[6] 1
    crew[39]  cover[12] 1
    crew[39]  cover[20] 1
    crew[39]  licensed -1
    crew[40]  obj 37
    crew[40]  cover[13] 1
    crew[40]  cover[14] 1
    crew[40]  cover[18] 1
    crew[40]  cover[21] 1
    crew[40]  licensed -1
    MARKER  'MARKER'  'INTEND'
RHS
    RHS  cover[1]  2
    RHS  cover[2]  2
    RHS  cover[3]  1
    RHS  cover[4]  1
    RHS  cover[5]  1
    RHS  cover[6]  2
    RHS  cover[7]  1
    RHS  cover[8]  2
    RHS  cover[9]  1
    RHS  cover[10]  2
    RHS  cover[11]  1
    RHS  cover[12]  1
    RHS  cover[13]  1
    RHS  cover[14]  1
    RHS  cover[15]  2
    RHS  cover[16]  1
    RHS  cover[17]  2
    RHS  cover[18]  2
    RHS  cover[19]  2
    RHS  cover[20]  1
    RHS  cover[21]  2
    RHS  cover[22]  1
    RHS  cover[23]  1
    RHS  cover[24]  1
    RHS  cover[25]  2
    RHS  cover[26]  2
    RHS  cover[27]  1
    RHS  cover[28]  1
    RHS  cover[29]  2
    RHS  cover[30]  1
BOUNDS
 LO BND  licence  0
 UP BND  licence  1
 LO BND  crew[1]  0
 UP BND  crew[1]  1
 LO BND  crew[2]  0
 UP BND  crew[2]  1
 LO BND  crew[3]  0
 UP BND  crew[3]  1
 LO BND  crew[4]  0
 UP BND  crew[4]  1
 LO BND  crew[5]  0
 UP BND  crew[5]  1
 LO BND  crew[6]  0
 UP BND  crew[6]  1
 LO BND  crew[7]  0
 UP BND  crew[7]  1
 LO BND  crew[8]  0
 UP BND  crew[8]  1
 LO BND  crew[9]  0
 UP BND  crew[9]  1
 LO BND  crew[10]  0
 UP BND  crew[10]  1
 LO BND  crew[11]  0
 UP BND  crew[11]  1
 LO BND  crew[12]  0
 UP BND  crew[12]  1
 LO BND  crew[13]  0
 UP BND  crew[13]  1
 LO BND  crew[14]  0
 UP BND  crew[14]  1
 LO BND  crew[15]  0
 UP BND  crew[15]  1
 LO BND  crew[16]  0
 UP BND  crew[16]  1
 LO BND  crew[17]  0
 UP BND  crew[17]  1
 LO BND  crew[18]  0
 UP BND  crew[18]  1
 LO BND  crew[19]  0
 UP BND  crew[19]  1
 LO BND  crew[20]  0
 UP BND  crew[20]  1
 LO BND  crew[21]  0
 UP BND  crew[21]  1
 LO BND  crew[22]  0
 UP BND  crew[22]  1
 LO BND  crew[23]  0
 UP BND  crew[23]  1
 LO BND  crew[24]  0
 UP BND  crew[24]  1
 LO BND  crew[25]  0
 UP BND  crew[25]  1
 LO BND  crew[26]  0
 UP BND  crew[26]  1
 LO BND  crew[27]  0
 UP BND  crew[27]  1
 LO BND  crew[28]  0
 UP BND  crew[28]  1
 LO BND  crew[29]  0
 UP BND  crew[29]  1
 LO BND  crew[30]  0
 UP BND  crew[30]  1
 LO BND  crew[31]  0
 UP BND  crew[31]  1
 LO BND  crew[32]  0
 UP BND  crew[32]  1
 LO BND  crew[33]  0
 UP BND  crew[33]  1
 LO BND  crew[34]  0
 UP BND  crew[34]  1
 LO BND  crew[35]  0
 UP BND  crew[35]  1
 LO BND  crew[36]  0
 UP BND  crew[36]  1
 LO BND  crew[37]  0
 UP BND  crew[37]  1
 LO BND  crew[38]  0
 UP BND  crew[38]  1
 LO BND  crew[39]  0
 UP BND  crew[39]  1
 LO BND  crew[40]  0
 UP BND  crew[40]  1
ENDATA
