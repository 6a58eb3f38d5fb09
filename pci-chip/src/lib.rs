//! The simulated chip as a library that TT-Metal loads instead of accessing a PCI device.
//!
//! `TT_METAL_SIMULATOR` is the path of the library. The `soc_descriptor.yaml` of TT-Metal's package
//! must be in the same folder; it also determines the chip's architecture. The entry points (PCI
//! configuration, BAR windows and cycles) are those of Tenstorrent's libttsim, so any TT-Metal host
//! can use the chip.
//!
//! | variable | meaning |
//! |---|---|
//! | `KPROF_CHIP_ARCH` | `wormhole_b0` or `blackhole`, in place of the architecture in the descriptor |
//! | `KPROF_CHIP_COUNT` | number of chips, 1 without it; the host needs a `cluster_descriptor.yaml` beside the library for more |
//! | `KPROF_CHIP_HARVESTED` | mask of the chips' harvested rows (Wormhole) or columns (Blackhole) in hexadecimal digits, in the order in which a chip reports them; 0 without it. The host needs a `cluster_descriptor.yaml` beside the library that names the same |
//! | `KPROF_CHIP_HARVESTED_DRAM` | mask of the chips' harvested DRAM (Blackhole), one bit for each group of DRAM tiles; otherwise as `KPROF_CHIP_HARVESTED` |
//! | `KPROF_CHIP_WHAT_IF` | limits of the timing model that are lifted, such as `dram=free,caches=warm` |
//! | `KPROF_CHIP_STATES` | if set, the program counter of each RISC and what the RISC waits for are printed when the simulation ends |
//! | `KPROF_CHIP_STORES` | path of a CSV file that is written when the simulation ends; it lists the stores of all RISCs to a range of L1 |
//! | `KPROF_CHIP_STORE_RANGE` | the range of L1, as `FIRST-END` in hexadecimal digits |
//! | `KPROF_CHIP_LINES` | path of a CSV file that is written when the simulation ends: the table `lines`, with offsets in kernels and the host's numbers of kernels in place of addresses and files; `{pid}` in the path is the process id |
//! | `KPROF_CHIP_SAMPLES` | path of a JSON file that is written when the simulation ends: sampled instructions of the launches, with offsets in kernels and the host's numbers of kernels; `{pid}` in the path is the process id. Kernels and firmware must be compiled with `KERNEL_PROFILER_SAMPLES`, or without a profiler |
//! | `KPROF_CHIP_SAMPLE_EVERY` | cycles from one sample to the next, 2 to 256 |
//! | `KPROF_CHIP_MEMORY` | path of a CSV file to which the table `memory` of the launches is added when the simulation ends; `{pid}` in the path is the process id |
//! | `KPROF_CHIP_STANDING` | path of a JSON file that is written when the simulation ends while a launch has not ended: where the RISCs stand; `{pid}` in the path is the process id |
//! | `KPROF_CHIP_FIRMWARE` | folder with TT-Metal's firmware for the chip, or with several such folders; without it, the one in the program's copy of TT-Metal. `KPROF_CHIP_LINES`, `KPROF_CHIP_SAMPLES`, `KPROF_CHIP_MEMORY` and `KPROF_CHIP_STANDING` need the layout of launch messages from it |
//! | `KPROF_CHIP_SOCKET` | path of a socket at which other processes, such as `kprof attach`, can access the chip |
//! | `KPROF_CHIP_LIBRARY` | path of another library with the same entry points: it simulates the chip, and all calls are forwarded to it |
//!
//! With `KPROF_CHIP_LIBRARY`, other processes can access the chip of a simulator that serves no
//! socket, such as Tenstorrent's ttsim. `KPROF_CHIP_LIBRARY` may be the path of a copy of this
//! library. The copy then uses the variables of the table, except `KPROF_CHIP_LIBRARY` and
//! `KPROF_CHIP_SOCKET`.
//!
//! The states and the CSV file are written by `libttsim_exit`, or at the end of the process if the
//! host does not call that function. The library is built as `libkprof_chip.so`; a host needs a
//! copy of this file, or a link to it, named `libttsim.so`.
//!
//! # Compatibility
//! ttsim 1.10, `docs/libttsim_api.md`. If the simulated chip does not support an access, the
//! library prints a line to standard error. A read that the chip does not support returns all ones,
//! as on PCI.

