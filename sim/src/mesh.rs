//! A mesh of chips behind one host.

use crate::{
    arch::floorplan::Floorplan,
    chip::{Chip, ChipFacts},
    clock::{ChipClock, PS_PER_NS, Picoseconds},
    config::{ChipConfig, ConfigError, MeshConfig},
    fault::Rule,
    host::HostClock,
    mesh_access::ChipDevice,
    program::Launch,
    random::Stream,
    truth::Truth,
};
use std::sync::Arc;

/// Simulated chips and their host.
///
/// Launches are queued and carried out as time passes. Time passes when the host accesses
/// a chip, waits, or lets everything run to completion.
///
/// ```
/// use sim::{config::MeshConfig, mesh::SimulatedMesh};
/// let mesh = SimulatedMesh::new(&MeshConfig::wormhole(1))?;
/// assert_eq!(mesh.chip(0).map(|chip| chip.plan().worker_grid()), Some((8, 8)));
/// # Ok::<(), sim::config::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct SimulatedMesh {
    devices: Vec<ChipDevice>,
    host: HostClock,
}

/// A launch was handed to a chip that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mesh has {chip_count} chips, none of them is number {chip_id}")]
pub struct NoSuchChip {
    /// The chip that was named.
    pub chip_id: u32,
    /// How many there are.
    pub chip_count: usize,
}

impl SimulatedMesh {
    /// Chips that have just come out of reset.
    ///
    /// # Errors
    /// If a chip, or DRAM for so many programs, does not exist.
    pub fn new(config: &MeshConfig) -> Result<Self, ConfigError> {
        if config.chips.is_empty() {
            return Err(ConfigError::NoChip);
        }
        let host = HostClock::new(config.host, config.seed);
        let chips = (0..).zip(&config.chips).map(|(id, chip)| new_chip(config, id, chip));
        let chips: Vec<Chip> = chips.collect::<Result<_, _>>()?;
        let devices = chips.into_iter().map(|chip| ChipDevice::new(chip, host.clone())).collect();
        Ok(Self { devices, host })
    }

    /// How many chips there are.
    #[must_use]
    pub const fn chip_count(&self) -> usize {
        self.devices.len()
    }

    /// The chip with this number.
    #[must_use]
    pub fn chip(&self, chip_id: u32) -> Option<&Chip> {
        self.devices.get(chip_id as usize).map(ChipDevice::chip)
    }

    /// Every chip, in order.
    pub fn chips(&self) -> impl Iterator<Item = &Chip> {
        self.devices.iter().map(ChipDevice::chip)
    }

    pub(crate) fn chip_device_mut(&mut self, index: usize) -> Option<&mut ChipDevice> {
        self.devices.get_mut(index)
    }

    /// Adds a cause of faults.
    pub fn add_rule(&mut self, rule: impl Rule + 'static) {
        self.add_shared_rule(&(Arc::new(rule) as Arc<dyn Rule>));
    }

    /// Adds a cause of faults that others may hold as well.
    pub fn add_shared_rule(&mut self, rule: &Arc<dyn Rule>) {
        for device in &mut self.devices {
            device.chip_mut().add_rule(rule);
        }
    }

    /// Hands a launch to a chip, behind those that it already has.
    ///
    /// # Errors
    /// If there is no such chip.
    pub fn enqueue(&mut self, chip_id: u32, launch: Launch) -> Result<(), NoSuchChip> {
        let (now, chip_count) = (self.host.now(), self.devices.len());
        let device = self.devices.get_mut(chip_id as usize);
        let device = device.ok_or(NoSuchChip { chip_id, chip_count })?;
        device.chip_mut().enqueue(launch, now);
        Ok(())
    }

    /// Hands a launch to every chip.
    pub fn enqueue_everywhere(&mut self, launch: &Launch) {
        let now = self.host.now();
        for device in &mut self.devices {
            device.chip_mut().enqueue(launch.clone(), now);
        }
    }

