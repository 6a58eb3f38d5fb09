//! The L1 vector: the 512 words into which one RISC writes during a launch.
//!
//! # Compatibility
//! `BufferIndex` and the marker counts of `profiler_common.h`.

use crate::{marker::MARKER_WORDS, run::RUN_HEADER_WORDS};

/// Number of markers with a fixed slot: FW start and end, KERNEL start and end.
pub const GUARANTEED_MARKER_COUNT: usize = 4;
/// Number of markers without a fixed slot.
pub const OPTIONAL_MARKER_COUNT: usize = 250;

/// Index of the first word of the FW start marker.
pub const MAIN_START: usize = 4;
/// Index of the first word of the FW end marker.
pub const MAIN_END: usize = 6;
/// Index of the first word of the KERNEL start marker.
pub const CHILD_START: usize = 8;
/// Index of the first word of the KERNEL end marker.
pub const CHILD_END: usize = 10;
/// Index of the first word after the guaranteed slots.
pub const FIRST_OPTIONAL: usize = 12;

/// Size of a RISC's vector in words.
pub const VECTOR_WORDS: usize = FIRST_OPTIONAL + OPTIONAL_MARKER_COUNT * MARKER_WORDS;
/// Size of a RISC's vector in bytes.
pub const VECTOR_BYTES: usize = VECTOR_WORDS * 4;

/// Number of words of TRISC 2's vector that have records if the rest is room for samples: see
/// `KERNEL_PROFILER_SAMPLES` in `docs/wire-extensions.md`.
pub const WORDS_BESIDE_SAMPLES: usize = 64;
const _: () = assert!(WORDS_BESIDE_SAMPLES > FIRST_OPTIONAL && WORDS_BESIDE_SAMPLES < VECTOR_WORDS);

/// Alignment of pushes (copies of markers from L1 to DRAM): the length of each push is a multiple
/// of this number of words. So NoC writes stay aligned to 16 bytes.
pub const PUSH_ALIGN_WORDS: usize = 4;

const _: () = assert!(FIRST_OPTIONAL == RUN_HEADER_WORDS + GUARANTEED_MARKER_COUNT * MARKER_WORDS);
const _: () = assert!(VECTOR_WORDS == 512 && VECTOR_BYTES == 2048);
const _: () = assert!(MAIN_START == RUN_HEADER_WORDS && CHILD_END + MARKER_WORDS == FIRST_OPTIONAL);
const _: () = assert!(FIRST_OPTIONAL.is_multiple_of(PUSH_ALIGN_WORDS));
const _: () = assert!(VECTOR_WORDS.is_multiple_of(PUSH_ALIGN_WORDS));
