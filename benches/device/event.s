event:
   0  beq a0, zero, a8
   4  addi sp, sp, -32
   8  sw ra, 28(sp)
   c  sw s0, 24(sp)
  10  sw s1, 20(sp)
  14  sw s2, 16(sp)
  18  sw s3, 12(sp)
  1c  lui s0, 0xffb12
  20  lui s1, 0xffb00
  24  addi s1, s1, 0
  28  lui s2, 0xc0007
  2c  lw a1, 52(s1)
  30  addi a1, a1, -8
  34  blt a1, zero, 74
  38  sw a1, 52(s1)
  3c  lw a1, 48(s1)
  40  lw a2, 496(s0)
  44  lw a3, 500(s0)
  48  addi a4, a1, 8
  4c  sw a4, 48(s1)
  50  slli a3, a3, 20
  54  srli a3, a3, 20
  58  or a3, a3, s2
  5c  sw a3, 0(a1)
  60  sw a2, 4(a1)
  64  addi zero, zero, 0
  68  addi a0, a0, -1
  6c  bne a0, zero, 2c
  70  jal zero, 90
  74  addi s3, a0, 0
  78  addi a0, zero, 2
  7c  auipc ra, 0x1
  80  jalr ra, ra
  84  addi zero, zero, 0
  88  addi a0, s3, -1
  8c  bne a0, zero, 2c
  90  lw ra, 28(sp)
  94  lw s0, 24(sp)
  98  lw s1, 20(sp)
  9c  lw s2, 16(sp)
  a0  lw s3, 12(sp)
  a4  addi sp, sp, 32
  a8  jalr zero, ra
