//! The control vector: the words through which device and host speak about a core.
//!
//! Who writes what: the host writes the DRAM address, flat id, cores per bank, dispatch
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
/// architectures with more than five RISCs per core.
///
/// They mean something only where [`ext::SIGNATURE`] holds [`ext::SIGNATURE_VALUE`]. An
/// upstream host ignores them and zeroes them on reset, which the device takes as a
/// fresh start.
///
/// | word | writer | meaning |
/// |---|---|---|
/// | 5 | device | signature and version |
/// | 6 | host | DRAM words per RISC, 0 = as compiled |
/// | 8..13 | host | `host_end` of each RISC up to which the host has read |
/// | 13..18 | host | `lost_launches` of each RISC that the host has read |
/// | 18 | host | `discarded_launches` that the host has read |
/// | 19..24 | device | notes to itself while it pushes |
/// | 29..34 | device | launches of each RISC that found its DRAM lane full |
/// | 34..39 | device | words of each RISC's loss log ([`crate::loss`]) |
/// | 39 | device | launches that ran no kernel here and were discarded |
/// | 40..45 | device | events and sums that each RISC's waiting run lost ([`crate::loss`]) |
/// | 45 | device | third ID word of the launch's runs, on RISC 0 |
/// | 46 | device | program id of the launch |
///
/// A lane is rewound by the device, at the start of a launch, once the host's copies
/// equal the device's words: all of it has been read. So a push that races a read is
/// neither lost nor read twice, and each word has one writer while it matters.
pub mod ext {
    use super::RISCS_PER_CORE;

    /// Holds [`SIGNATURE_VALUE`] where the other words have a meaning.
    pub const SIGNATURE: usize = 5;
    /// `KP` and the version of the extension words and of the loss records.
    pub const SIGNATURE_VALUE: u32 = 0x4B50_2000;
    /// DRAM words per RISC as the host laid them out.
    pub const DRAM_LANE_WORDS: usize = 6;
    /// Per RISC: the `host_end` up to which the host has read.
    pub const SEEN_END: usize = 8;
    /// Per RISC: the lost launches that the host has read.
    pub const SEEN_LOST: usize = SEEN_END + RISCS_PER_CORE;
    /// The discarded launches that the host has read.
    pub const SEEN_DISCARDED: usize = SEEN_LOST + RISCS_PER_CORE;
    /// Per RISC, for the device alone: where the lane ends once the pushes under way are
    /// acknowledged.
    pub const NEXT_END: usize = SEEN_DISCARDED + 1;
    /// Per RISC: launches whose markers found no room in DRAM.
    pub const LOST_LAUNCHES: usize = 29;
    /// Per RISC: words of its loss log.
    pub const LOSS_LOG_WORDS: usize = LOST_LAUNCHES + RISCS_PER_CORE;
    /// Launches discarded because no kernel ran on this core.
    pub const DISCARDED_LAUNCHES: usize = LOSS_LOG_WORDS + RISCS_PER_CORE;
    /// Per RISC: events and sums that its run lost, until that is pushed, see
    /// [`crate::loss::left_behind_counts`].
    pub const LEFT_EVENTS: usize = DISCARDED_LAUNCHES + 1;
    /// The third ID word of the runs of this launch, as RISC 0 has it.
    pub const LAUNCH_ID_LH: usize = LEFT_EVENTS + RISCS_PER_CORE;
    /// The fourth ID word of the runs of this launch.
    pub const LAUNCH_ID_LL: usize = LAUNCH_ID_LH + 1;

    const _: () = assert!(NEXT_END + RISCS_PER_CORE <= 24 && LAUNCH_ID_LL < 48);
}

const _: () = assert!(ControlLayout::WORDS64.host_end + RISCS_PER_CORE <= ext::SIGNATURE);
const _: () = assert!(ControlLayout::WORDS64.device_end + RISCS_PER_CORE <= ext::LOST_LAUNCHES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vectors_have_the_sizes_that_upstream_compiles() {
        assert_eq!(ControlLayout::WORDS64.size_bytes(), 256);
        assert_eq!(ControlLayout::WORDS32.size_bytes(), 128);
    }

    #[test]
    fn extension_words_lie_where_the_table_says() {
        assert_eq!((ext::SEEN_END, ext::SEEN_LOST, ext::SEEN_DISCARDED), (8, 13, 18));
        assert_eq!((ext::LOST_LAUNCHES, ext::LOSS_LOG_WORDS), (29, 34));
        assert_eq!((ext::NEXT_END, ext::DISCARDED_LAUNCHES, ext::LEFT_EVENTS), (19, 39, 40));
        assert_eq!((ext::LAUNCH_ID_LH, ext::LAUNCH_ID_LL), (45, 46));
    }
}
