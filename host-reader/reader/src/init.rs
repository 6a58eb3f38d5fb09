//! Preparation of a mesh for profiling: writes the address of the marker buffers to each core.
//!
//! This module launches nothing and reads nothing back; see [`crate::read`] for reading.

use crate::mesh::{AccessError, CoreDescription, CoreSelection, Device, DeviceDescription, Mesh};
use wire::{
    control::{ControlLayout, debug_dump, ext},
    dram::{DEFAULT_PROGRAM_SUPPORT_COUNT, DramGeometry, GeometryError, bytes_per_program},
    risc::RISCS_PER_CORE,
    stream::{self, Policy},
    vector,
};

/// Options for profiling a mesh.
///
/// The kernels must be built with the same `program_support_count` and `sums_enabled`. With
/// TT-Metal's runtime, the reader must use the same two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilerOptions {
    /// Number of programs that each RISC's DRAM lane can hold:
    /// `TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT`.
    pub program_support_count: u32,
    /// True if sum zones are recorded: zones that record only their total cycles per launch. Every
    /// lane then reserves space for the totals.
    pub sums_enabled: bool,
    /// Cores that push their markers from L1 to DRAM. All other cores are configured not to push.
    pub cores: CoreSelection,
    /// True for the debug dump of TT-Metal's runtime. Each lane then has two buffers: if one is
    /// full, the RISC waits until the host assigns the other buffer.
    pub has_two_buffers: bool,
    /// What a streaming RISC does if its ring is full. A RISC that streams writes its records into
    /// a ring in L1, from which a reader takes them.
    ///
    /// Use the default for kernels that push their records, because these kernels use the same
    /// control words for another purpose.
    pub stream_policy: Policy,
}

impl Default for ProfilerOptions {
    fn default() -> Self {
        Self {
            program_support_count: DEFAULT_PROGRAM_SUPPORT_COUNT,
            sums_enabled: false,
            cores: CoreSelection::all(),
            has_two_buffers: false,
            stream_policy: Policy::DropNewest,
        }
    }
}

/// Reason why a mesh could not be prepared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// The mesh has no chips.
    #[error("the mesh has no chips to profile")]
    NoDevice,
    /// No DRAM layout is possible for this chip and the requested number of programs.
    #[error("chip {chip_id}: {source}")]
    Geometry {
        /// The chip.
        chip_id: u32,
        /// Reason why no layout is possible.
        source: GeometryError,
    },
    /// The chip reserves too little DRAM for the requested number of programs per lane.
    #[error(
        "chip {chip_id} keeps {available_bytes} bytes per DRAM bank for profiling, but a program \
         support count of {program_support_count} needs {needed_bytes}; {}",
        advice(*.largest_count)
    )]
    RegionTooSmall {
        /// The chip.
        chip_id: u32,
        /// The requested number of programs per lane.
        program_support_count: u32,
        /// Bytes per bank that the requested number of programs needs.
        needed_bytes: u64,
        /// Available bytes per bank.
        available_bytes: u64,
        /// Largest number of programs per lane whose lanes fit into a bank; `None` if none fits.
        largest_count: Option<u32>,
    },
    /// The address of the chip's profiler region does not fit the control word, or is 0. The device
    /// interprets address 0 as "do not push".
    #[error(
        "chip {chip_id}: the profiler region lies at {address:#x}, but must lie above 0 and below \
         4 GiB"
    )]
    RegionAddress {
        /// The chip.
        chip_id: u32,
        /// The address.
        address: u64,
    },
    /// An access to a core failed.
    #[error("cannot prepare core {core} of chip {chip_id}: {source}", core = .core.noc0)]
    Access {
        /// The chip.
        chip_id: u32,
        /// The core.
        core: Box<CoreDescription>,
        /// The back end's error.
        source: AccessError,
    },
}

