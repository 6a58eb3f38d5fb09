//! The three dispatch kernels on cores of a simulated chip, with a command queue in DRAM, and
//! workers that begin at their GO messages.
//!
//! All cores of a launch run the same program. So prefetcher, dispatcher and worker are one file,
//! in which each core selects its part.

use super::{
    commands::{self, Command, Large, Packed},
    definitions::{
        CLEARED, COMPLETION, COMPLETION_READ, COMPLETION_WRITE, Duty, GO, PREFETCH_Q, Places,
        QUEUE, SEMAPHORES, STREAM, definitions,
    },
};
use crate::{
    firmware, kernels,
    launches::arch,
    machine::{Machine, Simulator, logical},
    package::Package,
    toolchain::{Chip, Header, Mode, Processor, folder},
};
use host_reader::{mesh::Noc0Coord, names::ZoneTable, read_device_profiler, readout::Readout};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    dispatch::command::{OPENING_COMMANDS, UNAWAITED_PROGRAMS},
    kernel::file::KernelFile,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use wire::Risc;

/// Tensix tiles that exist on both chips.
pub(super) const PREFETCHER: TileCoord = TileCoord { x: 2, y: 5 };
pub(super) const DISPATCHER: TileCoord = TileCoord { x: 6, y: 5 };
pub(super) const WORKERS: [TileCoord; 4] = [
    TileCoord { x: 3, y: 2 },
    TileCoord { x: 4, y: 2 },
    TileCoord { x: 3, y: 3 },
    TileCoord { x: 4, y: 3 },
];

/// L1 and DRAM addresses to which commands write.
pub(super) const ARGUMENTS: u32 = 0x4_0000;
pub(super) const LAUNCHES: u32 = 0x5_0000;
pub(super) const CONFIGURATIONS: u32 = 0x6_0000;
/// Offset that is added to addresses of large writes.
pub(super) const OFFSET: u32 = 0x8000;
pub(super) const LINEAR: u32 = 0x9_0000;
pub(super) const PAGED: u32 = 0x1040_0000;

/// Commands of a queue, and the expected records of the dispatcher and its subordinate.
pub(super) struct Session {
    pub(super) programs: Vec<u16>,
    pub(super) dispatched: Vec<Command>,
    pub(super) announced: Vec<Command>,
    /// The prefetcher's commands, in order.
    fetched: Vec<Vec<u8>>,
}

/// Returns pseudo-random bytes derived from a seed. They differ by position and seed, so a
/// misplaced byte is detected.
pub(super) fn bytes_of(seed: u32, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state & 0xFF) as u8
    };
    (0..count).map(|_| next()).collect()
}

impl Session {
    /// Returns a session with every kind of command, in tt-metal's order.
    pub(super) fn every_sort(places: &Places, programs: Vec<u16>) -> Self {
        let mut session = Self::empty(programs);
        let rectangle = places.multicast(0);
        let workers = places.worker_count;
        session.announce(commands::set_worker_semaphores(1));
        session.dispatch(commands::write_linear(rectangle, 4, LINEAR, &bytes_of(1, 6000)));
        session.dispatch(commands::write_paged(PAGED, &bytes_of(2, 64 * 100)));
        session.dispatch(commands::wait(None));
        for (index, program) in (0..).zip(session.programs.clone()) {
            session.dispatch(commands::set_write_offset(program, &[0, OFFSET]));
            if index >= 2 {
                session.dispatch(commands::wait(Some((index - 1) * workers)));
            }
            session.dispatch_program(places, (index, program));
            session.announce(commands::send_go(index + 1, index * workers));
        }
        session.close(places)
    }

    /// Returns a session with the commands of the simulator's own dispatcher.
    pub(super) fn model(places: &Places, programs: Vec<u16>) -> Self {
        let mut session = Self::empty(programs);
        let rectangle = places.multicast(0);
        let workers = places.worker_count;
        session.announce(commands::set_worker_semaphores(1));
        let data = bytes_of(1, 64);
        let linear = commands::write_linear(rectangle, 4, LINEAR, &data);
        let paged = commands::write_paged(PAGED, &data);
        let round = [&linear, &paged, &paged, &linear, &commands::wait(None)].map(Command::clone);
        for command in round.iter().cycle().take(OPENING_COMMANDS) {
            session.dispatch(command.clone());
        }
        let (tiles, dests) = (WORKERS.map(|tile| places.unicast(logical(places.chip, tile))), 4);
        for (index, program) in (0..).zip(session.programs.clone()) {
            session.dispatch(commands::set_write_offset(program, &[0]));
            if index as usize >= UNAWAITED_PROGRAMS {
                session.dispatch(commands::wait(Some((index - 1) * workers)));
            }
            let arguments = vec![data.clone(); tiles.len()];
            for _ in 0..3 {
                let sort = Packed::Arguments;
                session.dispatch(commands::write_packed(sort, &tiles, ARGUMENTS, &arguments));
            }
            let block = [(CONFIGURATIONS, data.clone())];
            let large = [Large::Configuration, Large::Binaries, Large::Binaries, Large::Binaries];
            for sort in large {
                let to = (rectangle, dests);
                session.dispatch(commands::write_packed_large(sort, to, 0, &block));
            }
            let to = (rectangle, dests.into());
            let launch = commands::multicast_packed(Packed::Launch, to, LAUNCHES, data.clone());
            session.dispatch(launch);
            session.dispatch(commands::notify_subordinate());
            session.announce(commands::send_go(index + 1, index * workers));
        }
        session.close(places)
    }

