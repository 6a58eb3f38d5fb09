//! Debug dump: with a host that reads during the run, all events of 10,000 addresses arrive from
//! both data movers, and waits show as zones.
//!
//! Each mover records 10,000 reads and 10,000 writes, with 20,000 begins and ends of each barrier.
//! Without a host a launch still ends, and losses are counted.

use crate::{
    core::{Core, End},
    package::package,
    probes::{self, Probes, Variant},
    reading_host::{Host as ReadingHost, MOVERS as MOVING_RISCS, follow_addresses},
    records::decode,
    script::Said,
    toolchain::{Chip, Header, first_error, in_parallel},
};

use host_reader::{
    analysis::{OwnTime, OwnZone, own_time, paired_zone_statistics},
    log::{read_device_log, write_device_log},
    names::ZoneTable,
    readout::Readout,
};
use wire::PacketKind;

/// Indices of the first control words for the host's progress, and for the device's counters: data
/// without room in a ring, and runs and markers that DRAM refused.
///
/// # Compatibility
/// `docs/wire-extensions.md`.
const CONSUMED: usize = 59;
const LOST_DATA: usize = 34;
const REFUSED: [usize; 2] = [9, 14];

/// # Compatibility
/// The number in the debugger's test of tt-metal's `test_device_profiler.py`.
pub(crate) const ADDRESSES: u32 = 10_000;
pub(crate) const TRANSFERS: u32 = 9;
const EMPTY_SLOT: u32 = 0x8000_0000;
const MOVERS: usize = 2;
/// Types of events, numbered as in `event_metadata.hpp`.
///
/// A read, the begin and the end of its barrier, then a write, the begin and the end of its
/// barrier.
pub(crate) const KINDS: [u64; 6] = [1, 6, 7, 11, 20, 21];
/// Types of events with an address. Events of barriers have none.
pub(crate) const NAMES_ITS_ADDRESS: [u64; 2] = [1, 11];

/// Lanes as read by the host.
#[derive(Default)]
struct Host {
    stands_at: [u32; MOVERS],
    words: [Vec<u32>; MOVERS],
    reads: usize,
}

impl Host {
    fn read(&mut self, core: &mut Core<'_>) {
        self.reads += 1;
        for risc in 0..MOVERS {
            let (words, now) = core.read_on(risc, self.stands_at[risc]);
            self.words[risc].extend(words);
            self.stands_at[risc] = now;
            core.set_control(CONSUMED + risc, now);
        }
    }
}

/// Launches a kernel on both data movers that records each address below a number twice.
fn launch(
    core: &mut Core<'_>,
    program: u32,
    addresses: u32,
    (period, host): (u64, &mut Host),
) -> Result<(), String> {
    let scripts: Vec<_> =
        (0..MOVERS).map(|risc| core.place_script(risc, &[TRANSFERS, addresses, 0])).collect();
    for (risc, script) in scripts.iter().enumerate() {
        expect(core.call(risc, "launch", &[*script, (1 << MOVERS) - 1, program]).0, End::Paused)?;
    }
    for end in [End::Paused, End::Returned] {
        for risc in (0..MOVERS).rev() {
            let found = core.resume_beside(risc, period, &mut |core| host.read(core)).0;
            expect(found, end.clone()).map_err(|error| format!("RISC {risc}: {error}"))?;
        }
    }
    core.settle();
    Ok(())
}

fn expect(found: End, expected: End) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found:?} in place of {expected:?}")) }
}

/// Records of one RISC's lane.
#[derive(Default)]
struct Told {
    /// Kind and address of each event, in order.
    events: Vec<(u64, u64)>,
    /// Number of begins and ends of the runtime's own zones.
    own_zones: usize,
}

/// Decodes consecutive runs. `decode` decodes a single run.
fn told(words: &[u32]) -> Result<Told, String> {
    let mut told = Told::default();
    let begins: Vec<usize> = run_begins(words)?;
    for (index, &begin) in begins.iter().enumerate() {
        let end = begins.get(index + 1).copied().unwrap_or(words.len());
        let slots = (4..12).step_by(2).filter(|slot| words[begin + slot] != EMPTY_SLOT).count();
        for record in decode(&words[begin..end])?.into_iter().skip(slots) {
            match record.said {
                Said::Data(values) if values.len() == 2 => {
                    // The trailer's address: 22 bits in units of four bytes, then four low bits.
                    let address = (values[1] & 0x3F_FFFF) << 2 | values[1] >> 22 & 0xF;
                    told.events.push((values[0] & 0xFF, address));
                }
                Said::Start => told.own_zones += 1,
                Said::End => {}
                other => return Err(format!("an unexpected record, {other:?}")),
            }
        }
    }
    Ok(told)
}

