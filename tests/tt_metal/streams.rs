//! Streamed records: each record of a script arrives or is counted as lost, for any behaviour of
//! the host.

use crate::{
    core::{Core, End},
    package::{Package, package},
    probes::{self, Probes, Variant},
    script::Seed,
    stream_drain::{Entry, Ids, Lane, Record},
    stream_layout::{Layout, Slot},
    stream_script::{self, Expected, Name, Said, Step},
    toolchain::{Chip, Header, first_error, in_parallel},
};
use std::sync::OnceLock;
use wire::stream::{Policy, words};

const RISCS: usize = 5;
/// Control word of the firmware's signature.
const SIGNATURE: usize = 5;

/// Times at which a host drains.
#[derive(Clone, Copy, Debug)]
enum Attendance {
    /// At intervals of this number of cycles.
    Every(u64),
    Never,
    /// Like [`Self::Every`], but only `visits` times.
    Leaves {
        period: u64,
        visits: u32,
    },
}

impl Attendance {
    const fn period(self) -> u64 {
        match self {
            Self::Every(period) | Self::Leaves { period, .. } => period,
            Self::Never => u64::MAX,
        }
    }
}

/// A launch as it was executed.
struct Launch {
    program: u32,
    trace_counter: u16,
    /// Expected records, by RISC.
    records: Vec<Vec<Expected>>,
}

/// A core with its drains and the expected records.
struct Session<'a> {
    core: Core<'a>,
    lanes: Vec<Lane>,
    attendance: Attendance,
    visits: u32,
    fault: Option<String>,
    /// Launches with a kernel, which are numbered from 1.
    launches: Vec<Launch>,
    trace_counter: u16,
    idle: u32,
    reads: Vec<u64>,
    policy: Policy,
    /// True if the firmware of every RISC has a lane, so that its zone is recorded.
    has_firmware_lanes: bool,
}

impl<'a> Session<'a> {
    fn new((probes, ids): &'a (Probes, Ids), policy: Policy, attendance: Attendance) -> Self {
        let mut core = Core::new(probes.chip, probes);
        core.take_clock_reads();
        let lane = |risc| Lane::new(risc, ids, policy == Policy::OverwriteOldest);
        let lanes = (0..RISCS).map(lane).collect();
        let mut session = Self {
            core,
            lanes,
            attendance,
            visits: 0,
            fault: None,
            launches: Vec::new(),
            trace_counter: 0,
            idle: 0,
            reads: Vec::new(),
            policy,
            has_firmware_lanes: true,
        };
        session.prepare();
        session
    }

    /// Prepares the core like a host; the core may have been used before.
    fn prepare(&mut self) {
        self.core.zero_control();
        for lane in &mut self.lanes {
            lane.restart();
            lane.entries.clear();
        }
        (0..RISCS)
            .for_each(|risc| self.core.set_control(words::POLICY + risc, self.policy.to_word()));
        self.launches.clear();
        (self.visits, self.idle) = (0, 0);
    }

    fn call(&mut self, risc: usize, function: &str, arguments: &[u32]) -> Result<(), String> {
        match self.core.call(risc, function, arguments).0 {
            End::Returned => Ok(()),
            end => Err(format!("{function} on RISC {risc}: {end:?}")),
        }
    }