mod firmware;
mod forwarded;
mod guests;
mod lines;
mod memory;
mod samples;
mod simulation;
mod standing;

use chip::shared::{
    COUNT_VARIABLE, DRAM_HARVEST_VARIABLE, HARVEST_VARIABLE, LIBRARY_VARIABLE, SOCKET_VARIABLE,
};
use forwarded::ForwardedChip;
use guests::Guests;
use lines::LinesRequest;
use memory::MemoryRequest;
use samples::SamplesRequest;
use sim::{
    arch::{Arch, floorplan::Floorplan},
    board::{Board, HostMemory, StampedStore, pci::PciChip},
    limits::{LiftedLimits, WHAT_IF_VARIABLE},
    lines::RiscLines,
};
use simulation::{OwnChips, Simulation};
use standing::{STANDING_VARIABLE, StandingRequest};
use std::{
    ffi::c_void,
    fmt::Write as _,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

pub use ttsim::library::{ReadHost, WriteHost};

static CHIP: Mutex<Option<Simulation>> = Mutex::new(None);
/// Access to the chip by other processes.
static GUESTS: Guests = Guests::new();
static HOST: Mutex<Callbacks> = Mutex::new(Callbacks { read: None, write: None });

#[derive(Clone, Copy)]
struct Callbacks {
    read: Option<ReadHost>,
    write: Option<WriteHost>,
}

/// The host's memory, accessed through the callbacks that the host has set.
struct CallbackMemory(Callbacks);

impl HostMemory for CallbackMemory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) {
        let Some(read) = self.0.read else { return bytes.fill(0xFF) };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        // SAFETY: the host passed this function for reading its memory, and `bytes` has room for
        // `length` bytes.
        unsafe { read(address, bytes.as_mut_ptr().cast(), length) };
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        let Some(write) = self.0.write else { return };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        // SAFETY: the host passed this function for writing its memory, and `bytes` holds `length`
        // bytes.
        unsafe { write(address, bytes.as_ptr().cast(), length) };
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // If an earlier call panicked, the chip is used in the state in which that call left it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a message to standard error.
fn tell(sentence: &str) {
    eprintln!("kprof simulator: {sentence}");
}

/// Locks the chip and calls a function with it; returns `None` before `libttsim_init`.
fn with_chip<T>(call: impl FnOnce(&mut Simulation) -> T) -> Option<T> {
    GUESTS.let_pass();
    let mut chip = lock(&CHIP);
    let Some(chip) = chip.as_mut() else {
        tell("expected libttsim_init before any access, found none");
        return None;
    };
    let result = call(chip);
    chip.tell_failures();
    Some(result)
}

/// Returns the architecture from `KPROF_CHIP_ARCH` or, without this variable, from the descriptor.
fn architecture() -> Result<Arch, String> {
    if let Ok(name) = std::env::var("KPROF_CHIP_ARCH") {
        return Arch::from_name(&name).ok_or_else(|| {
            format!("expected wormhole_b0 or blackhole in KPROF_CHIP_ARCH, found `{name}`")
        });
    }
    let library = std::env::var_os("TT_METAL_SIMULATOR").map(PathBuf::from);
    let folder = library.as_deref().and_then(Path::parent);
    let path = folder
        .map_or_else(|| "soc_descriptor.yaml".into(), |folder| folder.join("soc_descriptor.yaml"));
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("expected {} beside the library: {error}", path.display()))?;
    let name = text.lines().find_map(|line| line.strip_prefix("arch_name:"));
    let name = name.map(|name| name.trim().to_lowercase()).unwrap_or_default();
    Arch::from_name(&name).ok_or_else(|| {
        format!(
            "{}: expected WORMHOLE_B0 or BLACKHOLE as arch_name, found `{name}`",
            path.display()
        )
    })
}

/// Returns the address range in which stores are recorded, if one is set.
fn watched_range() -> Option<Range<u32>> {
    let text = std::env::var("KPROF_CHIP_STORE_RANGE").ok()?;
    let (first, end) = text.split_once('-')?;
    Some(hex_number(first)?..hex_number(end)?)
}

/// Parses a hexadecimal number, with or without `0x`.
fn hex_number(digits: &str) -> Option<u32> {
    u32::from_str_radix(digits.trim_start_matches("0x"), 16).ok()
}

