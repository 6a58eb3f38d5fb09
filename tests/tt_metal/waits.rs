//! Waits through tt-metal's own functions: their cost if they do not block, and their records.

use crate::{
    core::{Core, Cost, End},
    package::{Package, package},
    probes::{self, Probes},
    readme,
    toolchain::{Chip, Header, Processor, Target, in_parallel},
};
use std::{fmt::Write as _, sync::OnceLock};
use wire::wait::{BlockedWait, WaitKind, WaitTotal};

/// Records of waits in a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    Off,
    Totals,
}

impl Records {
    fn define(self) -> &'static str {
        match self {
            Self::Off => "KERNEL_PROFILER_WAITS=0",
            Self::Totals => "KERNEL_PROFILER_WAITS=1",
        }
    }
}

/// A waiting function of tt-metal, and the RISC on which it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    function: &'static str,
    /// Number of the function in the tests' program.
    pub(crate) way: u32,
    pub(crate) processor: Processor,
    pub(crate) kind: WaitKind,
    source: Source,
}

/// Location of the awaited event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Tile counts in the stream of a circular buffer.
    Stream,
    /// A word of L1.
    Word,
    /// Counters of a NoC that reach the number of issued requests.
    Reached { noc: u32, counters: &'static [u32] },
    /// The counter of a NoC that falls to 0.
    Emptied { noc: u32, counter: u32 },
}

impl Site {
    const fn new(
        function: &'static str,
        way: u32,
        processor: Processor,
        kind: WaitKind,
        source: Source,
    ) -> Self {
        Self { function, way, processor, kind, source }
    }

    const fn barrier(function: &'static str, way: u32, kind: WaitKind, source: Source) -> Self {
        Self::new(function, way, Processor::Brisc, kind, source)
    }
}

/// Numbers of a NoC's counters; one of them exists per transaction id.
///
/// # Compatibility
/// `noc_parameters.h` of both chips: `NIU_MST_ATOMIC_RESP_RECEIVED` and so on.
mod counters {
    pub(super) const ATOMIC_ANSWERS: u32 = 0x0;
    pub(super) const WRITE_ANSWERS: u32 = 0x1;
    pub(super) const READ_ANSWERS: u32 = 0x2;
    pub(super) const WRITES_SENT: u32 = 0xA;
    pub(super) const POSTED_WRITES_SENT: u32 = 0xB;
    pub(super) const OUTSTANDING: u32 = 0x10;
    pub(super) const OUTGOING: u32 = 0x20;
}

const TRANSACTION_ID: u32 = 3;

const fn reached(noc: u32, counters: &'static [u32]) -> Source {
    Source::Reached { noc, counters }
}

pub(crate) const SITES: [Site; 14] = {
    use Processor::{Brisc, Trisc0, Trisc2};
    use counters::*;
    const ALL: &[u32] =
        &[READ_ANSWERS, WRITES_SENT, WRITE_ANSWERS, ATOMIC_ANSWERS, POSTED_WRITES_SENT];
    [
        Site::new("wait_front", 1, Brisc, WaitKind::CB_WAIT, Source::Stream),
        Site::new("reserve_back", 2, Brisc, WaitKind::CB_RESERVE, Source::Stream),
        Site::new("wait_min", 3, Brisc, WaitKind::SEM_WAIT, Source::Word),
        Site::new("wait_front", 1, Trisc0, WaitKind::CB_WAIT, Source::Stream),
        Site::new("reserve_back", 2, Trisc2, WaitKind::CB_RESERVE, Source::Stream),
        Site::barrier("read_barrier", 4, WaitKind::NOC_READ_BARRIER, reached(0, &[READ_ANSWERS])),
        Site::barrier(
            "write_barrier",
            5,
            WaitKind::NOC_WRITE_BARRIER,
            reached(1, &[WRITE_ANSWERS]),
        ),
        Site::barrier(
            "atomic_barrier",
            6,
            WaitKind::NOC_ATOMIC_BARRIER,
            reached(0, &[ATOMIC_ANSWERS]),
        ),
        Site::barrier("full_barrier", 7, WaitKind::NOC_FULL_BARRIER, reached(1, ALL)),
        Site::barrier("writes_flushed", 8, WaitKind::NOC_WRITE_FLUSH, reached(0, &[WRITES_SENT])),
        Site::barrier(
            "posted_writes_flushed",
            9,
            WaitKind::NOC_WRITE_FLUSH,
            reached(0, &[POSTED_WRITES_SENT]),
        ),
        Site::barrier(
            "read_barrier_of_id",
            10,
            WaitKind::NOC_READ_BARRIER,
            Source::Emptied { noc: 0, counter: OUTSTANDING + TRANSACTION_ID },
        ),
        Site::barrier(
            "write_barrier_of_id",
            11,
            WaitKind::NOC_WRITE_BARRIER,
            Source::Emptied { noc: 0, counter: OUTSTANDING + TRANSACTION_ID },
        ),
        Site::barrier(
            "write_flushed_of_id",
            12,
            WaitKind::NOC_WRITE_FLUSH,
            Source::Emptied { noc: 1, counter: OUTGOING + TRANSACTION_ID },
        ),
    ]
};