/// Prepares all chips of a mesh. Call this function before the first kernel is launched.
///
/// Clears each core's control vector. Then writes into the vector the DRAM address of the profiler
/// region, the core's number, the number of cores per bank, the number of words per lane and the
/// generation of the core's lanes. Every chip's layout is checked before any core is written.
///
/// # Errors
/// If a chip's profiler region is too small or has an invalid address, or if a core cannot be
/// written. If the region is too small, the error contains the largest possible
/// `program_support_count`.
///
/// ```
/// use reader::{init_device_profiler, mesh::MeshImage, ProfilerOptions};
/// # use reader::mesh::*;
/// # let core = CoreDescription {
/// #     noc0: Noc0Coord { x: 1, y: 1 }, logical: LogicalCoord { x: 0, y: 0 },
/// #     kind: wire::CoreKind::Tensix, flat_id: 0, control_address: 0, vector_address: 256,
/// # };
/// # let chip = DeviceImage::new(DeviceDescription {
/// #     chip_id: 0, arch: "wormhole_b0".into(), aiclk_mhz: 1000, max_compute_cores: 1,
/// #     cores: vec![core],
/// #     dram: DramDescription { bank_count: 1, region_address: 64, region_bytes: 240_000 },
/// # });
/// let mut mesh = MeshImage { devices: vec![chip] };
/// init_device_profiler(&mut mesh, &ProfilerOptions::default())?;
///
/// let options = ProfilerOptions { program_support_count: 2000, ..ProfilerOptions::default() };
/// let error = init_device_profiler(&mut mesh, &options).unwrap_err();
/// assert!(error.to_string().ends_with("the largest count that fits is 1000"));
/// # Ok::<(), reader::InitError>(())
/// ```
pub fn init_device_profiler<M: Mesh + ?Sized>(
    mesh: &mut M,
    options: &ProfilerOptions,
) -> Result<(), InitError> {
    if mesh.device_count() == 0 {
        return Err(InitError::NoDevice);
    }
    let mut geometries = Vec::new();
    for index in 0..mesh.device_count() {
        if let Some(device) = mesh.device(index) {
            geometries.push((index, checked_geometry(device.description(), options)?));
        }
    }
    for (index, geometry) in geometries {
        if let Some(device) = mesh.device(index) {
            init_device(device, options, &geometry)?;
        }
    }
    Ok(())
}

fn checked_geometry(
    chip: &DeviceDescription,
    options: &ProfilerOptions,
) -> Result<DramGeometry, InitError> {
    let chip_id = chip.chip_id;
    let ProfilerOptions { program_support_count, sums_enabled, .. } = *options;
    let geometry = chip
        .geometry(program_support_count, sums_enabled)
        .map_err(|source| InitError::Geometry { chip_id, source })?;
    let address = chip.dram.region_address;
    let buffers = if options.has_two_buffers { 2 } else { 1 };
    let needed_bytes = u64::from(geometry.bank_bytes()).saturating_mul(buffers);
    let available_bytes = chip.dram.region_bytes;
    if needed_bytes > available_bytes {
        return Err(InitError::RegionTooSmall {
            chip_id,
            program_support_count,
            needed_bytes,
            available_bytes,
            largest_count: largest_count(
                &geometry,
                sums_enabled,
                available_bytes.checked_div(buffers).unwrap_or(0),
            ),
        });
    }
    if address == 0 || address.saturating_add(needed_bytes) > u64::from(u32::MAX) {
        return Err(InitError::RegionAddress { chip_id, address });
    }
    Ok(geometry)
}

/// Returns the largest `program_support_count` for which the lanes in a bank need at most
/// `bank_bytes` bytes; `None` if not even the smallest count fits.
fn largest_count(geometry: &DramGeometry, sums_enabled: bool, bank_bytes: u64) -> Option<u32> {
    let lanes = u64::from(geometry.cores_per_bank()).saturating_mul(RISCS_PER_CORE as u64);
    let program_bytes = lanes.saturating_mul(bytes_per_program(sums_enabled).into());
    let count = bank_bytes.checked_div(program_bytes)?;
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let is_usable = wire::dram::effective_support_count(count, sums_enabled) == count;
    is_usable.then_some(count)
}

fn advice(largest_count: Option<u32>) -> String {
    match largest_count {
        Some(count) => format!("the largest count that fits is {count}"),
        None => "no count fits".to_owned(),
    }
}

