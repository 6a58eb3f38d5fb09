open:
   0  beq a0, zero, 64
   4  lui a1, 0xffb12
   8  lui a4, 0x80007
   c  jal zero, 20
  10  jal t0, 81c
  14  addi zero, zero, 0
  18  addi a0, a0, -1
  1c  beq a0, zero, 64
  20  lw a5, -1868(gp)
  24  lw t0, -1864(gp)
  28  lw a6, 496(a1)
  2c  lw a7, 500(a1)
  30  addi t0, t0, -16
  34  blt t0, zero, 10
  38  addi t1, a5, 8
  3c  sw t1, -1868(gp)
  40  sw t0, -1864(gp)
  44  slli a7, a7, 20
  48  srli a7, a7, 20
  4c  or a7, a7, a4
  50  sw a7, 0(a5)
  54  sw a6, 4(a5)
  58  addi zero, zero, 0
  5c  addi a0, a0, -1
  60  bne a0, zero, 20
  64  jalr zero, ra