    /// Launches a script on each of the first RISCs; returns the cycles of each.
    fn launch(&mut self, scripts: &[Vec<Step>], program: u32) -> Result<Vec<u64>, String> {
        let mut place = |(risc, steps): (usize, &Vec<Step>)| {
            self.core.place_script(risc, &stream_script::words(steps))
        };
        let placed: Vec<u32> = scripts.iter().enumerate().map(&mut place).collect();
        let records = scripts.iter().map(|steps| stream_script::expected(steps)).collect();
        self.launches.push(Launch { program, trace_counter: self.trace_counter, records });
        let enables = (1 << scripts.len()) - 1;
        let mut cycles = vec![0; scripts.len()];
        for (risc, script) in placed.iter().enumerate() {
            let (end, cost) = self.core.call(risc, "launch", &[*script, enables, program]);
            self.expect(risc, end, End::Paused)?;
            cycles[risc] += cost.cycles;
        }
        for end_expected in [End::Paused, End::Returned] {
            for risc in (0..scripts.len()).rev() {
                let Self { core, lanes, attendance, visits, fault, .. } = self;
                let host = &mut |core: &mut Core<'_>| {
                    *visits += 1;
                    let comes = match *attendance {
                        Attendance::Every(_) => true,
                        Attendance::Never => false,
                        Attendance::Leaves { visits: most, .. } => *visits <= most,
                    };
                    if comes {
                        let drained = lanes.iter_mut().try_for_each(|lane| lane.drain(core));
                        *fault = fault.take().or(drained.err());
                    }
                };
                let (end, cost) = core.resume_beside(risc, attendance.period(), host);
                cycles[risc] += cost.cycles;
                self.expect(risc, end, end_expected.clone())?;
            }
        }
        self.reads.extend(self.core.take_clock_reads());
        self.fault.take().map_or(Ok(cycles), Err)
    }

    fn expect(&self, risc: usize, found: End, expected: End) -> Result<(), String> {
        if found == expected {
            return Ok(());
        }
        let Self { launches, fault, .. } = self;
        Err(format!(
            "RISC {risc}, launch {}: {found:?} in place of {expected:?}; {fault:?}",
            launches.len()
        ))
    }

    /// Runs a launch without a kernel on the core.
    fn launch_nothing(&mut self) -> Result<(), String> {
        self.idle += 1;
        let end = self.core.call(0, "launch", &[0, 0, 77]).0;
        self.expect(0, end, End::Paused)?;
        for expected in [End::Paused, End::Returned] {
            let end = self.core.resume(0).0;
            self.expect(0, end, expected)?;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), String> {
        let Self { core, lanes, .. } = self;
        lanes.iter_mut().try_for_each(|lane| lane.drain(core))
    }

    fn lost(&self, risc: usize) -> [u32; 3] {
        [words::LOST_ZONES, words::LOST_DATA, words::LOST_EVENTS]
            .map(|first| self.core.control(first + risc))
    }

    /// Returns all expected records of a RISC, with the numbers of their launches.
    fn expected(&self, risc: usize) -> Vec<(u16, &Expected)> {
        let has_firmware_zone = risc == 0 || self.has_firmware_lanes;
        let numbered = (1..).zip(&self.launches);
        numbered
            .flat_map(|(number, launch)| {
                launch.records.get(risc).into_iter().flatten().map(move |record| (number, record))
            })
            .filter(|(_, record)| has_firmware_zone || record.said != Said::Zone(Name::Firmware))
            .collect()
    }

    /// Compares everything drained with the expected records; missing records must be counted.
    fn check(&mut self) -> Result<Vec<Found>, String> {
        self.drain()?;
        self.reads.sort_unstable();
        let found = (0..RISCS)
            .map(|risc| self.check_lane(risc).map_err(|error| format!("RISC {risc}: {error}")));
        let found = found.collect::<Result<_, _>>()?;
        let words =
            [SIGNATURE, words::LAUNCHES, words::IDLE_LAUNCHES].map(|word| self.core.control(word));
        let launches = u32::try_from(self.launches.len()).unwrap();
        if words[1..] != [launches, self.idle]
            || (launches != 0 && words[0] != words::SIGNATURE_VALUE)
        {
            return Err(format!("{words:x?} in words 5, 51 and 8 after {launches} launches"));
        }
        if (0..5).any(|word| self.core.control(word) != 0) {
            return Err("a host that knows nothing of streams would find something".to_owned());
        }
        Ok(found)
    }

    fn check_lane(&self, risc: usize) -> Result<Found, String> {
        let expected = self.expected(risc);
        let lost = self.lost(risc);
        let mut found = Found { lost, ..Found::default() };
        let (mut at, mut told) = (0, 0);
        for (cell, entry) in &self.lanes[risc].entries {
            let fault = |what: &str| Err(format!("cell {cell}, record {at}: {what}: {entry:x?}"));
            match entry {
                Entry::Launch { number, program, trace_counter, time } => {
                    let launch =
                        usize::from(*number).checked_sub(1).and_then(|at| self.launches.get(at));
                    let is_right = launch.is_some_and(|launch| {
                        (launch.program, launch.trace_counter) == (*program, *trace_counter)
                    });
                    if !is_right || self.reads.binary_search(time).is_err() {
                        return fault("no such launch");
                    }
                    found.launches += 1;
                }
                Entry::Lost(total) => {
                    at += (total - told) as usize;
                    told = *total;
                }
                Entry::Record(record) if record.said == Said::Zone(Name::Stall) => {
                    self.check_times(record)?;
                    found.stalls.push(record.cycles.unwrap_or_default());
                }
                Entry::Record(record) => {
                    let Some((launch, expected)) = expected.get(at) else {
                        return fault("none is left");
                    };
                    if record.said != expected.said || record.launch != Some(*launch) {
                        return fault(&format!("expected {expected:?} in launch {launch}"));
                    }
                    if record.cycles.is_some_and(|cycles| cycles < expected.least_cycles) {
                        return fault(&format!("expected {} cycles", expected.least_cycles));
                    }
                    self.check_times(record)?;
                    found.longest = found.longest.max(record.cycles.unwrap_or_default());
                    found.delivered[kind(&record.said)] += 1;
                    at += 1;
                }
                Entry::Skipped(_) | Entry::Overwritten(_) => return fault("not expected here"),
            }
        }
        let untold = lost.iter().sum::<u32>() - told;
        if expected.len() - at != untold as usize {
            return Err(format!(
                "{at} of {} records, {told} told to be lost of {lost:?}",
                expected.len()
            ));
        }
        for (_, record) in &expected {
            found.emitted[kind(&record.said)] += 1;
        }
        let sums = [0, 1, 2].map(|kind| found.delivered[kind] + lost[kind]);
        if sums != found.emitted {
            return Err(format!("{found:?}"));
        }
        Ok(found)
    }

    /// Checks that the times of a record, and of a zone's begin, are times at which the clock was
    /// read.
    fn check_times(&self, record: &Record) -> Result<(), String> {
        let Some(time) = record.time else { return Ok(()) };
        let cycles = record.cycles.unwrap_or_default();
        let begun = time.checked_sub(cycles);
        let was_read = |time: u64| self.reads.binary_search(&time).is_ok();
        if was_read(time) && begun.is_some_and(was_read) {
            return Ok(());
        }
        Err(format!("the clock was not read at the ends of {record:x?}"))
    }

    /// Compares a lane with the cells in which the model stores its records.
    fn check_layout(&mut self, kept_of: usize) -> Result<Vec<usize>, String> {
        self.drain()?;
        self.reads.sort_unstable();
        (0..RISCS)
            .map(|risc| {
                self.check_cells(risc, kept_of).map_err(|error| format!("RISC {risc}: {error}"))
            })
            .collect()
    }

    fn check_cells(&self, risc: usize, kept_of: usize) -> Result<usize, String> {
        let expected = self.expected(risc);
        let mut layout = Layout::new(kept_of);
        for (number, launch) in (1..).zip(&self.launches) {
            layout.launch(number, &launch.records[risc]);
        }
        let mut slots = layout.slots.iter();
        let mut overwritten = 0;
        for (cell, entry) in &self.lanes[risc].entries {
            if let Entry::Overwritten(count) = entry {
                overwritten += *count as usize;
                while slots.as_slice().first().is_some_and(|(number, _)| *number < cell + count) {
                    slots.next();
                }
                continue;
            }
            let slot = slots.next().ok_or_else(|| format!("cell {cell}: {entry:?} is too much"))?;
            let is_same = match (entry, slot.1) {
                (Entry::Launch { number, .. }, Slot::Launch(launch)) => *number == launch,
                (Entry::Skipped(total), Slot::Skipped(skipped)) => *total == skipped,
                (Entry::Record(record), Slot::Record(index)) => {
                    self.check_times(record)?;
                    record.said == expected[index].1.said
                }
                _ => false,
            };
            if !is_same || slot.0 != *cell {
                return Err(format!("cell {cell}: {entry:?} in place of {slot:?}"));
            }
        }
        let cells =
            [words::SKIPPED, words::LOST_ZONES].map(|first| self.core.control(first + risc));
        if cells != [layout.skipped, 0] || slots.next().is_some() {
            return Err(format!("{cells:?} skipped and lost, expected {}", layout.skipped));
        }
        Ok(overwritten)
    }
}

