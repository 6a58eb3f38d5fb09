event:
   0  beq a0, zero, 70
   4  lui a2, 0xffb12
   8  addi a3, gp, -2032
   c  addi a1, a3, 64
  10  lui a4, 0xc0007
  14  jal zero, 50
  18  sw a5, 52(a3)
  1c  lw a5, 48(a3)
  20  lw a6, 496(a2)
  24  lw a7, 500(a2)
  28  addi t0, a5, 8
  2c  sw t0, 48(a3)
  30  slli a7, a7, 20
  34  srli a7, a7, 20
  38  or a7, a7, a4
  3c  sw a7, 0(a5)
  40  sw a6, 4(a5)
  44  addi zero, zero, 0
  48  addi a0, a0, -1
  4c  beq a0, zero, 70
  50  lw a5, 52(a3)
  54  addi a5, a5, -8
  58  bge a5, zero, 18
  5c  addi t1, a1, 0
  60  jal t0, c20
  64  addi zero, zero, 0
  68  addi a0, a0, -1
  6c  bne a0, zero, 50
  70  jalr zero, ra
