//! Accumulate mode in tt-metal's firmware, with our header and with TT-Metal's: several launches
//! share a push. DRAM and L1 together contain the records that each launch would leave with its own
//! push.

use crate::{
    firmware, kernels,
    launches::arch,
    machine::{Machine, Simulator},
    package::{Package, package, sources},
    program::Program as Linked,
    toolchain::{Chip, Header, Mode, Processor},
};
use host_reader::{
    ReadOptions, decode::CaptureMode, ledger::LossCause, read::Reader, readout::Readout,
};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    program::{CoreSelection, Kernel, Launch, Program},
    tt_metal::firmware::FirmwareSet,
};
use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    sync::{Arc, OnceLock},
};
use wire::{CoreKind, PacketKind, Risc, ZoneId};

/// Tensix tiles of both chips.
const CORES: [TileCoord; 4] = [
    TileCoord { x: 2, y: 3 },
    TileCoord { x: 3, y: 2 },
    TileCoord { x: 3, y: 3 },
    TileCoord { x: 4, y: 3 },
];
const RISCS: usize = 5;
/// Number of words of a run of `reader_writer.cpp`: header and fixed slots, five passes with a zone
/// and data, an event, and padding.
const RUN_WORDS: usize = 12 + 5 * (4 + 4) + 2 + 2;
/// Number of rows of such a run in a device log: the zones of firmware and kernel, and the kernel's
/// records.
const RUN_ROWS: usize = 4 + 5 * (2 + 1) + 1;

/// tt-metal's firmware in accumulate mode, and a kernel for each RISC.
type Built = (Arc<FirmwareSet>, Arc<Program>);

/// Returns firmware and program, built once for all tests.
///
/// Returns `None` if the firmware is too large. With TT-Metal's header and gcc 12, the firmware of
/// a Blackhole's BRISC is too large.
fn built(package: &Package, chip: Chip, header: Header) -> Option<Built> {
    static BUILT: [OnceLock<Option<Built>>; 4] = [const { OnceLock::new() }; 4];
    let slot = &BUILT[2 * chip as usize + usize::from(header == Header::Ours)];
    slot.get_or_init(|| build(package, chip, header)).clone()
}

fn build(package: &Package, chip: Chip, header: Header) -> Option<Built> {
    let named =
        |processor: Processor, error: String| format!("{chip} {processor} {header}: {error}");
    let programs = Processor::TENSIX.map(|processor| {
        let profiler = (header, Mode::Accumulate);
        let built = firmware::program_in(package, chip, processor, profiler);
        built.unwrap_or_else(|error| panic!("{}", named(processor, error)))
    });
    let fits = |it: &Linked| it.text_limit().is_none_or(|limit| it.text_bytes() <= limit);
    if !programs.iter().all(fits) {
        return None;
    }
    let files = programs.map(|program| program.file);
    let mut program = Program::new("accumulated");
    for (index, processor) in Processor::TENSIX.into_iter().enumerate() {
        let source = sources().join("reader_writer.cpp");
        let job = kernels::Job::new(chip, processor, source).in_mode(Mode::Accumulate);
        let linked = kernels::link(package, &job, false, header);
        let linked = linked.unwrap_or_else(|error| panic!("{}", named(processor, error)));
        let kernel = KernelFile::new(processor.name(), linked.file).unwrap();
        let risc = CoreKind::Tensix.risc(index).unwrap();
        program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    }
    Some((Arc::new(FirmwareSet::from_files(files).unwrap()), Arc::new(program)))
}

/// Returns the id of the zone around a push. The text of the zone is in the compiler's log, as in
/// tt-metal.
fn push_zone(package: &Package, chip: Chip, header: Header) -> u32 {
    let texts = firmware::zone_texts(package, chip, (header, Mode::Accumulate));
    let text = texts.iter().find(|text| text.starts_with("PROFILER-DRAM-PUSH,"));
    let text = text.expect("the compiler names the zone");
    u32::from(ZoneId::from_text(text).0)
}

/// A host that launches a program on some cores and reads occasionally.
struct Host {
    cores: &'static [TileCoord],
    machine: Machine,
    program: Arc<Program>,
    reader: Reader,
    readout: Readout,
}

