kernel_zone:
   0  beq a0, zero, 5c
   4  lui a1, 0xffb12
   8  lui a4, 0x1
   c  lui a2, 0x80b1e
  10  lui a3, 0x1
  14  addi a3, a3, -1024
  18  addi a4, a4, -1
  1c  lui a5, 0x90b1e
  20  lw a6, 496(a1)
  24  lw a7, 500(a1)
  28  and a7, a7, a4
  2c  or a7, a7, a2
  30  sw a7, 32(a3)
  34  sw a6, 36(a3)
  38  addi zero, zero, 0
  3c  lw a6, 496(a1)
  40  lw a7, 500(a1)
  44  addi a0, a0, -1
  48  and a7, a7, a4
  4c  or a7, a7, a5
  50  sw a7, 40(a3)
  54  sw a6, 44(a3)
  58  bne a0, zero, 20
  5c  jalr zero, ra