/// Results for a lane. Counts are given for zones with totals, for data, and for events.
#[derive(Clone, Debug, Default)]
struct Found {
    emitted: [u32; 3],
    delivered: [u32; 3],
    lost: [u32; 3],
    /// Number of times that a launch was announced in the lane.
    launches: usize,
    stalls: Vec<u64>,
    longest: u64,
}

const fn kind(said: &Said) -> usize {
    match said {
        Said::Zone(_) | Said::Total(_) => 0,
        Said::Data(_) => 1,
        Said::Event(_) => 2,
    }
}

type Built = (Probes, Ids);

/// Returns the probes of all RISCs of a chip, with sums, for all tests.
fn built(chip: Chip) -> Option<&'static Built> {
    static BUILT: [OnceLock<Built>; 2] = [const { OnceLock::new() }; 2];
    let package = package()?;
    let built = &BUILT[usize::from(chip == Chip::Blackhole)];
    Some(built.get_or_init(|| build(package, chip, Variant::StreamSums)))
}

fn build(package: &Package, chip: Chip, variant: Variant) -> Built {
    let probes = probes::build(package, chip, Header::Ours, variant, RISCS);
    let probes = probes.unwrap_or_else(|error| panic!("{chip}: {}", first_error(&error)));
    (probes, Ids::from_texts(&probes::zone_texts(package, chip, variant)))
}

