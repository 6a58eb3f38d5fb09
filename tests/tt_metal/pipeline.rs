//! Waits and signals of a pipeline over circular buffers in tt-metal's firmware, through tt-metal's
//! functions for buffers and semaphores, on our simulator and on Tenstorrent's.

use crate::{
    firmware, kernels,
    launches::arch,
    machine::Simulator,
    package::{Package, package, sources},
    toolchain::{Chip, Header, Processor, in_parallel},
};
use host_reader::{mesh::Noc0Coord, names::ZoneTable, read_device_profiler, readout::Readout};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use wire::{
    CoreKind, Risc,
    wait::{BlockedWait, SignalKind, WAIT_TOTAL_ZONE, WaitKind, WaitTotal},
};

const CORE: TileCoord = TileCoord { x: 2, y: 3 };
const LAUNCHES: u32 = 3;
/// Constants of `pipeline.cpp`.
const IN: u32 = 0;
const OUT: u32 = 16;
const TILES: usize = 20;
const CAPACITY: u64 = 2;
const SEMAPHORE: u32 = 0x9_8000;

/// L1 address of the numbers of loop passes that NCRISC, the unpacker, the packer and BRISC execute
/// for each tile. The host writes these numbers.
const WORK: u64 = 0x9_7000;

/// L1 address at which kernels add up the time of each of their waits, measured with the tile's
/// clock.
const CLOCKED: u64 = WORK + 0x40;
/// The waits, in the order of the words at `CLOCKED`.
const CLOCKED_WAITS: [(Risc, WaitKind, u32); 6] = [
    (Risc::Ncrisc, WaitKind::CB_RESERVE, IN),
    (Risc::Trisc0, WaitKind::CB_WAIT, IN),
    (Risc::Trisc2, WaitKind::CB_RESERVE, OUT),
    (Risc::Brisc, WaitKind::CB_WAIT, OUT),
    (Risc::Ncrisc, WaitKind::SEM_WAIT, SEMAPHORE),
    (Risc::Brisc, WaitKind::NOC_WRITE_BARRIER, 0),
];
/// Maximum cycles that a call takes in addition to its wait. If the call blocks, these are the
/// cycles of the record; otherwise, of the whole call.
const CALL_CYCLES: u64 = 250;

/// Number of blocked waits for an object in a launch, by RISC.
type Blocked = BTreeMap<(Risc, WaitKind, u32), u64>;

/// Waits of a RISC by kind and key, both single and in total, and its signals.
#[derive(Default)]
struct Found {
    single: BTreeMap<(WaitKind, u32), Vec<u64>>,
    totals: BTreeMap<(WaitKind, u32), (u64, u64)>,
    signals: BTreeMap<(SignalKind, u64), usize>,
}

/// Returns the kernels and the texts of their zones.
fn program(package: &Package, chip: Chip) -> (Arc<Program>, BTreeSet<String>) {
    let linked = in_parallel(&Processor::TENSIX, |&processor| {
        let source = sources().join("pipeline.cpp");
        let job = kernels::Job::new(chip, processor, source);
        let job = job.with_defines(vec!["PROFILE_SYNC_EVENTS".to_owned()]);
        let linked = kernels::link(package, &job, false, Header::Ours);
        let linked = linked.unwrap_or_else(|error| panic!("{chip} {processor}: {error}"));
        (
            KernelFile::new(processor.name(), linked.file).unwrap(),
            job.zone_texts(package, Header::Ours),
        )
    });
    let mut texts = BTreeSet::new();
    let mut program = Program::new("pipeline");
    for (index, (kernel, of_kernel)) in linked.into_iter().enumerate() {
        texts.extend(of_kernel);
        let risc = CoreKind::Tensix.risc(index).unwrap();
        program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    }
    (Arc::new(program), texts)
}

