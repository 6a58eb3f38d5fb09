//! Upstream's debug dump, in upstream's own object code: our reader hands its two buffers over, so
//! that nothing is lost, of the last RISC neither, to which upstream's host gives no buffer.

use crate::{
    core::{Core, End},
    package::package,
    probes::{self, Probes, Variant},
    script::{self, Seed, Step},
    stalls::{ADDRESSES, KINDS, NAMES_ITS_ADDRESS, TRANSFERS},
    toolchain::{Chip, Header, first_error, in_parallel},
};
use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler,
    lane::Lane,
    mesh::{AccessError, Device, DeviceDescription, Mesh, Noc0Coord},
    read::Reader,
    readout::Readout,
};
use wire::{PacketKind, Risc, risc::RISCS_PER_CORE};

/// As in `profiler_common.h`: the address of each RISC's buffer, what stands there when it is full,
/// and which RISCs have dropped something.
const BUFFER_ADDRESS: usize = 60;
const STALLED: u32 = 0xFFFF_FFFF;
const DROPPED: usize = 56;
const MOVERS: usize = 2;

/// A core as its host sees it while it runs.
struct HostView<'view, 'probes> {
    core: &'view mut Core<'probes>,
    description: DeviceDescription,
}

impl<'view, 'probes> HostView<'view, 'probes> {
    fn new(core: &'view mut Core<'probes>) -> Self {
        let description = core.description(2);
        Self { core, description }
    }
}

fn word_addresses(address: u64) -> impl Iterator<Item = u32> {
    (u32::try_from(address).unwrap()..).step_by(4)
}

impl Device for HostView<'_, '_> {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, _: Noc0Coord, at: u64, words: &mut [u32]) -> Result<(), AccessError> {
        for (word, address) in words.iter_mut().zip(word_addresses(at)) {
            *word = self.core.l1_word(address);
        }
        Ok(())
    }

    fn write_l1(&mut self, _: Noc0Coord, at: u64, words: &[u32]) -> Result<(), AccessError> {
        for (word, address) in words.iter().zip(word_addresses(at)) {
            self.core.set_l1_word(address, *word);
        }
        Ok(())
    }

    fn read_dram(&mut self, bank: u32, at: u64, words: &mut [u32]) -> Result<(), AccessError> {
        for (word, address) in words.iter_mut().zip(word_addresses(at)) {
            // A host that asks for what nobody has written reads past an end.
            *word = self.core.dram_word(bank, address).unwrap_or(0xDEAD_BEEF);
        }
        Ok(())
    }

    fn read_wall_clock(&mut self, _: Noc0Coord) -> Result<u64, AccessError> {
        Ok(self.core.cycle())
    }

    fn host_time_ns(&mut self) -> u64 {
        self.core.cycle()
    }
}

impl Mesh for HostView<'_, '_> {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        (index == 0).then_some(self as &mut dyn Device)
    }
}

/// A host that reads all along.
struct Host {
    reader: Reader,
    /// True if each read is one of a reader that knows of no other.
    forgets: bool,
    whole: Readout,
    stalls: [usize; RISCS_PER_CORE],
}

impl Host {
    fn new(core: &mut Core<'_>, forgets: bool) -> Self {
        let options = ProfilerOptions { has_two_buffers: true, ..ProfilerOptions::default() };
        init_device_profiler(&mut HostView::new(core), &options).unwrap();
        // Upstream's pushes wait for all that their NoC has sent, so that each mover needs its own.
        assert_eq!(core.call(1, "choose_noc", &[1]).0, End::Returned);
        let reader = Reader::new(ReadOptions::default());
        Self { reader, forgets, whole: Readout::default(), stalls: [0; RISCS_PER_CORE] }
    }

    fn read(&mut self, core: &mut Core<'_>) {
        for (risc, stalls) in self.stalls.iter_mut().enumerate() {
            *stalls += usize::from(core.control(BUFFER_ADDRESS + risc) == STALLED);
        }
        if self.forgets {
            self.reader = Reader::new(ReadOptions::default());
        }
        self.whole.append(self.reader.read(&mut HostView::new(core)).unwrap());
    }

    /// Launches scripts, and reads whenever a number of cycles has gone by.
    fn launch(
        &mut self,
        core: &mut Core<'_>,
        scripts: &[u32],
        (program, period): (u32, u64),
    ) -> Result<(), String> {
        let enables = (1 << scripts.len()) - 1;
        let check = |risc: usize, found: End, expected: End| {
            let error = || format!("launch {program}, RISC {risc}: {found:?}");
            if found == expected { Ok(()) } else { Err(error()) }
        };
        for (risc, script) in scripts.iter().enumerate() {
            let end = core.call(risc, "launch", &[*script, enables, program]).0;
            check(risc, end, End::Paused)?;
        }
        for expected in [End::Paused, End::Returned] {
            for risc in (0..scripts.len()).rev() {
                let end = core.resume_beside(risc, period, &mut |core| self.read(core)).0;
                check(risc, end, expected.clone())?;
            }
        }
        core.settle();
        Ok(())
    }

    fn lane(&self, risc: Risc) -> Result<&Lane, String> {
        let lane = self.whole.lanes().find(|lane| lane.id.risc == risc);
        lane.ok_or_else(|| format!("no lane of {risc}"))
    }

    fn check_nothing_is_lost(&self, core: &Core<'_>) -> Result<(), String> {
        let losses: Vec<_> = self.whole.losses.entries().collect();
        if !losses.is_empty() || core.control(DROPPED) != 0 {
            return Err(format!("lost: {losses:?}, {:#x}", core.control(DROPPED)));
        }
        Ok(())
    }
}