/// Number of the awaited circular buffer, and address of the semaphore.
pub(crate) const BUFFER: u32 = 5;
const SEMAPHORE: u32 = 0x7_F000;
/// Number of tiles for which every buffer has room.
pub(crate) const CAPACITY: u32 = 8;

/// Returns the registers of a buffer's stream: tiles received and acknowledged.
///
/// # Compatibility
/// `stream_io_map.h` and `noc_overlay_parameters.h` of both chips.
fn stream_registers(chip: Chip) -> [u32; 2] {
    let stream = 0xFFB4_0000 + 0x1000 * BUFFER;
    let registers = match chip {
        Chip::Wormhole => [4, 3],
        Chip::Blackhole => [10, 8],
    };
    registers.map(|register| stream + 4 * register)
}

fn build(
    package: &Package,
    chip: Chip,
    processor: Processor,
    level: &'static str,
    records: Records,
) -> Result<Probes, String> {
    build_with(package, chip, processor, level, &["NOC_MODE=0", records.define()])
}

pub(crate) fn build_with(
    package: &Package,
    chip: Chip,
    processor: Processor,
    level: &'static str,
    defines: &[&str],
) -> Result<Probes, String> {
    let name = defines.join("-").replace('=', "-");
    let defines = defines.iter().chain(&["NOC_INDEX=0"]);
    let target = Target {
        is_kernel: true,
        optimisation: Some(level),
        defines: defines.map(|&define| define.to_owned()).collect(),
        ..Target::new(chip, processor, Header::Ours)
    };
    let name = format!("waits-{}-{level}-{name}", target.stem());
    let program = probes::program_of(package, &target, "waits.cpp", &name, 0)?;
    Ok(Probes { chip, header: Header::Ours, has_sums: false, programs: vec![program] })
}

pub(crate) fn call(core: &mut Core<'_>, function: &str, arguments: &[u32]) -> Cost {
    let (end, cost) = core.call(0, function, arguments);
    assert_eq!(end, End::Returned, "{function}");
    cost
}

/// Makes the event that a site waits for happen after a number of cycles.
pub(crate) fn provide(core: &mut Core<'_>, site: Site, after: u64) {
    let [received, acknowledged] = stream_registers(core.chip);
    match site.source {
        Source::Stream if site.kind == WaitKind::CB_WAIT => {
            core.change_register(received, after, [0, 1]);
        }
        Source::Stream => {
            core.change_register(received, 0, [0, CAPACITY]);
            core.change_register(acknowledged, after, [0, 1]);
        }
        Source::Word => core.set_word_after(SEMAPHORE, after, 1),
        // The counters change one after the other, the last one after `after` cycles.
        Source::Reached { noc, counters } => {
            for (&counter, left) in counters.iter().zip((0..counters.len()).rev()) {
                let after = after >> left;
                core.change_register(noc_counter(noc, counter), after, [ISSUED - 1, ISSUED]);
            }
        }
        Source::Emptied { noc, counter } => {
            core.change_register(noc_counter(noc, counter), after, [1, 0]);
        }
    }
}

