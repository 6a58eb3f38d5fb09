//! The control vector: the words through which device and host speak about a core.
//!
//! Writers: the host writes the DRAM address, flat id, cores per bank, dispatch
//! flag and the words of [`ext`] that say so; the device writes the rest. A
//! host that resets a core writes the whole vector, zero but for the words it owns.
//!
//! # Compatibility
//! `ControlBuffer` of `profiler_common.h`. All end indices count words.

use crate::risc::RISCS_PER_CORE;

/// Word indices of a control vector of one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlLayout {
    /// Words of the whole vector.
    pub word_count: usize,
    /// Words of the RISC's DRAM lane that are filled; one word per RISC from here.
    pub host_end: usize,
    /// Words of the RISC's L1 vector that are filled; one word per RISC from here.
    pub device_end: usize,
    /// High word of the clock-sync exchange.
    pub fw_reset_high: usize,
    /// Low word of the clock-sync exchange; the host writes its time here.
    pub fw_reset_low: usize,
    /// DRAM address of the profiler region, equal in all banks; 0 means "do not push".
    pub dram_address: usize,
    /// Finished pushes since the host zeroed the vector.
    pub run_counter: usize,
    /// NoC x coordinate as the core sees itself.
    pub noc_x: usize,
    /// NoC y coordinate as the core sees itself.
    pub noc_y: usize,
    /// Number of the core on its chip.
    pub flat_id: usize,
    /// Cores that share a DRAM bank.
    pub cores_per_bank: usize,
    /// Bit r: RISC r lost markers because its DRAM lane was full.
    pub dropped_zones: usize,
    /// 1 when the last launch has been pushed, or was declared to have run nothing.
    pub profiler_done: usize,
    /// State of trace-only mode; absent before it existed.
    pub trace_replay_status: Option<usize>,
    /// Set by the host on dispatch cores in accumulate mode.
    pub dispatch_core: Option<usize>,
}

impl ControlLayout {
    /// The 64-word vector of 2026.
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

    /// The 32-word vector before it.
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

    /// Bytes of the whole vector.
    #[must_use]
    pub const fn size_bytes(&self) -> usize {
        self.word_count * 4
    }

    /// The words that a host keeps when it resets a core.
    #[must_use]
    pub const fn host_owned(&self) -> [usize; 3] {
        [self.dram_address, self.flat_id, self.cores_per_bank]
    }
}

/// Words of ours in the part of the 64-word vector that upstream reserves for
/// architectures with more than five RISCs per core: version 4 of the protocol.
///
/// They mean something only where [`ext::SIGNATURE`] holds [`ext::SIGNATURE_VALUE`]. An
/// upstream host ignores them.
///
/// | word | writer | meaning |
/// |---|---|---|
/// | 5 | device | signature and version |
/// | 6 | host | DRAM words per lane, 0 = as compiled |
/// | 7 | host, then device | generation of the core's lanes |
/// | 8 | host | runs that the host has read |
/// | 9..14 | device | runs of each RISC that DRAM did not take whole |
/// | 14..19 | device | markers of those runs that were not stored |
/// | 19, 20 | device | program of the first and of the last of them |
/// | 21 | device | pushes that timed out |
/// | 22 | device | launches that ran no kernel here |
/// | 23 | device | scratch of the runtime |
/// | 29..34 | RISC r | zones that found no room in L1 |
/// | 34..39 | RISC r | timestamped data that found no room in L1 |
/// | 39..44 | RISC r | events that found no room in L1 |
/// | 44..48 | device | runs of RISC 1 to 4 that were not published in time |
/// | 58 | device | in the debug dump: how far the host had read when RISC 0 waited for it in vain |
/// | 59..64 | host | words of each RISC's lane that the host has read; the device zeroes them as it
/// takes the lanes back |
///
/// Words 9..19, 21, 22 and 29..48 count since the host zeroed the vector, modulo 2^32. Nobody
/// resets them, and each has one writer.
///
/// A launch that begins when [`ControlLayout::run_counter`] equals [`ext::SEEN_RUNS`] hands the
/// core's lanes back to the device, all at once: every `host_end` becomes 0 and the generation
/// grows by one. So a push that races a read is neither lost nor read twice.
///
/// In between, a lane that is full begins anew where the host has read, which [`crate::LaneEnd`]
/// tells.
///
/// The device stores in this order: data in DRAM, `host_end`, words 9..23, `run_counter`.
pub mod ext {
    use super::RISCS_PER_CORE;

