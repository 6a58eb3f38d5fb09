//! Object code on a mesh: records of scripts, and failures with their locations.

#[cfg(cpp_code)]
mod cpp;

use super::{ExecutionFailure, FailureReason, KernelKind};
use crate::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig},
    fault::{
        FaultEffect, Rule,
        rules::{LateSubordinate, Selection, TearClock},
    },
    kernel::{
        ObjectKernel,
        script::{Accumulator, DEPTH_MAX, Script, ScriptShape, Step},
    },
    mesh::SimulatedMesh,
    prepared::Bench,
    program::{CoreSelection, Emission, Kernel, Launch, Program},
    pushed::{PushedRuns, unexplained_noc_event},
    random::Stream,
    riscv::TrapKind,
    workload::{Workload, WorkloadOptions},
};
use reader::{
    ProfilerOptions, init_device_profiler,
    mesh::{Device, Mesh, Noc0Coord},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use wire::{CoreKind, Header, PacketKind, Risc, ZoneId, dram::DramGeometry};

/// Number of programs for which the mesh's DRAM buffers have room; small, so that they are quick to
/// read.
const SUPPORT_COUNT: u32 = 400;

fn mesh(arch: Arch, sums: bool) -> SimulatedMesh {
    mesh_of_kind(arch, KernelKind::Riscv, sums)
}

fn mesh_of_kind(arch: Arch, kernels: KernelKind, sums: bool) -> SimulatedMesh {
    let config = MeshConfig::new(7)
        .with_chip(ChipConfig::new(arch).with_active_ethernet(1))
        .with_program_support_count(SUPPORT_COUNT)
        .with_sums(sums)
        .with_cycle_limit(3_000_000)
        .with_kernels(kernels);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    let options = ProfilerOptions {
        program_support_count: SUPPORT_COUNT,
        sums_enabled: sums,
        ..ProfilerOptions::default()
    };
    init_device_profiler(&mut mesh, &options).unwrap();
    mesh
}

fn cores(mesh: &SimulatedMesh, kind: CoreKind, count: usize) -> Vec<TileCoord> {
    let cores = mesh.chip(0).unwrap().plan().cores().iter();
    cores.filter(|core| core.kind == kind).map(|core| core.coord).take(count).collect()
}

/// Returns the words that each RISC has written to its DRAM buffer, by core and RISC index.
fn lanes(mesh: &SimulatedMesh, sums: bool) -> BTreeMap<(TileCoord, usize), Vec<u32>> {
    let chip = mesh.chip(0).unwrap();
    let facts = chip.facts().arch.facts();
    let core_count = u32::try_from(chip.plan().cores().len()).unwrap();
    let geometry = DramGeometry::new(SUPPORT_COUNT, sums, core_count, facts.bank_count).unwrap();
    let mut lanes = BTreeMap::new();
    for place in chip.plan().cores() {
        let tile = chip.tile(place.coord).unwrap();
        for risc in 0..place.kind.risc_count() {
            let end = tile.load(tile.control_word_address(risc));
            let lane = geometry.lane(place.flat_id, u32::try_from(risc).unwrap());
            let mut words = vec![0; end as usize];
            let address = facts.dram_align_bytes + u64::from(lane.offset_bytes);
            assert!(chip.dram().read(lane.bank, address, &mut words));
            if end > 0 {
                lanes.insert((place.coord, risc), words);
            }
        }
    }
    lanes
}

/// Maps zone ids to names. A zone text begins with the zone's name; the rest is its source
/// location.
fn names(texts: &[String]) -> BTreeMap<ZoneId, String> {
    let mut names = BTreeMap::new();
    for text in texts {
        let name = text.split(',').next().unwrap().to_owned();
        let other = names.insert(ZoneId::from_text(text), name);
        assert_eq!(other, None, "{text} has the same id: move one of the zones to another line");
    }
    names
}

/// Returns one text for each record, and one for each word that belongs to no record.
///
/// The texts contain names instead of ids, and no times. They also omit the number of answered
/// reads in a NoC event, since that number depends on timing.
fn timeless(words: &[u32], names: &BTreeMap<ZoneId, String>) -> Vec<String> {
    let mut timeless = Vec::new();
    let mut index = 0;
    while index < words.len() {
        let header = Header(words[index]);
        let Some(kind) = header.kind().filter(|_| words[index] >> 31 != 0) else {
            timeless.push(format!("{:x}", words[index]));
            index += 1;
            continue;
        };
        let id = header.id();
        let name = names.get(&id).filter(|_| kind != PacketKind::TimestampedEvent);
        let mut text = format!("{kind:?} {}", name.cloned().unwrap_or(format!("{id:?}")));
        let record = kind.record_words();
        let mut values = words[index + 2..index + record].to_vec();
        if let (ZoneId::NOC_TRACING, [_, _, trailer_high, _]) = (id, &mut values[..]) {
            *trailer_high &= 0x000F_FFFF;
        }
        text.extend(values.iter().map(|word| format!(" {word:x}")));
        timeless.push(text);
        index += record;
    }
    timeless
}

fn kernel(name: &str) -> Arc<dyn Kernel> {
    Arc::new(ObjectKernel::named(name).unwrap())
}

fn run(mut mesh: SimulatedMesh, launches: &[Launch]) -> SimulatedMesh {
    for launch in launches {
        mesh.enqueue(0, launch.clone()).unwrap();
    }
    mesh.run_to_completion();
    mesh
}

fn on_all(name: &str) -> Program {
    Program::new(name).with_kernel_on_all(&kernel(name)).with_kernel(Risc::Erisc, kernel(name))
}

/// Returns the records that these steps make if none is lost, in the format of [`timeless`].
fn expected_records(steps: &[Step], sums: bool) -> Vec<String> {
    let mut records = Vec::new();
    let mut open = Vec::new();
    let mut totals = BTreeSet::new();
    let halves = |value: u64| format!("{:x} {:x}", value >> 32, value & 0xFFFF_FFFF);
    for step in steps {
        match *step {
            Step::Open(site) => {
                records.push(format!("ZoneStart SCRIPT-{site}"));
                open.push(site);
            }
            Step::Close => records.extend(open.pop().map(|site| format!("ZoneEnd SCRIPT-{site}"))),
            Step::Data(site, value) => {
                records.push(format!("TimestampedData SCRIPT-DATA-{site} {}", halves(value)));
            }
            Step::Data16(first, second) => {
                let values = [first, second].map(halves).join(" ");
                records.push(format!("TimestampedData16B SCRIPT-DATA-16B {values}"));
            }
            Step::Event(event) => {
                records.push(format!("TimestampedEvent {:?}", ZoneId(event)));
            }
            Step::Sum(accumulator, _) if sums => {
                totals.insert(match accumulator {
                    Accumulator::One => "ZoneTotal SCRIPT-SUM-1",
                    Accumulator::Two => "ZoneTotal SCRIPT-SUM-2",
                });
            }
            _ => {}
        }
    }
    records.extend(open.into_iter().rev().map(|site| format!("ZoneEnd SCRIPT-{site}")));
    records.extend(totals.into_iter().map(str::to_owned));
    records
}

/// Runs a script on every RISC of some cores and compares each RISC's records with the script's
/// steps.
fn compare(arch: Arch, scripts: &[Script], sums: bool) {
    let mesh = mesh(arch, sums);
    let mut at = cores(&mesh, CoreKind::Tensix, 2);
    at.extend(cores(&mesh, CoreKind::IdleEth, 1));
    at.extend(cores(&mesh, CoreKind::ActiveEth, 1));
    let riscs = (0..5).filter_map(|index| CoreKind::Tensix.risc(index)).chain([Risc::Erisc]);
    let program = riscs.zip(scripts).fold(Program::new("scripts"), |program, (risc, script)| {
        program.with_kernel(risc, Arc::new(script.clone()))
    });
    let launch = Launch::new(&Arc::new(program), 1).on(CoreSelection::At(at.clone()));
    let mesh = run(mesh, &[launch]);
    assert_eq!(mesh.execution_failures().collect::<Vec<_>>(), Vec::<&ExecutionFailure>::new());
    let lanes = lanes(&mesh, sums);
    assert_eq!(lanes.len(), 2 * 5 + 2);
    let names = names(&KernelKind::Riscv.zone_texts());
    // Skips records that the script does not make: those of the firmware and of writes to DRAM.
    let is_scripts =
        |record: &String| record.contains("SCRIPT-") || record.starts_with("TimestampedEvent ");
    for ((core, risc), words) in lanes {
        let is_ethernet = at[2..].contains(&core);
        let script = &scripts[if is_ethernet { 5 } else { risc }];
        let mut found = timeless(&words, &names);
        found.retain(is_scripts);
        assert_eq!(found, expected_records(script.steps(), sums), "{arch} {core:?} {risc}");
    }
}

#[test]
fn scripts_leave_the_records_of_their_steps() {
    for seed in 0..6 {
        let mut random = Stream::new(seed, &[]);
        // With at most 80 steps, all records fit in the L1 record buffer of a RISC, so none is
        // lost.
        let shape = ScriptShape { step_max: 80, depth_max: 16, has_pushes: seed % 2 == 1 };
        let scripts: Vec<_> = (0..6).map(|_| Script::random(&mut random, &shape)).collect();
        Arch::ALL.into_iter().for_each(|arch| compare(arch, &scripts, seed % 3 == 0));
    }
}

#[test]
fn noc_events_say_what_the_noc_did() {
    for seed in 0..8 {
        let arch = Arch::ALL[usize::from(seed / 2 % 2 == 1)];
        let config = MeshConfig::new(seed).with_chip(ChipConfig::new(arch)).with_noc_truth();
        let mut mesh = SimulatedMesh::new(&config).unwrap();
        init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
        let pushed = Arc::new(PushedRuns::default());
        mesh.add_shared_rule(&(Arc::clone(&pushed) as Arc<dyn Rule>));
        let mut random = Stream::new(seed, &[]);
        let shape = ScriptShape { step_max: 900, depth_max: 4, has_pushes: true };
        let scripts: Vec<_> = (0..5).map(|_| Script::random(&mut random, &shape)).collect();
        let kernels = scripts.iter().cloned().zip(0..);
        let program = kernels.fold(Program::new("scripts"), |program, (script, index)| {
            program.with_kernel(CoreKind::Tensix.risc(index).unwrap(), Arc::new(script))
        });
        let at = cores(&mesh, CoreKind::Tensix, 2);
        let launch = Launch::new(&Arc::new(program), 1).on(CoreSelection::At(at.clone()));
        let mesh = run(mesh, &[launch.clone(), launch]);
        assert_eq!(mesh.execution_failures().count(), 0);
        let truth = mesh.truth();
        let (mut event_count, mut lock_count, mut wide_count) = (0, 0, 0);
        for (key, launches) in pushed.launches(&truth) {
            let records = launches.iter().flat_map(|launch| &launch.records);
            let requests = truth.noc_requests.get(&key).map_or(&[][..], Vec::as_slice);
            let error = unexplained_noc_event(records, requests, false);
            assert_eq!(error, None, "{arch} {key:?}");
            let has_noc = matches!(key.risc, Risc::Brisc | Risc::Ncrisc);
            let expected = if has_noc { 2 * scripts[key.risc.index()].transfer_count() } else { 0 };
            assert_eq!(requests.len(), expected, "{arch} {key:?}");
            let locks = launches.iter().flat_map(|launch| &launch.records);
            let locks = locks.filter(|record| record.id == ZoneId::NOC_DEBUGGING.0);
            let locks: Vec<_> = locks.map(|record| (record.kind, record.values.clone())).collect();
            let twice = scripts[key.risc.index()].locks().repeat(if has_noc { 2 } else { 0 });
            let expected: Vec<_> = twice.into_iter().map(|lock| (3, vec![lock.pack()])).collect();
            assert_eq!(locks, expected, "{arch} {key:?}");
            lock_count += locks.len();
            let wide = launches.iter().flat_map(|launch| &launch.records);
            let wide = wide.filter(|record| (record.id, record.kind) == (12345, 5));
            wide_count += wide.count();
            assert!(requests.iter().all(|request| usize::from(request.noc) == key.risc.index()));
            event_count += requests.len();
        }
        assert!(event_count > 20, "{event_count}");
        assert!(
            lock_count > 2 && wide_count > 2,
            "{lock_count} locks, {wide_count} with addresses"
        );
    }
}

#[test]
fn a_script_that_nests_as_deep_as_it_may_leaves_the_stack_sound() {
    let deepest = [vec![Step::Open(7); DEPTH_MAX], vec![Step::QuickPush, Step::Event(9)]].concat();
    for arch in Arch::ALL {
        compare(arch, &vec![Script::new(deepest.clone()).unwrap(); 6], true);
    }
}

#[test]
fn data_that_l1_has_no_room_for_is_refused() {
    let long = Script::new(vec![Step::Data16(1, 2); 80_000]).unwrap();
    let mesh = mesh(Arch::WormholeB0, false);
    let at = cores(&mesh, CoreKind::Tensix, 1);
    let program = Arc::new(Program::new("long").with_kernel(Risc::Ncrisc, Arc::new(long)));
    let mesh = run(mesh, &[Launch::new(&program, 1).on(CoreSelection::At(at))]);
    let failures: Vec<String> = mesh.execution_failures().map(ToString::to_string).collect();
    assert_eq!(failures.len(), 1);
    assert!(failures[0].contains("NCRISC brings 400001 words of data, L1 has "), "{failures:?}");
}

/// Creates a kernel that issues NoC writes without counting them, so that barriers do not wait for
/// them.
fn uncounted_writes(data: Vec<u32>) -> ObjectKernel {
    ObjectKernel::new("uncounted_writes").with_data(data).with_emission(Emission::zones(2))
}

/// Returns the number of starts of kernel zones in the words of a RISC's DRAM buffer.
fn kernel_zones(words: &[u32]) -> usize {
    let records = timeless(words, &names(&KernelKind::Riscv.zone_texts()));
    let is_kernels =
        |record: &&String| record.starts_with("ZoneStart ") && record.ends_with("-WRITES");
    records.iter().filter(is_kernels).count()
}

#[test]
fn a_launch_ends_after_writes_that_a_kernel_did_not_count() {
    for arch in Arch::ALL {
        for (writes, is_posted) in
            [0, 1, 2, 3, 10, 100].into_iter().flat_map(|writes| [(writes, 0), (writes, 1)])
        {
            let mesh = mesh(arch, false);
            let at = cores(&mesh, CoreKind::Tensix, 1);
            let data = vec![0x5A; 4 * (writes as usize + 1)];
            let kernel: Arc<dyn Kernel> = Arc::new(uncounted_writes(data));
            let program = Program::new("uncounted")
                .with_kernel(Risc::Brisc, Arc::clone(&kernel))
                .with_kernel(Risc::Ncrisc, kernel);
            let program = Arc::new(program);
            let launch = |id| {
                let at = CoreSelection::At(at.clone());
                Launch::new(&program, id).on(at).with_args(&[writes, is_posted])
            };
            let mesh = run(mesh, &[launch(1), launch(2)]);
            let failures: Vec<_> = mesh.execution_failures().map(ToString::to_string).collect();
            assert_eq!(failures, [""; 0], "{arch}, {writes} writes, posted {is_posted}");
            let lanes = lanes(&mesh, false);
            for risc in [0, 1] {
                let zones = kernel_zones(&lanes[&(at[0], risc)]);
                assert_eq!(zones, 2 * 2, "{arch}, RISC {risc}, {writes} writes");
            }
            let tile = mesh.chip(0).unwrap().tile(at[0]).unwrap();
            let lost = [9, 10, 14, 15, 21].map(|word| tile.load(tile.control_word_address(word)));
            assert_eq!(lost, [0; 5], "{arch}, {writes} writes, posted {is_posted}");
        }
    }
}

#[test]
fn runs_that_brisc_has_not_waited_for_are_counted() {
    for (cycles, late_runs) in [(5_000, 0), (200_000, 1)] {
        let mut mesh = mesh(Arch::WormholeB0, false);
        let selection = Selection::everywhere().risc(Risc::Trisc2);
        mesh.add_rule(LateSubordinate { selection, cycles });
        let at = cores(&mesh, CoreKind::Tensix, 2);
        let program = Arc::new(on_all("empty"));
        let mesh = run(mesh, &[Launch::new(&program, 1).on(CoreSelection::At(at.clone()))]);
        let faults = mesh.truth().faults;
        let effect = FaultEffect::SubordinateLate { delay_cycles: cycles };
        assert_eq!(faults.iter().filter(|fault| fault.effect == effect).count(), 2);
        let tile = mesh.chip(0).unwrap().tile(at[0]).unwrap();
        let control = [44, 45, 46, 47].map(|word| tile.load(tile.control_word_address(word)));
        assert_eq!(control, [0, 0, 0, late_runs], "{cycles}");
    }
}

#[test]
fn a_clock_read_that_is_held_back_until_the_wrap_is_torn() {
    // The host has initialised the profiler by this time.
    const START_NS: u64 = 10_000_000;
    let mut mesh = mesh(Arch::Blackhole, false);
    let core = cores(&mesh, CoreKind::Tensix, 1)[0];
    let selection = Selection::everywhere().core(core).risc(Risc::Brisc);
    mesh.add_rule(TearClock { selection, at_ns: START_NS + 40_000, within_us: 2 });
    let program = Arc::new(on_all("steps"));
    let launch = Launch::new(&program, 1).on(CoreSelection::At(vec![core]));
    let mesh = run(mesh, &[launch.not_before_ns(START_NS)]);
    let faults = mesh.truth().faults;
    let torn = faults.iter().filter(|fault| {
        matches!(fault.effect, FaultEffect::ClockReadStalled { is_torn: true, stall_cycles } if stall_cycles > 0)
    });
    assert_eq!(torn.count(), 1, "{faults:?}");
    let words = &lanes(&mesh, false)[&(core, 0)];
    let times: Vec<u64> = (12..412)
        .step_by(2)
        .map(|at| u64::from(words[at] & 0xFFF) << 32 | u64::from(words[at + 1]))
        .collect();
    let back: Vec<_> = times.windows(2).filter(|pair| pair[1] < pair[0]).collect();
    assert_eq!(back.len(), 1, "only the torn read is out of order");
    // The low word is from the 2 us before the wrap; the high word is from after the wrap.
    let [torn, next] = [back[0][0], back[0][1]];
    assert_eq!(torn >> 32, next >> 32);
    assert!((torn & 0xFFFF_FFFF) + 2_700 >= 1 << 32 && next & 0xFFFF_FFFF < 1_500, "{back:x?}");
}

#[test]
fn no_number_of_threads_changes_a_word() {
    let with_threads = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        let mesh = mesh(Arch::WormholeB0, true);
        let plan = Workload::named("matmul").unwrap();
        let plan = plan.plan(&mesh, &WorkloadOptions { ops: Some(4), ..Default::default() });
        let mesh = pool.install(|| run(mesh, &plan.phases[0].launches));
        (lanes(&mesh, true), mesh.truth(), mesh.now_ps())
    };
    let one = with_threads(1);
    assert_eq!(one.0.len(), 64 * 5);
    assert!(with_threads(2) == one && with_threads(3) == one);
}