fn init_device(
    device: &mut dyn Device,
    options: &ProfilerOptions,
    geometry: &DramGeometry,
) -> Result<(), InitError> {
    let chip = device.description().clone();
    for core in &chip.cores {
        let is_chosen = options.cores.contains(chip.chip_id, core);
        let address = if is_chosen { chip.dram.region_address } else { 0 };
        let address = u32::try_from(address).unwrap_or(0);
        let words = control_words(core, address, geometry);
        let written = if options.has_two_buffers {
            give_first_buffers(device, core, words, address)
        } else {
            write_control(device, core, words, options.stream_policy)
        };
        written.map_err(|source| InitError::Access {
            chip_id: chip.chip_id,
            core: Box::new(core.clone()),
            source,
        })?;
    }
    Ok(())
}

/// Writes a core's control vector, including the next generation of its lanes and the policy for
/// full rings.
fn write_control(
    device: &mut dyn Device,
    core: &CoreDescription,
    mut words: [u32; LAYOUT.word_count],
    policy: Policy,
) -> Result<(), AccessError> {
    words[ext::GENERATION] = next_generation(device, core)?;
    if policy != Policy::DropNewest {
        let policies = words.iter_mut().skip(stream::words::POLICY).take(RISCS_PER_CORE);
        policies.for_each(|word| *word = policy.to_word());
    }
    device.write_l1(core.noc0, core.control_address, &words)
}

/// Assigns to each RISC the first of its two buffers, for TT-Metal's debug dump.
///
/// In a launch with `run_counter` 0, TT-Metal's firmware clears the ID words of all vectors. One of
/// these words, the first ID word of the first RISC's vector, contains the last RISC's buffer
/// address. The host therefore clears the ID words itself and starts `run_counter` at 1.
fn give_first_buffers(
    device: &mut dyn Device,
    core: &CoreDescription,
    mut words: [u32; LAYOUT.word_count],
    address: u32,
) -> Result<(), AccessError> {
    // The debug dump runs TT-Metal's runtime, which does not use this word. The words written below
    // have another meaning in other modes.
    words[ext::DRAM_LANE_WORDS] = 0;
    words[LAYOUT.run_counter] = 1;
    words[debug_dump::BUFFER_ADDRESS..].fill(address);
    let has_last_risc = core.kind.risc_count() == RISCS_PER_CORE;
    if has_last_risc && address != 0 {
        words[debug_dump::GIVEN_BUFFERS] = debug_dump::LAST_RISC_HAS_BUFFER;
    }
    for risc_index in 0..core.kind.risc_count() as u64 {
        let vector = risc_index.saturating_mul(vector::VECTOR_BYTES as u64);
        let vector = core.vector_address.saturating_add(vector);
        let first = if has_last_risc && risc_index == 0 { address } else { 0 };
        device.write_l1(core.noc0, vector, &[first, 0, 0, 0])?;
    }
    device.write_l1(core.noc0, core.control_address, &words)
}

/// Returns the next generation of a core's lanes. Run headers contain the generation.
///
/// If this project's runtime has used the core before, the result is the core's last generation
/// plus one. Runs of earlier generations remain in DRAM until new runs overwrite them. The reader
/// recognizes such runs by their generation.
fn next_generation(device: &mut dyn Device, core: &CoreDescription) -> Result<u32, AccessError> {
    let mut words = [0; LAYOUT.word_count];
    device.read_l1(core.noc0, core.control_address, &mut words)?;
    let is_ours = ext::SIGNATURES.contains(&words[ext::SIGNATURE]);
    Ok(if is_ours { words[ext::GENERATION].wrapping_add(1) } else { 0 })
}

const LAYOUT: ControlLayout = wire::generation::CURRENT.control;

