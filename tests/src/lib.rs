//! Checks that hold for any input, for the fuzzers, the system tests and the long run.
//!
//! | question | module |
//! |---|---|
//! | What must hold, whatever bytes come in? | [`fuzz`] |
//! | Which bytes reach deep into the readers? | [`noise`] |
//! | What does a launch leave on a chip? | [`launch`] |
//! | Which seed has no run tried before? | [`seed`] |

#![forbid(unsafe_code)]

pub mod fuzz;
pub mod launch;
pub mod noise;
pub mod seed;
