open:
   0  beq a0, zero, 70
   4  lui a2, 0xffb12
   8  addi a3, gp, -2032
   c  addi a1, a3, 56
  10  lui a4, 0x80007
  14  jal zero, 2c
  18  addi t1, a1, 0
  1c  jal t0, 860
  20  addi zero, zero, 0
  24  addi a0, a0, -1
  28  beq a0, zero, 70
  2c  lw a5, 48(a3)
  30  lw t0, 52(a3)
  34  lw a6, 496(a2)
  38  lw a7, 500(a2)
  3c  addi t0, t0, -16
  40  blt t0, zero, 18
  44  addi t1, a5, 8
  48  sw t1, 48(a3)
  4c  sw t0, 52(a3)
  50  slli a7, a7, 20
  54  srli a7, a7, 20
  58  or a7, a7, a4
  5c  sw a7, 0(a5)
  60  sw a6, 4(a5)
  64  addi zero, zero, 0
  68  addi a0, a0, -1
  6c  bne a0, zero, 2c
  70  jalr zero, ra
