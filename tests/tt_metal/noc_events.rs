//! NoC events of tt-metal's own dataflow functions: with both headers the same, and what the
//! simulated NoC really did.

use crate::{
    firmware, kernels,
    launches::{arch, ready_package},
    package::{Package, sources},
    toolchain::{Chip, Header, Processor, in_parallel},
};
use host_reader::{ProfilerOptions, init_device_profiler, read_device_profiler};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    fault::Rule,
    kernel::file::KernelFile,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    pushed::{PushedRecord, PushedRuns, unexplained_noc_event},
    truth::{NocRequest, RiscKey},
    tt_metal::firmware::FirmwareSet,
};
use std::{collections::BTreeMap, sync::Arc};
use wire::{Risc, ZoneId};

/// Where the kernel runs, where its writes go, and the rectangle of its multicasts: Tensix tiles of
/// both chips.
const CORE: TileCoord = TileCoord { x: 2, y: 3 };
const TARGET: TileCoord = TileCoord { x: 3, y: 2 };
const RECTANGLE: [TileCoord; 2] = [TileCoord { x: 3, y: 2 }, TileCoord { x: 4, y: 3 }];
const RECTANGLE_TILES: usize = 4;

const MOVERS: [(Processor, Risc); 2] =
    [(Processor::Brisc, Risc::Brisc), (Processor::Ncrisc, Risc::Ncrisc)];
const PASSES: usize = 12;
/// Kinds of the events of one pass, as `event_metadata.hpp` numbers them: four writes, three
/// reads, reads and a write by state, two multicasts, semaphores of a rectangle and of a tile.
const PASS: [u8; 17] = [11, 11, 11, 11, 1, 1, 1, 2, 4, 2, 4, 16, 17, 15, 15, 31, 30];

fn config(chip: Chip) -> MeshConfig {
    let whole = ChipConfig::new(arch(chip)).with_harvested(&[]);
    MeshConfig::new(5).with_chip(whole).with_noc_truth()
}

/// Places as the kernel names them, valid on both NoCs.
fn places(chip: Chip) -> Vec<String> {
    let mesh = SimulatedMesh::new(&config(chip)).unwrap();
    let translation = &mesh.chip(0).unwrap().facts().translation;
    let named = [("TARGET", TARGET), ("RECTANGLE", RECTANGLE[0]), ("RECTANGLE_END", RECTANGLE[1])];
    let mut defines = vec![format!("RECTANGLE_TILES={RECTANGLE_TILES}")];
    for (name, tile) in named {
        let (x, y) = translation.logical(tile).unwrap();
        defines.extend([format!("{name}_X={x}"), format!("{name}_Y={y}")]);
    }
    defines.push("PROFILE_NOC_EVENTS=1".to_owned());
    defines
}

/// Data of each record under the id of NoC events, in order, and what the NoC was asked for.
struct Outcome {
    events: BTreeMap<Risc, Vec<PushedRecord>>,
    requests: BTreeMap<RiscKey, Vec<NocRequest>>,
}

fn run(package: &Package, chip: Chip, header: Header) -> Outcome {
    let files = Processor::TENSIX.map(|processor| {
        let program = firmware::program(package, chip, processor, header);
        program.unwrap_or_else(|error| panic!("{chip} {processor} {header}: {error}")).file
    });
    let firmware = Arc::new(FirmwareSet::from_files(files).unwrap());
    let mut program = Program::new("noc-events");
    for (processor, risc) in MOVERS {
        let job = kernels::Job::new(chip, processor, sources().join("noc_events.cpp"), 3000);
        let linked = kernels::link(package, &job.with_defines(places(chip)), false, header);
        let linked = linked.unwrap_or_else(|error| panic!("{chip} {processor} {header}: {error}"));
        let kernel = KernelFile::new(processor.name(), linked.file).unwrap();
        program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    }
    let mut mesh = SimulatedMesh::new(&config(chip).with_firmware(&firmware)).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    let pushed = Arc::new(PushedRuns::default());
    mesh.add_shared_rule(&(Arc::clone(&pushed) as Arc<dyn Rule>));
    let launch = Launch::new(&Arc::new(program), 1).on(CoreSelection::At(vec![CORE]));
    mesh.enqueue(0, launch).unwrap();
    mesh.run_to_completion();
    let failures: Vec<_> = mesh.execution_failures().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{chip} {header}: {failures:#?}");
    let readout = read_device_profiler(&mut mesh).unwrap();
    let mut events = BTreeMap::new();
    for lane in readout.lanes() {
        let records = lane.records().filter(|record| record.zone.0 == NOC_TRACING);
        let of_lane = records.map(|record| PushedRecord {
            kind: record.kind as u8,
            id: ZoneId::NOC_TRACING.0,
            cycle: record.time,
            values: record.data.to_vec(),
        });
        events.insert(lane.id.risc, of_lane.collect());
    }
    Outcome { events, requests: mesh.truth().noc_requests }
}

const NOC_TRACING: u32 = 12345;

/// Asserts that every event is a request, and that every pass has left all of its events.
fn check(chip: Chip, header: Header, outcome: &Outcome) {
    for (_, risc) in MOVERS {
        let events = &outcome.events[&risc];
        let kinds: Vec<u8> = events.iter().map(|event| event.values[0].to_le_bytes()[0]).collect();
        assert_eq!(kinds, PASS.repeat(PASSES), "{chip} {header} {risc:?}");
        let key = RiscKey { chip_id: 0, core: CORE, risc };
        // Requests by state, increments and those of the firmware have no event of a transfer.
        let error = unexplained_noc_event(events, &outcome.requests[&key], true);
        assert_eq!(error, None, "{chip} {header} {risc:?}");
        let noc = u8::from(risc == Risc::Ncrisc);
        let of_noc = outcome.requests[&key].iter().filter(|request| request.noc == noc);
        assert!(of_noc.count() >= PASSES * 16, "{chip} {header} {risc:?}");
    }
}

/// tt-metal's dataflow functions leave the same events with our header as with upstream's, and
/// each says what the NoC did.
#[test]
fn dataflow_functions_leave_the_same_noc_events_and_the_noc_did_what_they_say() {
    let Some(package) = ready_package() else { return };
    let jobs: Vec<(Chip, Header)> = Chip::ALL
        .into_iter()
        .flat_map(|chip| [(chip, Header::Upstream), (chip, Header::Ours)])
        .collect();
    let outcomes = in_parallel(&jobs, |&(chip, header)| run(package, chip, header));
    for (&(chip, header), outcome) in jobs.iter().zip(&outcomes) {
        check(chip, header, outcome);
    }
    for (pair, chip) in outcomes.chunks(2).zip(Chip::ALL) {
        for (_, risc) in MOVERS {
            let values = |outcome: &Outcome| {
                outcome.events[&risc].iter().map(|event| event.values.clone()).collect::<Vec<_>>()
            };
            assert_eq!(values(&pair[0]), values(&pair[1]), "{chip} {risc:?}");
        }
    }
}
