//! The port of a RISC: its position in the core, and the features of the build.

use super::{
    Tensix,
    firmware::{constant, coordinates_on},
    losses::{lose_data, lose_event, lose_zone},
    symbols,
};
use crate::{
    port::{CounterChip, Memory, NocCoordinates, Port},
    registers::{DEBUG_REGISTERS, Register},
    wait::WaitRecords,
};
use core::arch::asm;
use wire::{loss::LossKind, wait::SyncWindows};

impl Port for Tensix {
    #[inline(always)]
    fn risc_index(&self) -> usize {
        ((self.own_place() - self.control_place(0)) / 4) as usize
    }

    #[inline(always)]
    fn risc_count(&self) -> usize {
        constant(&raw const symbols::__kprof_risc_count) as usize
    }

    #[inline(always)]
    fn own_place(&self) -> u32 {
        constant(&raw const symbols::__kprof_own)
    }

    #[inline(always)]
    fn own_vector(&self) -> u32 {
        constant(&raw const symbols::__kprof_vector)
    }

    /// Calls a function with a calling convention of its own, so that a probe need not save
    /// registers for the rare case that there is no room.
    #[inline(always)]
    fn count_loss(&mut self, kind: LossKind) {
        macro_rules! call {
            ($function:path) => {
                // SAFETY: a call that changes a word of L1, to which nobody holds a reference,
                // and the registers that are named. It uses no stack.
                unsafe {
                    asm!(
                        "jal t0, {}", sym $function,
                        out("t0") _, out("t1") _, out("t2") _,
                        options(nostack),
                    );
                }
            };
        }
        match kind {
            LossKind::Zone => call!(lose_zone),
            LossKind::Data => call!(lose_data),
            LossKind::Event => call!(lose_event),
        }
    }

    #[inline(always)]
    fn sums_enabled(&self) -> bool {
        cfg!(feature = "sums")
    }

    #[inline(always)]
    fn wait_records(&self) -> WaitRecords {
        match (cfg!(feature = "waits"), cfg!(feature = "sync-events")) {
            (_, true) => WaitRecords::Events,
            (true, false) => WaitRecords::Totals,
            (false, false) => WaitRecords::Off,
        }
    }

    #[inline(always)]
    fn sync_windows(&self) -> Option<SyncWindows> {
        cfg!(feature = "sync-windows").then_some(SyncWindows::DEFAULT)
    }

    #[inline(always)]
    fn counter_chip(&self) -> Option<CounterChip> {
        let chip = match cfg!(feature = "blackhole") {
            true => CounterChip::Blackhole,
            false => CounterChip::Wormhole,
        };
        cfg!(feature = "perf-counters").then_some(chip)
    }

    #[inline(always)]
    fn load_debug_register(&mut self, register: u32) -> u32 {
        Register(DEBUG_REGISTERS + register).read()
    }

    #[inline(always)]
    fn store_debug_register(&mut self, register: u32, value: u32) {
        Register(DEBUG_REGISTERS + register).write(value);
    }

    #[inline(always)]
    fn bank_count(&self) -> u32 {
        constant(&raw const symbols::__kprof_bank_count)
    }

    #[inline(always)]
    fn bank_offset(&self, bank: u32) -> u32 {
        let offsets = (&raw const symbols::bank_to_dram_offset).cast::<u32>();
        // SAFETY: the firmware provides a table of `bank_count` entries; callers ask for
        // banks below that.
        unsafe { offsets.wrapping_add(bank as usize).read() }
    }

    #[inline(always)]
    fn is_dispatch(&self) -> bool {
        cfg!(feature = "dispatch")
    }

    #[inline(always)]
    fn is_trace_only(&self) -> bool {
        cfg!(feature = "trace-only")
    }

    #[inline(always)]
    fn is_accumulating(&self) -> bool {
        cfg!(feature = "accumulate")
    }

    #[inline(always)]
    fn is_non_dropping(&self) -> bool {
        cfg!(feature = "debug-dump")
    }

    #[inline(always)]
    fn is_streaming(&self) -> bool {
        cfg!(feature = "stream")
    }

    #[inline(always)]
    fn rest(&mut self) {
        if cfg!(any(feature = "debug-dump", feature = "stream")) {
            rest_between_looks();
        }
    }

    /// Returns true on a Blackhole, which merges adjacent stores. On a Wormhole, each store to L1
    /// blocks its bank for five cycles.
    ///
    /// # Compatibility
    /// tt-isa-documentation, `BabyRISCV/README.md` of both architectures.
    #[inline(always)]
    fn empties_both_words(&self) -> bool {
        cfg!(feature = "blackhole")
    }

    #[inline(always)]
    fn opaque(&self, value: u32) -> u32 {
        let mut value = value;
        // SAFETY: no instruction at all.
        unsafe { asm!("/* {} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    #[inline(always)]
    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        let [x, y] = coordinates_on(0);
        Some(NocCoordinates { x, y })
    }
}

/// Pauses for more than a hundred cycles without accessing L1, so that L1 stays free for the core's
/// other RISCs.
///
/// The pause is a separate function, so that a simulator can tell from the RISC's pc that the RISC
/// waits for the host, and can skip the time in which the host writes nothing.
#[cold]
#[inline(never)]
fn rest_between_looks() {
    // SAFETY: counts a register down.
    unsafe {
        asm!(
            "2:",
            "addi {count}, {count}, -1",
            "bnez {count}, 2b",
            count = inout(reg) REST_PASSES => _,
            options(nomem, nostack),
        );
    }
}

/// Number of iterations of the pause; each iteration has two instructions.
const REST_PASSES: u32 = 64;
