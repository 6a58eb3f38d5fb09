//! Checks that hold for any input, for the fuzzers, the system tests and the long run.
//!
//! | question | module |
//! |---|---|
//! | What must hold, whatever bytes come in? | [`fuzz`] |
//! | Which bytes reach deep into the readers? | [`noise`] |

#![forbid(unsafe_code)]

pub mod fuzz;
pub mod noise;
