//! Schedule for reading the clocks of a mesh.

use super::{
    LinkBurst, MeshClock, MeshSamples, SyncOptions, SyncProblem,
    ping::{ping, tile_of},
};
use reader::{
    clock::{PingBurst, Tile},
    mesh::{AccessError, ChipLink, Mesh, Noc0Coord},
};
use std::collections::{BTreeMap, BTreeSet};
use wire::CoreKind;

/// Relates the clocks of a mesh to the host's clock in one session. By default, it takes about a
/// second.
///
/// To sample while long kernels run, use [`ClockSampler`].
///
/// ```
/// use recording::capture::sync::{synchronise, SyncOptions};
/// use reader::mesh::MeshImage;
/// let clock = synchronise(&mut MeshImage::default(), &SyncOptions::default());
/// assert_eq!(clock.chips().count(), 0);
/// ```
pub fn synchronise<M: Mesh + ?Sized>(mesh: &mut M, options: &SyncOptions) -> MeshClock {
    let mut sampler = ClockSampler::new(options.clone());
    sampler.open(mesh);
    sampler.follow(mesh);
    sampler.close(mesh);
    sampler.clock()
}

/// Samples the clocks of a mesh before, during and after a run of kernels.
///
/// ```no_run
/// # fn run(mesh: &mut impl reader::mesh::Mesh, is_running: impl Fn() -> bool) {
/// use recording::capture::sync::{ClockSampler, SyncOptions};
/// let mut sampler = ClockSampler::new(SyncOptions::default());
/// sampler.open(mesh);
/// while is_running() {
///     // ... drain, and every 100 ms or so:
///     sampler.refresh(mesh);
/// }
/// sampler.close(mesh);
/// let clock = sampler.clock();
/// # }
/// ```
///
/// # Cost
/// A ping is one read of a chip, which takes about 0.8 us over PCIe. For a mesh of 8 chips with 64
/// tiles, opening and closing take about 7 ms each, and a refresh takes 0.2 ms.
#[derive(Clone, Debug, Default)]
pub struct ClockSampler {
    options: SyncOptions,
    samples: MeshSamples,
    failures: BTreeMap<(u32, Noc0Coord), Failure>,
    coreless: BTreeSet<u32>,
    unplaced: BTreeSet<(u32, Noc0Coord)>,
}

/// Failed readings of a core's clock: their number and the first error.
#[derive(Clone, Debug)]
struct Failure {
    count: u64,
    first: AccessError,
}

/// A tile to ping.
#[derive(Clone, Copy)]
struct Target {
    device: usize,
    core: Noc0Coord,
    tile: Tile,
}

impl ClockSampler {
    /// Creates a sampler without measurements.
    #[must_use]
    pub fn new(options: SyncOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Measures every reference, then every tile and link.
    pub fn open<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        self.refresh(mesh);
        self.sample_tiles(mesh);
        self.sample_links(mesh);
    }