/// Returns a chip with a queued launch of the kernel `steps` on every core, and one core of that
/// chip.
fn stepping() -> (Bench, TileCoord) {
    let mut bench = Bench::new(&MeshConfig::wormhole(5));
    let core = bench.worker(12).coord;
    bench.mesh.enqueue(0, Launch::new(&Arc::new(on_all("steps")), 9)).unwrap();
    (bench, core)
}

/// Reads BRISC's record buffer; returns the number of optional markers in it, the time of the last
/// of them, and the tile's clock after the read.
fn look(mesh: &mut SimulatedMesh, core: TileCoord) -> (usize, u64, u64) {
    let device: &mut dyn Device = mesh.device(0).unwrap();
    let noc0 = Noc0Coord { x: core.x, y: core.y };
    let place = device.description().cores.iter().find(|place| place.noc0 == noc0).unwrap();
    let address = place.vector_address + 12 * 4;
    let mut words = [0; 400];
    device.read_l1(noc0, address, &mut words).unwrap();
    let clock = device.read_wall_clock(noc0).unwrap();
    let markers = words.chunks_exact(2).take_while(|pair| pair[0] != 0);
    let times = markers.map(|pair| u64::from(pair[0] & 0xFFF) << 32 | u64::from(pair[1]));
    (times.clone().count(), times.last().unwrap_or(0), clock & ((1 << 44) - 1))
}

