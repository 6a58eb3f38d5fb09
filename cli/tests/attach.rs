//! Tests of `kprof attach --stream`, which repeatedly reads the rings of another process's program.
//!
//! The test process simulates the chip and serves it, as a program with a simulated chip does.

use crate::{chips::SimulatedChip, program};
use chip::{
    access::{AccessFailure, ChipAccess, NocResult, NocTile},
    facts::ChipFacts,
    layout::FirmwareLayout,
    shared::ChipServer,
};
use host_reader::{
    ProfilerOptions,
    capture::Capture,
    init_device_profiler,
    lane::{LaneId, ZoneIndex},
    ledger::LossCause,
    mesh::Noc0Coord,
    names::ZoneTable,
    readout::Readout,
    timeline::Timeline,
    tracy::{RecordOptions, TracyClient, TracyRecording},
};
use serde_json::Value;
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    fault::rules::{Selection, StopRisc},
    mesh::SimulatedMesh,
    program::CoreSelection,
    workload::{Workload, WorkloadOptions},
};
use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead, BufReader, Read},
    ops::Range,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};
use wire::{PacketKind, Risc, stream::Policy};

/// Maximum time of any wait in a test.
const LIMIT: Duration = Duration::from_secs(240);

/// Simulated time of an access, in nanoseconds. While a reader is attached, simulated time passes
/// only during its accesses. Results therefore do not depend on the speed of the machine.
const ACCESS_NS: u64 = 50;

/// Number of cores that run kernels.
const CORES: usize = 8;

/// Cycles from the beginning of a launch to the time at which its NCRISC is stopped.
const HANG_CYCLES: u64 = 4_000;

/// A simulated chip that this process serves with translated addresses.
///
/// A reader uses the addresses of the profiler's words in an ELF file. The simulator has these
/// words at other addresses.
struct Served {
    chip: Arc<SimulatedChip>,
    /// L1 addresses of a worker's profiler words according to the ELF file.
    words: Range<u64>,
    /// Difference between the addresses in the ELF file and those in the simulator.
    distance: u64,
}

impl Served {
    fn new(chip: &Arc<SimulatedChip>, elf: &Path) -> Self {
        let told = FirmwareLayout::open(elf).unwrap().tensix;
        let own = chip.layout().tensix;
        assert_eq!(told.size_bytes, own.size_bytes);
        Self {
            chip: Arc::clone(chip),
            words: told.control_address..told.control_address + told.size_bytes,
            distance: told.control_address - own.control_address,
        }
    }

    /// Lets [`ACCESS_NS`] of simulated time pass.
    fn pass_time(&self) {
        self.chip.with_mesh(|mesh| mesh.wait_ns(ACCESS_NS));
    }

    fn address(&self, address: u64) -> u64 {
        if self.words.contains(&address) { address - self.distance } else { address }
    }
}

impl ChipAccess for Served {
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
        self.pass_time();
        self.chip.read(noc, tile, self.address(address), bytes).map_err(AccessFailure)
    }

    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
        self.pass_time();
        self.chip.write(noc, tile, self.address(address), bytes).map_err(AccessFailure)
    }
}