/// Returns the start positions of runs. They are found by skipping records according to their size.
fn run_begins(words: &[u32]) -> Result<Vec<usize>, String> {
    let mut begins = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at] >> 31 == 0 {
            begins.push(at);
            at += 4;
            continue;
        }
        at += match words[at] >> 28 & 7 {
            0 | 1 | 2 | 4 => 2,
            3 => 4,
            5 => 6,
            kind => return Err(format!("a record of type {kind} at word {at}")),
        };
    }
    Ok(begins)
}

fn counted(core: &Core<'_>, first: usize) -> u32 {
    (0..MOVERS).map(|risc| core.control(first + risc)).sum()
}

/// Checks that all addresses arrive in order, and that waits take time.
fn keep_up(chip: Chip, probes: &Probes) -> Result<(), String> {
    let mut core = Core::new(chip, probes);
    core.noc().answer_cycles = 60;
    let mut host = Host::default();
    // The host reads so rarely that lanes are full each time.
    launch(&mut core, 5, ADDRESSES, (400_000, &mut host))?;
    host.read(&mut core);
    let lost = [counted(&core, LOST_DATA), counted(&core, REFUSED[0]), counted(&core, REFUSED[1])];
    if lost != [0; 3] {
        return Err(format!("{lost:?} data, runs and markers were lost"));
    }
    for (risc, words) in host.words.iter().enumerate() {
        let told = told(words).map_err(|error| format!("RISC {risc}: {error}"))?;
        let expected: Vec<_> = (0..u64::from(ADDRESSES))
            .flat_map(|address| KINDS.map(|kind| (kind, address)))
            .map(|(kind, address)| {
                (kind, if NAMES_ITS_ADDRESS.contains(&kind) { address } else { 0 })
            })
            .collect();
        if told.events != expected {
            let at = told.events.iter().zip(&expected).position(|(found, told)| found != told);
            return Err(format!("RISC {risc}: {} events, first other {at:?}", told.events.len()));
        }
        // 360,000 words pass through a lane of 12,000 words, which takes at least 29 waits. Each
        // push and each wait has a zone.
        let pushes = run_begins(words)?.len() - 1;
        if told.own_zones < pushes + 29 {
            return Err(format!("RISC {risc}: {} zones for {pushes} pushes", told.own_zones));
        }
    }
    Ok(())
}

/// Checks launches without a host: each one ends, RISCs wait only once, and each event is kept or
/// counted.
fn be_left_alone(chip: Chip, probes: &Probes, patience: u64) -> Result<(), String> {
    const LAUNCHES: u32 = 4;
    const EACH: u32 = 1000;
    let mut core = Core::new(chip, probes);
    let mut host = Host::default();
    let mut cycles = Vec::new();
    for program in 1..=LAUNCHES {
        let before = core.cycle();
        launch(&mut core, program, EACH, (u64::MAX, &mut host))?;
        cycles.push(core.cycle() - before);
    }
    // Each RISC times out in the first launch, and does not wait later.
    let has_waited = (2 * patience..3 * patience).contains(&cycles[0]);
    if !has_waited || cycles[1..].iter().any(|cycles| *cycles > patience / 4) {
        return Err(format!("launches of {cycles:?} cycles"));
    }
    host.read(&mut core);
    let mut kept = 0;
    for words in &host.words {
        kept += u32::try_from(told(words)?.events.len()).unwrap();
    }
    let emitted = LAUNCHES * EACH * u32::try_from(KINDS.len() * MOVERS).unwrap();
    let [runs, markers] = REFUSED.map(|first| counted(&core, first));
    // An event has three word pairs. A run also has its four slots and the zones of waits.
    let missing = emitted - kept - counted(&core, LOST_DATA);
    let others = markers.checked_sub(3 * missing).ok_or("more is missing than was counted")?;
    if others > 4 * runs + 2 * 3 * u32::try_from(MOVERS).unwrap() || runs == 0 {
        return Err(format!("{missing} events are missing, {markers} markers of {runs} runs"));
    }
    // After the host has read, RISCs wait for the host again.
    let lost = counted(&core, LOST_DATA);
    let mut host = Host { stands_at: host.stands_at, ..Host::default() };
    launch(&mut core, LAUNCHES + 1, EACH, (400_000, &mut host))?;
    host.read(&mut core);
    let now = [counted(&core, LOST_DATA), counted(&core, REFUSED[0])];
    if now != [lost, runs] || host.reads < 2 {
        return Err(format!("{now:?} lost with a host, {lost} and {runs} before"));
    }
    Ok(())
}

