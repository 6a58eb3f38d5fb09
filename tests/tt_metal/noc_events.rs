//! NoC events of tt-metal's own dataflow functions: equal with both headers, and equal to the
//! requests on the simulated NoC.

use crate::{
    firmware, kernels,
    launches::arch,
    machine::{Simulator, logical},
    package::{Package, package, sources},
    toolchain::{Chip, Header, Processor, in_parallel},
};
use host_reader::{
    mesh::{Mesh, Noc0Coord},
    read_device_profiler,
};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    truth::{NocRequest, RiscKey},
};
use std::{collections::BTreeMap, sync::Arc};
use tests::pushed::{PushedRecord, unexplained_noc_event};
use wire::{Risc, ZoneId, control::ControlLayout};

/// Tile of the kernel, target of its writes, and rectangle of its multicasts: Tensix tiles on both
/// chips.
const CORE: TileCoord = TileCoord { x: 2, y: 3 };
const TARGET: TileCoord = TileCoord { x: 3, y: 2 };
const RECTANGLE: [TileCoord; 2] = [TileCoord { x: 3, y: 2 }, TileCoord { x: 4, y: 3 }];
const RECTANGLE_TILES: usize = 4;

const MOVERS: [(Processor, Risc); 2] =
    [(Processor::Brisc, Risc::Brisc), (Processor::Ncrisc, Risc::Ncrisc)];
const PASSES: usize = 12;
/// Kinds of the events in one pass, numbered as in `event_metadata.hpp`: four writes, three reads,
/// reads and a write with stored state, two multicasts, semaphores of a rectangle and of a tile.
const PASS: [u8; 17] = [11, 11, 11, 11, 1, 1, 1, 2, 4, 2, 4, 16, 17, 15, 15, 31, 30];

/// Form of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    /// With addresses, as TT-Metal's header records them in its debug dump, and ours on request.
    Addresses,
}

impl Form {
    fn defines(self, header: Header) -> &'static [&'static str] {
        match (self, header) {
            (Self::Plain, _) => &["PROFILE_NOC_EVENTS=1"],
            (Self::Addresses, Header::Ours) => &["PROFILE_NOC_EVENTS=3"],
            (Self::Addresses, _) => &["PROFILE_NOC_EVENTS=1", "DEVICE_DEBUG_DUMP=1"],
        }
    }
}

/// Returns definitions of the tiles' coordinates as kernels use them, valid on both NoCs.
fn places(chip: Chip) -> Vec<String> {
    let named = [("TARGET", TARGET), ("RECTANGLE", RECTANGLE[0]), ("RECTANGLE_END", RECTANGLE[1])];
    let mut defines = vec![format!("RECTANGLE_TILES={RECTANGLE_TILES}")];
    for (name, tile) in named {
        let (x, y) = logical(chip, tile);
        defines.extend([format!("{name}_X={x}"), format!("{name}_Y={y}")]);
    }
    defines
}

/// Records with the id of NoC events, in order, and the requests to the NoC. ttsim does not provide
/// the requests.
struct Outcome {
    events: BTreeMap<Risc, Vec<PushedRecord>>,
    requests: BTreeMap<RiscKey, Vec<NocRequest>>,
}

fn run(
    package: &Package,
    chip: Chip,
    header: Header,
    form: Form,
    simulator: &Simulator,
) -> Outcome {
    let firmware = firmware::set(package, chip, header);
    let mut program = Program::new("noc-events");
    for (processor, risc) in MOVERS {
        let job = kernels::Job::new(chip, processor, sources().join("noc_events.cpp"));
        let forms = form.defines(header).iter().map(|&define| define.to_owned());
        let job = job.with_defines(places(chip).into_iter().chain(forms).collect());
        let linked = kernels::link(package, &job, false, header);
        let linked = linked.unwrap_or_else(|error| panic!("{chip} {processor} {header}: {error}"));
        let kernel = KernelFile::new(processor.name(), linked.file).unwrap();
        program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    }
    let whole = ChipConfig::new(arch(chip)).with_harvested(&[]);
    let config = MeshConfig::new(5).with_noc_truth().with_firmware(&firmware);
    let mut machine = simulator.start(chip, config, whole);
    if form == Form::Addresses && header == Header::Upstream {
        give_lanes_of_the_dump(machine.mesh());
    }
    machine.launch([Launch::new(&Arc::new(program), 1).on(CoreSelection::At(vec![CORE]))]);
    let readout = read_device_profiler(machine.mesh()).unwrap();
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
    let truth = machine.ours().map(SimulatedMesh::truth);
    Outcome { events, requests: truth.map(|truth| truth.noc_requests).unwrap_or_default() }
}

