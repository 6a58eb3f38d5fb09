//! TT-Metal's environment variables for profiling: the settings that the variables select, and
//! mistakes in the variables.
//!
//! | question | item |
//! |---|---|
//! | which settings do the variables select? | [`Settings`], read by [`Environment::from_process`] |
//! | which variables have no effect, contradict each other or are misspelled? | [`Problem`] |
//! | where are logs and reports? | [`artifacts_folder`], [`Settings::logs`] |
//! | which options does a host pass to the reader? | [`Settings::profiler_options`], [`Settings::read_options`] |
//! | which variables select given settings? | [`Settings::variables`] |
//! | which variables are there? | [`VARIABLES`] |
//!
//! # Compatibility
//! This module follows `tt_metal/llrt/rtoptions.cpp` of June 2026. Variables are processed in the
//! order of the table in that file. A switch is on if its value begins with `1`. Some variables
//! only have an effect if an earlier variable has switched the profiler on.

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
mod settings;
mod variable;

pub use parse::{Environment, artifacts_folder};
pub use problem::Problem;
pub use settings::Settings;
pub use variable::{VARIABLES, Variable};
