event:
   0  beq a0, zero, 68
   4  lui a1, 0xffb12
   8  lui a4, 0x1
   c  addi a4, a4, -1
  10  lui a5, 0xc0007
  14  jal zero, 28
  18  jal t0, 11ac
  1c  addi zero, zero, 0
  20  addi a0, a0, -1
  24  beq a0, zero, 68
  28  lw a6, -1868(gp)
  2c  lw t1, -1864(gp)
  30  lw a7, 496(a1)
  34  lw t0, 500(a1)
  38  addi t1, t1, -8
  3c  blt t1, zero, 18
  40  addi t2, a6, 8
  44  sw t2, -1868(gp)
  48  sw t1, -1864(gp)
  4c  and t0, t0, a4
  50  or t0, t0, a5
  54  sw t0, 0(a6)
  58  sw a7, 4(a6)
  5c  addi zero, zero, 0
  60  addi a0, a0, -1
  64  bne a0, zero, 28
  68  jalr zero, ra
