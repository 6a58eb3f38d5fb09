//! The profiler's memory format, defined in one crate.
//!
//! All data that a RISC writes into L1 and DRAM for a host is defined here and nowhere else: no
//! other crate knows a bit position. The crate has no dependencies, needs no allocator and cannot
//! fail: unknown values are kept as they are.
//!
//! # Map
//!
//! | question | module |
//! |---|---|
//! | How do two words encode "zone 0xB765 began at cycle t"? | [`marker`] |
//! | Which packet types exist, how long is each? | [`packet`] |
//! | Where do runs begin, and which core, RISC and program do they belong to? | [`run`] |
//! | What do the 64 bits of a NoC event mean? | [`noc_event`] |
//! | Which memory does a kernel lock? | [`scoped_lock`] |
//! | What does a RISC's 512-word L1 vector contain? | [`vector`] |
//! | What does a core's control vector contain? | [`control`] |
//! | How far is a lane filled, and where did it wrap around? | [`lane_end`] |
//! | Where in DRAM is a RISC's buffer, and how large is it? | [`dram`] |
//! | How are lost records counted? | [`loss`], [`control::ext`] |
//! | How does a zone's name become a 16-bit id? | [`zone`] |
//! | How is a wait for a buffer, a semaphore or a NoC recorded? | [`wait`] |
//! | In which format does a core stream records while its kernels run? | [`stream`] |
//! | Which core gathers these records on the chip, and in which format? | [`relay`], [`frame`] |
//! | Which processors does a core have? | [`risc`] |
//! | How do time stamps wrap? | [`cycles`] |
//! | What differs between TT-Metal's versions? | [`generation`] |
//! | How does each variant of an enum get a label? | [`labelled!`] |
//!
//! # One run in a lane
//!
//! A lane is the part of DRAM that belongs to one RISC of one core. A lane holds runs back to back.
//! A run holds the markers of one launch, or of one push within a launch:
//!
//! ```text
//! word  0   1     2        3         4 .. 5    6 .. 7    8 .. 9       10 .. 11    12 ..
//!      +---+---+--------+---------+---------+---------+------------+-----------+---------
//!      | 0 | 0 | ID_LH  | host id | FW start| FW end  | KERNEL st. | KERNEL end| optional
//!      +---+---+--------+---------+---------+---------+------------+-----------+---------
//! ```
//!
//! Every run is a multiple of four words long. A run has no length field: the next run begins where
//! a reader finds two zero words instead of a marker.
//!
//! # Compatibility
//!
//! The format written is that of `tt_metal/hw/inc/hostdev/profiler_common.h` and
//! `tt_metal/hw/inc/api/debug/kernel_profiler.hpp` of 2026 ([`generation::CURRENT`]). The older
//! format, with a 32-word control vector, can also be read ([`generation::LEGACY`]).

#![no_std]
#![forbid(unsafe_code)]

pub mod control;
pub mod cycles;
pub mod dram;
pub mod frame;
pub mod generation;
pub mod host_id;
mod labelled;
pub mod lane_end;
pub mod loss;
pub mod marker;
pub mod noc_event;
pub mod packet;
pub mod perf_counter;
pub mod relay;
pub mod risc;
pub mod run;
pub mod scoped_lock;
pub mod stream;
pub mod vector;
pub mod wait;
pub mod zone;

pub use cycles::Cycles;
pub use generation::Generation;
pub use host_id::RunHostId;
pub use lane_end::LaneEnd;
pub use marker::Header;
pub use packet::{PacketKind, PacketType};
pub use risc::{CoreKind, Risc};
pub use run::RunHeader;
pub use zone::ZoneId;
