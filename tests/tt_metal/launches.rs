//! tt-metal's firmware, compiled with our header, on simulated cores: launches of kernels on all
//! five RISCs, read by the host reader.

use crate::{
    firmware, kernels,
    machine::{Machine, Simulator},
    package::{Package, our_include, package, sources},
    toolchain::{Chip, Header, Mode, Processor, folder, run, same_paths},
};
use host_reader::{ReadOptions, Reader, mesh::Noc0Coord, read_device_profiler, readout::Readout};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    machine::{KernelKind, images::Selection, link_script::link_script},
    program::{CoreSelection, Kernel, Launch, Program},
    tt_metal::firmware::FirmwareSet,
};
use std::{
    collections::BTreeMap,
    fs,
    process::Command,
    sync::{Arc, OnceLock},
};
use wire::{CoreKind, PacketKind, Risc};

/// Number of launches of a run.
const LAUNCHES: u32 = 10;

/// A record without its time: kind, id, values.
pub(crate) type Told = (PacketKind, u32, Vec<u64>);

/// Compiler options that select the chip in our header.
const ARCH_DEFINE: [&str; 2] = ["-DARCH_WORMHOLE", "-DARCH_BLACKHOLE"];

pub(crate) const fn arch(chip: Chip) -> Arch {
    match chip {
        Chip::Wormhole => Arch::WormholeB0,
        Chip::Blackhole => Arch::Blackhole,
    }
}

/// Returns a program with one kernel per RISC, each linked against tt-metal's firmware.
fn program_of_tt_metal(package: &Package, chip: Chip, mode: Mode) -> Program {
    let mut program = Program::new("reader-writer");
    for (index, processor) in Processor::TENSIX.into_iter().enumerate() {
        let source = sources().join("reader_writer.cpp");
        let job = kernels::Job::new(chip, processor, source).in_mode(mode);
        let linked = kernels::link(package, &job, false, Header::Ours);
        let linked = linked.unwrap_or_else(|error| panic!("{chip} {processor}: {error}"));
        let kernel = KernelFile::new(processor.name(), linked.file).unwrap();
        let risc = CoreKind::Tensix.risc(index).unwrap();
        program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    }
    program
}

/// Returns the same kernels, each linked for the simulator's own firmware.
fn program_of_ours(package: &Package, chip: Chip) -> Program {
    let folder = folder("launches");
    let mut program = Program::new("reader-writer");
    for (index, processor) in Processor::TENSIX.into_iter().enumerate() {
        let script = folder.join(format!("{chip}-{processor}.ld"));
        fs::write(&script, link_script(Selection::new(arch(chip), false), index)).unwrap();
        let elf = folder.join(format!("{chip}-{processor}.elf"));
        let mut command = Command::new(&package.compiler);
        command.args(["-march=rv32im", "-mabi=ilp32", "-std=c++17", "-O2", "-ffreestanding"]);
        command.args(["-nostdlib", "-fno-exceptions", "-fno-rtti", "-DPROFILE_KERNEL=1"]);
        command.args(["-DCOMPILE_FOR_BRISC", ARCH_DEFINE[chip as usize]]);
        command.arg("-I").arg(our_include()).arg("-T").arg(&script).arg(same_paths());
        command.arg(sources().join("reader_writer.cpp")).arg("-o").arg(&elf);
        run(&mut command).unwrap();
        let kernel = KernelFile::new(processor.name(), fs::read(&elf).unwrap()).unwrap();
        let risc = CoreKind::Tensix.risc(index).unwrap();
        program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    }
    program
}

/// Records left by launches.
struct Outcome {
    readout: Readout,
    /// The words that BRISC has written to DRAM.
    written: Vec<u32>,
    /// The words that NCRISC has read from DRAM.
    read: Vec<u32>,
}

