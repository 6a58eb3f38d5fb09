//! Programs, launches, and the properties of kernels.
//!
//! A program assigns kernels to processors. A launch runs a program on selected cores; the launch
//! has a program id. [`crate::chip`] executes launches.

pub mod emission;

pub use emission::Emission;

use crate::{
    arch::{TileCoord, floorplan::CorePlace},
    kernel::file::KernelFile,
    random::Stream,
};
use std::{borrow::Cow, collections::BTreeMap, ops::Range, sync::Arc};
use wire::{CoreKind, Risc, risc::RISCS_PER_CORE};

/// Core, RISC and launch in which a kernel runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelContext {
    /// Number of the chip in its mesh.
    pub chip_id: u32,
    /// The core.
    pub place: CorePlace,
    /// The processor.
    pub risc: Risc,
    /// Number of the launch on its chip, from 0.
    pub launch_index: u64,
    /// The launch's program id.
    pub program_id: u32,
    /// Runtime arguments of the launch.
    pub args: Arc<[u32]>,
    /// Number of trace replays that have begun since the core's previous launch.
    pub replays_begun: u32,
    /// True if sum zones are recorded.
    pub sums_enabled: bool,
    /// True if kernels record a NoC event for each wait for the NoC. This is so in the debug dump
    /// mode.
    pub records_noc_waits: bool,
    /// Seed of the simulation.
    pub seed: u64,
}

impl KernelContext {
    /// Returns a stream of random numbers that is specific to this RISC and launch.
    ///
    /// Each call returns the same sequence of numbers, so [`Kernel::emission`] can draw the same
    /// numbers as the kernel itself.
    #[must_use]
    pub fn random(&self) -> Stream {
        let TileCoord { x, y } = self.place.coord;
        let path = [
            u64::from(self.chip_id),
            u64::from(x),
            u64::from(y),
            self.risc.index() as u64,
            self.launch_index,
        ];
        Stream::new(self.seed, &path)
    }

    /// Returns the NoC that a kernel on this RISC uses and for which it records events; `None` if
    /// the kernel uses no NoC.
    #[must_use]
    pub const fn noc(&self) -> Option<u8> {
        match self.risc {
            Risc::Brisc => Some(0),
            Risc::Ncrisc => Some(1),
            _ => None,
        }
    }

    /// Returns the context of BRISC in a chip's first launch, without arguments.
    #[cfg(test)]
    pub(crate) fn brisc(place: CorePlace, seed: u64) -> Self {
        Self {
            chip_id: 0,
            place,
            risc: Risc::Brisc,
            launch_index: 0,
            program_id: 1,
            args: Arc::from([]),
            replays_begun: 0,
            sums_enabled: false,
            records_noc_waits: false,
            seed,
        }
    }

    /// Returns the runtime argument with this index, or 0 if there is none.
    #[must_use]
    pub fn arg(&self, index: usize) -> u32 {
        self.args.get(index).copied().unwrap_or(0)
    }
}

/// Code for one RISC of a core: a function in the simulator's object code, or an ELF file.
pub trait Kernel: Send + Sync {
    /// Returns the number of records of each kind that the kernel tries to make; does not run the
    /// kernel.
    fn emission(&self, context: &KernelContext) -> Emission;

    /// Returns true if the kernel waits for kernels on other cores of the launch.
    fn couples_cores(&self) -> bool {
        false
    }

    /// Returns the name of the kernel's function, if the function is in the simulator's object
    /// code.
    fn object_name(&self) -> Option<&str> {
        None
    }

    /// Returns the ELF file of a kernel that was linked outside this build; `None` for other
    /// kernels.
    ///
    /// [`crate::truth::Truth`] does not contain the records of such a kernel.
    fn object_file(&self) -> Option<&KernelFile> {
        None
    }

    /// Returns the data words that a launch copies into L1 for this kernel.
    fn object_data(&self, context: &KernelContext) -> Cow<'_, [u32]> {
        let _ = context;
        Cow::Borrowed(&[])
    }

    /// Returns the L1 range with the kernel's semaphores, which the host clears before each launch.
    fn semaphores(&self) -> Range<u32> {
        0..0
    }
}

