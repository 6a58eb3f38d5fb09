zone:
   0  beq a0, zero, 9c
   4  lui a2, 0xffb12
   8  lui a5, 0x1
   c  addi a3, gp, -2032
  10  lui a4, 0x8f9bf
  14  addi a5, a5, -1
  18  addi a1, a3, 56
  1c  lui a6, 0x9f9bf
  20  jal zero, 70
  24  addi t3, a7, 8
  28  sw t3, 48(a3)
  2c  sw t2, 52(a3)
  30  and t1, t1, a5
  34  or t1, t1, a4
  38  sw t1, 0(a7)
  3c  sw t0, 4(a7)
  40  addi zero, zero, 0
  44  lw a7, 48(a3)
  48  lw t0, 496(a2)
  4c  lw t1, 500(a2)
  50  addi t2, a7, 8
  54  sw t2, 48(a3)
  58  and t1, t1, a5
  5c  or t1, t1, a6
  60  sw t1, 0(a7)
  64  sw t0, 4(a7)
  68  addi a0, a0, -1
  6c  beq a0, zero, 9c
  70  lw a7, 48(a3)
  74  lw t2, 52(a3)
  78  lw t0, 496(a2)
  7c  lw t1, 500(a2)
  80  addi t2, t2, -16
  84  bge t2, zero, 24
  88  addi t1, a1, 0
  8c  jal t0, 4dc
  90  addi zero, zero, 0
  94  addi a0, a0, -1
  98  bne a0, zero, 70
  9c  jalr zero, ra