    /// Measures every tile and link again, then every reference.
    pub fn close<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        self.sample_links(mesh);
        self.sample_tiles(mesh);
        self.refresh(mesh);
    }

    /// Measures every reference with a burst of pings.
    pub fn refresh<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        for target in self.references(mesh) {
            self.burst(mesh, target, self.options.burst_pings);
        }
    }

    /// Measures every reference at even intervals, waiting between the pings.
    pub fn follow<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        let references = self.references(mesh);
        for _ in 0..self.options.spread_pings {
            for &target in &references {
                self.sample(mesh, target);
            }
            if let Some(device) = mesh.device(0) {
                device.wait_ns(self.options.spacing_ns);
            }
        }
    }

    /// Measures every tile except the references.
    pub fn sample_tiles<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        for device in 0..mesh.device_count() {
            for target in self.targets(mesh, device).into_iter().skip(1) {
                self.burst(mesh, target, self.options.tile_pings);
            }
        }
    }

    /// Measures every link that the mesh offers.
    pub fn sample_links<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        for link in mesh.links() {
            self.sample_link(mesh, &link);
        }
    }

    /// Adds pings that were not made by this sampler.
    pub fn add_burst(&mut self, burst: PingBurst) {
        self.samples.add_burst(burst);
    }

    /// Returns all measurements so far.
    #[must_use]
    pub fn samples(&self) -> &MeshSamples {
        &self.samples
    }

    /// Fits the clock of the mesh to the measurements so far.
    #[must_use]
    pub fn clock(&self) -> MeshClock {
        let mut clock = self.samples.fit(&self.options.fit);
        clock.precede_problems(self.problems());
        clock
    }

    fn problems(&self) -> Vec<SyncProblem> {
        let coreless = self.coreless.iter().map(|&chip_id| SyncProblem::NoCore { chip_id });
        let unplaced = self.unplaced.iter();
        let unplaced = unplaced.map(|&(chip_id, core)| SyncProblem::Place { chip_id, core });
        let failed = self.failures.iter().map(|(&(chip_id, core), failure)| SyncProblem::Access {
            chip_id,
            core,
            failure_count: failure.count,
            first: failure.first.clone(),
        });
        coreless.chain(unplaced).chain(failed).collect()
    }

    /// Returns the reference tile of every chip.
    fn references<M: Mesh + ?Sized>(&mut self, mesh: &mut M) -> Vec<Target> {
        let devices = 0..mesh.device_count();
        devices.filter_map(|device| self.targets(mesh, device).first().copied()).collect()
    }

    /// Returns the selected cores of a chip. Workers come first, because other tiles may have
    /// different clocks.
    fn targets<M: Mesh + ?Sized>(&mut self, mesh: &mut M, device: usize) -> Vec<Target> {
        let Some(chip) = mesh.device(device) else { return Vec::new() };
        let description = chip.description();
        let chip_id = description.chip_id;
        let mut cores: Vec<_> = description
            .cores
            .iter()
            .filter(|core| self.options.cores.contains(chip_id, core))
            .collect();
        cores.sort_by_key(|core| core.kind != CoreKind::Tensix);
        let cores: Vec<Noc0Coord> = cores.into_iter().map(|core| core.noc0).collect();
        if cores.is_empty() {
            self.coreless.insert(chip_id);
        }
        cores
            .into_iter()
            .filter_map(|core| Some(Target { device, core, tile: self.place(chip_id, core)? }))
            .collect()
    }

    fn place(&mut self, chip_id: u32, core: Noc0Coord) -> Option<Tile> {
        let tile = tile_of(chip_id, core);
        if tile.is_none() {
            self.unplaced.insert((chip_id, core));
        }
        tile
    }

    fn burst<M: Mesh + ?Sized>(&mut self, mesh: &mut M, target: Target, count: u32) {
        for _ in 0..count {
            if !self.sample(mesh, target) {
                break;
            }
        }
    }

    /// Pings a tile once; returns `false` if the tile does not answer.
    fn sample<M: Mesh + ?Sized>(&mut self, mesh: &mut M, target: Target) -> bool {
        let Target { device, core, tile } = target;
        let Some(chip) = mesh.device(device) else { return false };
        let answer = ping(chip, core);
        let has_answered = answer.is_ok();
        match answer {
            Ok(ping) => self.samples.add_ping(tile, ping),
            Err(error) => self.fail(tile.chip, core, error),
        }
        has_answered
    }

    fn sample_link<M: Mesh + ?Sized>(&mut self, mesh: &mut M, link: &ChipLink) {
        let Some((sender, receiver)) = self.ends(mesh, link) else { return };
        let mut pings = Vec::new();
        for _ in 0..self.options.link_pings {
            match mesh.exchange(link) {
                Ok(ping) => pings.push(ping),
                Err(error) => {
                    self.fail(sender.chip, link.sender_core, error);
                    break;
                }
            }
        }
        self.samples.add_link_burst(LinkBurst { sender, receiver, pings });
    }

    fn ends<M: Mesh + ?Sized>(&mut self, mesh: &mut M, link: &ChipLink) -> Option<(Tile, Tile)> {
        let sender_id = mesh.device(link.sender)?.description().chip_id;
        let receiver_id = mesh.device(link.receiver)?.description().chip_id;
        let sender = self.place(sender_id, link.sender_core)?;
        Some((sender, self.place(receiver_id, link.receiver_core)?))
    }

    fn fail(&mut self, chip_id: u32, core: Noc0Coord, error: AccessError) {
        let failure = self
            .failures
            .entry((chip_id, core))
            .or_insert_with(|| Failure { count: 0, first: error });
        failure.count = failure.count.saturating_add(1);
    }
}
