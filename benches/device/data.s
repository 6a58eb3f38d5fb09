data:
   0  beq a0, zero, d0
   4  addi sp, sp, -32
   8  sw ra, 28(sp)
   c  sw s0, 24(sp)
  10  sw s1, 20(sp)
  14  sw s2, 16(sp)
  18  sw s3, 12(sp)
  1c  sw s4, 8(sp)
  20  sw s5, 4(sp)
  24  lui s0, 0xffb12
  28  lui s1, 0xffb00
  2c  addi s1, s1, 0
  30  lui s2, 0xb8d8c
  34  lui a1, 0x11223
  38  lui a2, 0x55667
  3c  addi s3, a1, 836
  40  addi s4, a2, 1928
  44  lw a1, 52(s1)
  48  addi a1, a1, -16
  4c  blt a1, zero, 94
  50  sw a1, 52(s1)
  54  lw a1, 48(s1)
  58  lw a2, 496(s0)
  5c  lw a3, 500(s0)
  60  addi a4, a1, 16
  64  sw a4, 48(s1)
  68  slli a3, a3, 20
  6c  srli a3, a3, 20
  70  or a3, a3, s2
  74  sw a3, 0(a1)
  78  sw a2, 4(a1)
  7c  sw s3, 8(a1)
  80  sw s4, 12(a1)
  84  addi zero, zero, 0
  88  addi a0, a0, -1
  8c  bne a0, zero, 44
  90  jal zero, b0
  94  addi s5, a0, 0
  98  addi a0, zero, 1
  9c  auipc ra, 0x1
  a0  jalr ra, ra
  a4  addi zero, zero, 0
  a8  addi a0, s5, -1
  ac  bne a0, zero, 44
  b0  lw ra, 28(sp)
  b4  lw s0, 24(sp)
  b8  lw s1, 20(sp)
  bc  lw s2, 16(sp)
  c0  lw s3, 12(sp)
  c4  lw s4, 8(sp)
  c8  lw s5, 4(sp)
  cc  addi sp, sp, 32
  d0  jalr zero, ra
