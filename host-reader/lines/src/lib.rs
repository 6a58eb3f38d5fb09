//! Lines of source code for the addresses that RISCs executed.
//!
//! | question | item |
//! |---|---|
//! | which function, file and line is at an address of an ELF file? | [`CodeFile`] |
//! | which file of a compiler's cache was executed? | [`KernelFiles`] |
//! | how do counts of single RISCs become rows of the table `lines`? | [`Sums`] |
//! | which instructions has a chip sampled, and how sure are their shares? | [`SampleSums`], [`SampledProgram`] |
//! | what is written in the source lines? | [`add_source_text`] |
//! | which lines became slower in another build? | [`LineDiff`] |
//! | how is a file with the table read? | [`read_csv`] |
//! | which file has the table of a recording? | [`beside_recording`], [`beside_capture`] |
//! | which lines and functions took the most cycles? | [`by_line`], [`by_function`], [`busiest_lines`] |
//! | how do other viewers show the rows? | [`write_folded`], [`write_pprof`] |
//!
//! Counts come from a program that executes the code, such as the simulator. ELF files and tables
//! are untrusted.

#![forbid(unsafe_code)]

mod code_file;
mod comparison;
mod csv_file;
mod folded;
mod frame;
mod kernel_files;
mod pprof;
mod ranking;
mod samples;
mod source_text;
mod sums;

pub use code_file::{CodeFile, CodeFileError, CodePlace};
pub use comparison::{LineChange, LineDiff, LineSide};
pub use csv_file::{
    LINES_FILE, SAMPLES_FILE, beside_capture, beside_recording, read_csv, samples_beside_capture,
    samples_beside_recording,
};
pub use folded::write_folded;
pub use frame::{Callers, Frame, frames};
pub use kernel_files::{FoundKernel, KernelFiles};
pub use pprof::write_pprof;
pub use ranking::{BusiestLine, Ranked, RankedSamples, busiest_lines, by_function, by_line};
pub use samples::{
    SampleSums, SampledChips, SampledInstruction, SampledPlace, SampledProgram, SampledState,
    charged_address,
};
pub use source_text::add_source_text;
pub use sums::{CodeFacts, CountOwner, InstructionCount, Sums};
