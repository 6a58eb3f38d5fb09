//! Reads a chip from a memory image and shows the zones of its only run.

use reader::{
    ProfilerOptions, init_device_profiler,
    mesh::{
        CoreDescription, Device, DeviceDescription, DeviceImage, DramDescription, LogicalCoord,
        MeshImage, Noc0Coord,
    },
    read_device_profiler,
    timeline::Timeline,
};
use std::error::Error;
use wire::CoreKind;

const CORE: Noc0Coord = Noc0Coord { x: 1, y: 1 };
const REGION: u64 = 64;

/// Returns a chip with one core and one DRAM bank.
fn chip() -> DeviceDescription {
    let core = CoreDescription {
        noc0: CORE,
        logical: LogicalCoord { x: 0, y: 0 },
        kind: CoreKind::Tensix,
        flat_id: 0,
        control_address: 0,
        vector_address: 256,
    };
    DeviceDescription {
        chip_id: 0,
        arch: "wormhole_b0".into(),
        aiclk_mhz: 1000,
        max_compute_cores: 1,
        cores: vec![core],
        dram: DramDescription { bank_count: 1, region_address: REGION, region_bytes: 240_000 },
    }
}

/// Returns the first and last cycle of each zone that program 3 recorded on BRISC.
fn zones() -> Result<Vec<(u64, u64)>, Box<dyn Error>> {
    let mut mesh = MeshImage { devices: vec![DeviceImage::new(chip())] };
    init_device_profiler(&mut mesh, &ProfilerOptions::default())?;
    // The run header, then the start and end of the firmware's zone and of the kernel's zone.
    let run = [
        [0, 0, 0, 3],
        [0x8FC0_D001, 0x1000, 0x9FC0_D001, 0x1700],
        [0x8E42_7001, 0x1100, 0x9E42_7001, 0x1600],
    ];
    mesh.devices[0].write_dram(0, REGION, run.as_flattened())?;
    // The device publishes the number of words in the lane.
    mesh.devices[0].write_l1(CORE, 0, &[12])?;
    let readout = read_device_profiler(&mut mesh)?;
    let timeline = Timeline::from_readout(&readout);
    let lanes = timeline.devices.iter().flat_map(|device| &device.lanes);
    let zones = lanes.flat_map(|lane| lane.zones.iter());
    Ok(zones.map(|zone| (zone.start_cycle, zone.end_cycle)).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    for (start, end) in zones()? {
        println!("{start}..{end}: {} cycles", end - start);
    }
    Ok(())
}

#[test]
fn both_zones_are_read_with_their_times() {
    // Bit 32 of the time is in the first word of each marker.
    let at = |low: u64| (1 << 32) + low;
    assert_eq!(zones().unwrap(), [(at(0x1000), at(0x1700)), (at(0x1100), at(0x1600))]);
}