#[test]
fn time_passes_while_the_host_reads_and_it_sees_as_far_as_object_code_has_come() {
    let (mut bench, core) = stepping();
    let mut counts = Vec::new();
    while counts.last() != Some(&200) {
        let (count, last, clock) = look(&mut bench.mesh, core);
        assert!(last <= clock, "a marker of {last} at {clock}");
        // A step takes 1000 cycles, a read fewer than 5000, an interruption 20,000.
        let is_running = (1..200).contains(&count);
        assert!(!is_running || clock - last < 26_000, "only {count} at {clock}");
        counts.push(count);
        assert!(counts.len() < 1000, "{counts:?}");
    }
    assert!(counts.is_sorted(), "{counts:?}");
    counts.dedup();
    assert!(counts.len() > 20, "{counts:?}");
}

#[test]
fn looking_on_changes_nothing_that_object_code_does() {
    let run = |look_count| {
        let (mut bench, core) = stepping();
        for _ in 0..look_count {
            look(&mut bench.mesh, core);
        }
        bench.mesh.run_to_completion();
        (bench.mesh.chip(0).unwrap().dram().clone(), bench.mesh.truth())
    };
    assert!(run(30) == run(0));
}

#[test]
fn a_kernel_takes_the_time_that_it_spins() {
    let mesh = mesh(Arch::WormholeB0, false);
    let at = cores(&mesh, CoreKind::Tensix, 3);
    let program = Arc::new(on_all("cycle_count"));
    let launch = Launch::new(&program, 1).on(CoreSelection::At(at));
    let truth = run(mesh, &[launch]).truth();
    assert_eq!(truth.kernel_run_count(), 15);
    for launch in truth.launches.values().flatten() {
        let times = launch.kernel.unwrap();
        let cycles = times.end.0 - times.start.0;
        assert!((104_000..200_000).contains(&cycles), "{cycles}");
    }
}

