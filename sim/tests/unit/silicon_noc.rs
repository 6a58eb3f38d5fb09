//! Replay of measurements on cards: NoC transfers and DRAM accesses of one or many cores.
//!
//! The kernels here are this project's own: a loop that issues requests, and a wait for the last of
//! them. So only rows are replayed whose time transfers determine; in other rows, the code of
//! TT-Metal's functions does.

use super::{
    bare::{BareChip, Script},
    silicon_rows::{Replayed, Row, compare_page, errors, is_all, number_before, rows},
    tests::{READ, at, counter, send, side},
};
use crate::{
    arch::{Arch, TileCoord},
    limits::{LiftedLimits, Limit},
    riscv::asm::{A0, A1, A2, T0, T1, addi, bne, li, lw, sw},
};
use std::collections::BTreeMap;

/// A write to one tile with acknowledgement on the static virtual channel 1.
const WRITE: u32 = 0x2092;
const CLOCK_LOW: u32 = 0xFFB1_21F0;
/// L1 addresses of the two clock readings, and of the data.
const STARTED: u32 = 0x4000;
const ENDED: u32 = 0x4004;
const DATA: u32 = 0x8000;

/// Requests of one core, to the L1 of a tile or to a DRAM tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    core: TileCoord,
    target: TileCoord,
    address: u32,
    is_read: bool,
    count: u32,
    byte_count: u32,
}

/// Returns the tiles that the text names by the coordinates that TT-Metal uses, in order.
fn tiles(arch: Arch, text: &str) -> Vec<TileCoord> {
    let pairs = text.split('(').skip(1).filter_map(|part| part.split_once(')'));
    let pairs = pairs.filter_map(|(pair, _)| {
        let (x, y) = pair.split_once(',')?;
        Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
    });
    pairs.map(|pair| tile(arch, pair)).collect()
}

/// Returns the tile at coordinates that TT-Metal uses. The numbers of hops in the rows show which
/// rows and columns of the two cards are harvested.
fn tile(arch: Arch, (x, y): (u16, u16)) -> TileCoord {
    let (x, y) = match arch {
        Arch::WormholeB0 => (
            [1, 2, 3, 4, 6, 7, 8, 9][usize::from(x) - 18],
            [1, 2, 4, 5, 7, 8, 9, 10][usize::from(y) - 18],
        ),
        Arch::Blackhole if x >= 7 => (x + if x == 7 { 4 } else { 2 }, y),
        Arch::Blackhole => (x, y),
    };
    TileCoord { x, y }
}

/// Returns the tile of a worker by its number, row by row, on a card with the measured grid.
fn worker(arch: Arch, number: u32) -> TileCoord {
    let number = u16::try_from(number).unwrap();
    match arch {
        Arch::WormholeB0 => tile(arch, (18 + number % 8, 18 + number / 8)),
        Arch::Blackhole => {
            let columns = [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14];
            tile(arch, (columns[usize::from(number % 12)], 2 + number / 12))
        }
    }
}

/// Returns the tile and the address of a DRAM bank on NoC 0.
///
/// # Compatibility
/// tt-metal 0.81.1, `soc_descriptors/wormhole_b0_80_arch.yaml` and `blackhole_140_arch.yaml`:
/// `dram_views`.
fn bank(arch: Arch, bank: usize) -> (TileCoord, u32) {
    const WORMHOLE: [(u16, u16); 12] = [
        (0, 11),
        (0, 1),
        (0, 5),
        (0, 7),
        (5, 1),
        (5, 11),
        (5, 2),
        (5, 9),
        (5, 8),
        (5, 3),
        (5, 5),
        (5, 7),
    ];
    // Translated coordinates, which are the only ones of a Blackhole's DRAM.
    const BLACKHOLE: [(u16, u16); 8] =
        [(17, 14), (17, 15), (17, 18), (17, 21), (18, 14), (18, 17), (18, 20), (18, 23)];
    let ((x, y), address) = match arch {
        Arch::WormholeB0 => (WORMHOLE[bank % 12], if bank % 2 == 1 { 0x4000_0000 } else { 0 }),
        Arch::Blackhole => (BLACKHOLE[bank % 8], 0),
    };
    (TileCoord { x, y }, address)
}

