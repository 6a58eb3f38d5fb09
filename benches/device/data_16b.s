data_16b:
   0  beq a0, zero, 80
   4  lui a1, 0xffb12
   8  lui a6, 0x1
   c  lui a4, 0xd99bc
  10  addi a5, zero, 1
  14  addi a6, a6, -1
  18  addi a7, zero, 2
  1c  jal zero, 58
  20  addi t4, t0, 24
  24  sw t4, -1868(gp)
  28  sw t3, -1864(gp)
  2c  and t2, t2, a6
  30  or t2, t2, a4
  34  sw t2, 0(t0)
  38  sw t1, 4(t0)
  3c  sw zero, 8(t0)
  40  sw a5, 12(t0)
  44  sw zero, 16(t0)
  48  sw a7, 20(t0)
  4c  addi zero, zero, 0
  50  addi a0, a0, -1
  54  beq a0, zero, 80
  58  lw t0, -1868(gp)
  5c  lw t3, -1864(gp)
  60  lw t1, 496(a1)
  64  lw t2, 500(a1)
  68  addi t3, t3, -24
  6c  bge t3, zero, 20
  70  jal t0, 190c
  74  addi zero, zero, 0
  78  addi a0, a0, -1
  7c  bne a0, zero, 58
  80  jalr zero, ra