    const fn empty(programs: Vec<u16>) -> Self {
        Self { programs, dispatched: Vec::new(), announced: Vec::new(), fetched: Vec::new() }
    }

    /// Adds the commands for the host's reads after the last program, and the commands that end the
    /// kernels.
    fn close(mut self, places: &Places) -> Self {
        let finished = places.worker_count * self.program_count();
        self.dispatch(commands::wait(Some(finished)));
        self.dispatch(commands::write_host(false, &bytes_of(3, 5000)));
        self.dispatch(commands::write_host(true, &bytes_of(4, 16)));
        self.dispatch(commands::terminate());
        self.announce(commands::terminate());
        self.fetched.push(commands::prefetch_terminate());
        self
    }

    /// Adds the commands of a program, up to the one that triggers its GO message.
    fn dispatch_program(&mut self, places: &Places, (index, program): (u32, u16)) {
        let seed = 0x1000 * u32::from(program);
        let tiles = WORKERS.map(|tile| places.unicast(logical(places.chip, tile)));
        let of_tiles: Vec<_> = (0..4).map(|tile| bytes_of(seed + tile, 24)).collect();
        let arguments = ARGUMENTS + 0x20 * index;
        self.dispatch(commands::write_packed(Packed::Arguments, &tiles, arguments, &of_tiles));
        let rectangle = places.multicast(0);
        let at = CONFIGURATIONS + 0x400 * index - OFFSET;
        let blocks = [
            (at, bytes_of(seed + 5, 40)),
            (at + 0x40, bytes_of(seed + 6, 100 + 16 * index as usize)),
        ];
        let large = [(Large::Configuration, &blocks[..1]), (Large::Binaries, &blocks[1..])];
        for (sort, blocks) in large {
            self.dispatch(commands::write_packed_large(sort, (rectangle, 4), 1, blocks));
        }
        let launch = bytes_of(seed + 7, 48);
        let at = LAUNCHES + 0x40 * index;
        self.dispatch(commands::multicast_packed(Packed::Launch, (rectangle, 4), at, launch));
        self.dispatch(commands::notify_subordinate());
    }

    fn dispatch(&mut self, command: Command) {
        self.fetched.push(commands::relayed(&command, false));
        self.dispatched.push(command);
    }

    fn announce(&mut self, command: Command) {
        self.fetched.push(commands::relayed(&command, true));
        self.announced.push(command);
    }

    pub(super) fn program_count(&self) -> u32 {
        u32::try_from(self.programs.len()).unwrap()
    }

    pub(super) const fn fetched_count(&self) -> usize {
        self.fetched.len()
    }
}

pub(super) fn places(chip: Chip) -> Places {
    Places {
        chip,
        prefetcher: logical(chip, PREFETCHER),
        dispatcher: logical(chip, DISPATCHER),
        workers: [logical(chip, WORKERS[0]), logical(chip, WORKERS[3])],
        worker_count: 4,
    }
}

/// Returns the source of a kernel in which each core selects its part.
fn source(package: &Package, places: &Places, processor: Processor) -> String {
    // Jump tables contain addresses that the simulator's loader does not relocate.
    let mut text = String::from("#pragma GCC optimize(\"no-jump-tables\")\n");
    for header in HEADERS {
        writeln!(text, "#include {header}").unwrap();
    }
    let duties = Duty::ALL.into_iter().filter(|duty| duty.processor() == processor);
    for duty in duties.clone() {
        for (name, value) in definitions(duty, places, true) {
            writeln!(text, "#undef {name}\n#define {name} {value}").unwrap();
        }
        let (name, path) = (duty.file_name().trim_end_matches(".cpp"), duty.source(package));
        writeln!(text, "namespace {name} {{\n#include \"{}\"\n}}", path.display()).unwrap();
    }
    let xy = |(x, y): (u16, u16)| format!("my_x[0] == {x} && my_y[0] == {y}");
    text.push_str("void kernel_main() {\n");
    for duty in duties {
        let tile = if duty == Duty::Prefetch { places.prefetcher } else { places.dispatcher };
        let name = duty.file_name().trim_end_matches(".cpp");
        writeln!(text, "    if ({}) {{ return {name}::kernel_main(); }}", xy(tile)).unwrap();
    }
    if processor == Processor::Brisc {
        text.push_str(&worker(places));
    }
    text.push_str("}\n");
    text
}

