//! Control vectors and DRAM of a mesh with arbitrary contents.

use super::{check_anomalies, check_columns};
use host_reader::{
    ProfilerOptions, ReadOptions,
    decode::{CaptureMode, HostIdForm},
    init_device_profiler,
    mesh::{
        CoreDescription, Device, DeviceDescription, DeviceImage, DramDescription, LogicalCoord,
        MeshImage, Noc0Coord,
    },
    read::{GenerationChoice, Reader},
};
use wire::CoreKind;

const CORES: u16 = 3;
const CONTROL_BYTES: usize = 256;
const REGION: u64 = 64;
/// Size in bytes of the region of each bank: two cores with five lanes of 12,000 words.
const REGION_BYTES: u64 = 2 * 5 * 48_000;

/// Reads a mesh twice.
///
/// The first byte selects the options. The rest is split into two halves, one for each read: the
/// control vectors of three cores, followed by words of DRAM.
///
/// # Panics
/// If more words are read than exist, or if columns do not match.
pub fn control(data: &[u8]) {
    let &[choice, ref rest @ ..] = data else { return };
    let mut mesh = MeshImage { devices: vec![DeviceImage::new(chip())] };
    if choice & 1 != 0 {
        let begun = init_device_profiler(&mut mesh, &ProfilerOptions::default());
        begun.unwrap_or_else(|error| panic!("a sound mesh is refused: {error}"));
    }
    let mut reader = Reader::new(options(choice));
    let (first, second) = rest.split_at(rest.len() / 2);
    for (half, is_last) in [(first, false), (second, true)] {
        put(&mut mesh, half);
        let _ = reader.look(&mut mesh);
        reader.options_mut().last_read = is_last;
        let Ok(readout) = reader.read(&mut mesh) else { continue };
        readout.lanes().for_each(check_columns);
        check_anomalies(&readout.anomalies);
        // Maximum: the region, a second read of gaps in the region, and words that the cores keep
        // in L1.
        assert!(readout.words_read < 4 * 2 * REGION_BYTES / 4, "{} words", readout.words_read);
    }
}

fn options(choice: u8) -> ReadOptions {
    ReadOptions {
        sums_enabled: choice & 2 != 0,
        generation: match choice >> 2 & 3 {
            0 | 1 => GenerationChoice::Auto,
            2 => GenerationChoice::Current,
            _ => GenerationChoice::Legacy,
        },
        mode: match choice >> 4 & 3 {
            0 => CaptureMode::Workers,
            1 => CaptureMode::Accumulate,
            2 => CaptureMode::DispatchCores,
            _ => CaptureMode::TraceOnly,
        },
        host_ids: if choice & 0x40 != 0 { HostIdForm::Encoded } else { HostIdForm::Base },
        ..ReadOptions::default()
    }
}

fn put(mesh: &mut MeshImage, bytes: &[u8]) {
    let Some(chip) = mesh.devices.first_mut() else { return };
    if let Some((clock, _)) = bytes.split_first_chunk() {
        chip.set_wall_clock(u64::from_le_bytes(*clock));
    }
    let mut vectors = bytes.chunks(CONTROL_BYTES);
    for y in 0..CORES {
        let words = words_of(vectors.next().unwrap_or(&[]));
        let written = chip.write_l1(noc0(y), 0, &words);
        written.unwrap_or_else(|error| panic!("sound L1 is refused: {error}"));
    }
    let rest = bytes.get(usize::from(CORES) * CONTROL_BYTES..).unwrap_or(&[]);
    let (one, other) = rest.split_at(rest.len() / 2);
    for (bank, bytes) in [(0, one), (1, other)] {
        // Writes beyond the region are refused.
        let _ = chip.write_dram(bank, REGION, &words_of(bytes));
    }
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

const fn noc0(y: u16) -> Noc0Coord {
    Noc0Coord { x: 1, y }
}

fn chip() -> DeviceDescription {
    let core = |y: u16| CoreDescription {
        noc0: noc0(y),
        logical: LogicalCoord { x: 0, y },
        kind: if y == 0 { CoreKind::IdleEth } else { CoreKind::Tensix },
        flat_id: y.into(),
        control_address: 0,
        vector_address: 256,
    };
    DeviceDescription {
        chip_id: 0,
        arch: "blackhole".into(),
        aiclk_mhz: 1000,
        max_compute_cores: CORES.into(),
        cores: (0..CORES).map(core).collect(),
        dram: DramDescription { bank_count: 2, region_address: REGION, region_bytes: REGION_BYTES },
    }
}
