//! Waits through tt-metal's own functions: cost where nothing blocks, and what is recorded.

use crate::{
    core::{Core, Cost, End},
    package::{Package, package},
    probes::{self, Probes},
    toolchain::{Chip, Header, Processor, Target, in_parallel},
};
use std::fmt::Write as _;
use wire::wait::{BlockedWait, WaitKind, WaitTotal};

/// Records of waits in a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    Off,
    Totals,
    Events,
}

impl Records {
    fn define(self) -> &'static str {
        match self {
            Self::Off => "KERNEL_PROFILER_WAITS=0",
            Self::Totals => "KERNEL_PROFILER_WAITS=1",
            Self::Events => "PROFILE_SYNC_EVENTS",
        }
    }
}

/// A function of tt-metal that waits, and the RISC that it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Site {
    function: &'static str,
    processor: Processor,
    kind: WaitKind,
}

const SITES: [Site; 5] = [
    Site { function: "wait_front", processor: Processor::Brisc, kind: WaitKind::CB_WAIT },
    Site { function: "reserve_back", processor: Processor::Brisc, kind: WaitKind::CB_RESERVE },
    Site { function: "wait_min", processor: Processor::Brisc, kind: WaitKind::SEM_WAIT },
    Site { function: "wait_front", processor: Processor::Trisc0, kind: WaitKind::CB_WAIT },
    Site { function: "reserve_back", processor: Processor::Trisc2, kind: WaitKind::CB_RESERVE },
];

/// The number of the circular buffer that is waited for, and a semaphore's address.
const BUFFER: u32 = 5;
const SEMAPHORE: u32 = 0x7_F000;
/// Tiles that every buffer has room for.
const CAPACITY: u32 = 8;

/// Registers of a buffer's stream: tiles received and acknowledged.
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
    let defines = ["NOC_MODE=0", "NOC_INDEX=0", records.define()];
    let target = Target {
        is_kernel: true,
        optimisation: Some(level),
        defines: defines.map(str::to_owned).to_vec(),
        ..Target::new(chip, processor, Header::Ours)
    };
    let name = format!("waits-{}-{level}-{records:?}", target.stem());
    let program = probes::program_of(package, &target, "waits.cpp", &name, 0)?;
    Ok(Probes { chip, header: Header::Ours, has_sums: false, programs: vec![program] })
}

fn call(core: &mut Core<'_>, function: &str, arguments: &[u32]) -> Cost {
    let (end, cost) = core.call(0, function, arguments);
    assert_eq!(end, End::Returned, "{function}");
    cost
}

/// Lets what a site waits for be there after a number of cycles.
fn provide(core: &mut Core<'_>, site: Site, after: u64) {
    let [received, acknowledged] = stream_registers(core.chip);
    match site.kind {
        WaitKind::CB_WAIT => core.set_stream(received, after, 1),
        WaitKind::CB_RESERVE => {
            core.set_stream(received, 0, CAPACITY);
            core.set_stream(acknowledged, after, 1);
        }
        _ => core.set_word_after(SEMAPHORE, after, 1),
    }
}

/// Begins a launch with empty buffers, but that the packer has filled its own.
fn set_up(core: &mut Core<'_>, site: Site) {
    let pushed = if site.processor == Processor::Trisc2 { CAPACITY } else { 0 };
    call(core, "set_up", &[CAPACITY, pushed]);
    call(core, "begin", &[]);
}

fn key(site: Site) -> u32 {
    if site.kind == WaitKind::SEM_WAIT { SEMAPHORE } else { BUFFER }
}

/// Cost of a wait that finds what it waits for, called again and again.
fn ready(probes: &Probes, site: Site) -> Cost {
    let mut core = Core::new(probes.chip, probes);
    set_up(&mut core, site);
    provide(&mut core, site, 0);
    // As in a kernel's loop: the branch predictor knows it.
    for _ in 0..8 {
        call(&mut core, site.function, &[]);
    }
    call(&mut core, site.function, &[])
}

/// Cycles by which a wait ends after what it waits for is there, averaged over moments.
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

