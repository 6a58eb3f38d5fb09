data:
   0  beq a0, zero, 88
   4  lui a2, 0xffb12
   8  addi a3, gp, -2032
   c  lui a4, 0xb9b79
  10  lui a5, 0x11223
  14  lui a6, 0x55667
  18  addi a1, a3, 60
  1c  addi a5, a5, 836
  20  addi a6, a6, 1928
  24  jal zero, 68
  28  sw a7, 52(a3)
  2c  lw a7, 48(a3)
  30  lw t0, 496(a2)
  34  lw t1, 500(a2)
  38  addi t2, a7, 16
  3c  sw t2, 48(a3)
  40  slli t1, t1, 20
  44  srli t1, t1, 20
  48  or t1, t1, a4
  4c  sw t1, 0(a7)
  50  sw t0, 4(a7)
  54  sw a5, 8(a7)
  58  sw a6, 12(a7)
  5c  addi zero, zero, 0
  60  addi a0, a0, -1
  64  beq a0, zero, 88
  68  lw a7, 52(a3)
  6c  addi a7, a7, -16
  70  bge a7, zero, 28
  74  addi t1, a1, 0
  78  jal t0, 1488
  7c  addi zero, zero, 0
  80  addi a0, a0, -1
  84  bne a0, zero, 68
  88  jalr zero, ra
