sum:
   0  beq a0, zero, 94
   4  lui a2, 0xffb12
   8  addi a3, gp, -2032
   c  lui a4, 0xa165d
  10  addi a5, zero, 1
  14  addi a1, a3, 68
  18  jal zero, 5c
  1c  sw a4, 72(a3)
  20  sltu t2, t0, a6
  24  sub a7, t1, a7
  28  sub a6, t0, a6
  2c  sub a7, a7, t2
  30  lw t0, 76(a3)
  34  sltiu a7, a7, 1
  38  addi a7, a7, -1
  3c  or a6, a7, a6
  40  add a6, t0, a6
  44  sltu a7, a6, t0
  48  sub a7, zero, a7
  4c  or a6, a7, a6
  50  sw a6, 76(a3)
  54  addi a0, a0, -1
  58  beq a0, zero, 94
  5c  lw a6, 496(a2)
  60  lw a7, 500(a2)
  64  addi zero, zero, 0
  68  lw t0, 496(a2)
  6c  lw t1, 500(a2)
  70  lw t2, 72(a3)
  74  beq t2, a4, 20
  78  beq t2, zero, 1c
  7c  lbu a6, 80(a3)
  80  bne a6, zero, 54
  84  sb a5, 80(a3)
  88  addi t1, a1, 0
  8c  jal t0, c30
  90  jal zero, 54
  94  jalr zero, ra