impl Outcome {
    /// Launches a program ten times and reads once.
    fn new(mut machine: Machine, program: &Program) -> Self {
        machine.launch(launches(program));
        let mesh = machine.mesh();
        let readout = read_device_profiler(mesh).unwrap();
        let core = Noc0Coord { x: CORE.x, y: CORE.y };
        let device = mesh.device(0).unwrap();
        let (mut written, mut read) = (vec![0; 16], vec![0; 16]);
        device.read_dram(BANK, WRITTEN, &mut written).unwrap();
        device.read_l1(core, DESTINATION, &mut read).unwrap();
        Self { readout, written, read }
    }
}

/// A Tensix core of both chips.
const CORE: TileCoord = TileCoord { x: 2, y: 3 };

fn launches(program: &Program) -> impl Iterator<Item = Launch> {
    let program = Arc::new(program.clone());
    (1..=LAUNCHES).map(move |id| Launch::new(&program, id).on(CoreSelection::At(vec![CORE])))
}

/// Returns the records of each RISC in each launch.
pub(crate) fn told(readout: &Readout) -> BTreeMap<(Risc, u32), Vec<Told>> {
    let mut told = BTreeMap::new();
    for lane in readout.lanes() {
        let records: Vec<_> = lane.records().collect();
        for (index, run) in lane.runs.iter().enumerate() {
            let of_run = records[lane.run_records(index)].iter();
            let of_run = of_run.map(|record| (record.kind, record.zone.0, record.data.to_vec()));
            let program = run.program.base();
            assert!(told.insert((lane.id.risc, program), of_run.collect()).is_none());
        }
    }
    told
}

/// Returns the records between the begin and the end of a kernel's own code, without the
/// surrounding zones of firmware and kernel.
pub(crate) fn inner(records: &[Told]) -> &[Told] {
    assert!(records.len() > 4, "{records:?}");
    assert!(records[..2].iter().all(|record| record.0 == PacketKind::ZoneStart), "{records:?}");
    let behind = &records[records.len() - 2..];
    assert!(behind.iter().all(|record| record.0 == PacketKind::ZoneEnd), "{behind:?}");
    assert_eq!((behind[0].1, behind[1].1), (records[1].1, records[0].1), "properly nested");
    &records[2..records.len() - 2]
}

/// Asserts that launches leave the same records under tt-metal's firmware as under ours.
fn check(chip: Chip, theirs: &Outcome, ours: &Outcome) {
    for readout in [&theirs.readout, &ours.readout] {
        assert!(readout.anomalies.is_empty(), "{chip}: {:?}", readout.anomalies);
        assert_eq!(readout.losses.entries().count(), 0, "{chip}");
    }
    let (told_there, told_here) = (told(&theirs.readout), told(&ours.readout));
    assert_eq!(told_there.len(), 5 * LAUNCHES as usize, "{chip}: a run per RISC and launch");
    assert_eq!(told_here.len(), told_there.len(), "{chip}: a run per RISC and launch");
    let mut record_count = 0;
    for (key, here) in &told_here {
        let there = told_there.get(key).unwrap_or_else(|| panic!("{chip}: no {key:?}"));
        record_count += there.len();
        let (here, there) = (inner(here), inner(there));
        // Five zones, five data records and an event, with the same line numbers.
        assert_eq!(here.len(), 5 * 3 + 1, "{chip} {key:?}");
        assert_eq!(here, there, "{chip} {key:?}");
    }
    println!("{chip}: {} runs, {record_count} records", told_there.len());
    check_transfers(chip, theirs);
}

/// Firmware and kernels for the launches of a chip, built once for all tests.
struct Bench {
    chip: Chip,
    firmware: Arc<FirmwareSet>,
    program: Program,
    /// Records that the kernels leave under our own firmware.
    ours: Outcome,
}