/// A program on a simulated chip: a process with the socket in its environment, and launches that
/// are ready to run.
struct Program {
    folder: tempfile::TempDir,
    chip: Arc<SimulatedChip>,
    _server: ChipServer,
    /// A process that does nothing. An environment variable of this process contains the path of
    /// the socket.
    process: Child,
    elf: PathBuf,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns firmware of the `ttnn` package with the addresses of the simulated Wormhole.
fn firmware() -> Option<PathBuf> {
    let Some(package) = env::var_os("KPROF_TTNN") else {
        assert!(env::var_os("CI").is_none(), "KPROF_TTNN must name the package in CI");
        return None;
    };
    let sets = fs::read_dir(Path::new(&package).join("tt_metal/pre-compiled")).unwrap();
    let mut sets = sets.map(|set| set.unwrap().path());
    sets.find(|set| set.join("erisc").is_dir()).map(|set| set.join("brisc/brisc.elf"))
}

impl Program {
    /// Returns a program with kernels that are ready to run; `None` if the firmware is not
    /// installed.
    fn new(policy: Policy, ops: u32) -> Option<Self> {
        let elf = firmware()?;
        let config = MeshConfig::new(5).with_chip(ChipConfig::new(Arch::WormholeB0));
        let config = config.with_streaming().with_cell_truth();
        let mut mesh = SimulatedMesh::new(&config).unwrap();
        let options = ProfilerOptions { stream_policy: policy, ..ProfilerOptions::default() };
        init_device_profiler(&mut mesh, &options).unwrap();
        let options = WorkloadOptions { ops: Some(ops), ..WorkloadOptions::default() };
        let plan = Workload::named("long-kernel").unwrap().plan(&mesh, &options);
        let workers = mesh.chip(0).unwrap().workers().map(|place| place.coord).take(CORES);
        let workers = CoreSelection::At(workers.collect());
        for launch in plan.phases.iter().flat_map(|phase| &phase.launches) {
            mesh.enqueue_everywhere(&launch.clone().on(workers.clone()));
        }
        Some(Self::serving(mesh, elf))
    }

    /// Returns a program in which NCRISC of each core was stopped: its launch never ends.
    fn hung(is_streaming: bool) -> Option<Self> {
        let elf = firmware()?;
        let config = MeshConfig::new(5).with_chip(ChipConfig::new(Arch::WormholeB0));
        let config = match is_streaming {
            true => config.with_streaming().with_cell_truth(),
            false => config.with_record_truth(),
        };
        let mut mesh = SimulatedMesh::new(&config).unwrap();
        let selection = Selection::everywhere().risc(Risc::Ncrisc);
        mesh.add_rule(StopRisc { selection, after_cycles: HANG_CYCLES });
        init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
        let options = WorkloadOptions { ops: Some(1), ..WorkloadOptions::default() };
        let plan = Workload::named("full-buffer").unwrap().plan(&mesh, &options);
        let workers = mesh.chip(0).unwrap().workers().map(|place| place.coord).take(CORES);
        let launch = plan.phases[0].launches[0].clone();
        mesh.enqueue_everywhere(&launch.on(CoreSelection::At(workers.collect())));
        mesh.run_to_completion();
        assert_eq!(mesh.execution_failures().count(), CORES);
        Some(Self::serving(mesh, elf))
    }

    fn serving(mesh: SimulatedMesh, elf: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let chip = Arc::new(SimulatedChip::new(mesh));
        let socket = folder.path().join("chip.socket");
        let facts = ChipFacts { active_ethernet: None, ..chip.facts() };
        let server = ChipServer::start(&socket, &facts, Served::new(&chip, &elf)).unwrap();
        let mut process = Command::new("sleep");
        let process = process.arg("1000").env("KPROF_CHIP_SOCKET", &socket).spawn().unwrap();
        Self { folder, chip, _server: server, process, elf }
    }