    /// Holds [`SIGNATURE_VALUE`] where the other words have a meaning.
    pub const SIGNATURE: usize = 5;
    /// `KP` and the version of the extension words.
    pub const SIGNATURE_VALUE: u32 = 0x4B50_4000;
    /// The signature of version 3, whose lanes begin anew only when they are handed back.
    pub const SIGNATURE_OF_VERSION_3: u32 = 0x4B50_3000;
    /// The signatures of the versions that a reader of this page reads.
    pub const SIGNATURES: [u32; 2] = [SIGNATURE_VALUE, SIGNATURE_OF_VERSION_3];
    /// DRAM words per lane as the host laid them out; used only where the device's program was
    /// compiled without a size.
    pub const DRAM_LANE_WORDS: usize = 6;
    /// Generation of the core's lanes. Its low bits are in the ID words of every run
    /// ([`crate::run::IdPacking::generation`]).
    pub const GENERATION: usize = 7;
    /// `run_counter` up to which the host has read everything of this core.
    pub const SEEN_RUNS: usize = 8;
    /// Per RISC: runs of which DRAM did not take all records, because the lane was full, the core
    /// has no lane, or the push timed out.
    pub const REFUSED_RUNS: usize = 9;
    /// Per RISC: markers (two words) of those runs that were not stored.
    ///
    /// A run refused whole counts all of its markers behind the ID words, the guaranteed slots
    /// among them; a run of which the guaranteed part was stored counts those behind it. Padding
    /// is not counted.
    pub const REFUSED_MARKERS: usize = REFUSED_RUNS + RISCS_PER_CORE;
    /// Program id of the first refused run since the lanes were handed back.
    pub const FIRST_REFUSED_PROGRAM: usize = REFUSED_MARKERS + RISCS_PER_CORE;
    /// Program id of the last refused run since then.
    pub const LAST_REFUSED_PROGRAM: usize = FIRST_REFUSED_PROGRAM + 1;
    /// Pushes that ended in a time-out. Their runs count as refused too.
    pub const TIMED_OUT_PUSHES: usize = LAST_REFUSED_PROGRAM + 1;
    /// Launches that were declared to run no kernel on this core.
    pub const IDLE_LAUNCHES: usize = TIMED_OUT_PUSHES + 1;
    /// Scratch of the runtime, without meaning for the host.
    pub const SCRATCH: usize = IDLE_LAUNCHES + 1;
    /// Per RISC: whole zones that found no room in L1.
    pub const LOST_ZONES: usize = 29;
    /// Per RISC: timestamped data of both sizes that found no room in L1.
    pub const LOST_DATA: usize = LOST_ZONES + RISCS_PER_CORE;
    /// Per RISC: events that found no room in L1.
    pub const LOST_EVENTS: usize = LOST_DATA + RISCS_PER_CORE;
    /// Runs that were not published when the aggregating RISC stopped waiting; one word for each
    /// of RISC 1 to 4, see [`late_runs`].
    pub const LATE_RUNS: usize = LOST_EVENTS + RISCS_PER_CORE;

    /// In the debug dump, the sum of the words [`CONSUMED`] and 1 when RISC 0 last waited for the
    /// host in vain; 0 since the lanes were taken back.
    ///
    /// # Compatibility
    /// Upstream's runtime writes it in trace-only mode.
    pub const STALLED_IN_VAIN: usize = 58;

    /// Per RISC: the word of its lane up to which the host has read. The device zeroes it when it
    /// takes the lanes back, and reads it when a lane is full.
    ///
    /// # Compatibility
    /// Upstream's host writes these words in accumulate mode and in its debug dump, which its own
    /// runtime serves.
    pub const CONSUMED: usize = 59;

    /// The word that counts the late runs of a RISC, `None` for the one that waits.
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

/// Words of upstream's debug dump in the 64-word vector: each RISC fills one of two buffers, and
/// waits when it is full until the host has given it the other one.
///
/// | word | writer | meaning |
/// |---|---|---|
/// | 8 | host of ours | which buffers were given |
/// | 9..14 | host of ours | how far each RISC's buffer was read |
/// | 60..65 | host; a RISC that waits | address of each RISC's buffer, or that it is full |
///
/// The last of these lies behind the vector, in the first word of the vector of RISC 0.
///
/// # Compatibility
/// `DRAM_PROFILER_ADDRESS_BR_ER_0` to `_T2_0` and `DRAM_PROFILER_ADDRESS_STALLED` of
/// `profiler_common.h`; `signal_host_buffer_full` of `kernel_profiler.hpp`. Words 8..14 are
/// reserved there for chips with more RISCs per core.
pub mod debug_dump {
    use super::{ControlLayout, RISCS_PER_CORE};

    /// Per RISC: address of the buffer that it fills, 0 if it has none.
    pub const BUFFER_ADDRESS: usize = 60;
    /// Value of [`BUFFER_ADDRESS`] from when the buffer is full until the host gives another.
    pub const STALLED: u32 = 0xFFFF_FFFF;
    /// Bit r: the host has last given RISC r its second buffer.
    pub const GIVEN_BUFFERS: usize = 8;
    /// Bit of [`GIVEN_BUFFERS`]: the host has given the last RISC a buffer, which nothing else
    /// tells when that is full.
    pub const LAST_RISC_HAS_BUFFER: u32 = 1 << 31;
    /// Per RISC: words of its buffer that the host has read.
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