/// A kernel from a file: its records are unknown before it runs.
impl Kernel for KernelFile {
    fn emission(&self, _: &KernelContext) -> Emission {
        Emission::NONE
    }

    fn object_file(&self) -> Option<&Self> {
        Some(self)
    }
}

/// A program: its name and the kernels of its processors.
#[derive(Clone, Default)]
pub struct Program {
    name: String,
    kernels: BTreeMap<Risc, Arc<dyn Kernel>>,
}

impl Program {
    /// Creates a program without kernels; its launches run nothing.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Renames the program.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Assigns `kernel` to `risc`.
    ///
    /// If `risc` stands for several processors, BRISC gets the kernel. If `risc` is a Quasar
    /// processor, the Tensix processor with the same index gets it, if there is one.
    #[must_use]
    pub fn with_kernel(mut self, risc: Risc, kernel: Arc<dyn Kernel>) -> Self {
        if let Some(slot) = slot(risc) {
            self.kernels.insert(slot, kernel);
        }
        self
    }

    /// Assigns `kernel` to all five processors of a Tensix core.
    #[must_use]
    pub fn with_kernel_on_all(self, kernel: &Arc<dyn Kernel>) -> Self {
        let riscs = (0..RISCS_PER_CORE).filter_map(|index| CoreKind::Tensix.risc(index));
        riscs.fold(self, |program, risc| program.with_kernel(risc, Arc::clone(kernel)))
    }

    /// Returns the program's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kernel of a processor, if the processor has one in this program.
    #[must_use]
    pub fn kernel(&self, risc: Risc) -> Option<&Arc<dyn Kernel>> {
        self.kernels.get(&slot(risc)?)
    }

    /// Returns true if the program's kernels wait for kernels on other cores.
    #[must_use]
    pub fn couples_cores(&self) -> bool {
        self.kernels.values().any(|kernel| kernel.couples_cores())
    }

    /// Returns the zone texts of the program's kernels from files.
    pub(crate) fn file_zone_texts(&self) -> Vec<String> {
        let files = self.kernels.values().filter_map(|kernel| kernel.object_file());
        files.flat_map(KernelFile::zone_texts).collect()
    }

    /// Returns true if the program has a kernel for any processor of a core of this kind.
    #[must_use]
    pub fn runs_on(&self, kind: CoreKind) -> bool {
        let mut riscs = (0..kind.risc_count()).filter_map(|index| kind.risc(index));
        riscs.any(|risc| self.kernel(risc).is_some())
    }
}

/// Returns the key under which a program stores the kernel of `risc`; `None` if `risc` cannot have
/// a kernel.
fn slot(risc: Risc) -> Option<Risc> {
    match risc {
        Risc::Erisc => Some(risc),
        _ => CoreKind::Tensix.risc(risc.index()),
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.name)
            .field("riscs", &self.kernels.keys())
            .finish()
    }
}

/// Cores on which a launch runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CoreSelection {
    /// All worker cores.
    #[default]
    AllTensix,
    /// All Ethernet cores, whether or not their link is connected.
    AllEthernet,
    /// All cores of the chip.
    All,
    /// The cores at these coordinates; coordinates without a core are ignored.
    At(Vec<TileCoord>),
}

impl CoreSelection {
    /// Returns true if the core is selected.
    #[must_use]
    pub fn includes(&self, place: &CorePlace) -> bool {
        match self {
            Self::AllTensix => place.kind == CoreKind::Tensix,
            Self::AllEthernet => place.kind != CoreKind::Tensix,
            Self::All => true,
            Self::At(coords) => coords.contains(&place.coord),
        }
    }
}

/// A part of a chip that runs its own programs.
///
/// # Compatibility
/// The ids have the meaning of tt-metal's `SubDeviceId` and `SubDeviceManagerId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubDevice {
    /// Index of the sub-device among those of its manager.
    pub id: u8,
    /// Number of the sub-device manager that divided the chip.
    pub manager_id: u8,
}