#[test]
fn waits_cost_little_where_nothing_blocks() {
    let Some(package) = package() else { return };
    let mut jobs = Vec::new();
    for chip in Chip::ALL {
        for level in ["O2", "O3", "Os"] {
            for processor in [Processor::Brisc, Processor::Trisc0, Processor::Trisc2] {
                for records in [Records::Off, Records::Totals] {
                    jobs.push((chip, level, processor, records));
                }
            }
        }
    }
    let built = in_parallel(&jobs, |&(chip, level, processor, records)| {
        build(package, chip, processor, level, records)
    });
    let mut table = format!(
        "{:<42}{:>10}{:>10}{:>12}{:>8}\n",
        "instructions / cycles", "without", "ready", "blocked adds", "bytes"
    );
    let mut faults = Vec::new();
    for (pair, job) in built.chunks(2).zip(jobs.chunks(2)) {
        let (chip, level, processor, _) = job[0];
        let [off, totals] = [0, 1].map(|index| match &pair[index] {
            Ok(probes) => probes,
            Err(error) => panic!("{:?}: {error}", job[index]),
        });
        for site in SITES.into_iter().filter(|site| site.processor == processor) {
            let (without, with) = (ready(off, site), ready(totals, site));
            let adds = overhead(totals, site) - overhead(off, site);
            let size = |probes: &Probes| probes.programs[0].symbol(site.function).size_bytes;
            let bytes = size(totals);
            let label = format!("{chip} {level} {processor} {}", site.function);
            writeln!(
                table,
                "{label:<42}{:>10}{:>10}{adds:>12.1}{bytes:>8}",
                format!("{}/{}", without.instructions, without.cycles),
                format!("{}/{}", with.instructions, with.cycles),
            )
            .unwrap();
            let more = with.instructions.saturating_sub(without.instructions);
            // A Blackhole's function takes more without a wait, too: its fences split the loop.
            let is_fenced = chip == Chip::Blackhole && site.function == "reserve_back";
            let (cycles, bytes_max) = if is_fenced { (4, 144) } else { (3, 130) };
            if more > 3 || with.cycles > without.cycles + cycles || adds > 32.0 || bytes > bytes_max
            {
                faults.push(label);
            }
        }
    }
    println!("{table}");
    crate::publish("waits.txt", &table);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Values of the 16-byte records that a RISC has left in its ring.
fn wide_records(core: &Core<'_>, processor: Processor) -> Vec<[u64; 2]> {
    // The tests' core takes any program for its first RISC; the program knows which one it is for.
    let risc = Processor::TENSIX.iter().position(|&one| one == processor).unwrap();
    let words = core.ring(risc, 60);
    let word = |at: usize| u64::from(words[at]) << 32 | u64::from(words[at + 1]);
    let used = words.chunks(6).take_while(|record| record[0] >> 28 == 0xD);
    (0..used.count()).map(|record| [word(6 * record + 2), word(6 * record + 4)]).collect()
}

/// Cycles of a call that are not in its record, at most: the zone and the function before the first
/// poll, and one poll.
const UNSEEN_CYCLES: u64 = 60;

/// A kernel whose wait blocks leaves its cycles, and one that need not wait leaves nothing.
#[test]
fn sums_and_blocked_waits_say_how_long_a_kernel_waited() {
    let Some(package) = package() else { return };
    let mut jobs = Vec::new();
    for chip in Chip::ALL {
        for (level, records) in
            [("O2", Records::Totals), ("Os", Records::Totals), ("O2", Records::Events)]
        {
            for processor in [Processor::Brisc, Processor::Trisc0, Processor::Trisc2] {
                jobs.push((chip, level, processor, records));
            }
        }
    }
    let built = in_parallel(&jobs, |&(chip, level, processor, records)| {
        build(package, chip, processor, level, records).unwrap()
    });
    for (probes, (chip, level, processor, records)) in built.iter().zip(jobs) {
        for site in SITES.into_iter().filter(|site| site.processor == processor) {
            for after in [0_u64, 700, 5_000, 70_000] {
                let mut core = Core::new(chip, probes);
                set_up(&mut core, site);
                provide(&mut core, site, after);
                call(&mut core, "kernel", &[u32::from(site.kind.0)]);
                let found = wide_records(&core, processor);
                let place = format!("{chip} {level} {site:?} {after}: {found:x?}");
                if after == 0 {
                    assert!(found.is_empty(), "{place}");
                    continue;
                }
                let is_close = |cycles: u32| {
                    let cycles = u64::from(cycles);
                    (cycles.saturating_sub(20)..cycles + UNSEEN_CYCLES).contains(&after)
                };
                let total = WaitTotal::from_data(*found.last().unwrap()).unwrap();
                assert_eq!(
                    (total.kind, total.key, total.waits),
                    (site.kind, key(site), 1),
                    "{place}"
                );
                assert!(is_close(total.cycles), "{place}");
                if records == Records::Events {
                    let wait = BlockedWait::from_data(found[0]).unwrap();
                    assert_eq!((wait.kind, wait.key), (site.kind, key(site)), "{place}");
                    assert_eq!(wait.cycles, total.cycles, "{place}");
                }
                assert_eq!(found.len(), if records == Records::Events { 2 } else { 1 }, "{place}");
            }
        }
    }
}
