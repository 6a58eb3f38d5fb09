//! C interface of the simulator, declared in `simulated_mesh.h`. Hosts in C and C++ read simulated
//! chips through it.
//!
//! The functions do not check pointers, because only tests call them.

use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh as Chips,
    workload::{Plan, Workload, WorkloadOptions},
};
use std::{
    ffi::{CStr, CString, c_char},
    ptr,
};

// The simulator implements `Device` and `Mesh` for simulated chips.
use host_reader::mesh::{AccessError, Device, DeviceDescription, Mesh, Noc0Coord};

/// Simulated chips with a workload.
#[derive(Debug)]
pub struct SimulatedMesh {
    chips: Chips,
    plan: Plan,
    program_support_count: u32,
    zone_text: CString,
    error: CString,
}

/// Description of a chip. The struct equals `SimulatedChip` of the header.
#[repr(C)]
#[derive(Debug)]
pub struct SimulatedChip {
    chip_id: u32,
    aiclk_mhz: u32,
    max_compute_cores: u32,
    bank_count: u32,
    region_address: u64,
    region_bytes: u64,
    core_count: usize,
    arch: [u8; 32],
}

/// Description of a core. The struct equals `SimulatedCore` of the header.
#[repr(C)]
#[derive(Debug)]
pub struct SimulatedCore {
    noc0_x: u16,
    noc0_y: u16,
    logical_x: u16,
    logical_y: u16,
    kind: u32,
    flat_id: u32,
    control_address: u64,
    vector_address: u64,
}

impl SimulatedMesh {
    fn new(workload: &str, arch: &str, chips: u32, seed: u64, grid: &str) -> Option<Self> {
        let workload = Workload::named(workload).ok()?;
        let chip = ChipConfig::new(Arch::from_name(arch)?);
        let program_support_count = workload.program_support_count;
        let mut config = MeshConfig::new(seed)
            .with_program_support_count(program_support_count)
            .with_kernel_grid(grid.parse().ok()?);
        for _ in 0..chips {
            config = config.with_chip(chip.clone());
        }
        let mut chips = Chips::new(&config).ok()?;
        let plan = workload.plan(&chips, &WorkloadOptions { seed, ..WorkloadOptions::default() });
        plan.rules.iter().for_each(|rule| chips.add_shared_rule(rule));
        let (zone_text, error) = (CString::default(), CString::default());
        Some(Self { chips, plan, program_support_count, zone_text, error })
    }

    fn description(&mut self, chip: usize) -> DeviceDescription {
        self.chips.device(chip).expect("hosts ask for chips that there are").description().clone()
    }

    fn access(
        &mut self,
        chip: u32,
        access: impl FnOnce(&mut dyn Device) -> Result<(), AccessError>,
    ) -> i32 {
        let Some(device) = self.chips.device(chip as usize) else { return 3 };
        match access(device) {
            Ok(()) => 0,
            Err(error) => {
                self.error = CString::new(error.to_string()).unwrap_or_default();
                3
            }
        }
    }
}

/// Creates simulated chips for a workload whose kernels run on a grid of worker cores. Returns null
/// if the workload or the architecture is unknown, or if the chips have no such grid.
///
/// # Safety
/// `workload`, `arch` and `grid` must point to texts that end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simulated_mesh_new(
    workload: *const c_char,
    arch: *const c_char,
    chips: u32,
    seed: u64,
    grid: *const c_char,
) -> *mut SimulatedMesh {
    let [workload, arch, grid] = [workload, arch, grid].map(|text| {
        // SAFETY: the caller promises that each text ends with a zero byte.
        unsafe { CStr::from_ptr(text) }.to_string_lossy()
    });
    let mesh = SimulatedMesh::new(&workload, &arch, chips, seed, &grid);
    mesh.map_or(ptr::null_mut(), |mesh| Box::into_raw(Box::new(mesh)))
}

/// Frees the simulated chips.
///
/// # Safety
/// The mesh must come from [`simulated_mesh_new`] and not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simulated_mesh_free(mesh: *mut SimulatedMesh) {
    // SAFETY: the caller promises that the pointer came from `simulated_mesh_new` and is freed once.
    drop(unsafe { Box::from_raw(mesh) });
}

/// Returns the number of programs that the lanes in DRAM can hold.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_support_count(mesh: &SimulatedMesh) -> u32 {
    mesh.program_support_count
}

/// Returns the number of phases of the workload.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_phase_count(mesh: &SimulatedMesh) -> usize {
    mesh.plan.phases.len()
}

/// Runs the launches of a phase to completion.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_run_phase(mesh: &mut SimulatedMesh, phase: usize) {
    mesh.chips.enqueue_phase(&mesh.plan.phases[phase]);
    mesh.chips.run_to_completion();
}

/// Enqueues the launches of a phase. [`simulated_mesh_run_for`] then runs them.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_begin_phase(mesh: &mut SimulatedMesh, phase: usize) {
    mesh.chips.enqueue_phase(&mesh.plan.phases[phase]);
}