/// Returns the chip of the library that [`LIBRARY_VARIABLE`] names; `None` if the variable is not
/// set or names this library.
fn forwarded_chip() -> Result<Option<ForwardedChip>, String> {
    let Some(path) = std::env::var_os(LIBRARY_VARIABLE) else { return Ok(None) };
    let Callbacks { read, write } = *lock(&HOST);
    let own_init = libttsim_init as extern "C" fn() as usize;
    ForwardedChip::start(Path::new(&path), own_init, (read, write))
}

/// Returns the number of chips from `KPROF_CHIP_COUNT`; 1 without this variable.
fn chip_count() -> Result<u64, String> {
    let Ok(text) = std::env::var(COUNT_VARIABLE) else { return Ok(1) };
    let count = text.parse().ok().filter(|count| (1..=CHIPS_MAX).contains(count));
    count.ok_or_else(|| format!("expected 1 to {CHIPS_MAX} in {COUNT_VARIABLE}, found `{text}`"))
}

/// Returns the mask in a variable; 0 without it.
fn mask(variable: &str) -> Result<u32, String> {
    let Some(text) = std::env::var_os(variable) else { return Ok(0) };
    let digits = text.to_str().and_then(hex_number);
    digits.ok_or_else(|| {
        format!("expected hexadecimal digits in {variable}, found `{}`", text.display())
    })
}

/// Returns the floor plan of a chip with the harvested lines in `KPROF_CHIP_HARVESTED`, and the
/// harvested DRAM in `KPROF_CHIP_HARVESTED_DRAM`.
fn floor_plan(arch: Arch) -> Result<Floorplan, String> {
    let (lines, dram) = (mask(HARVEST_VARIABLE)?, mask(DRAM_HARVEST_VARIABLE)?);
    let lines = Floorplan::harvested_lines(arch, lines).map_err(|bits| {
        format!("bits {bits:#x} in {HARVEST_VARIABLE} mean no row or column of a {arch}")
    })?;
    let plan = Floorplan::new(arch, &lines, 0);
    let plan = plan.map_err(|error| format!("{HARVEST_VARIABLE}: {error}"))?;
    let plan = plan.with_harvested_dram(dram);
    plan.map_err(|error| format!("{DRAM_HARVEST_VARIABLE}: {error}"))
}

/// Returns the limits of the timing model that `KPROF_CHIP_WHAT_IF` lifts.
fn lifted_limits() -> Result<LiftedLimits, String> {
    LiftedLimits::from_environment().map_err(|error| format!("{WHAT_IF_VARIABLE}: {error}"))
}

/// PCI devices of a bus.
const CHIPS_MAX: u64 = 32;

fn own_chips() -> Result<OwnChips, String> {
    let callbacks = *lock(&HOST);
    let (arch, range) = (architecture()?, watched_range());
    let requests = Requests {
        lines: LinesRequest::from_environment(arch)?,
        samples: SamplesRequest::from_environment(arch)?,
        memory: MemoryRequest::from_environment(arch)?,
        standing: standing_request(arch),
    };
    let plan = floor_plan(arch)?;
    let lifted = lifted_limits()?;
    let chips = (0..chip_count()?).map(|seed| {
        let host = Box::new(CallbackMemory(callbacks));
        let mut board = Board::with_lifted_limits(plan.clone(), seed, host, lifted);
        if let Some(range) = &range {
            board.watch_stores(range.clone());
        }
        requests.begin_on(&mut board)?;
        Ok(PciChip::new(board))
    });
    let chips = chips.collect::<Result<_, String>>()?;
    tell(&sim::limits::simulated_time(lifted).to_string());
    Ok(OwnChips::new(chips, requests))
}

/// Returns the request for where RISCs stand. A chip without it runs like any other, and tells those
/// who ask what was missing.
fn standing_request(arch: Arch) -> Result<StandingRequest, String> {
    let is_asked = |name: &str| std::env::var_os(name).is_some();
    if !is_asked(STANDING_VARIABLE) && !is_asked(SOCKET_VARIABLE) {
        return Err("nobody asked for it when the chip was made".to_owned());
    }
    let request = StandingRequest::from_environment(arch);
    if let (Err(reason), true) = (&request, is_asked(STANDING_VARIABLE)) {
        tell(&format!("where RISCs stand will not be known: {reason}"));
    }
    request
}

fn new_chip() -> Result<Simulation, String> {
    if let Some(chip) = forwarded_chip()? {
        return Ok(Simulation::Forwarded(chip));
    }
    Ok(Simulation::Own(own_chips()?))
}

