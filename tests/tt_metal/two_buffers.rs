//! TT-Metal's debug dump, in TT-Metal's own object code.
//!
//! If one of the two buffers of a RISC is full, our reader gives the RISC the other buffer, so
//! nothing is lost. This includes the last RISC, to which TT-Metal's host gives no buffer.

use crate::{
    core::Core,
    package::package,
    probes::{self, Probes, Variant},
    reading_host::{Host, MOVERS, follow_addresses},
    script::{self, Seed, Step},
    toolchain::{Chip, Header, first_error, in_parallel},
};
use host_reader::names::ZoneTable;
use wire::{PacketKind, risc::RISCS_PER_CORE};

/// Checks that all addresses arrive in order from both data movers.
fn address_by_address(chip: Chip, probes: &Probes) -> Result<(), String> {
    let mut core = Core::new(chip, probes);
    let mut host = Host::new(&mut core, true, ZoneTable::new());
    follow_addresses(&mut core, &mut host, 100_000)?;
    // 360,000 words pass through buffers of 12,000 words, which takes at least 29 waits.
    let [brisc, ncrisc, ..] = host.waits;
    if brisc.min(ncrisc) < 29 {
        return Err(format!("the movers waited {brisc} and {ncrisc} times"));
    }
    Ok(())
}

/// Runs launches in sequence and checks that each RISC, including the last one, has exactly the
/// records of its kernels.
fn launch_by_launch(
    chip: Chip,
    probes: &Probes,
    (seed, forgets): (u64, bool),
) -> Result<(), String> {
    const LAUNCHES: u32 = 70;
    let mut core = Core::new(chip, probes);
    core.noc().answer_cycles = 60;
    let mut host = Host::new(&mut core, true, ZoneTable::new()).that_forgets(forgets);
    let mut seed = Seed(seed);
    let mut expected = vec![Vec::new(); RISCS_PER_CORE];
    for program in 1..=LAUNCHES {
        let mut scripts = Vec::new();
        for (risc, expected) in expected.iter_mut().enumerate() {
            // Kernels have random lengths, so that new data rarely has the length of the old.
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
        if host.waits[index] == 0 {
            return Err(format!("{risc} never waited"));
        }
    }
    Ok(())
}

#[test]
fn our_reader_hands_over_the_buffers_of_upstreams_debug_dump() {
    let Some(package) = package() else { return };
    let jobs = [
        (Header::Upstream, MOVERS.len()),
        (Header::Upstream, RISCS_PER_CORE),
        // Our header includes TT-Metal's in this mode.
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
        if riscs == MOVERS.len() {
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
