data:
   0  beq a0, zero, 80
   4  lui a1, 0xffb12
   8  lui a5, 0x1
   c  lui a4, 0xbd6f8
  10  lui a6, 0x11223
  14  lui a7, 0x55667
  18  addi a5, a5, -1
  1c  addi a6, a6, 836
  20  addi a7, a7, 1928
  24  jal zero, 58
  28  addi t4, t0, 16
  2c  sw t4, -1868(gp)
  30  sw t3, -1864(gp)
  34  and t2, t2, a5
  38  or t2, t2, a4
  3c  sw t2, 0(t0)
  40  sw t1, 4(t0)
  44  sw a6, 8(t0)
  48  sw a7, 12(t0)
  4c  addi zero, zero, 0
  50  addi a0, a0, -1
  54  beq a0, zero, 80
  58  lw t0, -1868(gp)
  5c  lw t3, -1864(gp)
  60  lw t1, 496(a1)
  64  lw t2, 500(a1)
  68  addi t3, t3, -16
  6c  bge t3, zero, 28
  70  jal t0, 1990
  74  addi zero, zero, 0
  78  addi a0, a0, -1
  7c  bne a0, zero, 58
  80  jalr zero, ra
