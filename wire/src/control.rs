//! The control vector: words that the device and the host share to control a core's profiler.
//!
//! The host writes the DRAM address, the core's number on its chip (flat id), the number of cores
//! per bank, the dispatch flag, and those words of [`ext`] for which the table there names the host
//! as writer. The device writes all other words. When a host resets a core, it writes the whole
//! vector: its own words, and zeros elsewhere.
//!
//! # Compatibility
//! `ControlBuffer` of `profiler_common.h`. The ends of lanes and of L1 vectors are counted in
//! words.

use crate::risc::RISCS_PER_CORE;

/// Indices of the words in a control vector, for one generation of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlLayout {
    /// Number of words in the vector.
    pub word_count: usize,
    /// Index of the first of five words, one per RISC: number of filled words in the RISC's DRAM
    /// lane.
    pub host_end: usize,
    /// Index of the first of five words, one per RISC: number of filled words in the RISC's L1
    /// vector.
    pub device_end: usize,
    /// Index of the high word of the pair that synchronizes the host's clock with the device's.
    pub fw_reset_high: usize,
    /// Index of the low word of the pair that synchronizes the host's clock with the device's. The
    /// host writes its time here.
    pub fw_reset_low: usize,
    /// Index of the word that holds the DRAM address of the profiler region; 0 means "do not push".
    /// The address is the same in all banks.
    pub dram_address: usize,
    /// Index of the word that counts pushes of markers to DRAM since the host zeroed the vector.
    pub run_counter: usize,
    /// Index of the word in which the core stores its NoC x coordinate.
    pub noc_x: usize,
    /// Index of the word in which the core stores its NoC y coordinate.
    pub noc_y: usize,
    /// Index of the word that holds the core's number on its chip.
    pub flat_id: usize,
    /// Index of the word that holds the number of cores that share a DRAM bank.
    pub cores_per_bank: usize,
    /// Index of a bit mask: bit r is set if RISC r lost markers because its DRAM lane was full.
    pub dropped_zones: usize,
    /// Index of a flag that is 1 once the most recent launch's markers are in DRAM, or once the
    /// launch was declared to have run no kernel.
    pub profiler_done: usize,
    /// Index of the state of trace-only mode; `None` for control vectors that are older than this
    /// mode.
    pub trace_replay_status: Option<usize>,
    /// Index of the flag that the host sets on dispatch cores in accumulate mode.
    pub dispatch_core: Option<usize>,
}

impl ControlLayout {
    /// Layout of the 64-word vector of 2026.
    pub const WORDS64: Self = Self {
        word_count: 64,
        host_end: 0,
        device_end: 24,
        fw_reset_high: 48,
        fw_reset_low: 49,
        dram_address: 50,
        run_counter: 51,
        noc_x: 52,
        noc_y: 53,
        flat_id: 54,
        cores_per_bank: 55,
        dropped_zones: 56,
        profiler_done: 57,
        trace_replay_status: Some(58),
        dispatch_core: Some(59),
    };

    /// Layout of the 32-word vector that preceded [`Self::WORDS64`].
    pub const WORDS32: Self = Self {
        word_count: 32,
        host_end: 0,
        device_end: 5,
        fw_reset_high: 10,
        fw_reset_low: 11,
        dram_address: 12,
        run_counter: 13,
        noc_x: 14,
        noc_y: 15,
        flat_id: 16,
        cores_per_bank: 17,
        dropped_zones: 18,
        profiler_done: 19,
        trace_replay_status: Some(20),
        dispatch_core: None,
    };

    /// Returns the size of the vector in bytes.
    #[must_use]
    pub const fn size_bytes(&self) -> usize {
        self.word_count * 4
    }

    /// Returns the indices of the words that a host keeps when it resets a core.
    #[must_use]
    pub const fn host_owned(&self) -> [usize; 3] {
        [self.dram_address, self.flat_id, self.cores_per_bank]
    }
}

/// Extension words of kprof, version 4 of the protocol.
///
/// The extension words are in the part of the 64-word vector that TT-Metal reserves for
/// architectures with more than five RISCs per core.
///
/// The words are valid only if the word [`ext::SIGNATURE`] holds [`ext::SIGNATURE_VALUE`].
/// TT-Metal's host ignores them.
///
/// | word | writer | meaning |
/// |---|---|---|
/// | 5 | device | signature and version |
/// | 6 | host | DRAM words per lane, 0 = as compiled |
/// | 7 | host, then device | generation of the core's lanes |
/// | 8 | host | runs that the host has read |
/// | 9..14 | device | runs of each RISC that were not stored completely in DRAM |
/// | 14..19 | device | markers of these runs that were not stored |
/// | 19, 20 | device | program of the first and of the last of these runs |
/// | 21 | device | pushes that timed out |
/// | 22 | device | launches that ran no kernel on this core |
/// | 23 | device | scratch of the runtime |
/// | 29..34 | RISC r | zones that found no room in L1 |
/// | 34..39 | RISC r | timestamped data that found no room in L1 |
/// | 39..44 | RISC r | events that found no room in L1 |
/// | 44..48 | device | runs of RISC 1 to 4 that were not published in time |
/// | 58 | device | debug dump only: 1 plus the sum of words 59..64 at the time of RISC 0's last wait that timed out |
/// | 59..64 | host | words of each RISC's lane that the host has read; the device zeroes them when it resets the lanes |
///
/// Words 9..19, 21, 22 and 29..48 are counters modulo 2^32 that count since the host zeroed the
/// vector. Each has one writer, which never resets it.
///
/// When a launch begins and [`ControlLayout::run_counter`] equals [`ext::SEEN_RUNS`], the device
/// resets all lanes of the core: it sets every `host_end` to 0 and increments the generation. If a
/// push happens while the host reads, the host stores the earlier value of `run_counter` in
/// [`ext::SEEN_RUNS`]. The two words then differ, so the lanes are not reset before the host has
/// read the pushed words, too.
///
/// Between two such resets, a full lane can wrap around to its beginning and overwrite words that
/// the host has read. [`crate::LaneEnd`] records this.
///
/// The device stores in this order: data in DRAM, `host_end`, words 9..23, `run_counter`.
pub mod ext {
    use super::RISCS_PER_CORE;

