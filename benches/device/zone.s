zone:
   0  beq a0, zero, e4
   4  addi sp, sp, -32
   8  sw ra, 28(sp)
   c  sw s0, 24(sp)
  10  sw s1, 20(sp)
  14  sw s2, 16(sp)
  18  sw s3, 12(sp)
  1c  sw s4, 8(sp)
  20  sw s5, 4(sp)
  24  lui s0, 0xffb12
  28  lui s3, 0x1
  2c  lui s1, 0xffb00
  30  addi s1, s1, 0
  34  lui s2, 0x80829
  38  addi s3, s3, -1
  3c  lui s4, 0x90829
  40  lw a1, 48(s1)
  44  lw a4, 52(s1)
  48  lw a2, 496(s0)
  4c  lw a3, 500(s0)
  50  addi a4, a4, -16
  54  blt a4, zero, a8
  58  addi a5, a1, 8
  5c  sw a5, 48(s1)
  60  sw a4, 52(s1)
  64  and a3, a3, s3
  68  or a3, a3, s2
  6c  sw a3, 0(a1)
  70  sw a2, 4(a1)
  74  addi zero, zero, 0
  78  lw a1, 48(s1)
  7c  lw a2, 496(s0)
  80  lw a3, 500(s0)
  84  addi a4, a1, 8
  88  sw a4, 48(s1)
  8c  and a3, a3, s3
  90  or a3, a3, s4
  94  sw a3, 0(a1)
  98  sw a2, 4(a1)
  9c  addi a0, a0, -1
  a0  bne a0, zero, 40
  a4  jal zero, c4
  a8  addi s5, a0, 0
  ac  addi a0, zero, 0
  b0  auipc ra, 0x1
  b4  jalr ra, ra
  b8  addi zero, zero, 0
  bc  addi a0, s5, -1
  c0  bne a0, zero, 40
  c4  lw ra, 28(sp)
  c8  lw s0, 24(sp)
  cc  lw s1, 20(sp)
  d0  lw s2, 16(sp)
  d4  lw s3, 12(sp)
  d8  lw s4, 8(sp)
  dc  lw s5, 4(sp)
  e0  addi sp, sp, 32
  e4  jalr zero, ra
