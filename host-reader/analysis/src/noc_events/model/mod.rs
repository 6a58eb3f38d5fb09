//! Model of a chip's NoCs: how busy links and DRAM controllers were, and what congestion cost.
//!
//! | question | file |
//! |---|---|
//! | how fast are links, tiles and controllers? | `chip` |
//! | what moved, from when on, and what waits for what? | `workload` |
//! | how much of its speed is left to a transfer? | `demand` |
//! | when does each transfer end? | `simulation` |
//! | which figures does a program have? | [`NocFigures`] |
//!
//! # Compatibility
//! tt-npe at 10216031 ("fast" congestion, steps of 32 cycles), which TT-Metal's ops report takes
//! these figures from: its rates, latencies and rules are followed, so that the figures are the
//! same. One rule cannot be: which of its links a multicast is taken to leave its tile by, and so
//! which transfers it waits for, depends there on the order of a hash table; here it is the first
//! one. What it takes no notice of is in no figure here, either: writes under a transaction id
//! and inline writes, semaphores and atomics. Where it would guess, the figures are empty and a
//! [`NocGap`] says why.

mod chip;
mod demand;
mod figures;
mod gap;
mod simulation;
mod workload;

#[cfg(test)]
mod tests;

pub use chip::NocChip;
pub use figures::NocFigures;
pub use gap::NocGap;