/// Returns the code of the worker cores. A worker begins when its GO word allows it, and then
/// notifies the dispatcher.
///
/// # Compatibility
/// `notify_dispatch_core_done` of `firmware_common.h` for the last step.
fn worker(places: &Places) -> String {
    let (x, y) = places.dispatcher;
    format!(
        "    const uint64_t done = get_noc_addr({x}, {y}, \
         STREAM_REG_ADDR({STREAM}, STREAM_REMOTE_DEST_BUF_SPACE_AVAILABLE_UPDATE_REG_INDEX));
    volatile tt_l1_ptr uint32_t* go = reinterpret_cast<volatile tt_l1_ptr uint32_t*>({GO});
    const uint32_t last = get_arg_val<uint32_t>({});
    for (uint32_t program = 1; program <= last; ++program) {{
        while (*go != program) {{ invalidate_l1_cache(); }}
        DeviceZoneScopedN(\"worked\");
        noc_fast_write_dw_inline<DM_DEDICATED_NOC>(noc_index, BRISC_AT_CMD_BUF,
            1 << REMOTE_DEST_BUF_WORDS_FREE_INC, done, 0xF, NOC_UNICAST_WRITE_VC, false, true);
    }}
",
        PROGRAM_COUNT_ARGUMENT
    )
}

/// Headers of all kernels, included before the kernels so that no header is inside their
/// namespaces.
const HEADERS: [&str; 17] = [
    "<array>",
    "<climits>",
    "<cstdint>",
    "\"api/dataflow/dataflow_api.h\"",
    "\"internal/dataflow/dataflow_api_addrgen.h\"",
    "\"api/debug/assert.h\"",
    "\"api/debug/dprint.h\"",
    "\"hostdev/dev_msgs.h\"",
    "\"hostdev/profiler_common.h\"",
    "\"hostdevcommon/dispatch_telemetry_types.hpp\"",
    "\"risc_common.h\"",
    "\"tt_metal/impl/dispatch/kernels/cq_commands.hpp\"",
    "\"tt_metal/impl/dispatch/kernels/cq_common.hpp\"",
    "\"tt_metal/impl/dispatch/kernels/cq_prefetch.hpp\"",
    "\"tt_metal/impl/dispatch/kernels/cq_relay.hpp\"",
    "\"tt_metal/impl/dispatch/kernels/device_print_dispatch.h\"",
    "\"tt_metal/impl/dispatch/kernels/realtime_profiler.hpp\"",
];

/// Returns the arguments. Semaphores and arguments begin at the same address, and each semaphore
/// takes 16 bytes, so every fourth word is a semaphore.
fn arguments(session: &Session) -> Vec<u32> {
    let mut arguments: Vec<u32> = SEMAPHORES.iter().flat_map(|&value| [value, 0, 0, 0]).collect();
    arguments.push(session.program_count());
    arguments
}
const PROGRAM_COUNT_ARGUMENT: usize = 4 * SEMAPHORES.len();

/// Kernels for a chip with a header, and the texts of their zones.
pub(super) struct Kernels {
    chip: Chip,
    header: Header,
    program: Arc<Program>,
    loader: Arc<Program>,
    texts: BTreeSet<String>,
}

impl Kernels {
    /// Returns the kernels, built once for all tests.
    pub(super) fn new(package: &Package, chip: Chip, header: Header) -> &'static Self {
        static BUILT: [OnceLock<Kernels>; 4] = [const { OnceLock::new() }; 4];
        let index = 2 * usize::from(chip == Chip::Blackhole) + usize::from(header == Header::Ours);
        BUILT[index].get_or_init(|| Self::build(package, chip, header))
    }

    fn build(package: &Package, chip: Chip, header: Header) -> Self {
        let folder = folder("dispatch");
        let mut texts = BTreeSet::new();
        let mut build = |name: &str, processor: Processor, text: String| {
            let path: PathBuf = folder.join(format!("{chip}-{header}-{name}.cpp"));
            fs::write(&path, text).unwrap();
            let job = kernels::Job::new(chip, processor, path);
            let defines = ["DISPATCH_KERNEL=1".to_owned()];
            let job = job.with_defines(defines.into()).in_mode(Mode::Dispatch).optimised("O2");
            texts.extend(job.zone_texts(package, header));
            let linked = kernels::link(package, &job, false, header);
            let linked = linked.unwrap_or_else(|error| panic!("{chip} {name} {header}: {error}"));
            Arc::new(KernelFile::new(name, linked.file).unwrap()) as Arc<dyn Kernel>
        };
        let places = places(chip);
        let brisc = build("brisc", Processor::Brisc, source(package, &places, Processor::Brisc));
        let text = source(package, &places, Processor::Ncrisc);
        let ncrisc = build("ncrisc", Processor::Ncrisc, text);
        let loader = build("loader", Processor::Brisc, LOADER.to_owned());
        for processor in [Processor::Brisc, Processor::Ncrisc] {
            let profiler = (header, Mode::Dispatch);
            texts.extend(firmware::zone_texts_of(package, (chip, processor), profiler));
        }
        let program = Program::new("dispatch")
            .with_kernel(Risc::Brisc, brisc)
            .with_kernel(Risc::Ncrisc, ncrisc);
        let loader = Program::new("load").with_kernel(Risc::Brisc, loader);
        Self { chip, header, program: Arc::new(program), loader: Arc::new(loader), texts }
    }

    /// Executes a session; returns the chip and its records.
    pub(super) fn run(
        &self,
        package: &Package,
        simulator: &Simulator,
        session: &Session,
    ) -> (Machine, Readout) {
        let firmware = firmware::set_in(package, self.chip, (self.header, Mode::Dispatch));
        let whole = ChipConfig::new(arch(self.chip)).with_harvested(&[]);
        let config = MeshConfig::new(9).with_firmware(&firmware);
        let mut machine = simulator.start(self.chip, config, whole);
        self.load_queue(&mut machine, session);
        let cores = [[PREFETCHER, DISPATCHER].as_slice(), &WORKERS].concat();
        let launch = Launch::new(&self.program, 0).with_args(&arguments(session));
        machine.launch([launch.on(CoreSelection::At(cores))]);
        let mut readout = read_device_profiler(machine.mesh()).unwrap();
        readout.zones = ZoneTable::from_texts(&self.texts).unwrap();
        (machine, readout)
    }

    /// Writes the queue to DRAM and notifies the prefetcher, as the host does.
    fn load_queue(&self, machine: &mut Machine, session: &Session) {
        let coord = |tile: TileCoord| Noc0Coord { x: tile.x, y: tile.y };
        let queue: Vec<u32> = words(&session.fetched.concat());
        let device = machine.mesh().device(0).unwrap();
        device.write_l1(coord(PREFETCHER), LOADED.into(), &queue).unwrap();
        let size = 4 * u32::try_from(queue.len()).unwrap();
        let launch = Launch::new(&self.loader, 0).with_args(&[LOADED, QUEUE, size]);
        machine.launch([launch.on(CoreSelection::At(vec![PREFETCHER]))]);
        let device = machine.mesh().device(0).unwrap();
        let sizes: Vec<u8> = session
            .fetched
            .iter()
            .flat_map(|command| u16::try_from(command.len() / 16).unwrap().to_le_bytes())
            .chain([0; 64])
            .collect();
        device.write_l1(coord(PREFETCHER), PREFETCH_Q.into(), &words(&sizes)).unwrap();
        for (address, count) in CLEARED {
            device.write_l1(coord(DISPATCHER), address.into(), &vec![0; count]).unwrap();
            device.write_l1(coord(PREFETCHER), address.into(), &vec![0; count]).unwrap();
        }
        for address in [COMPLETION_WRITE, COMPLETION_READ] {
            let first = COMPLETION >> 4;
            device.write_l1(coord(DISPATCHER), address.into(), &[first]).unwrap();
        }
        for tile in WORKERS {
            device.write_l1(coord(tile), GO.into(), &[0]).unwrap();
        }
    }
}

/// Converts bytes to words.
fn words(bytes: &[u8]) -> Vec<u32> {
    let padded = [bytes, &[0; 3]].concat();
    padded.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// L1 address at which the loader finds the data for DRAM.
const LOADED: u32 = 0x8_0000;

/// Kernel that writes the first bank of DRAM; its arguments are source, destination and bytes.
const LOADER: &str = r#"
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    const uint32_t from = get_arg_val<uint32_t>(0);
    const uint64_t to = get_noc_addr_from_bank_id<true>(0, get_arg_val<uint32_t>(1));
    noc_async_write(from, to, get_arg_val<uint32_t>(2));
    noc_async_write_barrier();
}
"#;