/// Runs a check on both chips and reports all faults.
fn judge(judge: impl Fn(&'static Built) -> Result<(), String> + Sync) {
    if package().is_none() {
        return;
    }
    let faults = in_parallel(&Chip::ALL, |&chip| {
        judge(built(chip).unwrap()).err().map(|error| format!("{chip}: {error}"))
    });
    let faults: Vec<_> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn zones(count: u32) -> Vec<Step> {
    vec![Step::Repeat(count, vec![Step::Zone(Name::A, Vec::new())])]
}

fn random_scripts(seed: &mut Seed, is_patient: bool) -> Vec<Vec<Step>> {
    let script = |_| {
        let steps = 1 + seed.below(12);
        let body = stream_script::random(seed, steps, 3, is_patient);
        vec![Step::Repeat(1 + u32::try_from(seed.below(40)).unwrap(), body)]
    };
    (0..RISCS).map(script).collect()
}

/// A host that drains often enough for a ring of 256 cells.
const DILIGENT: Attendance = Attendance::Every(1500);

#[test]
fn every_record_arrives_where_a_host_keeps_up() {
    let Seed(fresh) = Seed::fresh();
    judge(|built| {
        for number in 0..6 {
            let mut seed = Seed(fresh + number);
            let mut judge = || {
                let mut session = Session::new(built, Policy::DropNewest, DILIGENT);
                for launch in 0..4 {
                    session.launch(&random_scripts(&mut seed, true), 100 + launch)?;
                    session.launch_nothing()?;
                    if launch == 1 {
                        session.call(0, "replay", &[])?;
                        session.trace_counter += 1;
                    }
                }
                for (risc, found) in session.check()?.iter().enumerate() {
                    if found.lost != [0; 3] || found.launches != 4 || found.emitted[0] < 8 {
                        return Err(format!("RISC {risc}: {found:?}"));
                    }
                }
                Ok(())
            };
            judge().map_err(|error: String| format!("seed {}: {error}", fresh + number))?;
        }
        Ok(())
    });
}

/// If a RISC's firmware has no room for a lane, the kernel's zone begins and ends the launch. Only
/// the first RISC's firmware has a lane here.
#[test]
fn kernels_have_lanes_where_the_firmware_has_none() {
    let Some(package) = package() else { return };
    let fresh = Seed::fresh();
    let faults = in_parallel(&Chip::ALL, |&chip| {
        let built = build(package, chip, Variant::StreamKernels);
        let mut seed = Seed(fresh.0);
        let mut judge = || {
            let mut session = Session::new(&built, Policy::DropNewest, DILIGENT);
            session.has_firmware_lanes = false;
            for launch in 0..6 {
                session.launch(&random_scripts(&mut seed, true), 100 + launch)?;
                session.launch_nothing()?;
            }
            for (risc, found) in session.check()?.iter().enumerate() {
                if found.lost != [0; 3] || found.launches != 6 || found.emitted[0] < 6 {
                    return Err(format!("RISC {risc}: {found:?}"));
                }
            }
            Ok(())
        };
        judge().err().map(|error: String| format!("{chip}, seed {}: {error}", fresh.0))
    });
    let faults: Vec<_> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Zones of all lengths around 2^16 cycles and longer ones, and a launch of more than 2^32 cycles.
#[test]
fn zones_of_every_length_are_right() {
    judge(|built| {
        let mut session = Session::new(built, Policy::DropNewest, DILIGENT);
        let wait = |passes| Step::Zone(Name::A, vec![Step::Wait(passes)]);
        // Each pass takes three cycles, which gives lengths around 2^16 cycles.
        let steps: Vec<_> = (21_780..21_850).map(wait).chain([wait(0), wait(100_000)]).collect();
        session.launch(&[steps], 1)?;
        let found = &session.check()?[0];
        let cycles = session.lanes[0].entries.iter().filter_map(|(_, entry)| match entry {
            Entry::Record(Record { said: Said::Zone(Name::A), cycles, .. }) => *cycles,
            _ => None,
        });
        let (short, long): (Vec<_>, Vec<_>) = cycles.partition(|cycles| *cycles < 1 << 16);
        if short.len() < 20
            || long.len() < 20
            || found.longest < 300_000
            || short.iter().min() > Some(&100)
        {
            return Err(format!("{short:?} and {long:?}, {found:?}"));
        }
        // The clock advances by more than its low word can represent while the kernel runs. The
        // next zone is long enough to make the runtime read the high word.
        let skipped = 5 << 32;
        let steps = [vec![wait(33_000)], zones(40)].concat();
        let script = session.core.place_script(0, &stream_script::words(&steps));
        let records = vec![stream_script::expected(&steps)];
        session.launches.push(Launch { program: 2, trace_counter: 0, records });
        let end = session.core.call(0, "launch", &[script, 1, 2]).0;
        session.expect(0, end, End::Paused)?;
        session.core.skip_time(skipped);
        for expected in [End::Paused, End::Returned] {
            let end = session.core.resume(0).0;
            session.expect(0, end, expected)?;
        }
        session.reads.extend(session.core.take_clock_reads());
        let found = &session.check()?[0];
        if !(skipped..skipped + 200_000).contains(&found.longest) {
            return Err(format!("the longest zone has {:#x} cycles", found.longest));
        }
        Ok(())
    });
}

#[test]
fn a_zone_takes_little_more_than_a_cell() {
    judge(|built| {
        let mut session = Session::new(built, Policy::DropNewest, DILIGENT);
        session.launch(&[zones(3000)], 1)?;
        session.check()?;
        let bytes = 8 * session.core.control(words::WRITTEN);
        // The limit is 8.4 bytes per record, including the launch and its own zones.
        if bytes * 10 > 3000 * 84 { Err(format!("{bytes} bytes")) } else { Ok(()) }
    });
}

/// The low word of the clock wraps in the middle of a launch, at its begin, and between two launches.
#[test]
fn times_go_on_where_the_low_word_of_the_clock_wraps() {
    judge(|built| {
        for before in
            [0_u64, 1, 40, 90, 100, 130, 200, 255, 256, 300, 500, 1000, 3000, 8000, 20_000]
        {
            for launches in [1, 2] {
                let mut session = Session::new(built, Policy::DropNewest, DILIGENT);
                let mut judge = || {
                    if launches == 2 {
                        session.launch(&[zones(20)], 1)?;
                    }
                    session.core.set_clock((9 << 32) - before);
                    session.launch(&[zones(700)], 2)?;
                    let found = session.check()?;
                    let told = &found[0];
                    // The launch is announced again when the next chunk begins after the wrap.
                    let again = session.lanes[0].entries.iter().filter(|(_, entry)| {
                        matches!(entry, Entry::Launch { number, .. } if usize::from(*number) == launches)
                    });
                    let again = again.count();
                    // Right before the wrap, the launch waits for it. A little earlier, the launch
                    // may be announced before or after the wrap.
                    let expected = match before {
                        0..256 => 1..=1,
                        256..500 => 1..=2,
                        _ => 2..=2,
                    };
                    if told.lost != [0; 3] || !expected.contains(&again) {
                        return Err(format!("{told:?}, {again} times"));
                    }
                    Ok(())
                };
                judge().map_err(|error: String| format!("{before} cycles before, {error}"))?;
            }
        }
        Ok(())
    });
}

#[test]
fn what_finds_no_room_is_counted_and_told() {
    judge(|built| {
        let hosts = [
            Attendance::Never,
            Attendance::Every(90_000),
            Attendance::Every(200_000),
            Attendance::Leaves { period: 10_000, visits: 5 },
        ];
        for attendance in hosts {
            let judge = || {
                let mut session = Session::new(built, Policy::DropNewest, attendance);
                let body = vec![
                    Step::Zone(Name::A, vec![Step::Event(7)]),
                    Step::Data(1),
                    Step::Data16([2, 3]),
                    Step::Zone(Name::Escape, Vec::new()),
                ];
                let script = vec![Step::Repeat(300, body)];
                for launch in 0..3 {
                    session.launch(&vec![script.clone(); RISCS], launch)?;
                }
                for found in session.check()? {
                    if found.lost.iter().any(|lost| *lost < 50) || found.delivered[0] < 50 {
                        return Err(format!("{found:?}"));
                    }
                }
                // With room again, the losses are reported first, and then the next launch.
                session.attendance = DILIGENT;
                let before = session.lost(0);
                session.launch(&[zones(30)], 9)?;
                session.check()?;
                if session.lost(0) != before {
                    return Err(format!("{:?} lost after {before:?}", session.lost(0)));
                }
                let total = before.iter().sum();
                let entries = &session.lanes[0].entries;
                let is_told = entries.iter().any(|(_, entry)| *entry == Entry::Lost(total));
                if is_told { Ok(()) } else { Err("the last loss is not told".to_owned()) }
            };
            judge().map_err(|error: String| format!("{attendance:?}: {error}"))?;
        }
        Ok(())
    });
}

#[test]
fn a_risc_waits_for_room_within_its_bound_and_not_in_vain_twice() {
    const BOUND_LOG2: u8 = 15;
    judge(|built| {
        // With a late host nothing is lost, and the waits are recorded.
        let policy = Policy::Block { cycles_log2: 18 };
        let mut session = Session::new(built, policy, Attendance::Every(120_000));
        session.launch(&vec![zones(3000); RISCS], 1)?;
        for found in session.check()? {
            if found.lost != [0; 3]
                || found.stalls.len() < 4
                || found.stalls.iter().max() > Some(&120_100)
            {
                return Err(format!("{found:?}"));
            }
        }
        // Without a host a RISC waits once, and the launch ends.
        let policy = Policy::Block { cycles_log2: BOUND_LOG2 };
        let mut session = Session::new(built, policy, Attendance::Never);
        let alone = session.launch(&[zones(1000)], 1)?[0];
        let second = session.launch(&[zones(1000)], 2)?[0];
        let impatient = Policy::Block { cycles_log2: 0 };
        let mut other = Session::new(built, impatient, Attendance::Never);
        let without = other.launch(&[zones(1000)], 1)?[0];
        let [first, later] = [alone, second].map(|cycles| cycles.saturating_sub(without));
        if !((1 << BOUND_LOG2) - 400..(1 << BOUND_LOG2) + 400).contains(&first) || later > 800 {
            return Err(format!("{first} and {later} cycles of waiting"));
        }
        if session.core.control(words::WAITED_IN_VAIN) != 1 {
            return Err("that a wait was in vain is not remembered".to_owned());
        }
        session.check()?;
        // After the host has read, the RISC waits for the host again.
        let third = session.launch(&[zones(1000)], 3)?[0].saturating_sub(without);
        session.check()?;
        if third < (1 << BOUND_LOG2) - 400 { Err(format!("{third} cycles")) } else { Ok(()) }
    });
}

/// Returns scripts for launches that are so short that all zones take one cell.
fn short_scripts(seed: &mut Seed) -> Vec<Vec<Step>> {
    (0..RISCS)
        .map(|_| {
            let steps = 3 + seed.below(6);
            let body = stream_script::random(seed, steps, 2, false);
            let per_pass = stream_script::expected(&body).len();
            let passes = u32::try_from(50 / per_pass).unwrap().max(1);
            vec![Step::Repeat(passes, body)]
        })
        .collect()
}

#[test]
fn cells_lie_where_a_model_of_the_policy_puts_them() {
    let Seed(fresh) = Seed::fresh();
    let policies = [
        (Policy::DropNewest, DILIGENT),
        (Policy::OverwriteOldest, Attendance::Never),
        (Policy::OverwriteOldest, Attendance::Every(12_000)),
        (Policy::KeepOneOf { chunks_log2: 0 }, DILIGENT),
        (Policy::KeepOneOf { chunks_log2: 1 }, DILIGENT),
        (Policy::KeepOneOf { chunks_log2: 3 }, DILIGENT),
    ];
    judge(|built| {
        for number in 0..6 {
            for (policy, attendance) in policies {
                let mut seed = Seed(fresh + number);
                let mut judge = || {
                    let mut session = Session::new(built, policy, attendance);
                    for launch in 0..12 {
                        session.launch(&short_scripts(&mut seed), launch)?;
                    }
                    let kept_of = match policy {
                        Policy::KeepOneOf { chunks_log2 } => 1 << chunks_log2,
                        _ => 1,
                    };
                    let overwritten = session.check_layout(kept_of)?;
                    let is_overwritten = matches!(attendance, Attendance::Never);
                    if is_overwritten && overwritten.contains(&0) {
                        return Err(format!("{overwritten:?} overwritten"));
                    }
                    Ok(())
                };
                let seed = fresh + number;
                judge().map_err(|error: String| {
                    format!("{policy:?}, {attendance:?}, seed {seed}: {error}")
                })?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_host_may_zero_the_control_vector() {
    judge(|built| {
        let mut session = Session::new(built, Policy::DropNewest, Attendance::Never);
        // The host zeroes the control vector between launches, with and without losses before.
        for count in [20, 900, 30] {
            session.launch(&vec![zones(count); RISCS], count)?;
            session.check()?;
            session.prepare();
        }
        // The host zeroes the control vector during a launch, with different ring contents. Records
        // drained afterwards must have been recorded after the zeroing.
        let mut turns = 0;
        for at in (300..9000).step_by(797) {
            let mut session = Session::new(built, Policy::DropNewest, Attendance::Never);
            let script = session.core.place_script(0, &stream_script::words(&zones(600)));
            let end = session.core.call(0, "launch", &[script, 1, 3]).0;
            session.expect(0, end, End::Paused)?;
            let mut zeroed_at = None;
            let Session { core, lanes, fault, .. } = &mut session;
            let host = &mut |core: &mut Core<'_>| {
                if zeroed_at.is_none() {
                    core.zero_control();
                    zeroed_at = Some(core.cycle());
                } else {
                    *fault = fault.take().or(lanes[0].drain(core).err());
                }
            };
            let end = core.resume_beside(0, at, host).0;
            session.expect(0, end, End::Paused)?;
            let end = session.core.resume(0).0;
            session.expect(0, end, End::Returned)?;
            session.drain()?;
            session.reads.extend(session.core.take_clock_reads());
            session.reads.sort_unstable();
            let is_stale =
                |entry: &(u32, Entry)| matches!(entry.1, Entry::Launch { number: 1, .. });
            // The RISC had read the count of cells, and was about to write it.
            let was_turning = session.lanes[0].entries.iter().any(is_stale);
            turns += u32::from(was_turning);
            let mut records = 0;
            for (_, entry) in &session.lanes[0].entries {
                if let Entry::Record(record) = entry {
                    session.check_times(record)?;
                    records += 1;
                    // Cells of the current chunk may be read if they follow the published cells.
                    if !was_turning && record.time < zeroed_at.map(|time| time - 8 * 200) {
                        return Err(format!("{at}: {record:x?} is older than {zeroed_at:x?}"));
                    }
                }
            }
            if records < 20 || session.fault.is_some() {
                return Err(format!("{at}: {records} records, {:?}", session.fault));
            }
        }
        // Old records are possible only if the control vector is zeroed in a window of a few cycles
        // of each chunk.
        if turns > 2 {
            return Err(format!("old records in {turns} of 11 cases"));
        }
        Ok(())
    });
}

#[test]
fn what_is_recorded_outside_of_launches_is_counted() {
    judge(|built| {
        let mut session = Session::new(built, Policy::DropNewest, DILIGENT);
        for risc in 0..RISCS {
            session.call(risc, "stray", &[])?;
        }
        session.launch(&vec![zones(3); RISCS], 1)?;
        session.call(3, "stray", &[])?;
        session.call(3, "stray", &[])?;
        session.launch(&vec![zones(3); RISCS], 2)?;
        session.drain()?;
        for (risc, strays) in [(0, 1), (3, 3)] {
            if session.lost(risc) != [0, 0, strays] {
                return Err(format!("RISC {risc}: {:?}", session.lost(risc)));
            }
            let entries = session.lanes[risc].entries.iter();
            let told = entries.filter_map(|(_, entry)| match entry {
                Entry::Lost(total) => Some(*total),
                _ => None,
            });
            let told: Vec<_> = told.collect();
            if told != if strays == 1 { vec![1] } else { vec![1, 3] } {
                return Err(format!("RISC {risc}: {told:?}"));
            }
        }
        Ok(())
    });
}

/// A kernel marks its launch as idle: earlier records stay, later ones are counted as lost.
#[test]
fn a_launch_can_be_left() {
    judge(|built| {
        let mut session = Session::new(built, Policy::DropNewest, DILIGENT);
        let mut steps = zones(20);
        steps.push(Step::Invalid);
        steps.extend(zones(4));
        session.launch(&[steps], 1)?;
        session.drain()?;
        let entries = &session.lanes[0].entries;
        let records = entries.iter().filter(|(_, entry)| matches!(entry, Entry::Record(_))).count();
        // Four zones and the zone of the kernel are lost; the zone of the firmware is not recorded.
        let words = [words::IDLE_LAUNCHES, words::TOLD].map(|word| session.core.control(word));
        if (records, session.lost(0), words) != (20, [5, 0, 0], [1, 0x1_8007]) {
            return Err(format!("{records} records, {:?}, {words:?}", session.lost(0)));
        }
        session.launch(&[zones(5)], 2)?;
        session.drain()?;
        let Some((_, Entry::Record(last))) = session.lanes[0].entries.last() else {
            return Err("no record at the end".to_owned());
        };
        if (&last.said, last.launch) == (&Said::Zone(Name::Firmware), Some(2)) {
            Ok(())
        } else {
            Err(format!("{last:?}"))
        }
    });
}

/// With any script and host, and any policy that loses nothing silently, each emitted record is
/// delivered or counted.
#[test]
fn nothing_is_lost_that_is_not_counted() {
    let Seed(fresh) = Seed::fresh();
    let count: u64 = std::env::var("KPROF_STREAM_COUNT").map_or(12, |count| count.parse().unwrap());
    judge(|built| {
        for number in 0..count {
            let mut seed = Seed(fresh + number);
            let mut judge = || {
                let policy = match seed.below(3) {
                    0 => Policy::Block { cycles_log2: u8::try_from(8 + seed.below(8)).unwrap() },
                    _ => Policy::DropNewest,
                };
                let period = 200 + seed.below(20_000);
                let attendance = match seed.below(4) {
                    0 => Attendance::Never,
                    1 => {
                        Attendance::Leaves { period, visits: u32::try_from(seed.below(9)).unwrap() }
                    }
                    _ => Attendance::Every(period),
                };
                let mut session = Session::new(built, policy, attendance);
                session.core.set_clock((seed.below(4) << 32) + seed.next() % (1 << 32));
                for launch in 0..1 + seed.below(5) {
                    match seed.below(5) {
                        0 => session.launch_nothing()?,
                        1 => session.drain()?,
                        2 => {
                            session.check()?;
                            session.prepare();
                        }
                        _ => {}
                    }
                    let riscs = 1 + usize::try_from(seed.below(5)).unwrap();
                    let scripts = &random_scripts(&mut seed, true)[..riscs];
                    session.launch(scripts, u32::try_from(launch).unwrap())?;
                }
                session.check().map_err(|error| format!("{policy:?}, {attendance:?}: {error}"))
            };
            judge().map_err(|error| format!("seed {}: {error}", fresh + number))?;
        }
        Ok(())
    });
}
