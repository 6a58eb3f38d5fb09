kernel_zone:
   0  beq a0, zero, 44
   4  addi sp, sp, -16
   8  sw ra, 12(sp)
   c  sw s0, 8(sp)
  10  addi s0, a0, 0
  14  addi a0, zero, 32
  18  lui a1, 0x80b1e
  1c  jal ra, 1128
  20  addi zero, zero, 0
  24  addi a0, zero, 40
  28  lui a1, 0x90b1e
  2c  jal ra, 1128
  30  addi s0, s0, -1
  34  bne s0, zero, 14
  38  lw ra, 12(sp)
  3c  lw s0, 8(sp)
  40  addi sp, sp, 16
  44  jalr zero, ra
