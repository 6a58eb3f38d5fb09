zone:
   0  beq a0, zero, 8c
   4  lui a3, 0xffb00
   8  lui a7, 0x1
   c  addi a6, zero, 0
  10  addi a3, a3, 48
  14  lui t5, 0x85d38
  18  lui t4, 0x95d38
  1c  addi a7, a7, -1
  20  lui a2, 0xffb12
  24  lw a1, 0(a3)
  28  lw a4, 4(a3)
  2c  lw t1, 496(a2)
  30  lw a5, 500(a2)
  34  addi a4, a4, -16
  38  blt a4, zero, 90
  3c  addi t3, a1, 8
  40  sw t3, 0(a3)
  44  sw a4, 4(a3)
  48  and a5, a7, a5
  4c  or a5, a5, t5
  50  sw a5, 0(a1)
  54  sw t1, 4(a1)
  58  addi zero, zero, 0
  5c  lw a1, 0(a3)
  60  lw t1, 496(a2)
  64  lw a5, 500(a2)
  68  blt a4, zero, 84
  6c  addi a4, a1, 8
  70  sw a4, 0(a3)
  74  and a5, a5, a7
  78  or a5, a5, t4
  7c  sw a5, 0(a1)
  80  sw t1, 4(a1)
  84  addi a6, a6, 1
  88  bne a0, a6, 24
  8c  jalr zero, ra
  90  jal t0, f0c
  94  jal zero, 58
