//! Hardware counters that tt-metal's firmware starts, stops and reads, with either header. The
//! host's values equal the activity of the simulated coprocessor, and unknown values are not shown.

use crate::{
    firmware, kernels,
    launches::arch,
    package::{Package, package, sources},
    program::Program as Linked,
    toolchain::{Chip, Header, Processor, Target, in_parallel},
};
use host_reader::{
    ProfilerOptions,
    analysis::launches_of,
    counters::{CounterArch, CounterGroup, LaunchCounters, PassPlan, counters_of},
    init_device_profiler, read_device_profiler,
};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    truth::CounterTruth,
    tt_metal::firmware::FirmwareSet,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use wire::Risc;

const CORE: TileCoord = TileCoord { x: 2, y: 3 };
const LAUNCHES: u32 = 3;
/// Instructions that each TRISC issues in a launch.
const INSTRUCTIONS: [u64; 3] = [410, 57, 230];
/// Maximum instructions that the firmware of a TRISC issues after its kernel.
const OF_FIRMWARE_MAX: u64 = 8;
const TRISCS: [(Processor, Risc); 3] = [
    (Processor::Trisc0, Risc::Trisc0),
    (Processor::Trisc1, Risc::Trisc1),
    (Processor::Trisc2, Risc::Trisc2),
];

/// Counters that the simulator models.
const KNOWN: [&str; 3] =
    ["THREAD_INSTRUCTIONS_0", "THREAD_INSTRUCTIONS_1", "THREAD_INSTRUCTIONS_2"];

fn counter_arch(chip: Chip) -> CounterArch {
    match chip {
        Chip::Wormhole => CounterArch::Wormhole,
        Chip::Blackhole => CounterArch::Blackhole,
    }
}

/// Returns firmware in which BRISC stops and reads the counters of a mask; `None` if the firmware
/// is too large.
fn firmware_set(
    package: &Package,
    chip: Chip,
    header: Header,
    mask: u32,
) -> Option<Arc<FirmwareSet>> {
    let programs = Processor::TENSIX.map(|processor| {
        let program = if processor == Processor::Brisc {
            let target = Target {
                defines: vec![format!("PROFILE_PERF_COUNTERS={mask}")],
                ..Target::new(chip, processor, header)
            };
            let into = format!("counters-{mask}");
            firmware::build(package, &target, "brisc.cc", &into)
                .and_then(|path| Linked::read(&path))
        } else {
            firmware::program(package, chip, processor, header)
        };
        program.unwrap_or_else(|error| panic!("{chip} {processor} {header}: {error}"))
    });
    let brisc = &programs[0];
    if brisc.text_limit().is_some_and(|limit| brisc.text_bytes() > limit) {
        return None;
    }
    Some(Arc::new(FirmwareSet::from_files(programs.map(|program| program.file)).unwrap()))
}

/// Counters of each launch as read by the host, and the truth.
struct Outcome {
    launches: Vec<LaunchCounters>,
    truth: Vec<CounterTruth>,
}

