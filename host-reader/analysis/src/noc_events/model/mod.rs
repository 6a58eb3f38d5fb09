//! Model of a chip's NoCs: use of links and DRAM controllers, and the cost of congestion.
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
//! tt-npe at 10216031 ("fast" congestion, steps of 32 cycles), from which TT-Metal's ops report
//! takes these figures. The model uses its rates, latencies and rules, so the figures are the same.
//!
//! One rule cannot be reproduced: the first link of a multicast, which determines the transfers
//! that the multicast waits for. In tt-npe it depends on the order of a hash table; here it is the
//! first link.
//!
//! The figures contain only what tt-npe models. They leave out writes with a transaction id, inline
//! writes, semaphores and atomics. Where tt-npe would guess, the figures are empty and a [`NocGap`]
//! is the reason.

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