    /// Index of the word that holds [`SIGNATURE_VALUE`] if the other extension words are in use.
    pub const SIGNATURE: usize = 5;
    /// Signature: the ASCII letters `KP` and the version of the extension words.
    pub const SIGNATURE_VALUE: u32 = 0x4B50_4000;
    /// Signature of version 3, in which lanes do not wrap around: the device writes at a lane's
    /// beginning again only after it has reset the lanes.
    pub const SIGNATURE_OF_VERSION_3: u32 = 0x4B50_3000;
    /// Signatures of the versions that this crate can read.
    pub const SIGNATURES: [u32; 2] = [SIGNATURE_VALUE, SIGNATURE_OF_VERSION_3];
    /// Index of the word that holds the number of DRAM words per lane, set by the host. The device
    /// uses it only if no lane size was set when the device's program was compiled.
    pub const DRAM_LANE_WORDS: usize = 6;
    /// Index of the word that holds the generation of the core's lanes. The generation's low bits
    /// are in the ID words of every run ([`crate::run::IdPacking::generation`]).
    pub const GENERATION: usize = 7;
    /// Index of the word in which the host stores the value of `run_counter` up to which it has
    /// read all runs of this core.
    pub const SEEN_RUNS: usize = 8;
    /// Index of the first of five words, one per RISC: number of refused runs.
    ///
    /// A refused run was not stored completely in DRAM because the lane was full, the core has no
    /// lane, or the push timed out.
    pub const REFUSED_RUNS: usize = 9;
    /// Index of the first of five words, one per RISC: number of markers that refused runs could
    /// not store. A marker has two words.
    ///
    /// If nothing of a run was stored, all markers after its ID words count, including the
    /// guaranteed slots, which are the fixed slots of the first four markers. If these slots were
    /// stored, only the markers after them count. Padding does not count.
    pub const REFUSED_MARKERS: usize = REFUSED_RUNS + RISCS_PER_CORE;
    /// Index of the word that holds the program id of the first refused run since the lanes were
    /// reset.
    pub const FIRST_REFUSED_PROGRAM: usize = REFUSED_MARKERS + RISCS_PER_CORE;
    /// Index of the word that holds the program id of the last refused run since the lanes were
    /// reset.
    pub const LAST_REFUSED_PROGRAM: usize = FIRST_REFUSED_PROGRAM + 1;
    /// Index of the word that counts pushes that timed out. The runs of these pushes also count as
    /// refused.
    pub const TIMED_OUT_PUSHES: usize = LAST_REFUSED_PROGRAM + 1;
    /// Index of the word that counts launches that were declared to run no kernel on this core.
    pub const IDLE_LAUNCHES: usize = TIMED_OUT_PUSHES + 1;
    /// Index of a scratch word of the runtime; the host ignores it.
    pub const SCRATCH: usize = IDLE_LAUNCHES + 1;
    /// Index of the first of five words, one per RISC: number of zones that found no room in L1.
    /// The start and the end of a zone count as one.
    pub const LOST_ZONES: usize = 29;
    /// Index of the first of five words, one per RISC: number of data records, of either size, that
    /// found no room in L1.
    pub const LOST_DATA: usize = LOST_ZONES + RISCS_PER_CORE;
    /// Index of the first of five words, one per RISC: number of events that found no room in L1.
    pub const LOST_EVENTS: usize = LOST_DATA + RISCS_PER_CORE;
    /// Index of the first of four words, one for each of RISC 1 to 4: number of runs that were not
    /// published before RISC 0 stopped waiting for them. See [`late_runs`].
    pub const LATE_RUNS: usize = LOST_EVENTS + RISCS_PER_CORE;

    /// Index of the word that RISC 0 writes in the debug dump when it waits for the host and times
    /// out: the sum of the [`CONSUMED`] words at that time, plus 1.
    ///
    /// The word is 0 if no such wait has timed out since the lanes were reset.
    ///
    /// # Compatibility
    /// TT-Metal's runtime writes this word in trace-only mode.
    pub const STALLED_IN_VAIN: usize = 58;

