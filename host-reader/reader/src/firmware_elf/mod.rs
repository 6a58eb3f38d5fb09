//! Layouts and addresses that tt-metal's firmware states about itself.
//!
//! | question | module |
//! |---|---|
//! | what do an ELF's types, constants and inlined calls say? | [`debug_info`] |
//! | where are the profiler's words, and how many? | [`profiler`] |
//! | for which chip was a file compiled? | [`tables`] |
//!
//! Everything here is a function of the file: no table of releases, no address of one.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "offsets that the parser has checked"
)]

pub mod debug_info;
pub mod profiler;
pub mod tables;