    /// Lets the host do nothing for so long.
    pub fn wait_ns(&mut self, duration_ns: u64) {
        let now = self.host.now().saturating_add(duration_ns.saturating_mul(PS_PER_NS));
        self.host.wait_until(now);
        for device in &mut self.devices {
            device.chip_mut().run_until(now);
        }
    }

    /// Carries out every launch and waits until all has landed.
    pub fn run_to_completion(&mut self) {
        let ends = self.devices.iter_mut().map(|device| device.chip_mut().run_to_completion());
        let end = ends.max().unwrap_or(0);
        self.host.wait_until(end + SETTLE_PS);
    }

    /// Time since the simulation began.
    #[must_use]
    pub fn now_ps(&self) -> Picoseconds {
        self.host.now()
    }

    /// What really happened so far.
    ///
    /// Launches count as soon as they have begun.
    #[must_use]
    pub fn truth(&self) -> Truth {
        let mut truth = Truth::default();
        for chip in self.chips() {
            chip.add_truth(&mut truth);
        }
        truth
    }
}

/// The host notices completion a little later.
const SETTLE_PS: u64 = 1_000_000;

fn new_chip(config: &MeshConfig, chip_id: u32, chip: &ChipConfig) -> Result<Chip, ConfigError> {
    let mut random = Stream::new(config.seed, &[u64::from(chip_id)]);
    let index = chip_id as usize;
    let plan: Floorplan = chip
        .floorplan(&mut random)
        .map_err(|source| ConfigError::Floorplan { chip_id: index, source })?;
    let region = config.region(index, chip.arch)?;
    let align = chip.arch.facts().dram_align_bytes;
    let facts = ChipFacts {
        chip_id,
        arch: chip.arch,
        sums_enabled: config.sums_enabled,
        lane_words: region.lane_words(),
        region_bytes: u64::from(region.bank_bytes()).next_multiple_of(align),
        seed: config.seed,
    };
    let drift_ppb = chip.drift_ppb(&mut random);
    let clock = ChipClock::new(chip.arch.facts().aiclk_mhz, drift_ppb, &chip.frequency_steps);
    Ok(Chip::new(facts, plan, clock, chip.epoch_max_cycles))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        native,
        program::{CoreSelection, Emission, Kernel, NativeKernel, Program},
    };
    use host_reader::{ProfilerOptions, init_device_profiler};
    use kernel_profiler::device_zone_scoped;

    fn spinning(cycles: u64) -> Arc<dyn Kernel> {
        Arc::new(NativeKernel::new(
            |_| Emission::zones(1),
            move |_| {
                device_zone_scoped!("WORK");
                native::spin(cycles);
            },
        ))
    }

    fn prepared(config: &MeshConfig) -> SimulatedMesh {
        let mut mesh = SimulatedMesh::new(config).unwrap();
        init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
        mesh
    }

    #[test]
    fn a_launch_leaves_its_words_in_dram() {
        let mut mesh = prepared(&MeshConfig::wormhole(1));
        let program = Arc::new(Program::new("p").with_kernel_on_all(&spinning(100)));
        let plan = mesh.chip(0).unwrap().plan().clone();
        let core = plan.cores().iter().find(|core| core.kind == wire::CoreKind::Tensix).unwrap();
        let launch = Launch::new(&program, 7).on(CoreSelection::At(vec![core.coord]));
        mesh.enqueue(0, launch).unwrap();
        mesh.run_to_completion();
        let chip = mesh.chip(0).unwrap();
        let geometry = wire::dram::DramGeometry::new(1000, false, 80, 12).unwrap();
        for risc in 0..5 {
            let place = geometry.lane(core.flat_id, risc);
            let mut words = [0; 16];
            assert!(chip.dram().read(place.bank, 32 + u64::from(place.offset_bytes), &mut words));
            assert_eq!(words[..4], [0, 0, core.flat_id << 5 | risc, 7]);
            let starts = [words[4], words[8], words[12]].map(|word| word >> 28);
            let ends = [words[6], words[10], words[14]].map(|word| word >> 28);
            assert_eq!((starts, ends), ([8; 3], [9; 3]));
        }
    }
}
