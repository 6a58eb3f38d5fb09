zone:
   0  beq a0, zero, 88
   4  lui a7, 0x1
   8  addi a6, zero, 0
   c  addi a3, gp, -1984
  10  lui t5, 0x85d38
  14  lui t4, 0x95d38
  18  addi a7, a7, -1
  1c  lui a2, 0xffb12
  20  lw a1, 0(a3)
  24  lw a4, 4(a3)
  28  lw t1, 496(a2)
  2c  lw a5, 500(a2)
  30  addi a4, a4, -16
  34  blt a4, zero, 8c
  38  addi t3, a1, 8
  3c  sw t3, 0(a3)
  40  sw a4, 4(a3)
  44  and a5, a7, a5
  48  or a5, a5, t5
  4c  sw a5, 0(a1)
  50  sw t1, 4(a1)
  54  addi zero, zero, 0
  58  lw a1, 0(a3)
  5c  lw t1, 496(a2)
  60  lw a5, 500(a2)
  64  blt a4, zero, 80
  68  addi a4, a1, 8
  6c  sw a4, 0(a3)
  70  and a5, a5, a7
  74  or a5, a5, t4
  78  sw a5, 0(a1)
  7c  sw t1, 4(a1)
  80  addi a6, a6, 1
  84  bne a0, a6, 20
  88  jalr zero, ra
  8c  jal t0, efc
  90  jal zero, 54
