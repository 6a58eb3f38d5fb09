//! Placeholder.

/// The baby RISCs: an RV32IM interpreter with the pipeline timing of Wormhole and Blackhole.
pub mod riscv;