fn benches(package: &Package) -> &'static [Bench] {
    static BENCHES: OnceLock<Vec<Bench>> = OnceLock::new();
    let bench = |chip| {
        let config = MeshConfig::new(11).with_chip(ChipConfig::new(arch(chip)));
        let machine = Machine::simulated(&config.with_kernels(KernelKind::Riscv));
        let ours = Outcome::new(machine, &program_of_ours(package, chip));
        let firmware = firmware::set(package, chip, Header::Ours);
        Bench { chip, firmware, program: program_of_tt_metal(package, chip, Mode::Plain), ours }
    };
    BENCHES.get_or_init(|| Chip::ALL.map(bench).into())
}

/// Ten launches leave the same records under tt-metal's firmware as under our own. This also holds
/// on Tenstorrent's simulator.
#[test]
fn launches_under_tt_metals_firmware_leave_the_same_records_as_under_ours() {
    let Some(package) = package() else { return };
    for Bench { chip, firmware, program, ours } in benches(package) {
        for simulator in Simulator::all(*chip) {
            let config = MeshConfig::new(11).with_firmware(firmware);
            let machine = simulator.start(*chip, config, ChipConfig::new(arch(*chip)));
            check(*chip, &Outcome::new(machine, program), ours);
        }
    }
}

/// Streaming firmware and kernels of tt-metal leave the same records as pushing ones.
///
/// This also holds on Tenstorrent's simulator. If the firmware of a RISC has no room for a lane,
/// only the records of the RISC's kernel are compared.
#[test]
fn streams_under_tt_metals_firmware_hold_the_same_records() {
    let Some(package) = package() else { return };
    for Bench { chip, ours, .. } in benches(package) {
        let firmware = firmware::set_in(package, *chip, (Header::Ours, Mode::Stream));
        let program = program_of_tt_metal(package, *chip, Mode::Stream);
        for simulator in Simulator::all(*chip) {
            let config = MeshConfig::new(11).with_firmware(&firmware);
            let machine = simulator.start(*chip, config, ChipConfig::new(arch(*chip)));
            check_stream(*chip, &streamed(machine, &program), ours);
        }
    }
}

/// Launches a program repeatedly and reads after each launch; returns all that was read.
fn streamed(mut machine: Machine, program: &Program) -> Readout {
    let (mut reader, mut readout) = (Reader::new(ReadOptions::default()), Readout::default());
    for launch in launches(program) {
        machine.launch([launch]);
        readout.append(reader.read(machine.mesh()).unwrap());
    }
    readout
}

/// Asserts that streamed launches have the records of launches that push.
fn check_stream(chip: Chip, readout: &Readout, ours: &Outcome) {
    assert!(readout.anomalies.is_empty(), "{chip}: {:?}", readout.anomalies);
    assert_eq!(readout.losses.entries().count(), 0, "{chip}");
    let (streamed, pushed) = (told(readout), told(&ours.readout));
    assert_eq!(streamed.len(), 5 * LAUNCHES as usize, "{chip}: a run per RISC and launch");
    for ((risc, launch), there) in &pushed {
        let here = &streamed[&(*risc, *launch)];
        let fixed = if *risc == Risc::Brisc { 2 } else { 1 };
        let here = &here[fixed..here.len() - fixed];
        assert_eq!(here, inner(there), "{chip} {risc} {launch}");
    }
}

/// Asserts that the data moved by the kernels has arrived, so that the launches did more than
/// record.
fn check_transfers(chip: Chip, outcome: &Outcome) {
    let numbered = |first: u32| (0..16).map(|word| first + word).collect::<Vec<u32>>();
    assert_eq!(outcome.written, numbered(0x600D_0400), "{chip}: the last of five passes");
    // The reader does not wait for the writer, so the data may come from any pass.
    let read = &outcome.read;
    assert!((0..5).any(|pass| *read == numbered(0x600D_0000 + 0x100 * pass)), "{chip}: {read:x?}");
}

/// The bank in `reader_writer.cpp`.
const BANK: u32 = 3;
const WRITTEN: u64 = 0x1000_0000;
const DESTINATION: u64 = 0x9_1000;
