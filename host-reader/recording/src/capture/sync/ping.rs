//! One ping: a tile's wall clock, read between two readings of the host's clock.

use reader::{
    clock::{Tile, TwoWayPing},
    mesh::{AccessError, Device, Noc0Coord},
};

/// Reads a tile's wall clock between two readings of the host's clock.
///
/// # Errors
/// If there is no such core or the chip does not answer.
///
/// ```
/// # use reader::mesh::*;
/// # let core = CoreDescription {
/// #     noc0: Noc0Coord { x: 1, y: 1 }, logical: LogicalCoord { x: 0, y: 0 },
/// #     kind: wire::CoreKind::Tensix, flat_id: 0, control_address: 0, vector_address: 256,
/// # };
/// # let mut chip = DeviceImage::new(DeviceDescription {
/// #     chip_id: 0, arch: "wormhole_b0".into(), aiclk_mhz: 1000, max_compute_cores: 1,
/// #     cores: vec![core],
/// #     dram: DramDescription { bank_count: 1, region_address: 64, region_bytes: 240_000 },
/// # });
/// chip.set_wall_clock(1 << 40);
/// let ping = recording::capture::sync::ping(&mut chip, Noc0Coord { x: 1, y: 1 })?;
/// assert_eq!(ping.device_cycles, 1 << 40);
/// assert!(ping.host_send_ns < ping.host_receive_ns);
/// # Ok::<(), AccessError>(())
/// ```
pub fn ping(device: &mut dyn Device, core: Noc0Coord) -> Result<TwoWayPing, AccessError> {
    let host_send_ns = host_ns(device);
    let device_cycles = device.read_wall_clock(core)?;
    let host_receive_ns = host_ns(device);
    Ok(TwoWayPing { host_send_ns, device_cycles, host_receive_ns })
}

fn host_ns(device: &mut dyn Device) -> i64 {
    i64::try_from(device.host_time_ns()).unwrap_or(i64::MAX)
}

/// Returns the tile of a core; `None` if its coordinate is too large for samples.
pub(super) fn tile_of(chip_id: u32, core: Noc0Coord) -> Option<Tile> {
    Some(Tile::new(chip_id, u8::try_from(core.x).ok()?, u8::try_from(core.y).ok()?))
}

/// Returns the core of a tile.
pub(super) fn core_of(tile: Tile) -> Noc0Coord {
    Noc0Coord { x: u16::from(tile.x), y: u16::from(tile.y) }
}
