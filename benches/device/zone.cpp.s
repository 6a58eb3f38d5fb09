zone:
   0  beq a0, zero, 84
   4  lui t1, 0x1
   8  addi a7, zero, 0
   c  lui t6, 0x83cee
  10  lui t5, 0x93cee
  14  lui a2, 0xffb12
  18  addi t1, t1, -1
  1c  lw a6, -1856(gp)
  20  lw a4, -1860(gp)
  24  lw t3, 496(a2)
  28  lw a5, 500(a2)
  2c  addi a4, a4, -16
  30  blt a4, zero, 88
  34  addi t4, a6, 8
  38  sw t4, -1856(gp)
  3c  sw a4, -1860(gp)
  40  and a5, t1, a5
  44  or a5, a5, t6
  48  sw a5, 0(a6)
  4c  sw t3, 4(a6)
  50  addi zero, zero, 0
  54  lw a6, -1856(gp)
  58  lw t3, 496(a2)
  5c  lw a5, 500(a2)
  60  blt a4, zero, 7c
  64  addi a4, a6, 8
  68  sw a4, -1856(gp)
  6c  and a5, a5, t1
  70  or a5, a5, t5
  74  sw a5, 0(a6)
  78  sw t3, 4(a6)
  7c  addi a7, a7, 1
  80  bne a0, a7, 1c
  84  jalr zero, ra
  88  lui a5, 0x1
  8c  addi a5, a5, -1280
  90  lw a6, 116(a5)
  94  addi a6, a6, 1
  98  sw a6, 116(a5)
  9c  jal zero, 50