/// Creates a chip in reset.
#[unsafe(no_mangle)]
pub extern "C" fn libttsim_init() {
    let mut chip = match new_chip() {
        Ok(chip) => chip,
        Err(reason) => {
            tell(&reason);
            std::process::exit(2);
        }
    };
    let facts = chip.facts();
    // A library that forwards calls serves the socket, not the library that it forwards to.
    let is_server =
        matches!(chip, Simulation::Forwarded(_)) || std::env::var_os(LIBRARY_VARIABLE).is_none();
    *lock(&CHIP) = Some(chip);
    if is_server && let Err(error) = GUESTS.serve(&facts) {
        tell(&error.to_string());
    }
}

/// Ends the simulation of the chip and writes the requested outputs.
#[unsafe(no_mangle)]
pub extern "C" fn libttsim_exit() {
    GUESTS.end();
    match lock(&CHIP).take() {
        Some(Simulation::Own(chips)) => {
            let (mut chips, requests) = chips.into_parts();
            requests.write(&mut chips);
            (0..).zip(chips).for_each(|(index, chip)| write_outputs(index, chip));
        }
        Some(Simulation::Forwarded(chip)) => chip.exit(),
        None => {}
    }
}

/// The tables of launches that are written when the simulation ends.
struct Requests {
    lines: Option<LinesRequest>,
    samples: Option<SamplesRequest>,
    memory: Option<MemoryRequest>,
    /// The reason if it is not known where RISCs stand.
    standing: Result<StandingRequest, String>,
}

impl Default for Requests {
    fn default() -> Self {
        let standing = Err("its tables were written, because the program ends".to_owned());
        Self { lines: None, samples: None, memory: None, standing }
    }
}

impl Requests {
    /// Makes a chip record what the tables need.
    fn begin_on(&self, board: &mut Board) -> Result<(), String> {
        if let Some(lines) = &self.lines {
            lines.count_on(board);
        }
        if let Some(memory) = &self.memory {
            memory.record_on(board);
        }
        if let Ok(standing) = &self.standing {
            standing.follow_on(board);
        }
        match &self.samples {
            Some(samples) => samples.begin_on(board),
            None => Ok(()),
        }
    }

    fn write(&self, chips: &mut [PciChip]) {
        // First, because counts end a launch. No cycle passes for its RISCs after that.
        if let Ok(standing) = &self.standing
            && let Err(error) = standing.write(chips)
        {
            tell(&format!("cannot write where RISCs stand: {error}"));
        }
        if let Some(lines) = &self.lines {
            let counts = (0..).zip(&mut *chips).flat_map(|(chip_id, chip)| {
                let lines = chip.board_mut().take_lines().into_iter();
                lines.map(move |lines| RiscLines { chip_id, ..lines })
            });
            if let Err(error) = lines.write(counts) {
                tell(&format!("cannot write the table of lines: {error}"));
            }
        }
        if let Some(samples) = &self.samples
            && let Err(error) = samples.write(chips)
        {
            tell(&format!("cannot write the samples: {error}"));
        }
        if let Some(memory) = &self.memory {
            let launches = chips.iter_mut().map(|chip| chip.board_mut().take_memory());
            if let Err(error) = memory.write(launches) {
                tell(&format!("cannot write the table of memory: {error}"));
            }
        }
    }
}

/// Writes the requested outputs of a chip; the stores of further chips to files named by their number.
fn write_outputs(index: usize, mut chip: PciChip) {
    if std::env::var_os("KPROF_CHIP_STATES").is_some() {
        tell(&format!("ends at cycle {}", chip.board_mut().cycle()));
        chip.board_mut().states().iter().for_each(|line| tell(line));
    }
    let Some(mut path) = std::env::var_os("KPROF_CHIP_STORES") else { return };
    if index > 0 {
        path.push(format!(".{index}"));
    }
    let text = stores_csv(&chip.board_mut().take_stores());
    if let Err(error) = std::fs::write(&path, text) {
        tell(&format!("cannot write {}: {error}", Path::new(&path).display()));
    }
}

/// Ends the simulation if the host has not called `libttsim_exit`; runs when the library is
/// unloaded or the process ends.
extern "C" fn end() {
    // The process may end during a call from the host, which then holds the lock. A library to
    // which calls are forwarded may be unloaded already, and ends its own simulation.
    let is_own = CHIP.try_lock().is_ok_and(|chip| matches!(*chip, Some(Simulation::Own(_))));
    match is_own {
        true => libttsim_exit(),
        false => GUESTS.end(),
    }
}