/// Runs the launches; returns `None` if the firmware is too large.
fn run(package: &Package, chip: Chip, header: Header, mask: u32) -> Option<Outcome> {
    let firmware = firmware_set(package, chip, header, mask)?;
    let mut defines = vec![format!("PROFILE_PERF_COUNTERS={mask}")];
    let counts = INSTRUCTIONS.iter().enumerate();
    defines.extend(counts.map(|(thread, count)| format!("INSTRUCTIONS_{thread}={count}")));
    let mut program = Program::new("counters");
    for (processor, risc) in TRISCS {
        let source = sources().join("counters.cpp");
        let job = kernels::Job::new(chip, processor, source);
        let linked = kernels::link(package, &job.with_defines(defines.clone()), false, header);
        let linked = linked.unwrap_or_else(|error| panic!("{chip} {processor} {header}: {error}"));
        let kernel = KernelFile::new(processor.name(), linked.file).unwrap();
        program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    }
    let whole = ChipConfig::new(arch(chip)).with_harvested(&[]);
    let config = MeshConfig::new(11).with_chip(whole).with_firmware(&firmware);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    let program = Arc::new(program);
    for id in 1..=LAUNCHES {
        let launch = Launch::new(&program, id).on(CoreSelection::At(vec![CORE]));
        mesh.enqueue(0, launch).unwrap();
    }
    mesh.run_to_completion();
    let failures: Vec<_> = mesh.execution_failures().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{chip} {header}: {failures:#?}");
    let readout = read_device_profiler(&mut mesh).unwrap();
    let losses: Vec<_> = readout.losses.entries().collect();
    assert!(losses.is_empty(), "{chip} {header}: {losses:?}");
    let anomalies: Vec<_> = readout.anomalies.counts().collect();
    assert!(anomalies.is_empty(), "{chip} {header}: {anomalies:?}");
    let launches = counters_of(&readout, &launches_of(&readout));
    let truth = mesh.truth().counters.remove(&(0, CORE)).unwrap_or_default();
    Some(Outcome { launches, truth })
}

/// Asserts that each counter in the simulator's model equals the truth, and that no other counter
/// has a value, in any table or metric.
fn check(what: &str, launch: &LaunchCounters, truth: &CounterTruth) {
    assert_eq!(launch.problems.len(), 0, "{what}: {:?}", launch.problems);
    for total in launch.totals() {
        let thread = KNOWN.iter().position(|known| *known == total.name);
        let expected = thread.map(|thread| truth.issued.by_thread[thread]);
        assert_eq!(total.counts.map(|counts| counts.total), expected, "{what}: {}", total.name);
        let cycles = thread.map(|_| (truth.cycles, truth.cycles));
        assert_eq!(total.cycles, cycles, "{what}: {}", total.name);
    }
    let summaries: Vec<_> = launch.counters.summaries(false).collect();
    let labels: Vec<_> = summaries.iter().map(|summary| summary.metric.label()).collect();
    assert_eq!(labels, ["T0 Instrn Issue Rate", "T1 Instrn Issue Rate", "T2 Instrn Issue Rate"]);
    for (summary, count) in summaries.iter().zip(truth.issued.by_thread) {
        let rate = count as f64 / truth.cycles as f64 * 100.0;
        let mean = summary.statistics.unwrap().mean;
        assert!((mean - rate).abs() < 1e-9, "{what}: {mean} is not {rate}");
    }
}

/// Both headers record the same instruction counters, each once per launch and with the true
/// values. Their records exceed a ring.
#[test]
fn counters_of_tt_metals_firmware_are_what_the_coprocessor_did() {
    let Some(package) = package() else { return };
    let group = CounterGroup::Instruction;
    let mask = PassPlan::new(&[group]).masks()[0];
    let jobs: Vec<(Chip, Header)> = Chip::ALL
        .into_iter()
        .flat_map(|chip| [(chip, Header::Upstream), (chip, Header::Ours)])
        .collect();
    let outcomes = in_parallel(&jobs, |&(chip, header)| run(package, chip, header, mask));
    let mut read = Vec::new();
    for (&(chip, header), outcome) in jobs.iter().zip(&outcomes) {
        let what = format!("{chip} {header}");
        let Some(outcome) = outcome else {
            // gcc 12 generates larger code than Tenstorrent's compiler.
            println!("{what}: firmware with counters does not fit");
            assert_eq!((chip, header), (Chip::Blackhole, Header::Upstream));
            continue;
        };
        assert_eq!(outcome.launches.len(), LAUNCHES as usize, "{what}");
        assert_eq!(outcome.truth.len(), LAUNCHES as usize, "{what}");
        for (launch, truth) in outcome.launches.iter().zip(&outcome.truth) {
            check(&what, launch, truth);
            // TRISC 1 starts the counters before its kernel; the other RISCs may have begun
            // earlier.
            for (thread, count) in truth.issued.by_thread.into_iter().enumerate() {
                let least = if thread == 1 { INSTRUCTIONS[1] } else { 1 };
                let most = INSTRUCTIONS[thread] + OF_FIRMWARE_MAX;
                assert!((least..=most).contains(&count), "{what}: {count} of thread {thread}");
            }
            let names: BTreeSet<_> =
                launch.samples.iter().map(|one| one.sample.name.to_string()).collect();
            assert_eq!(names.len(), launch.samples.len(), "{what}: each counter once");
            assert_eq!(names.len() as u64, group.record_count(counter_arch(chip)), "{what}");
        }
        let names = |launch: &LaunchCounters| {
            launch.samples.iter().map(|one| one.sample.name.to_string()).collect::<Vec<_>>()
        };
        read.push((chip, outcome.launches.iter().map(names).collect::<Vec<_>>()));
    }
    for pair in read.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        assert_eq!(pair[0].1, pair[1].1, "{}: in the same order", pair[0].0);
    }
}