/// All addresses arrive in order from both movers.
fn address_by_address(chip: Chip, probes: &Probes) -> Result<(), String> {
    let mut core = Core::new(chip, probes);
    core.noc().answer_cycles = 60;
    let mut host = Host::new(&mut core, false);
    let scripts: Vec<_> =
        (0..MOVERS).map(|risc| core.place_script(risc, &[TRANSFERS, ADDRESSES, 0])).collect();
    host.launch(&mut core, &scripts, (5, 100_000))?;
    host.read(&mut core);
    host.check_nothing_is_lost(&core)?;
    let expected: Vec<_> = (0..u64::from(ADDRESSES))
        .flat_map(|address| KINDS.map(|kind| (kind, address)))
        .map(|(kind, address)| (kind, if NAMES_ITS_ADDRESS.contains(&kind) { address } else { 0 }))
        .collect();
    for (risc, name) in [Risc::Brisc, Risc::Ncrisc].into_iter().enumerate() {
        let lane = host.lane(name)?;
        let events = lane.records().filter(|record| record.kind == PacketKind::TimestampedData16B);
        let events: Vec<_> = events
            .map(|record| {
                let trailer = record.data[1];
                (record.data[0] & 0xFF, (trailer & 0x3F_FFFF) << 2 | trailer >> 22 & 0xF)
            })
            .collect();
        if events != expected {
            let at = events.iter().zip(&expected).position(|(found, expected)| found != expected);
            return Err(format!("{name}: {} events, first other {at:?}", events.len()));
        }
        if lane.runs.len() != 1 {
            return Err(format!("{name}: {} launches", lane.runs.len()));
        }
        // 360,000 words in buffers of 12,000.
        if host.stalls[risc] < 29 {
            return Err(format!("{name}: waited {} times", host.stalls[risc]));
        }
    }
    Ok(())
}

/// Launches follow each other; each RISC's records are those of its kernels, the last one's too.
fn launch_by_launch(
    chip: Chip,
    probes: &Probes,
    (seed, forgets): (u64, bool),
) -> Result<(), String> {
    const LAUNCHES: u32 = 70;
    let mut core = Core::new(chip, probes);
    core.noc().answer_cycles = 60;
    let mut host = Host::new(&mut core, forgets);
    let mut seed = Seed(seed);
    let mut expected = vec![Vec::new(); RISCS_PER_CORE];
    for program in 1..=LAUNCHES {
        let mut scripts = Vec::new();
        for (risc, expected) in expected.iter_mut().enumerate() {
            // Mostly of one size, so that none is by chance as long as what was there before.
            let count = 60 + seed.below(180);
            let numbers: Vec<u16> =
                (0..count).map(|_| u16::try_from(1 + seed.below(60_000)).unwrap()).collect();
            let steps: Vec<_> = numbers.iter().map(|&number| Step::Event(number)).collect();
            scripts.push(core.place_script(risc, &script::words(&steps)));
            expected.push((program, numbers));
        }
        host.launch(&mut core, &scripts, (program, 1 + seed.below(30_000)))?;
        if seed.below(4) == 0 {
            host.read(&mut core);
        }
    }
    host.read(&mut core);
    host.check_nothing_is_lost(&core)?;
    let riscs = (0..RISCS_PER_CORE).filter_map(|index| wire::CoreKind::Tensix.risc(index));
    for ((index, risc), expected) in riscs.enumerate().zip(&expected) {
        let lane = host.lane(risc)?;
        let records: Vec<_> = lane.records().collect();
        let of_run = |index: usize| {
            let events = records[lane.run_records(index)].iter();
            let events = events.filter(|record| record.kind == PacketKind::TimestampedEvent);
            events.map(|record| u16::try_from(record.zone.0).unwrap()).collect()
        };
        let runs = lane.runs.iter().enumerate();
        let found: Vec<(u32, Vec<u16>)> =
            runs.map(|(index, run)| (run.program.base(), of_run(index))).collect();
        if found != *expected {
            let at = found.iter().zip(expected).position(|(found, expected)| found != expected);
            return Err(format!("{risc}: {} launches, first other {at:?}", found.len()));
        }
        if host.stalls[index] == 0 {
            return Err(format!("{risc} never waited"));
        }
    }
    Ok(())
}

#[test]
fn our_reader_hands_over_the_buffers_of_upstreams_debug_dump() {
    let Some(package) = package() else { return };
    let jobs = [
        (Header::Upstream, MOVERS),
        (Header::Upstream, RISCS_PER_CORE),
        // Behind ours, it is upstream's.
        (Header::Ours, RISCS_PER_CORE),
    ];
    let jobs = |chip| jobs.map(|(header, riscs)| (chip, header, riscs));
    let list: Vec<_> = Chip::ALL.into_iter().flat_map(jobs).collect();
    let Seed(fresh) = Seed::fresh();
    let faults = in_parallel(&list, |&(chip, header, riscs)| {
        let probes = probes::build(package, chip, header, Variant::UpstreamsDump, riscs);
        let probes = match probes {
            Ok(probes) => probes,
            Err(error) => return vec![format!("{chip}, {header}: {}", first_error(&error))],
        };
        let named = |error: String| format!("{probes}, {riscs} RISCs: {error}");
        if riscs == MOVERS {
            return address_by_address(chip, &probes).err().map(named).into_iter().collect();
        }
        let tries = [(1, false), (fresh, true)];
        let judge = |one: (u64, bool)| {
            let error = launch_by_launch(chip, &probes, one).err()?;
            Some(named(format!("seed and forgets {one:?}: {error}")))
        };
        tries.into_iter().filter_map(judge).collect()
    });
    let faults = faults.concat();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
