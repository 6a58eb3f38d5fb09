//! Ground truth of what happened, for tests to compare with a readout.
//!
//! Nothing here is decoded from memory: kernels declare how many records they make, times are from
//! the simulator's own clock, and requests are from the registers of the NoC interfaces.

use crate::{arch::TileCoord, fault::AppliedFault, program::Emission};
use std::collections::BTreeMap;
use wire::{Cycles, Risc, wait::WaitKind};

/// Key for one RISC of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RiscKey {
    /// Number of the chip.
    pub chip_id: u32,
    /// Core, on the NoC-0 grid.
    pub core: TileCoord,
    /// Processor of that core.
    pub risc: Risc,
}

/// Truth about one launch on one RISC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchTruth {
    /// Number of the launch on its chip, from 0.
    pub launch_index: u64,
    /// The launch's program id.
    pub program_id: u32,
    /// Records that the RISC tried to make, including those of the firmware.
    pub emitted: Emission,
    /// Start and end of the RISC's kernel; `None` if it has no kernel.
    pub kernel: Option<KernelTimes>,
}

/// Start and end of a kernel, on the clock of its tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTimes {
    /// Time just before the kernel's zone opens.
    pub start: Cycles,
    /// Time just after the kernel's zone has closed.
    pub end: Cycles,
}

/// Operation of a NoC request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NocOperation {
    /// Reads from another tile into the sender's L1.
    Read,
    /// Writes bytes from the sender's L1 to one tile.
    Write,
    /// Writes bytes from the sender's L1 to all tiles of a rectangle.
    Multicast,
    /// Writes to one tile a word that is part of the request.
    InlineWrite,
    /// Increments a word in a tile's L1.
    Increment,
}

/// A NoC request of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NocRequest {
    /// Number of the launch on its chip, from 0.
    pub launch_index: u64,
    /// Time at which the request was sent, on the clock of the sender's tile.
    pub sent: Cycles,
    /// Number of the NoC: 0 or 1.
    pub noc: u8,
    /// Operation.
    pub operation: NocOperation,
    /// Coordinates in the request as (column, row): the target tile, or a target rectangle's end
    /// corner.
    pub coordinates: (u16, u16),
    /// Start corner of a target rectangle as (column, row); `None` for a single tile.
    pub first_corner: Option<(u16, u16)>,
    /// Target tiles, on the NoC-0 grid.
    pub targets: Vec<TileCoord>,
    /// Address in the target tiles.
    pub address: u64,
    /// Address in the sender's own L1; `None` if the request does not access it.
    pub local_address: Option<u32>,
    /// Number of bytes transferred; 4 for an increment.
    pub byte_count: u32,
    /// Virtual channel; `None` if the request does not select one.
    pub virtual_channel: Option<u8>,
    /// True if the request is not acknowledged.
    pub is_posted: bool,
    /// True if the next request belongs to the same transaction.
    pub is_linked: bool,
    /// Transaction id.
    pub transaction_id: u8,
}

/// A wait in which a kernel had to block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTruth {
    /// Number of the launch on its chip, from 0.
    pub launch_index: u64,
    /// The launch's program id.
    pub program_id: u32,
    /// Kind of the wait.
    pub kind: WaitKind,
    /// Number of the circular buffer or of the NoC, or address of the semaphore.
    pub key: u32,
    /// Time at which the wait began, on the clock of the kernel's tile.
    pub begin: Cycles,
    /// Duration of the wait in cycles.
    pub cycles: u64,
    /// The semaphore increment that ended the wait, if a RISC sent it; otherwise `None`.
    pub released_by: Option<ReleaseTruth>,
}

/// A semaphore increment that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseTruth {
    /// Core of the sender.
    pub core: TileCoord,
    /// Processor of the sender.
    pub risc: Risc,
    /// Time at which the increment was sent, on the clock of the sender's tile.
    pub sent: Cycles,
}

/// Numbers of instructions that the threads of a coprocessor have issued.
///
/// A thread issues at most one instruction per cycle, and each instruction occupies its unit for
/// one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IssuedInstructions {
    /// Number of all instructions, by thread.
    pub by_thread: [u64; 3],
    /// Number of arithmetic instructions of the FPU, from any thread.
    pub fpu: u64,
    /// Number of instructions of the SFPU, from any thread.
    pub sfpu: u64,
}

impl IssuedInstructions {
    /// Returns the differences between these counts and the counts at an earlier time.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            by_thread: std::array::from_fn(|thread| {
                self.by_thread[thread] - earlier.by_thread[thread]
            }),
            fpu: self.fpu - earlier.fpu,
            sfpu: self.sfpu - earlier.sfpu,
        }
    }
}

