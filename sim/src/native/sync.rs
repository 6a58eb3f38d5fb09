//! `SYNC-MAIN`: the kernel that answers the host's clock synchronisation.
//!
//! It reads the clock's low word, then the control word that the host writes its time to,
//! and stores the pair whenever that word is not zero. The first pair it stores has the
//! clock's high and low word before it.
//!
//! # What is simplified
//!
//! A launch is carried out in one go, so this one waits until the host has written as often
//! as the kernel wants to stamp; a host that looks in between sees nothing yet. Upstream's
//! kernel opens a main zone of its own, over the words of the firmware's; this one has only
//! the zones that the firmware opens.
//!
//! # Compatibility
//! `sync_kernel.cpp`: 250 pairs from the first optional word of BRISC's vector.

use super::stage::{self, Stage, cost};
use crate::{
    program::{Emission, Kernel, KernelContext, Program},
    tile::HOST_MAILBOX,
};
use std::sync::Arc;
use wire::{
    Risc,
    vector::{FIRST_OPTIONAL, OPTIONAL_MARKER_COUNT},
};

/// The kernel `SYNC-MAIN`, for BRISC.
///
/// ```
/// use sim::native::sync::SyncKernel;
/// let program = SyncKernel::new(249).into_program();
/// assert_eq!(program.name(), "SYNC-MAIN");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncKernel {
    stamp_count: usize,
}

impl SyncKernel {
    /// Stamps for which a vector has room.
    pub const MOST_STAMPS: usize = OPTIONAL_MARKER_COUNT - 1;

    /// A kernel that ends after a number of stamps, at most [`SyncKernel::MOST_STAMPS`].
    #[must_use]
    pub const fn new(stamp_count: usize) -> Self {
        let is_too_many = stamp_count > Self::MOST_STAMPS;
        Self { stamp_count: if is_too_many { Self::MOST_STAMPS } else { stamp_count } }
    }

    /// The program that runs it.
    #[must_use]
    pub fn into_program(self) -> Program {
        Program::new("SYNC-MAIN").with_kernel(Risc::Brisc, Arc::new(self))
    }
}

impl Kernel for SyncKernel {
    fn run(&self, context: &KernelContext) {
        let risc_index = context.risc.index();
        stage::with(|stage| {
            let mut room = Room { risc_index, next_index: FIRST_OPTIONAL };
            for stamp in 0..self.stamp_count {
                let Some(message) = next_message(stage, risc_index) else { break };
                if stamp == 0 {
                    room.store(stage, [message.clock_high, message.clock_low]);
                }
                room.store(stage, [message.clock_low, message.host_value]);
                clear_mailbox(stage, risc_index);
            }
        });
    }

    fn emission(&self, _: &KernelContext) -> Emission {
        Emission::NONE
    }

    fn awaited_host_stores(&self) -> usize {
        self.stamp_count
    }
}

/// A word from the host, with the clock as it was read before it.
struct Message {
    clock_high: u32,
    clock_low: u32,
    host_value: u32,
}

/// Where the pairs go.
struct Room {
    risc_index: usize,
    next_index: usize,
}

impl Room {
    fn store(&mut self, stage: &mut Stage, pair: [u32; 2]) {
        for word in pair {
            let address = stage.tile.vector_word_address(self.risc_index, self.next_index);
            stage.store(self.risc_index, address, word);
            self.next_index += 1;
        }
    }
}

/// Cycles of a loop that finds no message: clock, mailbox, branch.
const LOOP_CYCLES: u64 = cost::CLOCK_READ + cost::L1_LOAD + 2;

/// Polls until the host has written; `None` if it never does.
fn next_message(stage: &mut Stage, risc_index: usize) -> Option<Message> {
    let next = stage.tile.host_stores.first()?;
    let first_look = stage.cycle_of(risc_index) + cost::CLOCK_READ;
    let missing = next.chip_cycle.saturating_sub(first_look);
    stage.advance(risc_index, missing.div_ceil(LOOP_CYCLES) * LOOP_CYCLES);
    let (clock_high, clock_low) = stage.read_clock(risc_index);
    let seen = take_until(stage, stage.cycle_of(risc_index));
    stage.advance(risc_index, cost::L1_LOAD);
    Some(Message { clock_high, clock_low, host_value: seen? })
}

/// Empties the mailbox, and with it what the host wrote since it was looked at.
fn clear_mailbox(stage: &mut Stage, risc_index: usize) {
    let address = stage.tile.control_word_address(HOST_MAILBOX);
    stage.store(risc_index, address, 0);
    take_until(stage, stage.cycle_of(risc_index));
}

/// Takes every store up to a cycle; the last one is what the mailbox shows then.
fn take_until(stage: &mut Stage, chip_cycle: u64) -> Option<u32> {
    let stores = &mut stage.tile.host_stores;
    let count = stores.partition_point(|store| store.chip_cycle <= chip_cycle);
    stores.drain(..count).next_back().map(|store| store.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arch::TileCoord,
        config::MeshConfig,
        mesh::SimulatedMesh,
        program::{CoreSelection, Launch},
    };
    use reader::{
        ProfilerOptions, init_device_profiler,
        mesh::{CoreDescription, Device, Mesh},
    };

    fn worker(device: &dyn Device) -> CoreDescription {
        let cores = &device.description().cores;
        cores.iter().find(|core| core.kind == wire::CoreKind::Tensix).unwrap().clone()
    }

    #[test]
    fn every_write_of_the_host_is_stamped_within_a_loop_of_its_arrival() {
        let mut mesh = SimulatedMesh::new(&MeshConfig::wormhole(3)).unwrap();
        init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
        let core = worker(mesh.device(0).unwrap());
        let coord = TileCoord { x: core.noc0.x, y: core.noc0.y };
        let program = Arc::new(SyncKernel::new(5).into_program());
        mesh.enqueue(0, Launch::new(&program, 1).on(CoreSelection::At(vec![coord]))).unwrap();
        let mut arrivals = Vec::new();
        for value in 1..=5_u32 {
            mesh.wait_ns(100_000);
            let device = mesh.device(0).unwrap();
            device.write_l1(core.noc0, core.control_address + 4 * 49, &[value]).unwrap();
            let chip = mesh.chip(0).unwrap();
            let cycle = chip.clock().cycles_at(mesh.now_ps());
            arrivals.push(chip.tile(coord).unwrap().clock.value(cycle).0);
        }
        mesh.wait_ns(100_000);
        let mut words = [0; 12];
        mesh.device(0).unwrap().read_l1(core.noc0, core.vector_address + 48, &mut words).unwrap();
        assert_eq!(u64::from(words[0]), arrivals[0] >> 32);
        assert_eq!(words[1], words[2]);
        for (index, pair) in words[2..].chunks_exact(2).enumerate() {
            let (clock_low, value) = (u64::from(pair[0]), pair[1]);
            assert_eq!(value as usize, index + 1);
            let ahead = clock_low.wrapping_sub(arrivals[index] & 0xFFFF_FFFF).cast_signed();
            assert!((-20..=20).contains(&ahead), "stamp {index} is {ahead} cycles off");
        }
    }

    #[test]
    fn a_kernel_whose_host_falls_silent_does_not_begin() {
        let mut mesh = SimulatedMesh::new(&MeshConfig::wormhole(3)).unwrap();
        let program = Arc::new(SyncKernel::new(5).into_program());
        mesh.enqueue(0, Launch::new(&program, 1)).unwrap();
        mesh.run_to_completion();
        assert_eq!(mesh.chip(0).unwrap().queued_count(), 1);
    }
}
