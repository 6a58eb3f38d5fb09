data_16b:
   0  beq a0, zero, 88
   4  lui a2, 0xffb12
   8  addi a3, gp, -2032
   c  lui a4, 0xddf50
  10  addi a5, zero, 1
  14  addi a1, a3, 60
  18  addi a6, zero, 2
  1c  jal zero, 68
  20  sw a7, 52(a3)
  24  lw a7, 48(a3)
  28  lw t0, 496(a2)
  2c  lw t1, 500(a2)
  30  addi t2, a7, 24
  34  sw t2, 48(a3)
  38  slli t1, t1, 20
  3c  srli t1, t1, 20
  40  or t1, t1, a4
  44  sw t1, 0(a7)
  48  sw t0, 4(a7)
  4c  sw zero, 8(a7)
  50  sw a5, 12(a7)
  54  sw zero, 16(a7)
  58  sw a6, 20(a7)
  5c  addi zero, zero, 0
  60  addi a0, a0, -1
  64  beq a0, zero, 88
  68  lw a7, 52(a3)
  6c  addi a7, a7, -24
  70  bge a7, zero, 20
  74  addi t1, a1, 0
  78  jal t0, 13fc
  7c  addi zero, zero, 0
  80  addi a0, a0, -1
  84  bne a0, zero, 68
  88  jalr zero, ra