/// A bank of hardware performance counters with events that the simulator models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterBank {
    /// The bank that counts the instructions of the threads.
    Instructions,
    /// The bank that counts the working cycles of the FPU and SFPU.
    Fpu,
}

/// Instructions that a core's coprocessor issued while a bank of performance counters counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterTruth {
    /// Number of the launch on its chip, from 0.
    pub launch_index: u64,
    /// The launch's program id.
    pub program_id: u32,
    /// The bank that counted.
    pub bank: CounterBank,
    /// Cycles from the start to the stop of the bank.
    pub cycles: u64,
    /// Instructions issued in this interval.
    pub issued: IssuedInstructions,
}

/// Streamed cells (pairs of words) by RISC, in the order in which the RISC published them.
pub type StreamedCells = BTreeMap<RiscKey, Vec<[u32; 2]>>;

/// Everything that happened on a mesh so far, except [streamed cells](StreamedCells).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Launches of each RISC, in order; RISCs without launches have no entry.
    pub launches: BTreeMap<RiscKey, Vec<LaunchTruth>>,
    /// NoC requests of kernels, in order; empty unless the configuration enables this record
    /// ([`MeshConfig::with_noc_truth`]). The profiler's own writes of records are not included.
    ///
    /// [`MeshConfig::with_noc_truth`]: crate::config::MeshConfig::with_noc_truth
    pub noc_requests: BTreeMap<RiscKey, Vec<NocRequest>>,
    /// Waits in which kernels had to block, in order; empty unless kernels record waits.
    pub waits: BTreeMap<RiscKey, Vec<WaitTruth>>,
    /// Intervals in which counter banks counted, in order, by chip and core.
    pub counters: BTreeMap<(u32, TileCoord), Vec<CounterTruth>>,
    /// Number of launches that ran no kernel on a core, by chip and core.
    pub idle_launches: BTreeMap<(u32, TileCoord), u64>,
    /// Effects of fault rules, ordered by chip, launch, core and time.
    pub faults: Vec<AppliedFault>,
}

impl Truth {
    /// Adds the truth about later launches or about another chip.
    pub(crate) fn add(&mut self, other: Self) {
        append(&mut self.launches, other.launches);
        append(&mut self.noc_requests, other.noc_requests);
        append(&mut self.waits, other.waits);
        append(&mut self.counters, other.counters);
        for (core, count) in other.idle_launches {
            *self.idle_launches.entry(core).or_default() += count;
        }
        self.faults.extend(other.faults);
    }

    /// Returns the numbers of records that each RISC tried to make under each program id.
    #[must_use]
    pub fn emitted(&self) -> BTreeMap<(RiscKey, u32), Emission> {
        let mut counts = BTreeMap::new();
        for (&key, launches) in &self.launches {
            for launch in launches {
                *counts.entry((key, launch.program_id)).or_default() += launch.emitted;
            }
        }
        counts
    }

    /// Returns the total numbers of records that all RISCs tried to make.
    #[must_use]
    pub fn total_emitted(&self) -> Emission {
        let launches = self.launches.values().flatten();
        launches.fold(Emission::NONE, |sum, launch| sum + launch.emitted)
    }

    /// Returns the number of kernel runs: a launch counts once for each RISC that ran a kernel.
    #[must_use]
    pub fn kernel_run_count(&self) -> usize {
        self.launches.values().flatten().filter(|launch| launch.kernel.is_some()).count()
    }
}

/// Appends each list in `new` to the list in `all` that has the same key.
pub(crate) fn append<K: Ord, V>(all: &mut BTreeMap<K, Vec<V>>, new: BTreeMap<K, Vec<V>>) {
    for (key, mut values) in new {
        all.entry(key).or_default().append(&mut values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_one_program_are_counted_together() {
        let core = TileCoord { x: 1, y: 1 };
        let key = RiscKey { chip_id: 0, core, risc: Risc::Brisc };
        let launch = |launch_index, program_id, zones| LaunchTruth {
            launch_index,
            program_id,
            emitted: Emission::zones(zones),
            kernel: None,
        };
        let launches = vec![launch(0, 1, 2), launch(1, 2, 3), launch(2, 1, 5)];
        let truth = Truth { launches: BTreeMap::from([(key, launches)]), ..Truth::default() };
        let expected = [((key, 1), Emission::zones(7)), ((key, 2), Emission::zones(3))];
        assert_eq!(truth.emitted(), BTreeMap::from(expected));
        assert_eq!(truth.total_emitted(), Emission::zones(10));
        assert_eq!(truth.kernel_run_count(), 0);
    }
}
