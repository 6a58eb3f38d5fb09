//! Checks that hold for any input, used by the fuzzers, the system tests and the long fuzz run.
//!
//! | question | module |
//! |---|---|
//! | Which properties hold for arbitrary bytes? | [`fuzz`] |
//! | Which bytes reach deep into the readers? | [`noise`] |
//! | What does a launch write to a chip's memory? | [`launch`] |
//! | What was pushed, record by record? | `pushed`, with the feature `simulator` |
//! | Which seed is new? | [`seed`] |
//! | Does a test have its full size? | [`sizes`] |

#![forbid(unsafe_code)]

pub mod fuzz;
pub mod launch;
pub mod noise;
#[cfg(feature = "simulator")]
pub mod pushed;
pub mod seed;
pub mod sizes;
