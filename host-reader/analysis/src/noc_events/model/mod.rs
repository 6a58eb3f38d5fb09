//! Model of a chip's NoCs: use of links and DRAM controllers, and the cost of congestion.
//!
//! | question | file |
//! |---|---|
//! | how fast are links, tiles and controllers? | `chip` |
//! | what moved, starting when, and which transfer waits for which? | `workload` |
//! | how fast is a transfer that shares links and tiles with others? | `demand` |
//! | when does each transfer end? | `simulation` |
//! | which figures does a program have? | [`NocFigures`] |
//!
//! # Compatibility
//! tt-npe at commit 10216031 ("fast" congestion, steps of 32 cycles). TT-Metal's ops report takes
//! these figures from tt-npe. The model uses tt-npe's rates, latencies and rules, so it computes
//! the same figures.
//!
//! One rule cannot be reproduced. The first link of a multicast determines which transfers the
//! multicast waits for. In tt-npe this link depends on the order of a hash table; here it is the
//! first link on the route.
//!
//! The figures cover only what tt-npe models. They exclude writes with a transaction id, inline
//! writes, semaphores and atomics. Where tt-npe would guess, the figures are empty, with a
//! [`NocGap`] as the reason.

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