/// Returns the waits and signals of each RISC in each launch.
fn found(readout: &Readout) -> BTreeMap<(Risc, u32), Found> {
    assert!(readout.anomalies.is_empty(), "{:?}", readout.anomalies);
    assert_eq!(readout.losses.entries().count(), 0, "{:?}", readout.losses);
    let mut all: BTreeMap<(Risc, u32), Found> = BTreeMap::new();
    for lane in readout.lanes() {
        let records: Vec<_> = lane.records().collect();
        for (index, run) in lane.runs.iter().enumerate() {
            let found = all.entry((lane.id.risc, run.program.base())).or_default();
            for record in &records[lane.run_records(index)] {
                let name = readout.zones.name(record.zone);
                if let Some(kind) = SignalKind::ALL.into_iter().find(|it| it.label() == name) {
                    let [key] = record.data[..] else { panic!("{name}: {:?}", record.data) };
                    *found.signals.entry((kind, key)).or_default() += 1;
                    continue;
                }
                let Ok(data) = <[u64; 2]>::try_from(record.data) else { continue };
                if name == WAIT_TOTAL_ZONE {
                    let total = WaitTotal::from_data(data).unwrap();
                    let sums = (u64::from(total.cycles), u64::from(total.waits));
                    let before = found.totals.insert((total.kind, total.key), sums);
                    assert_eq!(before, None, "one sum for each object");
                } else {
                    let wait = BlockedWait::from_data(data);
                    let wait = wait.unwrap_or_else(|| panic!("{name}: {data:x?}"));
                    assert_eq!(Some(name), wait.kind.zone_name());
                    found.single.entry((wait.kind, wait.key)).or_default().push(wait.cycles.into());
                }
            }
        }
    }
    all
}

/// Asserts that the recorded cycles of blocked waits equal the cycles measured by the clock around
/// each wait, except for the cost of the calls themselves.
fn check_cycles(what: &str, all: &BTreeMap<(Risc, u32), Found>, clocked: [u32; 6]) {
    for (object, clocked) in CLOCKED_WAITS.into_iter().zip(clocked) {
        let (risc, kind, key) = object;
        let of_risc = all.iter().filter(|((found, _), _)| *found == risc);
        let sums = of_risc.filter_map(|(_, found)| found.totals.get(&(kind, key)));
        let recorded: u64 = sums.map(|(cycles, _)| cycles).sum();
        let calls = if kind == WaitKind::SEM_WAIT { 1 } else { TILES as u64 };
        let most_spent = u64::from(LAUNCHES) * calls * CALL_CYCLES;
        let spent = u64::from(clocked).checked_sub(recorded);
        assert!(
            spent.is_some_and(|spent| spent <= most_spent),
            "{what}, {object:?}: {recorded} cycles recorded, {clocked} by the clock"
        );
    }
}

/// Asserts that totals equal the sums of the single waits, and that every signal is recorded;
/// returns the number of blocked waits of each RISC for each object.
fn check(what: &str, all: BTreeMap<(Risc, u32), Found>) -> BTreeMap<u32, Blocked> {
    let mut blocked: BTreeMap<u32, Blocked> = BTreeMap::new();
    assert_eq!(all.len(), 5 * LAUNCHES as usize, "{what}");
    for ((risc, program), found) in all {
        let what = format!("{what}, {risc:?}, launch {program}");
        let sums = |cycles: &Vec<u64>| (cycles.iter().sum::<u64>(), cycles.len() as u64);
        let single: BTreeMap<_, _> =
            found.single.iter().map(|(&object, cycles)| (object, sums(cycles))).collect();
        assert_eq!(found.totals, single, "{what}");
        let signals = match risc {
            Risc::Ncrisc => vec![((SignalKind::CbPush, IN.into()), TILES)],
            Risc::Trisc0 => vec![((SignalKind::CbPop, IN.into()), TILES)],
            Risc::Trisc2 => vec![((SignalKind::CbPush, OUT.into()), TILES)],
            Risc::Brisc => {
                vec![
                    ((SignalKind::CbPop, OUT.into()), TILES),
                    ((SignalKind::SemSet, SEMAPHORE.into()), 2),
                ]
            }
            _ => Vec::new(),
        };
        assert_eq!(found.signals, signals.into_iter().collect(), "{what}");
        let counts = single.into_iter().map(|((kind, key), (_, waits))| ((risc, kind, key), waits));
        blocked.entry(program).or_default().extend(counts);
    }
    blocked
}

