//! Reports on recordings.
//!
//! | question | module |
//! |---|---|
//! | How are reports written in tt-metal's formats? | [`report`] |
//! | How long do ops take, and which resource limits them? | [`perf`] |
//! | What became slower or faster? | [`diff`] |

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

pub mod diff;
pub mod perf;
mod records;
pub mod report;

use recording::problem;