/// Outstanding requests in the tests' program.
const ISSUED: u32 = 7;

const fn noc_counter(noc: u32, counter: u32) -> u32 {
    0xFFB2_0200 + 0x1_0000 * noc + 4 * counter
}

/// Begins a launch with empty buffers; the packer's own buffer is full.
pub(crate) fn set_up(core: &mut Core<'_>, site: Site) {
    let pushed = if site.processor == Processor::Trisc2 { CAPACITY } else { 0 };
    call(core, "set_up", &[CAPACITY, pushed]);
    if site.processor == Processor::Brisc {
        call(core, "issue", &[ISSUED]);
    }
    call(core, "begin", &[]);
}

fn key(site: Site) -> u32 {
    match site.source {
        Source::Stream => BUFFER,
        Source::Word => SEMAPHORE,
        Source::Reached { noc, .. } | Source::Emptied { noc, .. } => noc,
    }
}

/// Returns the cost of a wait that does not block, after repeated calls.
fn ready(probes: &Probes, site: Site) -> Cost {
    let mut core = Core::new(probes.chip, probes);
    set_up(&mut core, site);
    provide(&mut core, site, 0);
    // Repeated calls train the branch predictor, as in a kernel's loop.
    for _ in 0..8 {
        call(&mut core, site.function, &[]);
    }
    call(&mut core, site.function, &[])
}

/// Returns the cycles from the awaited event to the end of a wait, averaged over several moments.
fn overhead(probes: &Probes, site: Site) -> f64 {
    let mut sum = 0;
    for after in MOMENTS {
        let mut core = Core::new(probes.chip, probes);
        set_up(&mut core, site);
        provide(&mut core, site, 400);
        call(&mut core, site.function, &[]);
        core.reset_sources(SEMAPHORE);
        provide(&mut core, site, after);
        sum += call(&mut core, site.function, &[]).cycles - after;
    }
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let mean = sum as f64 / MOMENTS.count() as f64;
    mean
}

const MOMENTS: std::ops::Range<u64> = 300..340;

/// Cost of a site, with and without recorded waits.
struct Row {
    chip: Chip,
    level: &'static str,
    site: Site,
    without: Cost,
    with: Cost,
    blocked_adds: f64,
    bytes: u32,
}

impl Row {
    /// Returns true if the cost of a site is within the limits.
    fn is_cheap(&self) -> bool {
        let Self { without, with, blocked_adds, bytes, .. } = *self;
        with.instructions <= without.instructions + 3
            && with.cycles <= without.cycles + 3
            && blocked_adds <= 32.0
            && bytes <= 130
    }
}

/// Returns the costs of every site in every build; measured once for all tests.
fn measured(package: &Package) -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut jobs = Vec::new();
        for chip in Chip::ALL {
            for level in ["O2", "O3", "Os"] {
                for processor in [Processor::Brisc, Processor::Trisc0, Processor::Trisc2] {
                    jobs.push((chip, level, processor));
                }
            }
        }
        let rows = in_parallel(&jobs, |&(chip, level, processor)| {
            let [off, totals] = [Records::Off, Records::Totals]
                .map(|records| build(package, chip, processor, level, records).unwrap());
            let sites = SITES.into_iter().filter(|site| site.processor == processor);
            let rows = sites.map(|site| {
                let size = |probes: &Probes| probes.programs[0].symbol(site.function).size_bytes;
                Row {
                    chip,
                    level,
                    site,
                    without: ready(&off, site),
                    with: ready(&totals, site),
                    blocked_adds: overhead(&totals, site) - overhead(&off, site),
                    bytes: size(&totals),
                }
            });
            rows.collect::<Vec<_>>()
        });
        rows.into_iter().flatten().collect()
    })
}