impl Host {
    /// Returns a host, or `None` if the firmware does not fit.
    fn new(
        package: &Package,
        chip: Chip,
        header: Header,
        simulator: &Simulator,
        cores: &'static [TileCoord],
    ) -> Option<Self> {
        let (firmware, program) = built(package, chip, header)?;
        let own = ChipConfig::new(arch(chip)).with_harvested(&[]).with_epoch_max_cycles(1);
        let config = MeshConfig::new(5).with_firmware(&firmware);
        let machine = simulator.start(chip, config, own);
        let mode = CaptureMode::Accumulate;
        let reader = Reader::new(ReadOptions { mode, ..ReadOptions::default() });
        Some(Self { cores, machine, program, reader, readout: Readout::default() })
    }

    fn launch(&mut self, ids: RangeInclusive<u32>) {
        let cores = CoreSelection::At(self.cores.to_vec());
        self.machine.launch(ids.map(|id| Launch::new(&self.program, id).on(cores.clone())));
    }

    fn read(&mut self, last_read: bool) {
        self.reader.options_mut().last_read = last_read;
        self.readout.append(self.reader.read(self.machine.mesh()).unwrap());
    }

    fn rows(&self) -> usize {
        self.readout.lanes().map(|lane| lane.record_count()).sum()
    }
}

/// Returns hosts of both chips with our header, on each available simulator.
fn hosts(package: &Package, cores: &'static [TileCoord]) -> impl Iterator<Item = (Chip, Host)> {
    Simulator::all_chips().map(move |(chip, simulator)| {
        let host = Host::new(package, chip, Header::Ours, &simulator, cores);
        (chip, host.expect("our firmware fits"))
    })
}

/// Asserts that each RISC has left one complete run for each launch, in order; returns the number
/// of pushes of each core.
fn check(readout: &Readout, push: u32, launches: u32) -> BTreeMap<TileCoord, usize> {
    assert!(readout.anomalies.is_empty(), "{:?}", readout.anomalies);
    assert_eq!(readout.losses.entries().count(), 0, "{:?}", readout.losses);
    assert_eq!(readout.lanes().count(), CORES.len() * RISCS);
    let mut pushes = BTreeMap::new();
    for lane in readout.lanes() {
        let core = TileCoord { x: lane.id.core.x, y: lane.id.core.y };
        let records: Vec<_> = lane.records().collect();
        let mut programs = Vec::new();
        for (index, run) in lane.runs.iter().enumerate() {
            let records = &records[lane.run_records(index)];
            if run.program.base() == 0 {
                let kinds: Vec<(PacketKind, u32)> =
                    records.iter().map(|record| (record.kind, record.zone.0)).collect();
                assert_eq!(kinds, [(PacketKind::ZoneStart, push), (PacketKind::ZoneEnd, push)]);
                assert!(records[0].time < records[1].time && lane.id.risc == Risc::Brisc);
                *pushes.entry(core).or_default() += 1;
                continue;
            }
            assert_eq!(records.len(), RUN_ROWS, "{} {:?}", lane.id, run.program);
            let data = records.iter().filter(|record| record.kind == PacketKind::TimestampedData);
            let data: Vec<u64> = data.flat_map(|record| record.data.to_vec()).collect();
            assert_eq!(data, [0, 1, 2, 3, 4], "{}", lane.id);
            programs.push(run.program.base());
        }
        assert_eq!(programs, (1..=launches).collect::<Vec<_>>(), "{}", lane.id);
    }
    pushes
}

/// TT-Metal's check of the mode: at least 20,000 rows of workers, including zones of pushes.
#[test]
fn twenty_thousand_rows_come_in_shared_pushes() {
    const LAUNCHES: u32 = 55;
    let Some(package) = package() else { return };
    for (chip, mut host) in hosts(package, &CORES) {
        host.launch(1..=LAUNCHES);
        host.read(true);
        let push = push_zone(package, chip, Header::Ours);
        let pushes = check(&host.readout, push, LAUNCHES);
        // With this number of runs in L1, fewer than 128 words are free, with or without the zone
        // of a push.
        let each = 1 + (512 - 128) / RUN_WORDS;
        assert_eq!(each, 1 + (512 - 128 - 12) / RUN_WORDS);
        let expected = LAUNCHES as usize / each;
        assert_eq!(pushes, CORES.map(|core| (core, expected)).into());
        let rows = CORES.len() * (RISCS * RUN_ROWS * LAUNCHES as usize + 2 * expected);
        assert_eq!(host.rows(), rows, "{chip}");
        assert!(rows >= 20_000, "{rows}");
    }
}