/// Returns the flows of a row, the measured one first; otherwise why it is not replayed.
pub(super) fn flows(row: &Row<'_>, partners: &Partners) -> Result<Vec<Flow>, &'static str> {
    if row.class != "NoC" && row.class != "DRAM" {
        return Err("not a transfer");
    }
    if row.what.starts_with("from event") {
        return Err("between records of TT-Metal's profiler, whose code is not built here");
    }
    let is_read = row.what.contains(" read");
    if let Some(cores) = number_before(row.what, " core(s)") {
        let is_one = row.what.contains("one DRAM channel");
        return Ok((0..cores)
            .map(|number| {
                let (target, address) = bank(row.arch, if is_one { 0 } else { number as usize });
                let (core, byte_count) = (worker(row.arch, number), 4096);
                let address = address + number / 8 * 0x10_0000;
                Flow { core, target, address, is_read, count: 256, byte_count }
            })
            .collect());
    }
    let word = if is_read { " reads of" } else { " writes of" };
    let count = number_before(row.what, word).ok_or("a kind of row without a kernel")?;
    let byte_count = number_before(row.what, " bytes").ok_or("a kind of row without a kernel")?;
    let flow = |core, target| Flow { core, target, address: DATA, is_read, count, byte_count };
    if row.what.starts_with("two flows") {
        let own = row.parameters.starts_with("flow 1");
        let pairs = [false, true].map(|second| partners.get(&partner_key(row, second)).copied());
        let [Some(first), Some(second)] = pairs else { return Err("the other flow is unknown") };
        let [first, second] = [first, second].map(|(from, to)| flow(from, to));
        return Ok(if own { vec![second, first] } else { vec![first, second] });
    }
    if u64::from(byte_count) / row.arch.facts().noc_flit_bytes < 60 {
        return Err("limited by the code of TT-Metal's functions, which is not built here");
    }
    let &[from, to] = &tiles(row.arch, row.parameters)[..] else { return Err("no tiles") };
    // The rows about writes were measured in both directions; they name the tile that issues first.
    Ok(vec![flow(from, to)])
}

/// Ends of each flow of the rows with two flows. Not every size of transfers has a row for both
/// flows, but all sizes have the same ends.
pub(super) type Partners = BTreeMap<(bool, bool, u32, bool), (TileCoord, TileCoord)>;

fn partner_key(row: &Row<'_>, is_second: bool) -> (bool, bool, u32, bool) {
    let shared = number_before(row.what, " link(s)").unwrap();
    (row.arch == Arch::Blackhole, row.what.contains(" reads"), shared, is_second)
}

pub(super) fn partners(rows: &[Row<'_>]) -> Partners {
    let flows = rows.iter().filter(|row| row.what.starts_with("two flows"));
    flows
        .map(|row| {
            let ends = tiles(row.arch, row.parameters);
            (partner_key(row, row.parameters.starts_with("flow 1")), (ends[0], ends[1]))
        })
        .collect()
}

/// Returns the kernel of a flow: the clock, the requests, the wait for the last one, the clock.
fn kernel(arch: Arch, flow: &Flow) -> Script {
    let (core, target) = (flow.core, flow.target);
    let own = (core, DATA);
    let packet = flow.byte_count.min(if arch == Arch::WormholeB0 { 8192 } else { 16_384 });
    let packets = flow.count * flow.byte_count.div_ceil(packet);
    let there = (target, flow.address);
    let base = 0xFFB2_0000;
    let (from, to) = if flow.is_read { (there, own) } else { (own, there) };
    let control = if flow.is_read { READ } else { WRITE };
    let mut stores = side(arch, at::TARGET, from.0, from.1);
    stores.extend(side(arch, at::RETURN, to.0, to.1));
    stores.extend([(at::CTRL, control), (at::LENGTH, packet)]);
    let mut script = Script::default().command(0, &stores).copy(CLOCK_LOW, STARTED);
    for word in li(A0, packets).into_iter().chain(li(T0, base + send(arch))).chain(li(T1, 1)) {
        script = script.instruction(word);
    }
    let loop_body =
        [lw(A1, T0, 0), bne(A1, 0, -4), sw(T1, T0, 0), addi(A0, A0, -1), bne(A0, 0, -16)];
    for word in loop_body {
        script = script.instruction(word);
    }
    let done = counter(0, if flow.is_read { 2 } else { 1 });
    script.wait(done, packets).copy(CLOCK_LOW, ENDED).instruction(addi(A2, 0, 0))
}

/// Returns the simulated cycles of the first flow, or of the slowest if `is_slowest`.
fn replay(arch: Arch, flows: &[Flow], is_slowest: bool) -> u32 {
    replay_without(LiftedLimits::NONE, arch, flows, is_slowest)
}

/// Returns the same cycles of a chip without some limits.
fn replay_without(lifted: LiftedLimits, arch: Arch, flows: &[Flow], is_slowest: bool) -> u32 {
    let mut chip = BareChip::new(arch).without_limit().with_lifted_limits(lifted);
    let kernels: Vec<Script> = flows.iter().map(|flow| kernel(arch, flow)).collect();
    let scripts: Vec<_> = flows.iter().map(|flow| flow.core).zip(&kernels).collect();
    assert_eq!(chip.run(&scripts), [""; 0]);
    let mut cycles = flows.iter().map(|flow| {
        chip.word(flow.core, ENDED.into()).wrapping_sub(chip.word(flow.core, STARTED.into()))
    });
    if is_slowest { cycles.max().unwrap() } else { cycles.next().unwrap() }
}

/// Group of rows in the table.
fn group(row: &Row<'_>) -> &'static str {
    let is_read = row.what.contains(" read");
    match () {
        () if row.what.starts_with("two flows") => "NoC, two flows",
        () if row.class == "NoC" => "NoC, one flow of large requests",
        () if row.what.starts_with("1 core") => "DRAM, one core",
        () if row.what.contains("different") && is_read => "DRAM, several cores read, all channels",
        () if row.what.contains("different") => "DRAM, several cores write, all channels",
        () if is_read => "DRAM, several cores read, one channel",
        () => "DRAM, several cores write, one channel",
    }
}

/// Returns the largest deviation in percent that a row of the sample may have, by its group.
fn tolerance(row: &Row<'_>) -> f64 {
    match group(row) {
        "NoC, one flow of large requests" => 5.0,
        "NoC, two flows" => 20.0,
        "DRAM, one core" => 10.0,
        _ => 20.0,
    }
}

#[test]
fn transfers_take_as_long_as_on_cards() {
    let rows = rows();
    let partners = partners(&rows);
    let mut replayed = Vec::new();
    for row in &rows {
        let Ok(flows) = flows(row, &partners) else { continue };
        let is_sample = flows.len() <= 4 && flows[0].byte_count <= 8192;
        if is_all() || is_sample {
            let simulated = replay(row.arch, &flows, row.class == "DRAM").into();
            let one = Replayed { row, group: group(row), simulated };
            one.print();
            replayed.push(one);
        }
    }
    assert!(replayed.len() > 60, "{}", replayed.len());
    if is_all() {
        return compare_page("replayed transfers", &errors(&replayed));
    }
    let is_wrong = |one: &&Replayed<'_>| one.error_percent().abs() > tolerance(one.row);
    let wrong = replayed.iter().filter(is_wrong);
    let wrong: Vec<_> = wrong.map(|one| (one.row.what, one.error_percent())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Four cores read from one channel: its rate is the limit, then the port of its tile, then the code
/// that issues the reads.
#[test]
fn without_a_limit_the_next_one_is_seen() {
    let [dram, noc] = [Limit::Dram, Limit::Noc].map(|limit| LiftedLimits::NONE.and(limit));
    let both = dram.and(Limit::Noc);
    // Bytes in 100 cycles: those of the channel as measured on the cards, and those of a port, which
    // takes 256 flits of 32 bytes in 256 + 4 + 1 cycles on a Wormhole, and 64 bytes each in 64 + 2 + 1
    // cycles on a Blackhole.
    for (arch, channel, port) in [
        (Arch::WormholeB0, 2_212.0, 100.0 * 4096.0 / (128.0 + 2.0 + 1.0)),
        (Arch::Blackhole, 4_650.0, 100.0 * 4096.0 / (64.0 + 2.0 + 1.0)),
    ] {
        let (target, address) = bank(arch, 0);
        let flow = |number| Flow {
            core: worker(arch, number),
            target,
            address,
            is_read: true,
            count: 256,
            byte_count: 4096,
        };
        let flows: Vec<_> = (0..4).map(flow).collect();
        let rate = |lifted| {
            let cycles = replay_without(lifted, arch, &flows, true);
            100.0 * 4.0 * 256.0 * 4096.0 / f64::from(cycles)
        };
        let is_near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.02;
        let rates = [LiftedLimits::NONE, noc, dram, both].map(rate);
        assert!(is_near(rates[0], channel), "{arch}: {rates:?}");
        assert!(is_near(rates[1], channel), "{arch}: {rates:?}");
        assert!(is_near(rates[2], port), "{arch}: {rates:?}");
        // A loop of five instructions issues a read of 4,096 bytes, and needs at least five cycles.
        assert!(
            rates[3] > 4.0 * port && rates[3] < 4.0 * 100.0 * 4096.0 / 5.0,
            "{arch}: {rates:?}"
        );
    }
}
