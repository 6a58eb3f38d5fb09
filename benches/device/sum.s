sum:
   0  beq a0, zero, 34
   4  lui a1, 0xffb12
   8  lui a4, 0xacebe
   c  lw a5, 496(a1)
  10  addi zero, zero, 0
  14  lw a6, -1876(gp)
  18  lw a7, 496(a1)
  1c  addi a0, a0, -1
  20  sub a5, a6, a5
  24  add a5, a5, a7
  28  sw a5, -1876(gp)
  2c  sw a4, -1888(gp)
  30  bne a0, zero, c
  34  jalr zero, ra