/// Returns the counters in each table of tt-metal's headers, by name of the table: the number and
/// the selection of each counter.
fn upstream_tables(package: &Package, chip: Chip) -> BTreeMap<String, Vec<(u16, u16)>> {
    let folder = package.root.join("tt_metal/tt-llk/tools/include/perf_counters");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let types = read("types.h");
    let list = types.split_once("enum PerfCounterType").unwrap().1;
    let list = list.split_once('{').unwrap().1.split_once('}').unwrap().0;
    let mut numbers = BTreeMap::new();
    let mut next = 0;
    let lines = list.lines().map(|line| line.split("//").next().unwrap_or_default());
    for entry in lines.flat_map(|line| line.split(',')).map(str::trim).filter(|e| !e.is_empty()) {
        let (name, value) = entry.split_once('=').unwrap_or((entry, ""));
        next = value.trim().parse().unwrap_or(next);
        numbers.insert(name.trim().to_owned(), next);
        next += 1;
    }
    let tables = read(match chip {
        Chip::Wormhole => "wormhole.h",
        Chip::Blackhole => "blackhole.h",
    });
    let mut found = BTreeMap::new();
    for table in tables.split("std::array<Entry, ").skip(1) {
        let name = table.split_once("> ").unwrap().1.split_once("_counters").unwrap().0;
        let body = table.split_once(';').unwrap().0;
        let entries = body.split("PerfCounterType::").skip(1).map(|entry| {
            let (name, select) = entry.split_once(',').unwrap();
            let digits = |c: char| !c.is_ascii_digit();
            let select = select.trim().split(digits).next().unwrap().parse().unwrap();
            (numbers[name], select)
        });
        found.insert(name.to_owned(), entries.collect());
    }
    found
}

/// Compares the counters that the runtime reads with TT-Metal's tables, and their order.
#[test]
fn the_runtimes_tables_are_upstreams() {
    use kernel_profiler::{
        counter_group::{FPU, INSTRUCTIONS, L1, PACK, UNPACK},
        counters::for_each_run,
        port::CounterChip,
    };
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        let upstream = upstream_tables(package, chip);
        let own_chip = match chip {
            Chip::Wormhole => CounterChip::Wormhole,
            Chip::Blackhole => CounterChip::Blackhole,
        };
        let banks = (0..).zip(L1).map(|(bank, group)| (format!("l1_{bank}"), group));
        let groups = [("fpu", FPU), ("pack", PACK), ("unpack", UNPACK), ("instrn", INSTRUCTIONS)];
        let groups = groups.map(|(name, group)| (name.to_owned(), group));
        let mut compared = 0;
        for (name, group) in groups.into_iter().chain(banks) {
            let mut own = Vec::new();
            for_each_run(group, own_chip, |run| {
                let ((number, select), step) = (run.first, run.step);
                own.extend((0..run.count).map(|n| (number + n * step.0, select + n * step.1)));
            });
            assert_eq!(own, upstream[&name], "{chip} {name}");
            compared += own.len();
        }
        assert_eq!(compared, [126, 169][usize::from(chip == Chip::Blackhole)], "{chip}");
    }
}
