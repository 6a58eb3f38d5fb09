noc_event:
   0  beq a0, zero, ac
   4  addi sp, sp, -48
   8  sw ra, 44(sp)
   c  sw s0, 40(sp)
  10  sw s1, 36(sp)
  14  sw s2, 32(sp)
  18  sw s3, 28(sp)
  1c  sw s4, 24(sp)
  20  sw s5, 20(sp)
  24  sw s6, 16(sp)
  28  sw s7, 12(sp)
  2c  sw s8, 8(sp)
  30  lui a1, 0x1
  34  addi a1, a1, -1280
  38  lui a2, 0x1
  3c  addi a2, a2, -1280
  40  sub a2, a2, a1
  44  addi a1, zero, 8
  48  bgeu a2, a1, 74
  4c  lui s0, 0xffb12
  50  addi s2, zero, 15
  54  lui s5, 0x1
  58  lui s4, 0xb3039
  5c  lui a1, 0x401
  60  lui a2, 0x191
  64  addi s5, s5, -1
  68  addi s6, a1, 256
  6c  addi s7, a2, 523
  70  jal zero, c0
  74  addi zero, zero, 0
  78  addi a0, a0, -1
  7c  bne a0, zero, 74
  80  lw ra, 44(sp)
  84  lw s0, 40(sp)
  88  lw s1, 36(sp)
  8c  lw s2, 32(sp)
  90  lw s3, 28(sp)
  94  lw s4, 24(sp)
  98  lw s5, 20(sp)
  9c  lw s6, 16(sp)
  a0  lw s7, 12(sp)
  a4  lw s8, 8(sp)
  a8  addi sp, sp, 48
  ac  jalr zero, ra
  b0  jal t0, e48
  b4  addi zero, zero, 0
  b8  addi a0, a0, -1
  bc  beq a0, zero, 80
  c0  lw a1, -1864(gp)
  c4  bge s2, a1, 114
  c8  lw a1, -1868(gp)
  cc  lw a4, -1864(gp)
  d0  lw a2, 496(s0)
  d4  lw a3, 500(s0)
  d8  addi a4, a4, -16
  dc  blt a4, zero, b0
  e0  addi a5, a1, 16
  e4  sw a5, -1868(gp)
  e8  sw a4, -1864(gp)
  ec  and a3, a3, s5
  f0  or a3, a3, s4
  f4  sw a3, 0(a1)
  f8  sw a2, 4(a1)
  fc  sw s6, 8(a1)
 100  sw s7, 12(a1)
 104  addi zero, zero, 0
 108  addi a0, a0, -1
 10c  bne a0, zero, c0
 110  jal zero, 80
 114  addi s8, a0, 0
 118  jal ra, 11f8
 11c  addi a0, s8, 0
 120  jal zero, c8