#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds addresses of functions without arguments, which the loader calls once.
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = end;

fn stores_csv(stores: &[StampedStore]) -> String {
    let mut text = "x,y,risc,time_cycles,address,value\n".to_owned();
    for store in stores {
        let StampedStore { x, y, risc_index, time_cycles, address, value } = store;
        let _ = writeln!(text, "{x},{y},{risc_index},{time_cycles},{address},{value}");
    }
    text
}

/// Sets the callbacks through which the chip accesses the host's memory.
#[unsafe(no_mangle)]
pub extern "C" fn libttsim_set_pci_dma_mem_callbacks(
    read: Option<ReadHost>,
    write: Option<WriteHost>,
) {
    *lock(&HOST) = Callbacks { read, write };
}

/// Reads a word of a PCI function's configuration space; returns all ones if the function does not
/// exist.
#[unsafe(no_mangle)]
pub extern "C" fn libttsim_pci_config_rd32(bus_device_function: u32, offset: u32) -> u32 {
    with_chip(|chip| chip.read_configuration(bus_device_function, offset)).unwrap_or(u32::MAX)
}

/// Writes a word of a PCI function's configuration space.
#[unsafe(no_mangle)]
pub extern "C" fn libttsim_pci_config_wr32(bus_device_function: u32, offset: u32, value: u32) {
    with_chip(|chip| chip.write_configuration(bus_device_function, offset, value));
}

/// Reads bytes at a physical address that is in a BAR.
///
/// # Safety
/// `bytes` must point to `length` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libttsim_pci_mem_rd_bytes(address: u64, bytes: *mut c_void, length: u32) {
    if bytes.is_null() || length == 0 {
        return;
    }
    // SAFETY: the caller provides `length` bytes that may be written and that nobody else accesses
    // during the call.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes.cast::<u8>(), length as usize) };
    match with_chip(|chip| chip.read(address, bytes)) {
        Some(Ok(())) => {}
        Some(Err(reason)) => {
            tell(&format!("a read of the host: {reason}"));
            bytes.fill(0xFF);
        }
        None => bytes.fill(0xFF),
    }
}

/// Writes bytes at a physical address that is in a BAR.
///
/// # Safety
/// `bytes` must point to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libttsim_pci_mem_wr_bytes(
    address: u64,
    bytes: *const c_void,
    length: u32,
) {
    if bytes.is_null() || length == 0 {
        return;
    }
    // SAFETY: the caller provides `length` bytes that nobody changes during the call.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize) };
    if let Some(Err(reason)) = with_chip(|chip| chip.write(address, bytes)) {
        tell(&format!("a write of the host: {reason}"));
    }
}

/// Advances the chip by a number of cycles.
#[unsafe(no_mangle)]
pub extern "C" fn libttsim_clock(cycles: u32) {
    with_chip(|chip| chip.clock(cycles));
}

/// Reads bytes from the tile at these NoC-0 coordinates.
///
/// # Safety
/// `bytes` must point to `length` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libttsim_tile_rd_bytes(
    x: u32,
    y: u32,
    address: u64,
    bytes: *mut c_void,
    length: u32,
) {
    if bytes.is_null() || length == 0 {
        return;
    }
    // SAFETY: the caller provides `length` bytes that may be written and that nobody else accesses
    // during the call.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes.cast::<u8>(), length as usize) };
    let result = with_chip(|chip| chip.read_tile((x, y), address, bytes));
    if let Some(Err(reason)) = result {
        tell(&format!("a read of the host: {reason}"));
        bytes.fill(0xFF);
    }
}

/// Writes bytes to the tile at these NoC-0 coordinates.
///
/// # Safety
/// `bytes` must point to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn libttsim_tile_wr_bytes(
    x: u32,
    y: u32,
    address: u64,
    bytes: *const c_void,
    length: u32,
) {
    if bytes.is_null() || length == 0 {
        return;
    }
    // SAFETY: the caller provides `length` bytes that nobody changes during the call.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize) };
    let result = with_chip(|chip| chip.write_tile((x, y), address, bytes));
    if let Some(Err(reason)) = result {
        tell(&format!("a write of the host: {reason}"));
    }
}
