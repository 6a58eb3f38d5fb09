zone:
   0  beq a0, zero, 84
   4  lui a7, 0x1
   8  addi a6, zero, 0
   c  lui t6, 0x83cee
  10  lui t5, 0x93cee
  14  lui a2, 0xffb12
  18  addi a7, a7, -1
  1c  lw a4, -1856(gp)
  20  lw a5, -1860(gp)
  24  lw t3, 496(a2)
  28  lw a3, 500(a2)
  2c  addi a5, a5, -16
  30  blt a5, zero, 88
  34  addi a4, a4, 8
  38  sw a4, -1856(gp)
  3c  sw a5, -1860(gp)
  40  and a3, a7, a3
  44  or a3, a3, t6
  48  sw a3, -8(a4)
  4c  sw t3, -4(a4)
  50  addi zero, zero, 0
  54  lw a4, -1856(gp)
  58  lw t3, 496(a2)
  5c  lw a3, 500(a2)
  60  blt a5, zero, 7c
  64  addi a5, a4, 8
  68  sw a5, -1856(gp)
  6c  and a3, a3, a7
  70  or a3, a3, t5
  74  sw a3, -8(a5)
  78  sw t3, -4(a5)
  7c  addi a6, a6, 1
  80  bne a0, a6, 1c
  84  jalr zero, ra
  88  lui a4, 0x1
  8c  addi a4, a4, -1280
  90  lw a3, 116(a4)
  94  addi a3, a3, 1
  98  sw a3, 116(a4)
  9c  jal zero, 50
