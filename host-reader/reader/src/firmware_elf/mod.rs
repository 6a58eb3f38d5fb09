//! Layouts and addresses from the debug information of tt-metal's firmware.
//!
//! | question | module |
//! |---|---|
//! | which types, constants and inlined calls does an ELF contain? | [`debug_info`] |
//! | where are the profiler's words, and how many? | [`profiler`] |
//! | for which chip was a file compiled? | [`tables`] |
//!
//! All results come from the file. This module contains no table of releases and no fixed address.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "offsets that the parser has checked"
)]

pub mod debug_info;
pub mod profiler;
pub mod tables;
