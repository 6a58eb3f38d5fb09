//! Waits of Rust kernels for circular buffers.

use crate::support::{config, libraries, plan, run_on_ours, run_on_ttsim, start};
use reader::{names::ZoneTable, readout::Readout};
use sim::{
    arch::TileCoord,
    config::WaitRecords,
    kernel::ObjectKernel,
    program::{CoreSelection, Launch, Program},
};
use std::{collections::BTreeMap, sync::Arc};
use wire::{
    Risc,
    wait::{BlockedWait, SignalKind, WAIT_TOTAL_ZONE, WaitKind, WaitTotal},
};

/// Number of tiles that pass through the chain in a launch.
const TILES: u32 = 12;
const CAPACITY: u32 = 3;
const LAUNCHES: u32 = 3;
/// The RISCs in the order of the chain, with the cycles that each works on a tile.
const CHAIN: [(Risc, u32); 5] = [
    (Risc::Ncrisc, 300),
    (Risc::Trisc0, 200),
    (Risc::Trisc1, 9_000),
    (Risc::Trisc2, 250),
    (Risc::Brisc, 350),
];

fn chain() -> Program {
    const NONE: u32 = u32::MAX;
    let mut program = Program::new("chain");
    for (number, (risc, cycles)) in (0..).zip(CHAIN) {
        let input = if number == 0 { NONE } else { number };
        let output = if number == 4 { NONE } else { number + 1 };
        // Words 6 to 11: no transfers, no barrier, no limit for the reader, and no shared reader.
        let words = [TILES, cycles, 0, input, output, CAPACITY, 0, 0, 0, NONE, 0, NONE];
        program =
            program.with_kernel(risc, Arc::new(ObjectKernel::new("pass_tiles").with_data(words)));
    }
    program
}

/// A RISC's waits by type and key, and its signals, in all launches.
#[derive(Default)]
struct Found {
    single: BTreeMap<(WaitKind, u32), (u64, u64)>,
    totals: BTreeMap<(WaitKind, u32), (u64, u64)>,
    signal_count: u32,
}

fn found(readout: &Readout) -> BTreeMap<Risc, Found> {
    let mut all: BTreeMap<Risc, Found> = BTreeMap::new();
    for lane in readout.devices.iter().flat_map(|device| &device.lanes) {
        for record in lane.records() {
            let found = all.entry(lane.id.risc).or_default();
            let name = readout.zones.name(record.zone);
            let (of, object, sums) = match *record.data {
                [first, second] if name == WAIT_TOTAL_ZONE => {
                    let total = WaitTotal::from_data([first, second]).unwrap();
                    let sums = (u64::from(total.cycles), u64::from(total.waits));
                    (&mut found.totals, (total.kind, total.key), sums)
                }
                [first, second] => {
                    let wait = BlockedWait::from_data([first, second]).unwrap();
                    assert_eq!(wait.kind.zone_name(), Some(name));
                    (&mut found.single, (wait.kind, wait.key), (wait.cycles.into(), 1))
                }
                [_] => {
                    assert!(SignalKind::from_zone_name(name).is_some(), "{name}");
                    found.signal_count += 1;
                    continue;
                }
                _ => continue,
            };
            let sum: &mut (u64, u64) = of.entry(object).or_default();
            *sum = (sum.0 + sums.0, sum.1 + sums.1);
        }
    }
    all
}

/// Checks waits around a slow RISC.
///
/// RISCs before the slow RISC wait for space, and RISCs after it wait for tiles, equally often on
/// both simulators. Each total equals the sum of the single waits.
#[test]
fn riscs_around_a_slow_one_wait_as_often_as_on_ours() {
    for (arch, library) in libraries() {
        let config = config(arch, 5).with_wait_records(WaitRecords::Events);
        let program = Arc::new(chain());
        let cores = CoreSelection::At(vec![TileCoord { x: 2, y: 3 }]);
        let launches = (1..=LAUNCHES).map(|id| Launch::new(&program, id).on(cores.clone()));
        let plan = plan(launches.collect());
        let theirs = run_on_ttsim(&mut start(&config, &library), &plan);
        for (who, mut readout) in [("ttsim", theirs), ("ours", run_on_ours(&config, &plan))] {
            readout.zones = ZoneTable::from_texts(ttsim::runner::zone_texts()).unwrap();
            assert_eq!(readout.losses.entries().count(), 0, "{arch} {who}: {:?}", readout.losses);
            let all = found(&readout);
            assert_eq!(all.len(), CHAIN.len(), "{arch} {who}");
            for (number, (risc, _)) in (0_u32..).zip(CHAIN) {
                let found = &all[&risc];
                let what = format!("{arch} {who} {risc:?}: {:?}", found.totals);
                assert_eq!(found.single, found.totals, "{what}");
                let ends = u32::from(number > 0) + u32::from(number < 4);
                assert_eq!(found.signal_count, ends * TILES * LAUNCHES, "{what}");
                // Space becomes free, or a tile arrives, only when the slow RISC continues.
                let (object, least, most) = match number {
                    0 => ((WaitKind::CB_RESERVE, 1), TILES - 2 * CAPACITY - 1, TILES - CAPACITY),
                    1 => ((WaitKind::CB_RESERVE, 2), TILES - CAPACITY - 1, TILES - CAPACITY),
                    2 => ((WaitKind::CB_WAIT, 2), 0, 1),
                    _ => ((WaitKind::CB_WAIT, number), TILES - 1, TILES),
                };
                let waits = found.totals.get(&object).map_or(0, |sums| sums.1);
                let range = u64::from(least * LAUNCHES)..=u64::from(most * LAUNCHES);
                assert!(range.contains(&waits), "{what}: {waits} not in {range:?}");
            }
        }
    }
}