/// Writes the lane address of each RISC to the control word in which pushes of the debug dump look
/// for the address.
fn give_lanes_of_the_dump(mesh: &mut dyn Mesh) {
    const OF_BRISC: u64 = 60;
    let layout = ControlLayout::WORDS64;
    let core = Noc0Coord { x: CORE.x, y: CORE.y };
    let chip = mesh.device(0).unwrap();
    let known = chip.description().cores.iter().find(|known| known.noc0 == core).unwrap();
    let control = known.control_address;
    let mut address = [0];
    chip.read_l1(core, control + 4 * layout.dram_address as u64, &mut address).unwrap();
    for risc in 0..MOVERS.len() as u64 {
        chip.write_l1(core, control + 4 * (OF_BRISC + risc), &address).unwrap();
    }
}

const NOC_TRACING: u32 = 12345;

/// Asserts that every event matches a request, and that every pass has left all of its events.
fn check(chip: Chip, header: Header, outcome: &Outcome) {
    for (_, risc) in MOVERS {
        let events = &outcome.events[&risc];
        let kinds: Vec<u8> = events.iter().map(|event| event.values[0].to_le_bytes()[0]).collect();
        assert_eq!(kinds, PASS.repeat(PASSES), "{chip} {header} {risc:?}");
        let key = RiscKey { chip_id: 0, core: CORE, risc };
        // Requests with stored state, increments and the firmware's requests have no transfer
        // event.
        let error = unexplained_noc_event(events, &outcome.requests[&key], true);
        assert_eq!(error, None, "{chip} {header} {risc:?}");
        let noc = u8::from(risc == Risc::Ncrisc);
        let of_noc = outcome.requests[&key].iter().filter(|request| request.noc == noc);
        assert!(of_noc.count() >= PASSES * 16, "{chip} {header} {risc:?}");
    }
}

/// tt-metal's dataflow functions leave the same events with our header as with TT-Metal's, and each
/// event matches a request to the NoC.
#[test]
fn dataflow_functions_leave_the_same_noc_events_and_the_noc_did_what_they_say() {
    let Some(package) = package() else { return };
    let jobs: Vec<(Chip, Header)> = Chip::ALL
        .into_iter()
        .flat_map(|chip| [(chip, Header::Upstream), (chip, Header::Ours)])
        .collect();
    let outcomes = in_parallel(&jobs, |&(chip, header)| {
        run(package, chip, header, Form::Plain, &Simulator::Ours)
    });
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

/// Returns the events that both headers record, since TT-Metal's debug dump records all waits, too.
///
/// The values omit the NoC's counter: TT-Metal's header counts posted pushes, our header counts
/// acknowledged pushes.
fn transfers(events: &[PushedRecord]) -> Vec<(u8, Vec<u64>)> {
    const COUNTER: u64 = 0xFFF << 52;
    let is_transfer = |event: &&PushedRecord| PASS.contains(&event.values[0].to_le_bytes()[0]);
    let value = |event: &PushedRecord| {
        let [first, trailer] = event.values[..] else { panic!("{event:?}: of 16 bytes") };
        (event.kind, vec![first, trailer & !COUNTER])
    };
    events.iter().filter(is_transfer).map(value).collect()
}

/// The events with addresses are equal to those of TT-Metal's debug dump, and match the NoC's
/// requests.
#[test]
fn events_with_addresses_are_those_of_upstreams_debug_dump() {
    let Some(package) = package() else { return };
    let jobs: Vec<(Chip, Header)> = Chip::ALL
        .into_iter()
        .flat_map(|chip| [(chip, Header::Upstream), (chip, Header::Ours)])
        .collect();
    let run = |&(chip, header): &(Chip, Header)| {
        run(package, chip, header, Form::Addresses, &Simulator::Ours)
    };
    let outcomes = in_parallel(&jobs, run);
    for (pair, chip) in outcomes.chunks(2).zip(Chip::ALL) {
        let [upstream, ours] = pair else { panic!("two headers") };
        check(chip, Header::Ours, ours);
        for (_, risc) in MOVERS {
            let [upstream, ours] =
                [upstream, ours].map(|outcome| transfers(&outcome.events[&risc]));
            assert_eq!(ours.len(), PASS.len() * PASSES, "{chip} {risc:?}");
            assert_eq!(upstream, ours, "{chip} {risc:?}");
        }
    }
}

/// With our header, both simulators produce the same events.
#[test]
fn ttsim_leaves_the_same_noc_events() {
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        let Some(ttsim) = Simulator::ttsim(chip) else { continue };
        for form in [Form::Plain, Form::Addresses] {
            let [theirs, ours] = [&ttsim, &Simulator::Ours]
                .map(|simulator| run(package, chip, Header::Ours, form, simulator).events);
            for (_, risc) in MOVERS {
                let values = |events: &BTreeMap<Risc, Vec<PushedRecord>>| match form {
                    Form::Plain => {
                        events[&risc].iter().map(|one| (one.kind, one.values.clone())).collect()
                    }
                    Form::Addresses => transfers(&events[&risc]),
                };
                assert_eq!(values(&ours).len(), PASS.len() * PASSES, "{chip} {risc:?}");
                assert_eq!(values(&theirs), values(&ours), "{chip} {risc:?}");
            }
        }
    }
}