    /// Reads the chip of the process once, by its id or as `kprof read` does, with the names of zones.
    fn read_once(&self, command: &str, options: &[&str]) -> Value {
        let texts: Vec<String> = self.chip.with_mesh(|mesh| {
            mesh.zone_texts().iter().map(|text| format!("'#pragma message: {text}'\n")).collect()
        });
        let names = self.path("names");
        fs::create_dir_all(&names).unwrap();
        fs::write(names.join("zone_src_locations.log"), texts.concat()).unwrap();
        let mut reading = program::program();
        reading.arg(command).args(options).args(["--json", "--rows", "0", "--names"]).arg(names);
        match command {
            "attach" => reading.arg(self.process.id().to_string()),
            _ => reading.env("KPROF_CHIP_SOCKET", self.path("chip.socket")),
        };
        let output = reading.arg("--elf").arg(&self.elf).current_dir(self.folder.path()).output();
        let output = output.unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{messages}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {messages}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts `kprof attach --stream` with a capture, and waits until it has begun.
    fn attach(&self, capture: &Path, options: &[&str]) -> Attached {
        let mut command = program::program();
        command.args(["attach", "--stream", &self.process.id().to_string(), "--elf"]);
        command.arg(&self.elf).arg("-o").arg(capture).args(options);
        command.current_dir(self.folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        while !capture.exists() {
            if child.try_wait().unwrap().is_some() {
                let mut messages = String::new();
                lines.read_to_string(&mut messages).unwrap();
                panic!("{messages}");
            }
            thread::sleep(Duration::from_millis(5));
        }
        Attached { child, lines }
    }

    /// Lets simulated time pass without a reader; returns true if launches still run.
    fn run_for(&self, duration_ns: u64) -> bool {
        self.chip.with_mesh(|mesh| {
            mesh.wait_ns(duration_ns);
            mesh.has_launches_to_run()
        })
    }

    /// Waits until all launches have ended, while a reader is attached.
    fn wait_for_end(&self) {
        let begun = Instant::now();
        while self.chip.with_mesh(|mesh| mesh.has_launches_to_run()) {
            assert!(begun.elapsed() < LIMIT, "the kernels must end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the capture of an attached reader has grown to this size.
    fn wait_for_size(&self, capture: &Path, size_bytes: u64) {
        let begun = Instant::now();
        while fs::metadata(capture).map_or(0, |file| file.len()) < size_bytes {
            assert!(begun.elapsed() < LIMIT, "the capture must grow");
            thread::sleep(Duration::from_millis(1));
        }
        assert!(self.run_for(0), "the kernels must still run");
    }

    /// Ends the process. This makes `kprof attach` end.
    fn end(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Returns the number of zones in which a RISC waited for a reader.
    fn stalls(&self, records: &Records) -> u64 {
        let texts = self.chip.with_mesh(|mesh| ZoneTable::from_texts(mesh.zone_texts()).unwrap());
        let is_stall = |id: u32| texts.name(ZoneIndex(id)) == "PROFILER-DRAM-STALL";
        let zones = records.values().flatten().filter(|(_, start, ..)| start.is_some());
        zones.filter(|(_, _, id, _)| is_stall(*id)).count() as u64
    }

    /// Returns the records that each RISC has streamed.
    fn truth(&self) -> Records {
        self.chip.with_mesh(|mesh| {
            mesh.run_to_completion();
            assert_eq!(mesh.execution_failures().count(), 0);
            let cells = mesh.take_cells().into_iter();
            let lanes = cells.map(|(key, cells)| {
                let core = Noc0Coord { x: key.core.x, y: key.core.y };
                (LaneId { chip_id: key.chip_id, core, risc: key.risc }, decoded(&cells))
            });
            lanes.filter(|(_, lane)| !lane.is_empty()).collect()
        })
    }
}

/// A running `kprof attach`.
struct Attached {
    child: Child,
    lines: BufReader<ChildStderr>,
}

impl Attached {
    /// Waits until `kprof attach` has ended. Returns its JSON document and its messages.
    fn finish(mut self) -> (Value, String) {
        let mut messages = String::new();
        self.lines.read_to_string(&mut messages).unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{messages}");
        let tables = serde_json::from_slice(&output.stdout);
        (tables.unwrap_or_else(|error| panic!("{error}: {messages}")), messages)
    }

    /// Ends the process at once, as `kill -9` does.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A zone or a data record: end of the zone or time of the data, start (`None` for data), id, and
/// values.
type Record = (u64, Option<u64>, u32, Vec<u64>);

/// Records by lane, sorted by time.
type Records = BTreeMap<LaneId, Vec<Record>>;

/// Decodes the cells of a lane by the table in `docs/streaming.md`.
fn decoded(cells: &[[u32; 2]]) -> Vec<Record> {
    let (mut records, mut at, mut time) = (Vec::new(), 0, 0_u64);
    while let Some(&[head, value]) = cells.get(at) {
        let (code, field) = (head >> 16, head & 0xFFFF);
        let mut next_time = || {
            time += u64::from(value.wrapping_sub((time & 0xFFFF_FFFF) as u32));
            time
        };
        let wide = |cell: [u32; 2]| u64::from(cell[1]) << 32 | u64::from(cell[0]);
        at += match code {
            0xFFF0 => {
                let end = next_time();
                records.push((end, Some(end - wide(cells[at + 1])), field, vec![]));
                2
            }
            0xFFF1 => {
                records.push((next_time(), None, field, vec![wide(cells[at + 1])]));
                2
            }
            0xFFF5 => {
                time = u64::from(cells[at + 1][1] & 0xFFFF) << 32 | u64::from(value);
                2
            }
            0xFFF6 | 0xFFF7 => 1,
            0xFFFF => 8 - at % 8,
            id if id < 0xFFF0 => {
                let end = next_time();
                records.push((end, Some(end - u64::from(field)), id, vec![]));
                1
            }
            code => panic!("this workload has no cell {code:#x}"),
        };
    }
    records.sort();
    records
}

/// Returns the records of each lane of a capture.
fn recorded(readout: &Readout) -> Records {
    let mut records = Records::new();
    for lane in Timeline::from_readout(readout).lanes() {
        assert_eq!((lane.open_zone_count, lane.orphan_end_count), (0, 0), "{}", lane.id);
        let zones = lane.zones.iter();
        let zones = zones.map(|zone| (zone.end_cycle, Some(zone.start_cycle), zone.zone.0, vec![]));
        records.entry(lane.id).or_default().extend(zones);
    }
    for lane in readout.lanes() {
        let data = lane.records().filter(|record| record.kind == PacketKind::TimestampedData);
        let data = data.map(|record| (record.time, None, record.zone.0, record.data.to_vec()));
        records.entry(lane.id).or_default().extend(data);
    }
    records.values_mut().for_each(|lane| lane.sort());
    records.retain(|_, lane| !lane.is_empty());
    records
}

fn readout_of(path: &Path) -> Readout {
    Capture::open(path).unwrap().runs().unwrap().remove(0).readout
}

/// Returns the number of zones and data records of all kernels.
///
/// In each op, two RISCs of each core record 5,000 zones, 5,000 data records, a firmware zone and a
/// kernel zone.
const fn emitted(ops: u64) -> u64 {
    CORES as u64 * 2 * (2 * 5000 + 2) * ops
}

/// Returns the number of kept zones and data records in a JSON document.
fn kept(tables: &Value) -> u64 {
    let count = |kind: &str| tables["kept"][kind].as_u64().unwrap();
    count("zones") + count("data")
}

fn lost(tables: &Value) -> u64 {
    tables["lost"]["other"].as_u64().unwrap()
}

fn count(records: &Records) -> usize {
    records.values().map(Vec::len).sum()
}

#[test]
fn what_an_attached_process_reads_is_what_the_riscs_wrote() {
    let Some(mut program) = Program::new(Policy::Block { cycles_log2: 30 }, 1) else { return };
    let capture = program.path("all.kprof");
    let attached = program.attach(&capture, &["--json", "--read-every", "100us"]);
    program.wait_for_end();
    program.end();
    let (tables, messages) = attached.finish();
    assert!(messages.contains("the program has ended"), "{messages}");
    let truth = program.truth();
    let readout = readout_of(&capture);
    let found = recorded(&readout);
    assert_eq!(found.keys().collect::<Vec<_>>(), truth.keys().collect::<Vec<_>>());
    for (lane, expected) in &truth {
        let first = found[lane].iter().zip(expected).position(|(found, truth)| found != truth);
        assert_eq!((first, found[lane].len()), (None, expected.len()), "{lane}");
    }
    assert_eq!(lost(&tables), 0);
    assert_eq!(kept(&tables), count(&truth) as u64);
    // All records of the kernels are kept. Zones for waits for the host may come in addition.
    assert!(kept(&tables) >= emitted(1), "{} of {}", kept(&tables), emitted(1));
    assert_eq!(readout.anomalies.anomaly_count(), 0, "{:?}", readout.anomalies.kept());
}

#[test]
fn a_program_whose_reader_is_killed_runs_on_and_each_loss_is_counted() {
    const OPS: u32 = 5;
    // A RISC waits for at most 2^19 cycles. This is longer than a reader's first measurement of the
    // clocks.
    let policy = Policy::Block { cycles_log2: 19 };
    let Some(mut program) = Program::new(policy, OPS) else { return };
    let first = program.path("first.kprof");
    let mut attached = program.attach(&first, &["--tracy=127.0.0.1:0", "--tracy-wait"]);
    let waiting = "kprof: waiting for Tracy viewers on 127.0.0.1:";
    let mut line = String::new();
    while !line.starts_with(waiting) {
        line.clear();
        assert!(attached.lines.read_line(&mut line).unwrap() > 0, "{waiting}");
    }
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    let viewer = thread::spawn(move || -> TracyRecording {
        let client = TracyClient::connect_with(address.parse().unwrap(), &[82]).unwrap();
        client.record(&RecordOptions::default(), &AtomicBool::new(false))
    });
    program.wait_for_size(&first, 1 << 20);
    attached.kill();
    let seen = viewer.join().unwrap();
    assert!(!seen.is_complete());
    // There is no reader for longer than the maximum wait, so records are lost.
    assert!(program.run_for(700_000), "the kernels must still run");
    let attached = program.attach(&program.path("second.kprof"), &["--json"]);
    program.wait_for_end();
    program.end();
    let (tables, messages) = attached.finish();
    let truth = program.truth();

    let [first, second] = [first, program.path("second.kprof")].map(|path| readout_of(&path));
    let [early, late] = [&first, &second].map(recorded);
    assert!(count(&early) > 5_000 && count(&late) > 5_000, "{messages}");
    let [counted_early, counted_late] = [&first, &second].map(ring_full_losses);
    assert_eq!(lost(&tables), counted_late);
    let before: u64 = number_before(&messages, " records had been lost before the first read");
    assert!(before >= counted_early && before > 0, "{before}, {counted_early}: {messages}");
    let mut missing = 0;
    for (lane, expected) in &truth {
        let nothing = Vec::new();
        let [early, late] = [&early, &late].map(|found| found.get(lane).unwrap_or(&nothing));
        assert_eq!(early[..], expected[..early.len()], "{lane}: the first records");
        assert_eq!(late[..], expected[expected.len() - late.len()..], "{lane}: the last records");
        // A reader writes cells into its capture before it acknowledges them. If it is killed
        // between these steps, the next reader reads the cells again. The capture may also end
        // before the acknowledged cells.
        let between = expected.len() as i64 - early.len() as i64 - late.len() as i64;
        assert!(between.abs() <= 256, "{lane}: {between} records are in no capture, or in both");
        missing += between;
    }
    let is_cut = |readout: &Readout| readout.losses.uncounted().count() > 0;
    assert!(is_cut(&first) && !is_cut(&second), "a capture that was cut off says so");
    // Every record of a RISC was either streamed, or dropped and counted.
    let streamed = count(&truth) as u64 - program.stalls(&truth);
    assert_eq!(streamed + before + counted_late, emitted(OPS.into()), "{missing} in no capture");
    // The viewer saw a part of what the first process had read.
    let shown: usize = seen.devices.iter().map(|device| device.zones.len()).sum();
    assert!(shown > 0 && shown <= count(&early), "{shown} of {}", count(&early));
}

/// Returns the losses of full rings in a capture.
fn ring_full_losses(readout: &Readout) -> u64 {
    let entries = readout.losses.entries().filter(|(key, _)| key.cause == LossCause::RingFull);
    entries.map(|(_, totals)| totals.zones + totals.data + totals.events).sum()
}

/// Returns the number that precedes `words` in the messages.
fn number_before(messages: &str, words: &str) -> u64 {
    let (before, _) = messages.split_once(words).unwrap_or_else(|| panic!("{messages}"));
    let digits = before.rsplit(' ').next().unwrap().replace(',', "");
    digits.parse().unwrap()
}

/// Returns the innermost open zones of a JSON document and the number of RISCs in them.
fn open_zones(document: &Value) -> BTreeMap<String, u64> {
    let zones = document["unfinished"]["open_zones"].as_array().unwrap().iter();
    let zones = zones.map(|zone| (zone["name"].as_str().unwrap().to_owned(), &zone["risc_count"]));
    zones.map(|(name, count)| (name, count.as_u64().unwrap())).collect()
}

#[test]
fn of_a_program_that_hangs_each_reader_keeps_or_counts_every_record_and_names_the_open_zones() {
    let Some(program) = Program::hung(false) else { return };
    // Records that the RISCs have stored or counted as lost, each on the bus of its core.
    let emitted = program.chip.with_mesh(|mesh| mesh.truth().total_emitted());
    assert!(emitted.zones > CORES as u64 * 300, "{emitted:?}");
    let capture = program.path("hung.kprof");
    let path = capture.to_str().unwrap();
    let attached = program.read_once("attach", &["-o", path]);
    let read = program.read_once("read", &[]);
    let streamed = program.read_once("attach", &["--stream", "--for", "1s"]);
    let report = program::kprof(program.folder.path(), &["report", path, "--json", "--rows", "0"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    for (who, document) in
        [("attach", attached), ("read", read), ("report", report), ("--stream", streamed)]
    {
        let open = open_zones(&document);
        // BRISC has ended its kernel, and its firmware waits for NCRISC.
        let inner: u64 =
            open.iter().filter(|(name, _)| **name != "BRISC-FW").map(|zone| zone.1).sum();
        assert_eq!((inner, open["BRISC-FW"]), (CORES as u64, CORES as u64), "{who}: {open:?}");
        let names = ["TEST-FULL", "NCRISC-KERNEL", "BRISC-FW"];
        assert!(open.keys().all(|name| names.contains(&&**name)), "{who}: {open:?}");
        let lost = &document["lost"];
        assert_eq!(lost["is_lower_bound"], false, "{who}: {lost}");
        let lost = lost["records"].as_u64().unwrap();
        let kept = document["kept"]["zones"].as_u64().unwrap();
        assert_eq!(kept + lost, emitted.zones, "{who}: {lost} lost");
    }
}

#[test]
fn of_a_streaming_program_that_hangs_each_reader_keeps_what_was_published() {
    let Some(program) = Program::hung(true) else { return };
    let published = program.chip.with_mesh(|mesh| {
        let cells = mesh.take_cells();
        cells.values().map(|cells| decoded(cells).len() as u64).sum::<u64>()
    });
    let attached = program.read_once("attach", &[]);
    let streamed = program.read_once("attach", &["--stream", "--for", "1s"]);
    for (who, document) in [("attach", attached), ("--stream", streamed)] {
        assert_eq!(document["kept"]["zones"], published, "{who}");
        let lost = &document["lost"];
        assert!(lost["records"].is_null() && lost["is_lower_bound"] == true, "{who}: {lost}");
        assert!(open_zones(&document).is_empty(), "{who}");
        // NCRISC and BRISC of each core.
        assert_eq!(document["unfinished"]["unknown_count"], 2 * CORES, "{who}");
    }
}