/// Checks a launch with an unpacker and a writer that are far slower than the other stages.
fn check_slow_ends(what: &str, of: impl Fn(Risc, WaitKind, u32) -> u64) {
    // There is room for the first tiles without a wait.
    let refused = TILES as u64 - CAPACITY;
    assert_eq!(of(Risc::Ncrisc, WaitKind::CB_RESERVE, IN), refused, "{what}");
    assert_eq!(of(Risc::Trisc2, WaitKind::CB_RESERVE, OUT), refused, "{what}");
    assert!(of(Risc::Trisc0, WaitKind::CB_WAIT, IN) <= 1, "{what}");
    assert!(of(Risc::Brisc, WaitKind::CB_WAIT, OUT) <= 1, "{what}");
    assert_eq!(of(Risc::Ncrisc, WaitKind::SEM_WAIT, SEMAPHORE), 1, "{what}");
}

/// Checks a launch with a reader and a packer that are far slower than the other stages.
fn check_slow_sources(what: &str, of: impl Fn(Risc, WaitKind, u32) -> u64) {
    assert_eq!(of(Risc::Trisc0, WaitKind::CB_WAIT, IN), TILES as u64, "{what}");
    assert_eq!(of(Risc::Brisc, WaitKind::CB_WAIT, OUT), TILES as u64, "{what}");
    assert_eq!(of(Risc::Ncrisc, WaitKind::CB_RESERVE, IN), 0, "{what}");
    assert_eq!(of(Risc::Trisc2, WaitKind::CB_RESERVE, OUT), 0, "{what}");
}

/// The RISC before a slow RISC waits for room repeatedly, and the RISC after it waits for tiles.
/// Both simulators give the same numbers of waits.
#[test]
fn a_slow_risc_lets_its_neighbours_wait_on_each_simulator() {
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        let (program, texts) = program(package, chip);
        let firmware = firmware::set(package, chip, Header::Ours);
        for simulator in Simulator::all(chip) {
            for work in [[10, 4_000, 10, 4_000], [4_000, 10, 4_000, 10]] {
                let own = ChipConfig::new(arch(chip)).with_harvested(&[]);
                let mesh = MeshConfig::new(5).with_firmware(&firmware);
                let mut machine = simulator.start(chip, mesh, own);
                let place = Noc0Coord { x: CORE.x, y: CORE.y };
                let mut clocked = [0; CLOCKED_WAITS.len()];
                let device = machine.mesh().device(0).unwrap();
                device.write_l1(place, WORK, &work).unwrap();
                device.write_l1(place, CLOCKED, &clocked).unwrap();
                let cores = CoreSelection::At(vec![CORE]);
                let launches = (1..=LAUNCHES).map(|id| Launch::new(&program, id).on(cores.clone()));
                machine.launch(launches);
                let mut readout = read_device_profiler(machine.mesh()).unwrap();
                readout.zones = ZoneTable::from_texts(&texts).unwrap();
                machine.mesh().device(0).unwrap().read_l1(place, CLOCKED, &mut clocked).unwrap();
                let what = format!("{chip} on {simulator}");
                let all = found(&readout);
                check_cycles(&what, &all, clocked);
                for (launch, blocked) in check(&what, all) {
                    let what = format!("{chip} on {simulator}, launch {launch}: {blocked:?}");
                    let of =
                        |risc, kind, key| blocked.get(&(risc, kind, key)).copied().unwrap_or(0);
                    if work[0] < work[1] {
                        check_slow_ends(&what, of);
                    } else {
                        check_slow_sources(&what, of);
                    }
                }
            }
        }
    }
}