#[test]
fn the_same_seed_gives_the_same_words() {
    let run_once = || {
        let mesh = mesh(Arch::Blackhole, false);
        let program = Arc::new(on_all("full_buffer"));
        let launch = Launch::new(&program, 1).on(CoreSelection::All).with_args(&[20, 12]);
        lanes(&run(mesh, &[launch]), false)
    };
    assert_eq!(run_once(), run_once());
}

/// Runs a broken kernel on one core and a correct one on another.
fn break_with(name: &'static str) -> (ExecutionFailure, SimulatedMesh) {
    let mesh = mesh(Arch::WormholeB0, false);
    let at = cores(&mesh, CoreKind::Tensix, 2);
    let broken = Program::new(name)
        .with_kernel_on_all(&kernel("work"))
        .with_kernel(Risc::Trisc1, Arc::new(ObjectKernel::new(name)));
    let launch = |program: Program, id, core| {
        Launch::new(&Arc::new(program), id).on(CoreSelection::At(vec![core]))
    };
    let launches = [
        launch(broken, 1, at[0]),
        launch(on_all("work"), 2, at[1]),
        launch(on_all("work"), 3, at[0]),
    ];
    let mesh = run(mesh, &launches);
    let lanes = lanes(&mesh, false);
    assert!((0..5).all(|risc| lanes.contains_key(&(at[1], risc))), "the other core went on");
    assert!((0..5).all(|risc| lanes.contains_key(&(at[0], risc))), "the core was booted again");
    let failures: Vec<_> = mesh.execution_failures().cloned().collect();
    assert_eq!(failures.len(), 1, "{failures:?}");
    let failure = failures[0].clone();
    assert_eq!((failure.core, failure.risc, failure.launch_index), (at[0], Risc::Trisc1, 0));
    assert!(failure.symbol.clone().unwrap().starts_with(name), "{failure}");
    (failure, mesh)
}

