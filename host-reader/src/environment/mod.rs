//! TT-Metal's profiling variables: what they switch on, and what is wrong with them.
//!
//! | question | item |
//! |---|---|
//! | what do the variables ask for? | [`Settings`], read by [`Environment::of_process`] |
//! | which have no effect, contradict each other or are misspelled? | [`Problem`] |
//! | where are logs and reports? | [`artifacts_folder`], [`Settings::logs`] |
//! | how does a read follow them? | [`Settings::profiler_options`], [`Settings::read_options`] |
//! | which variables ask for given settings? | [`Settings::variables`] |
//! | which variables are there? | [`VARIABLES`] |
//!
//! # Compatibility
//! `tt_metal/llrt/rtoptions.cpp` of June 2026: variables are taken in the order of its table, a
//! switch is on if its value begins with `1`, and some count only if a variable before them has
//! switched the profiler on.

#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

mod parse;
mod problem;
mod request;
mod settings;
mod variable;

pub use parse::{Environment, artifacts_folder};
pub use problem::Problem;
pub use settings::Settings;
pub use variable::{VARIABLES, Variable};