/// Purpose for which a core is reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoreUse {
    /// Kernels of programs.
    #[default]
    Programs,
    /// Dispatch kernels, which run in parallel with all launches.
    Dispatch,
    /// A relay, which runs in parallel with all launches.
    Relay,
    /// No use: the core is outside the grid of cores that run kernels.
    Spare,
}

/// One run of a program on one chip.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub program: Arc<Program>,
    /// Id of the program, as shown in reports (without the chip's number); 0 means "no program".
    pub program_id: u32,
    /// Cores on which the launch runs.
    pub cores: CoreSelection,
    /// Purpose of the launch. Of the selected cores, only those that are reserved for this purpose
    /// run the launch.
    pub core_use: CoreUse,
    /// The sub-device on which the launch runs, in parallel with launches on other sub-devices;
    /// `None` for the whole chip.
    pub sub_device: Option<SubDevice>,
    /// Id of the trace whose replay contains the launch; `None` for a launch outside a trace.
    pub trace_id: Option<u64>,
    /// True if the launch is the first one of a trace replay.
    pub begins_trace_replay: bool,
    /// Runtime arguments.
    pub args: Arc<[u32]>,
    /// Earliest start time, in nanoseconds since the simulation began.
    pub earliest_ns: u64,
}

impl Launch {
    /// Creates a launch on all worker cores. The launch begins as soon as the chip is free.
    #[must_use]
    pub fn new(program: &Arc<Program>, program_id: u32) -> Self {
        Self {
            program: Arc::clone(program),
            program_id,
            cores: CoreSelection::AllTensix,
            core_use: CoreUse::Programs,
            sub_device: None,
            trace_id: None,
            begins_trace_replay: false,
            args: Arc::from([]),
            earliest_ns: 0,
        }
    }

    /// Sets the cores that run the launch.
    #[must_use]
    pub fn on(self, cores: CoreSelection) -> Self {
        Self { cores, ..self }
    }

    /// Sets the runtime arguments.
    #[must_use]
    pub fn with_args(self, args: &[u32]) -> Self {
        Self { args: Arc::from(args), ..self }
    }

    /// Sets the earliest start time, in nanoseconds since the simulation began.
    #[must_use]
    pub const fn not_before_ns(mut self, earliest_ns: u64) -> Self {
        self.earliest_ns = earliest_ns;
        self
    }

    /// Sets the sub-device. The launch then runs in parallel with launches on other sub-devices.
    #[must_use]
    pub const fn on_sub_device(mut self, sub_device: SubDevice) -> Self {
        self.sub_device = Some(sub_device);
        self
    }

    /// Runs the launch only on cores that are reserved for `core_use`.
    #[must_use]
    pub(crate) const fn for_use(mut self, core_use: CoreUse) -> Self {
        self.core_use = core_use;
        self
    }

    /// Marks the launch as a replay from a trace.
    #[must_use]
    pub const fn in_trace(mut self, trace_id: u64) -> Self {
        self.trace_id = Some(trace_id);
        self
    }

    /// Marks the launch as the first one of a trace replay.
    #[must_use]
    pub const fn beginning_trace_replay(mut self) -> Self {
        self.begins_trace_replay = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ObjectKernel;

    #[test]
    fn a_program_runs_where_it_has_kernels() {
        let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::new("empty"));
        let program = Program::new("p").with_kernel(Risc::Erisc, Arc::clone(&kernel));
        assert!(program.runs_on(CoreKind::IdleEth) && !program.runs_on(CoreKind::Tensix));
        let program = program.with_kernel_on_all(&kernel);
        assert!(program.kernel(Risc::Trisc2).is_some());
        assert_eq!(
            format!("{program:?}"),
            "Program { name: \"p\", riscs: [Brisc, Ncrisc, Trisc0, Trisc1, Trisc2, Erisc] }"
        );
    }
}