fn trap_kind(reason: &FailureReason) -> TrapKind {
    match reason {
        FailureReason::Trap(trap) => trap.kind,
        other => panic!("{other}"),
    }
}

#[test]
fn a_store_outside_memory_is_named() {
    let (failure, _) = break_with("broken_store");
    assert_eq!(trap_kind(&failure.reason), TrapKind::StoreOutside);
    assert!(failure.to_string().contains("0x01000000"), "{failure}");
}

#[test]
fn an_unmapped_register_is_named() {
    let (failure, _) = break_with("broken_load");
    let kind = TrapKind::LoadUnsupported;
    assert!(matches!(failure.reason, FailureReason::Refused { trap, .. } if trap.kind == kind));
    assert!(failure.to_string().contains("wormhole_b0 has no register at"), "{failure}");
    assert!(failure.to_string().contains("0xffb12ffc"), "{failure}");
}

#[test]
fn code_cannot_be_overwritten() {
    let (failure, _) = break_with("broken_overwrite");
    assert_eq!(trap_kind(&failure.reason), TrapKind::StoreUnsupported);
}

#[test]
fn what_is_no_instruction_is_named() {
    let (failure, _) = break_with("broken_instruction");
    assert_eq!(trap_kind(&failure.reason), TrapKind::IllegalInstruction);
}

#[test]
fn a_panic_stops_its_core() {
    let (failure, _) = break_with("broken_panic");
    assert_eq!(failure.reason, FailureReason::Stopped);
}

#[test]
fn an_endless_kernel_runs_into_its_limit() {
    let (failure, _) = break_with("broken_endless");
    let limit_cycles = 3_000_000;
    assert_eq!(failure.reason, FailureReason::CycleLimit { limit_cycles });
}

/// Reports that the tests in `cpp` are missing, because the C++ kernels could not be compiled;
/// fails in CI.
#[cfg(not(cpp_code))]
#[test]
fn kernels_in_cpp_need_a_compiler() {
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "there is no compiler for C++");
    println!(
        "kernels in C++ are not tested: install gcc-riscv64-unknown-elf, then touch sim/build.rs"
    );
}
