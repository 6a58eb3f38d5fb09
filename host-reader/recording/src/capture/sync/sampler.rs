//! Schedule for reading the clocks of a mesh before, while and after kernels run.

use super::{
    LinkBurst, MeshSamples,
    ping::{ping, tile_of},
};
use reader::{
    clock::Tile,
    mesh::{ChipLink, Mesh, Noc0Coord},
};
use wire::CoreKind;

/// Number of pings in a burst that measures a chip's reference tile.
const BURST_PINGS: u32 = 32;

/// Number of pings for each measurement of a tile that is not a reference tile.
const TILE_PINGS: u32 = 16;

/// Number of messages for each measurement of a link.
const LINK_PINGS: u32 = 64;

/// A tile to ping.
#[derive(Clone, Copy)]
struct Target {
    device: usize,
    core: Noc0Coord,
    tile: Tile,
}

impl MeshSamples {
    /// Measures every reference tile, then every other tile and every link.
    pub fn open<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        self.refresh(mesh);
        self.sample_tiles(mesh);
        self.sample_links(mesh);
    }

    /// Measures every link and every tile again. Reference tiles are measured last.
    pub fn close<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        self.sample_links(mesh);
        self.sample_tiles(mesh);
        self.refresh(mesh);
    }

    /// Measures every reference tile with a burst of pings.
    pub fn refresh<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        for device in 0..mesh.device_count() {
            if let Some(&reference) = targets(mesh, device).first() {
                self.burst(mesh, reference, BURST_PINGS);
            }
        }
    }

    /// Measures every tile except the reference tiles.
    fn sample_tiles<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        for device in 0..mesh.device_count() {
            for target in targets(mesh, device).into_iter().skip(1) {
                self.burst(mesh, target, TILE_PINGS);
            }
        }
    }

    /// Measures every link that the mesh offers.
    fn sample_links<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        for link in mesh.links() {
            let Some((sender, receiver)) = ends(mesh, &link) else { continue };
            let pings = (0..LINK_PINGS).map_while(|_| mesh.exchange(&link).ok()).collect();
            self.add_link_burst(LinkBurst { sender, receiver, pings });
        }
    }

    /// Pings a tile `count` times, or until the tile does not answer.
    fn burst<M: Mesh + ?Sized>(&mut self, mesh: &mut M, target: Target, count: u32) {
        let Some(chip) = mesh.device(target.device) else { return };
        for ping in (0..count).map_while(|_| ping(chip, target.core).ok()) {
            self.add_ping(target.tile, ping);
        }
    }
}

/// Returns the cores of a chip. The first core is the chip's reference tile.
///
/// Worker cores come first, so that the reference tile is a worker core: tiles that are not workers
/// may have another clock than the workers.
fn targets<M: Mesh + ?Sized>(mesh: &mut M, device: usize) -> Vec<Target> {
    let Some(chip) = mesh.device(device) else { return Vec::new() };
    let description = chip.description();
    let mut cores: Vec<_> = description.cores.iter().collect();
    cores.sort_by_key(|core| core.kind != CoreKind::Tensix);
    let targets = cores.into_iter().filter_map(|core| {
        let tile = tile_of(description.chip_id, core.noc0)?;
        Some(Target { device, core: core.noc0, tile })
    });
    targets.collect()
}

/// Returns the tiles at the two ends of a link.
fn ends<M: Mesh + ?Sized>(mesh: &mut M, link: &ChipLink) -> Option<(Tile, Tile)> {
    let sender_id = mesh.device(link.sender)?.description().chip_id;
    let receiver_id = mesh.device(link.receiver)?.description().chip_id;
    let sender = tile_of(sender_id, link.sender_core)?;
    Some((sender, tile_of(receiver_id, link.receiver_core)?))
}