/// Runs enqueued launches for a span of simulated time. Returns 0 once all launches have ended,
/// else 1.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_run_for(mesh: &mut SimulatedMesh, duration_ns: u64) -> i32 {
    if mesh.chips.has_launches_to_run() {
        mesh.chips.wait_ns(duration_ns);
        return 1;
    }
    mesh.chips.run_to_completion();
    0
}

/// Returns the name and source location of the zone with this index; null after the last zone.
///
/// The text is valid until the next call of this function.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_zone_text(
    mesh: &mut SimulatedMesh,
    index: usize,
) -> *const c_char {
    let Some(text) = mesh.chips.zone_texts().into_iter().nth(index) else { return ptr::null() };
    mesh.zone_text = CString::new(text).unwrap_or_default();
    mesh.zone_text.as_ptr()
}

/// Returns the number of chips.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_chip_count(mesh: &SimulatedMesh) -> usize {
    mesh.chips.chip_count()
}

/// Writes the description of a chip to `out`.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_chip(
    mesh: &mut SimulatedMesh,
    chip: usize,
    out: &mut SimulatedChip,
) {
    let description = mesh.description(chip);
    let mut arch = [0; 32];
    arch[..description.arch.len()].copy_from_slice(description.arch.as_bytes());
    *out = SimulatedChip {
        chip_id: description.chip_id,
        aiclk_mhz: description.aiclk_mhz,
        max_compute_cores: description.max_compute_cores,
        bank_count: description.dram.bank_count,
        region_address: description.dram.region_address,
        region_bytes: description.dram.region_bytes,
        core_count: description.cores.len(),
        arch,
    };
}

/// Writes the description of a core to `out`.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_core(
    mesh: &mut SimulatedMesh,
    chip: usize,
    core: usize,
    out: &mut SimulatedCore,
) {
    let core = mesh.description(chip).cores[core].clone();
    *out = SimulatedCore {
        noc0_x: core.noc0.x,
        noc0_y: core.noc0.y,
        logical_x: core.logical.x,
        logical_y: core.logical.y,
        kind: core.kind as u32,
        flat_id: core.flat_id,
        control_address: core.control_address,
        vector_address: core.vector_address,
    };
}

/// Reads words from the L1 of a core. Returns 0, or 3 if the access fails.
///
/// # Safety
/// `words` must point to `count` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simulated_mesh_read_l1(
    mesh: &mut SimulatedMesh,
    chip: u32,
    x: u16,
    y: u16,
    address: u64,
    words: *mut u32,
    count: usize,
) -> i32 {
    // SAFETY: the caller passes a pointer to `count` words.
    let words = unsafe { std::slice::from_raw_parts_mut(words, count) };
    mesh.access(chip, |device| device.read_l1(Noc0Coord { x, y }, address, words))
}

/// Writes words to the L1 of a core. Returns 0, or 3 if the access fails.
///
/// # Safety
/// `words` must point to `count` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simulated_mesh_write_l1(
    mesh: &mut SimulatedMesh,
    chip: u32,
    x: u16,
    y: u16,
    address: u64,
    words: *const u32,
    count: usize,
) -> i32 {
    // SAFETY: the caller passes a pointer to `count` words.
    let words = unsafe { std::slice::from_raw_parts(words, count) };
    mesh.access(chip, |device| device.write_l1(Noc0Coord { x, y }, address, words))
}

/// Reads words from a DRAM bank. Returns 0, or 3 if the access fails.
///
/// # Safety
/// `words` must point to `count` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simulated_mesh_read_dram(
    mesh: &mut SimulatedMesh,
    chip: u32,
    bank: u32,
    address: u64,
    words: *mut u32,
    count: usize,
) -> i32 {
    // SAFETY: the caller passes a pointer to `count` words.
    let words = unsafe { std::slice::from_raw_parts_mut(words, count) };
    mesh.access(chip, |device| device.read_dram(bank, address, words))
}

/// Reads the wall clock of a tile in cycles. Returns 0, or 3 if the access fails.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_read_wall_clock(
    mesh: &mut SimulatedMesh,
    chip: u32,
    x: u16,
    y: u16,
    cycles: &mut u64,
) -> i32 {
    mesh.access(chip, |device| {
        *cycles = device.read_wall_clock(Noc0Coord { x, y })?;
        Ok(())
    })
}

/// Returns the time of the simulated host's clock in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_host_time_ns(mesh: &mut SimulatedMesh) -> u64 {
    mesh.chips.device(0).map_or(0, |device| device.host_time_ns())
}

/// Lets `duration_ns` of simulated time pass.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_wait_ns(mesh: &mut SimulatedMesh, duration_ns: u64) {
    mesh.chips.wait_ns(duration_ns);
}

/// Returns the message of the last failed access.
#[unsafe(no_mangle)]
pub extern "C" fn simulated_mesh_error(mesh: &SimulatedMesh) -> *const c_char {
    mesh.error.as_ptr()
}