    /// Index of the first of five words, one per RISC: the position in the RISC's lane up to which
    /// the host has read.
    ///
    /// The device zeroes the words when it resets the lanes. The device reads a RISC's word when
    /// the RISC's lane is full.
    ///
    /// # Compatibility
    /// TT-Metal's host writes these words in accumulate mode and in its debug dump. Its debug dump
    /// needs TT-Metal's own runtime.
    pub const CONSUMED: usize = 59;

    /// Returns the index of the word that counts a RISC's late runs; `None` for RISC 0, which waits
    /// for the other RISCs.
    #[must_use]
    pub const fn late_runs(risc_index: usize) -> Option<usize> {
        match risc_index {
            1..RISCS_PER_CORE => Some(LATE_RUNS + risc_index - 1),
            _ => None,
        }
    }

    const _: () = assert!(SCRATCH < 24 && LATE_RUNS + RISCS_PER_CORE - 1 <= 48);
    const _: () = assert!(CONSUMED + RISCS_PER_CORE == 64);
}

/// Words of TT-Metal's debug dump in the 64-word vector.
///
/// Each RISC fills one of two buffers. When the buffer is full, the RISC waits until the host gives
/// it the other buffer.
///
/// | word | writer | meaning |
/// |---|---|---|
/// | 8 | kprof's host | one bit per RISC: which of the RISC's two buffers the host gave it last |
/// | 9..14 | kprof's host | words of each RISC's buffer that were read |
/// | 60..65 | host; RISC whose buffer is full | address of each RISC's buffer, or `STALLED` if it is full |
///
/// Word 64 is outside of the control vector: it is the first word of the L1 vector of RISC 0.
///
/// # Compatibility
/// `DRAM_PROFILER_ADDRESS_BR_ER_0` to `_T2_0` and `DRAM_PROFILER_ADDRESS_STALLED` of
/// `profiler_common.h`; `signal_host_buffer_full` of `kernel_profiler.hpp`. TT-Metal reserves words
/// 8..14 for chips with more RISCs per core.
pub mod debug_dump {
    use super::{ControlLayout, RISCS_PER_CORE};

    /// Index of the first of five words, one per RISC: address of the buffer that the RISC fills; 0
    /// if the RISC has no buffer.
    pub const BUFFER_ADDRESS: usize = 60;
    /// Value of a RISC's [`BUFFER_ADDRESS`] word while the RISC's buffer is full and the RISC has
    /// no other buffer.
    pub const STALLED: u32 = 0xFFFF_FFFF;
    /// Index of a bit mask: bit r is set if the host last gave RISC r its second buffer.
    pub const GIVEN_BUFFERS: usize = 8;
    /// Bit of [`GIVEN_BUFFERS`] that the host sets when it gives RISC 4 a buffer. While this buffer
    /// is full, no other word shows that RISC 4 has a buffer.
    pub const LAST_RISC_HAS_BUFFER: u32 = 1 << 31;
    /// Index of the first of five words, one per RISC: number of words of the RISC's buffer that
    /// the host has read.
    pub const READ_TO: usize = 9;

    const _: () = assert!(BUFFER_ADDRESS + RISCS_PER_CORE == ControlLayout::WORDS64.word_count + 1);
    const _: () = assert!(READ_TO == GIVEN_BUFFERS + 1);
    const _: () = assert!(READ_TO + RISCS_PER_CORE <= ControlLayout::WORDS64.device_end);
}

const _: () = assert!(ControlLayout::WORDS64.host_end + RISCS_PER_CORE <= ext::SIGNATURE);
const _: () = assert!(ControlLayout::WORDS64.device_end + RISCS_PER_CORE <= ext::LOST_ZONES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vectors_have_the_sizes_that_upstream_compiles() {
        assert_eq!(ControlLayout::WORDS64.size_bytes(), 256);
        assert_eq!(ControlLayout::WORDS32.size_bytes(), 128);
    }

    #[test]
    fn extension_words_lie_where_the_protocol_says() {
        assert_eq!((ext::SIGNATURE, ext::DRAM_LANE_WORDS), (5, 6));
        assert_eq!((ext::GENERATION, ext::SEEN_RUNS), (7, 8));
        assert_eq!((ext::REFUSED_RUNS, ext::REFUSED_MARKERS), (9, 14));
        assert_eq!((ext::FIRST_REFUSED_PROGRAM, ext::LAST_REFUSED_PROGRAM), (19, 20));
        assert_eq!((ext::TIMED_OUT_PUSHES, ext::IDLE_LAUNCHES, ext::SCRATCH), (21, 22, 23));
        assert_eq!((ext::LOST_ZONES, ext::LOST_DATA, ext::LOST_EVENTS), (29, 34, 39));
        let late = [0, 1, 2, 3, 4, 5].map(ext::late_runs);
        assert_eq!(late, [None, Some(44), Some(45), Some(46), Some(47), None]);
        assert_eq!((ext::STALLED_IN_VAIN, ext::CONSUMED), (58, 59));
    }
}