fn control_words(
    core: &CoreDescription,
    dram_address: u32,
    geometry: &DramGeometry,
) -> [u32; LAYOUT.word_count] {
    let mut words = [0; LAYOUT.word_count];
    words[LAYOUT.dram_address] = dram_address;
    words[LAYOUT.flat_id] = core.flat_id;
    words[LAYOUT.cores_per_bank] = geometry.cores_per_bank();
    words[ext::DRAM_LANE_WORDS] = geometry.lane_words();
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{DeviceImage, DramDescription, LogicalCoord, MeshImage, Noc0Coord};
    use wire::CoreKind;

    fn mesh(region_bytes: u64) -> MeshImage {
        let description = DeviceDescription {
            chip_id: 4,
            arch: "wormhole_b0".into(),
            aiclk_mhz: 1000,
            max_compute_cores: 3,
            cores: (0..3)
                .map(|flat_id| CoreDescription {
                    noc0: Noc0Coord { x: 1 + u16::try_from(flat_id).unwrap(), y: 2 },
                    logical: LogicalCoord { x: 0, y: 0 },
                    kind: CoreKind::Tensix,
                    flat_id,
                    control_address: 0x100,
                    vector_address: 0x200,
                })
                .collect(),
            dram: DramDescription { bank_count: 2, region_address: 0x40, region_bytes },
        };
        MeshImage { devices: vec![DeviceImage::new(description)] }
    }

    fn control(mesh: &mut MeshImage, x: u16) -> [u32; 64] {
        let mut words = [0; 64];
        let core = Noc0Coord { x, y: 2 };
        mesh.device(0).unwrap().read_l1(core, 0x100, &mut words).unwrap();
        words
    }

    #[test]
    fn each_core_is_told_its_place_and_nothing_else() {
        let mut mesh = mesh(480_000);
        init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
        let mut expected = [0; 64];
        expected[6] = 12_000;
        expected[50] = 0x40;
        expected[54] = 2;
        expected[55] = 2;
        assert_eq!(control(&mut mesh, 3), expected);
    }

    #[test]
    fn a_core_that_was_used_before_gets_another_generation() {
        let mut mesh = mesh(480_000);
        let core = Noc0Coord { x: 3, y: 2 };
        let device = mesh.device(0).unwrap();
        device.write_l1(core, 0x100 + 5 * 4, &[0x4B50_4000, 12_000, 6]).unwrap();
        init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
        let words = control(&mut mesh, 3);
        assert_eq!((words[5], words[7], words[8]), (0, 7, 0));
    }

    #[test]
    fn cores_that_are_not_chosen_are_told_not_to_push() {
        let mut mesh = mesh(480_000);
        let cores = CoreSelection::at([Noc0Coord { x: 2, y: 2 }]);
        let options = ProfilerOptions { cores, ..ProfilerOptions::default() };
        init_device_profiler(&mut mesh, &options).unwrap();
        assert_eq!(control(&mut mesh, 1)[50], 0);
        assert_eq!(control(&mut mesh, 2)[50], 0x40);
    }

    #[test]
    fn each_risc_of_upstreams_debug_dump_gets_its_first_buffer() {
        let options = ProfilerOptions { has_two_buffers: true, ..ProfilerOptions::default() };
        let error = init_device_profiler(&mut mesh(960_000 - 1), &options).unwrap_err();
        assert!(error.to_string().ends_with("the largest count that fits is 999"), "{error}");
        let mut mesh = mesh(960_000);
        init_device_profiler(&mut mesh, &options).unwrap();
        let mut expected = [0; 64];
        expected[8] = 1 << 31;
        (expected[50], expected[51], expected[54], expected[55]) = (0x40, 1, 2, 2);
        expected[60..].fill(0x40);
        assert_eq!(control(&mut mesh, 3), expected);
        let mut ids = [7; 4];
        let core = Noc0Coord { x: 3, y: 2 };
        for (risc, first) in [(0, 0x40), (1, 0), (4, 0)] {
            let device = mesh.device(0).unwrap();
            device.read_l1(core, 0x200 + 2048 * risc, &mut ids).unwrap();
            assert_eq!(ids, [first, 0, 0, 0], "RISC {risc}");
        }
    }

    #[test]
    fn a_region_that_is_too_small_names_the_largest_count() {
        let mut mesh = mesh(480_000 - 1);
        let error = init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap_err();
        let InitError::RegionTooSmall { needed_bytes, largest_count, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((needed_bytes, largest_count), (480_000, Some(999)));
        assert_eq!(control(&mut mesh, 1), [0; 64], "nothing is written before the check");
    }

    #[test]
    fn a_region_below_the_smallest_count_fits_none() {
        let error = init_device_profiler(&mut mesh(100), &ProfilerOptions::default()).unwrap_err();
        assert!(error.to_string().ends_with("no count fits"), "{error}");
    }
}