/// Reads between launches, including final reads, neither repeat nor lose records that wait in L1.
#[test]
fn reads_in_between_neither_repeat_nor_lose_what_waits_in_l1() {
    let Some(package) = package() else { return };
    for (chip, mut host) in hosts(package, &CORES) {
        let mut first = 1;
        for (count, is_last) in
            [(3, false), (9, false), (2, true), (1, true), (14, false), (7, true)]
        {
            host.launch(first..=first + count - 1);
            first += count;
            host.read(is_last);
            let rows = host.rows();
            host.read(is_last);
            assert_eq!(host.rows(), rows, "nothing new");
        }
        let push = push_zone(package, chip, Header::Ours);
        check(&host.readout, push, first - 1);
    }
}

/// A full lane refuses whole pushes, and the refused records are counted run by run.
#[test]
fn full_lanes_refuse_whole_pushes_and_count_their_runs() {
    const LAUNCHES: u32 = 220;
    // A push has seven runs, and on BRISC the zone of the previous push. A lane of 12,000 words has
    // room for 29 of BRISC's pushes of 392 or 404 words, and for 30 of the others' pushes of 392.
    // The last three runs wait in L1.
    const KEPT: [u32; 2] = [29 * 7, 30 * 7];
    const PUSHED: u32 = LAUNCHES / 7 * 7;
    // Two zones of two slots each, and the word pairs of five zones, five data records and an
    // event.
    const MARKERS: u64 = 4 + 5 * 2 + 5 * 2 + 1;
    let Some(package) = package() else { return };
    for (_, mut host) in hosts(package, &CORES[..1]) {
        host.launch(1..=LAUNCHES);
        host.read(true);
        let readout = &host.readout;
        for lane in readout.lanes() {
            let kept = KEPT[usize::from(lane.id.risc != Risc::Brisc)];
            let programs = lane.runs.iter().map(|run| run.program.base()).filter(|id| *id != 0);
            let expected = (1..=kept).chain(PUSHED + 1..=LAUNCHES);
            assert_eq!(programs.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{}", lane.id);
            let of_lane = readout.losses.entries().filter(|(key, _)| key.lane == lane.id);
            let lost: Vec<_> = of_lane
                .map(|(key, lost)| {
                    (key.cause, lost.runs, lost.unknown_markers, lost.is_lower_bound)
                })
                .collect();
            let runs = u64::from(PUSHED - kept);
            assert_eq!(lost, [(LossCause::DramFull, runs, MARKERS * runs, false)], "{}", lane.id);
        }
        assert_eq!(readout.losses.total().runs, u64::from(5 * PUSHED - KEPT[0] - 4 * KEPT[1]));
    }
}

/// TT-Metal's own header in accumulate mode, with its limits: it records no program ids and no
/// data, and drops zones without room silently.
#[test]
fn upstreams_accumulated_records_are_read() {
    const LAUNCHES: u32 = 75;
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        let Some(mut host) = Host::new(package, chip, Header::Upstream, &Simulator::Ours, &CORES)
        else {
            println!("{chip}: upstream's firmware does not fit");
            continue;
        };
        host.launch(1..=LAUNCHES);
        host.read(true);
        let push = push_zone(package, chip, Header::Upstream);
        let records = host.readout.lanes().flat_map(|lane| lane.records());
        let ends =
            records.filter(|record| (record.kind, record.zone.0) == (PacketKind::ZoneEnd, push));
        assert!(ends.count() >= CORES.len(), "{chip}: a zone of a push on each core");
        let rows = host.rows();
        println!("{chip}: {rows} rows through upstream's header");
        assert!(rows >= 20_000, "{chip}: {rows} rows");
    }
}
