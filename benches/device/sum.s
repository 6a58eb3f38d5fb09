sum:
   0  beq a0, zero, e4
   4  addi sp, sp, -32
   8  sw ra, 28(sp)
   c  sw s0, 24(sp)
  10  sw s1, 20(sp)
  14  sw s2, 16(sp)
  18  sw s3, 12(sp)
  1c  sw s4, 8(sp)
  20  lui s0, 0xffb12
  24  lui s1, 0xffb00
  28  addi s1, s1, 0
  2c  lui s2, 0xa0e28
  30  addi s3, zero, 1
  34  jal zero, 84
  38  sw s2, 76(s1)
  3c  sltu a5, zero, a1
  40  sub a4, a4, a1
  44  sub a1, zero, a1
  48  add a2, a2, a5
  4c  sltu a1, a4, a1
  50  sub a1, a1, a2
  54  add a1, a1, a3
  58  lw a2, 80(s1)
  5c  sltiu a1, a1, 1
  60  addi a1, a1, -1
  64  or a1, a1, a4
  68  add a1, a2, a1
  6c  sltu a2, a1, a2
  70  sub a2, zero, a2
  74  or a1, a2, a1
  78  sw a1, 80(s1)
  7c  addi a0, a0, -1
  80  beq a0, zero, c8
  84  lw a1, 496(s0)
  88  lw a2, 500(s0)
  8c  addi zero, zero, 0
  90  lw a4, 496(s0)
  94  lw a3, 500(s0)
  98  lw a5, 76(s1)
  9c  beq a5, s2, 3c
  a0  beq a5, zero, 38
  a4  lbu a1, 84(s1)
  a8  bne a1, zero, 7c
  ac  sb s3, 84(s1)
  b0  addi s4, a0, 0
  b4  addi a0, zero, 3
  b8  auipc ra, 0x1
  bc  jalr ra, ra
  c0  addi a0, s4, 0
  c4  jal zero, 7c
  c8  lw ra, 28(sp)
  cc  lw s0, 24(sp)
  d0  lw s1, 20(sp)
  d4  lw s2, 16(sp)
  d8  lw s3, 12(sp)
  dc  lw s4, 8(sp)
  e0  addi sp, sp, 32
  e4  jalr zero, ra