#[test]
fn waits_cost_little_where_nothing_blocks() {
    let Some(package) = package() else { return };
    let mut table = format!(
        "{:<42}{:>10}{:>10}{:>14}{:>8}\n",
        "instructions / cycles", "without", "ready", "blocked adds", "bytes"
    );
    let mut faults = Vec::new();
    for row in measured(package) {
        let Row { chip, level, site, without, with, blocked_adds, bytes, .. } = row;
        let label = format!("{chip} {level} {} {}", site.processor, site.function);
        writeln!(
            table,
            "{label:<42}{:>10}{:>10}{blocked_adds:>14.1}{bytes:>8}",
            format!("{}/{}", without.instructions, without.cycles),
            format!("{}/{}", with.instructions, with.cycles),
        )
        .unwrap();
        if !row.is_cheap() {
            faults.push(label);
        }
    }
    println!("{table}");
    crate::publish("waits.txt", &table);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// First line of the table in docs/costs.md.
const HEADING: &str = "| BRISC at `-O2`, instructions / cycles where nothing blocks | without | Wormhole | without | Blackhole | a blocked wait adds | bytes |";
/// TT-Metal's functions in that table.
const README_SITES: [(&str, &str); 8] = [
    ("cb_wait_front", "wait_front"),
    ("cb_reserve_back", "reserve_back"),
    ("noc_semaphore_wait_min", "wait_min"),
    ("noc_async_read_barrier", "read_barrier"),
    ("noc_async_write_barrier", "write_barrier"),
    ("noc_async_atomic_barrier", "atomic_barrier"),
    ("noc_async_full_barrier", "full_barrier"),
    ("noc_async_writes_flushed", "writes_flushed"),
];

#[test]
fn documented_costs_of_waits_are_the_measured_ones() {
    let Some(package) = package() else { return };
    let rows = measured(package);
    let mut lines = vec![HEADING.to_owned(), "|---|---|---|---|---|---|---|".to_owned()];
    for (label, function) in README_SITES {
        let [wormhole, blackhole] = Chip::ALL.map(|chip| {
            let is_it = |row: &&Row| {
                (row.chip, row.level, row.site.processor, row.site.function)
                    == (chip, "O2", Processor::Brisc, function)
            };
            rows.iter().find(is_it).unwrap()
        });
        let cost = |cost: Cost| format!("{} / {}", cost.instructions, cost.cycles);
        lines.push(format!(
            "| `{label}` | {} | {} | {} | {} | {:.0}, {:.0} | {}, {} |",
            cost(wormhole.without),
            cost(wormhole.with),
            cost(blackhole.without),
            cost(blackhole.with),
            wormhole.blocked_adds,
            blackhole.blocked_adds,
            wormhole.bytes,
            blackhole.bytes,
        ));
    }
    readme::compare(package, HEADING, &(lines.join("\n") + "\n"));
}

/// Returns the values of the 16-byte records in a RISC's ring.
pub(crate) fn wide_records(core: &Core<'_>, processor: Processor) -> Vec<[u64; 2]> {
    // The tests' core runs any program as its first RISC; the program itself uses its processor's
    // vector.
    let risc = Processor::TENSIX.iter().position(|&one| one == processor).unwrap();
    let words = core.ring(risc, 60);
    let word = |at: usize| u64::from(words[at]) << 32 | u64::from(words[at + 1]);
    let used = words.chunks(6).take_while(|record| record[0] >> 28 == 0xD);
    (0..used.count()).map(|record| [word(6 * record + 2), word(6 * record + 4)]).collect()
}

/// Each kind of request ends last in one of the cases.
#[test]
fn a_full_barrier_that_blocks_waits_for_every_kind_of_request() {
    let Some(package) = package() else { return };
    let site = SITES.into_iter().find(|site| site.kind == WaitKind::NOC_FULL_BARRIER).unwrap();
    let Source::Reached { noc, counters } = site.source else { panic!("{site:?}") };
    let jobs: Vec<_> = Chip::ALL
        .into_iter()
        .flat_map(|chip| [Records::Off, Records::Totals].map(|r| (chip, r)))
        .collect();
    let built = in_parallel(&jobs, |&(chip, records)| {
        build(package, chip, site.processor, "O2", records).unwrap()
    });
    for (probes, (chip, records)) in built.iter().zip(&jobs) {
        for &last in counters {
            let mut core = Core::new(*chip, probes);
            set_up(&mut core, site);
            for &counter in counters {
                let after = if counter == last { 400 } else { 100 };
                core.change_register(noc_counter(noc, counter), after, [ISSUED - 1, ISSUED]);
            }
            let cycles = call(&mut core, site.function, &[]).cycles;
            assert!(
                (400..600).contains(&cycles),
                "{chip}, {records:?}, {last:#x}: {cycles} cycles"
            );
        }
    }
}

/// Maximum cycles of a blocked call that the record of the wait does not contain: the zone and the
/// function before the first poll, and one poll.
const UNSEEN_CYCLES: u64 = 60;

/// A kernel with a wait that blocks records the cycles of the wait. A kernel with a wait that does
/// not block records nothing.
#[test]
fn sums_and_blocked_waits_say_how_long_a_kernel_waited() {
    let Some(package) = package() else { return };
    const TOTALS: &str = "KERNEL_PROFILER_WAITS=1";
    const BUILDS: [(&str, &[&str]); 5] = [
        ("O2", &["NOC_MODE=0", TOTALS]),
        ("Os", &["NOC_MODE=0", TOTALS]),
        ("O2", &["NOC_MODE=0", "PROFILE_SYNC_EVENTS"]),
        ("O2", &["NOC_MODE=0", TOTALS, "PROFILE_NOC_EVENTS=1"]),
        ("O2", &["NOC_MODE=1", TOTALS]),
    ];
    let mut jobs = Vec::new();
    for chip in Chip::ALL {
        for (number, (level, defines)) in BUILDS.into_iter().enumerate() {
            jobs.push((chip, level, Processor::Brisc, defines));
            if number < 3 {
                jobs.push((chip, level, Processor::Trisc0, defines));
                jobs.push((chip, level, Processor::Trisc2, defines));
            }
        }
    }
    let built = in_parallel(&jobs, |&(chip, level, processor, defines)| {
        build_with(package, chip, processor, level, defines).unwrap()
    });
    for (probes, (_, level, processor, defines)) in built.iter().zip(jobs) {
        for site in SITES.into_iter().filter(|site| site.processor == processor) {
            for after in [0_u64, 700, 5_000, 70_000] {
                let found = records_of(probes, site, after);
                let has_events = defines.contains(&"PROFILE_SYNC_EVENTS");
                let place = format!("{} {level} {defines:?} {site:?} {after}", probes.chip);
                compare(site, after, has_events, &found)
                    .unwrap_or_else(|fault| panic!("{place}: {fault}: {found:x?}"));
            }
        }
    }
}

/// Returns the records of a kernel with a single wait, which ends after `after` cycles.
fn records_of(probes: &Probes, site: Site, after: u64) -> Vec<[u64; 2]> {
    let mut core = Core::new(probes.chip, probes);
    set_up(&mut core, site);
    provide(&mut core, site, after);
    call(&mut core, "kernel", &[site.way]);
    wide_records(&core, site.processor)
}

/// Compares the records of a kernel with the kernel's single wait.
fn compare(site: Site, after: u64, has_events: bool, found: &[[u64; 2]]) -> Result<(), String> {
    compare_key((site, key(site)), after, has_events, found)
}

/// Like [`compare`], for a wait with this key.
fn compare_key(
    (site, key): (Site, u32),
    after: u64,
    has_events: bool,
    found: &[[u64; 2]],
) -> Result<(), String> {
    let expected = if after == 0 { 0 } else { 1 + usize::from(has_events) };
    if found.len() != expected {
        return Err(format!("{} records in place of {expected}", found.len()));
    }
    let Some(total) = found.last() else { return Ok(()) };
    let total = WaitTotal::from_data(*total).ok_or("no total")?;
    if (total.kind, total.key, total.waits) != (site.kind, key, 1) {
        return Err(format!("{total:?}"));
    }
    let cycles = u64::from(total.cycles);
    if !(cycles.saturating_sub(20)..cycles + UNSEEN_CYCLES).contains(&after) {
        return Err(format!("{cycles} cycles"));
    }
    if has_events {
        let wait = BlockedWait::from_data(found[0]).ok_or("no wait")?;
        if (wait.kind, wait.key, wait.cycles) != (site.kind, key, total.cycles) {
            return Err(format!("{wait:?}"));
        }
    }
    Ok(())
}

/// Totals of loops of an author's own are written on every RISC, for every kind of wait.
#[test]
fn loops_of_authors_own_are_recorded_on_every_risc() {
    let Some(package) = package() else { return };
    const OWN: &str = "OWN_LOOPS";
    let mut jobs = Vec::new();
    for chip in Chip::ALL {
        for processor in Processor::TENSIX {
            for level in ["O2", "Os"] {
                jobs.push((chip, processor, level, "KERNEL_PROFILER_WAITS=1"));
            }
            jobs.push((chip, processor, "O2", "PROFILE_SYNC_EVENTS"));
            jobs.push((chip, processor, "O2", "KERNEL_PROFILER_WAITS=0"));
        }
    }
    let built = in_parallel(&jobs, |&(chip, processor, level, records)| {
        build_with(package, chip, processor, level, &["NOC_MODE=0", records, OWN]).unwrap()
    });
    let own = [
        ("own_wait", 13, WaitKind::SEM_WAIT, SEMAPHORE),
        ("own_block", 14, WaitKind::NOC_ATOMIC_BARRIER, 1),
    ];
    for (probes, (_, processor, level, records)) in built.iter().zip(jobs) {
        for (function, way, kind, key) in own {
            for after in [0_u64, 700, 70_000] {
                let site = Site::new(function, way, processor, kind, Source::Word);
                let found = records_of(probes, site, after);
                let place = format!("{} {level} {records} {site:?} {after}", probes.chip);
                if records == "KERNEL_PROFILER_WAITS=0" {
                    assert!(found.is_empty(), "{place}: {found:x?}");
                    continue;
                }
                compare_key((site, key), after, records == "PROFILE_SYNC_EVENTS", &found)
                    .unwrap_or_else(|fault| panic!("{place}: {fault}: {found:x?}"));
            }
        }
        if records == "KERNEL_PROFILER_WAITS=1" {
            let mut core = Core::new(probes.chip, probes);
            call(&mut core, "begin", &[]);
            call(&mut core, "kernel", &[15]);
            let totals: Vec<_> = wide_records(&core, processor)
                .into_iter()
                .map(|data| WaitTotal::from_data(data).unwrap())
                .map(|total| (total.kind, total.key, total.waits))
                .collect();
            let is_trisc = ![Processor::Brisc, Processor::Ncrisc].contains(&processor);
            let room = if is_trisc { 4 } else { 8 };
            let expected: Vec<_> = (0..room).map(|key| (WaitKind::CB_WAIT, key, 1)).collect();
            assert_eq!(totals, expected, "{} {level} {processor}", probes.chip);
        }
    }
}

/// A kernel without such loops has neither their table nor the code that writes it.
#[test]
fn kernels_without_loops_of_their_own_have_no_table_of_them() {
    let Some(package) = package() else { return };
    let jobs: Vec<_> =
        Chip::ALL.into_iter().flat_map(|chip| Processor::TENSIX.map(|one| (chip, one))).collect();
    let built = in_parallel(&jobs, |&(chip, processor)| {
        let [without, with] = [&[][..], &["OWN_LOOPS"]].map(|own| {
            let defines = [&["NOC_MODE=0", "KERNEL_PROFILER_WAITS=1"][..], own].concat();
            build_with(package, chip, processor, "O2", &defines).unwrap().programs.remove(0)
        });
        (without.has_symbol(OWN_TABLE), with.symbol(OWN_TABLE).size_bytes)
    });
    for ((chip, processor), found) in jobs.iter().zip(built) {
        let is_trisc = ![Processor::Brisc, Processor::Ncrisc].contains(processor);
        assert_eq!(found, (false, if is_trisc { 72 } else { 136 }), "{chip} {processor}");
    }
}

/// Symbol of the table of an author's own waits.
const OWN_TABLE: &str = "_ZN15kernel_profiler6detailL9own_waitsE";
