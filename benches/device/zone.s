zone:
   0  beq a0, zero, 90
   4  lui a1, 0xffb12
   8  lui a5, 0x1
   c  lui a4, 0x8a10d
  10  addi a5, a5, -1
  14  lui a6, 0x9a10d
  18  jal zero, 68
  1c  addi t3, a7, 8
  20  sw t3, -1868(gp)
  24  sw t2, -1864(gp)
  28  and t1, t1, a5
  2c  or t1, t1, a4
  30  sw t1, 0(a7)
  34  sw t0, 4(a7)
  38  addi zero, zero, 0
  3c  lw a7, -1868(gp)
  40  lw t0, 496(a1)
  44  lw t1, 500(a1)
  48  addi t2, a7, 8
  4c  sw t2, -1868(gp)
  50  and t1, t1, a5
  54  or t1, t1, a6
  58  sw t1, 0(a7)
  5c  sw t0, 4(a7)
  60  addi a0, a0, -1
  64  beq a0, zero, 90
  68  lw a7, -1868(gp)
  6c  lw t2, -1864(gp)
  70  lw t0, 496(a1)
  74  lw t1, 500(a1)
  78  addi t2, t2, -16
  7c  bge t2, zero, 1c
  80  jal t0, 4cc
  84  addi zero, zero, 0
  88  addi a0, a0, -1
  8c  bne a0, zero, 68
  90  jalr zero, ra