#[test]
fn nothing_is_lost_with_a_host_and_nothing_hangs_without() {
    const PATIENCE: u32 = 20_000_000;
    let Some(package) = package() else { return };
    let list: Vec<_> =
        Chip::ALL.into_iter().flat_map(|chip| [(chip, true), (chip, false)]).collect();
    let faults = in_parallel(&list, |&(chip, has_host)| {
        let patience = if has_host { 1 << 29 } else { PATIENCE };
        let variant = Variant::DebugDump(patience);
        let probes = match probes::build(package, chip, Header::Ours, variant, MOVERS) {
            Ok(probes) => probes,
            Err(error) => return vec![format!("{chip}: {}", first_error(&error))],
        };
        let result = if has_host {
            keep_up(chip, &probes)
        } else {
            be_left_alone(chip, &probes, u64::from(patience))
        };
        result.err().map(|error| format!("{chip}: {error}")).into_iter().collect()
    });
    let faults = faults.concat();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Adds up the waits in the records.
fn waits_of(readout: &Readout) -> Result<OwnTime, String> {
    let mut found = OwnTime::default();
    for risc in MOVING_RISCS {
        let lane = readout.lanes().find(|lane| lane.id.risc == risc).ok_or("no lane")?;
        let is_wait = |zone| readout.zones.name(zone) == OwnZone::Stall.zone_name();
        let ends: Vec<_> = lane.records().filter(|record| is_wait(record.zone)).collect();
        for pair in ends.chunks(2) {
            let [start, end] = pair else { return Err(format!("{risc}: a wait without end")) };
            if [start.kind, end.kind] != [PacketKind::ZoneStart, PacketKind::ZoneEnd] {
                return Err(format!("{risc}: {start:?} and {end:?}"));
            }
            let cycles = end.time - start.time;
            found.count += 1;
            found.cycles += cycles;
            found.longest_cycles = found.longest_cycles.max(cycles);
        }
    }
    Ok(found)
}

/// Reads continuously with our reader; returns the waits and the cycles of the launch.
fn follow_with_our_reader(
    (chip, probes): (Chip, &Probes),
    texts: &[String],
    period: u64,
) -> Result<(OwnTime, u64), String> {
    let mut core = Core::new(chip, probes);
    let zones = ZoneTable::from_texts(texts).map_err(|error| error.to_string())?;
    let mut host = ReadingHost::new(&mut core, false, zones);
    let before = core.cycle();
    follow_addresses(&mut core, &mut host, period)?;
    let cycles = core.cycle() - before;
    let found = waits_of(&host.whole)?;
    // `kprof report` adds up the waits in the same way, both from the chip's memory and from a log
    // of the same records.
    let mut log = Vec::new();
    write_device_log(&host.whole, &mut log).map_err(|error| error.to_string())?;
    let log = read_device_log(log.as_slice(), "the log").map_err(|error| error.to_string())?;
    for (readout, name) in [(&host.whole, "memory"), (&log, "log")] {
        let (zones, _) = paired_zone_statistics(readout);
        let reported = own_time(&zones, OwnZone::Stall).unwrap_or_default();
        if reported != found {
            return Err(format!("{name}: {reported:?} reported, {found:?} recorded"));
        }
    }
    if found.longest_cycles > period + period / 10 {
        return Err(format!("{found:?}, though a host comes every {period} cycles"));
    }
    Ok((found, cycles))
}

#[test]
fn our_reader_takes_all_of_the_debug_dump_and_the_waits_are_the_time_that_it_took_longer() {
    let Some(package) = package() else { return };
    let variant = Variant::DebugDump(1 << 29);
    let faults = in_parallel(&Chip::ALL, |&chip| {
        let judge = || {
            let texts = probes::zone_texts(package, chip, variant);
            let probes = probes::build(package, chip, Header::Ours, variant, MOVERS);
            let probes = probes.map_err(|error| first_error(&error).to_owned())?;
            let rare = follow_with_our_reader((chip, &probes), &texts, 400_000)?;
            let frequent = follow_with_our_reader((chip, &probes), &texts, 50_000)?;
            // Each data mover has 360,000 words for a lane of 12,000. If the host keeps up, no RISC
            // waits.
            if rare.0.count < 58 || frequent.0 != OwnTime::default() {
                return Err(format!("{rare:?} and {frequent:?}"));
            }
            let [rare, frequent] = [rare, frequent].map(|(waits, all)| all - waits.cycles);
            if rare.abs_diff(frequent) > frequent / 50 {
                return Err(format!("{rare} and {frequent} cycles without the waits"));
            }
            Ok(())
        };
        judge().err().map(|error| format!("{chip}: {error}"))
    });
    let faults: Vec<_> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
