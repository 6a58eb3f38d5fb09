//! Checks that a push ends, with all records in DRAM, after any NoC use of the kernel.

use crate::{
    core::{Core, End, LAYOUT},
    package::package,
    probes::{self, Probes, Variant},
    records::decode,
    script::Said,
    toolchain::{Chip, Header, first_error, in_parallel},
};
use wire::risc::RISCS_PER_CORE;

/// Writes that the kernel sent without counting them.
#[derive(Clone, Copy, Debug)]
struct Uncounted {
    noc: u32,
    writes: u32,
    is_posted: bool,
}

fn all_uncounted() -> Vec<Uncounted> {
    let mut list = Vec::new();
    for noc in [0, 1] {
        list.push(Uncounted { noc, writes: 0, is_posted: false });
        for writes in [1, 2, 3, 10, 99, 100] {
            list.extend([false, true].map(|is_posted| Uncounted { noc, writes, is_posted }));
        }
    }
    list
}

const ZONES: u32 = 3;

/// Calls functions that must return.
fn calls(core: &mut Core<'_>, risc: usize, list: &[(&str, &[u32])]) -> Result<(), String> {
    for (function, arguments) in list {
        let (end, _) = core.call(risc, function, arguments);
        if end != End::Returned {
            return Err(format!("{function}: {end:?}"));
        }
    }
    Ok(())
}

/// Checks the records of a RISC: all of its zones were recorded, and no write of the kernel is
/// missing.
fn check(core: &mut Core<'_>, risc: usize, writes: u32) -> Result<(), String> {
    core.settle();
    let records = decode(&core.lane(risc))?;
    let zones = records.iter().filter(|record| record.said == Said::Start).count();
    if zones != ZONES as usize {
        return Err(format!("{zones} zones of {ZONES} reached DRAM"));
    }
    for write in 0..writes {
        if !core.noc().dram.contains_key(&(WRITTEN_BANK, 0x1000 + 16 * write)) {
            return Err(format!("the kernel's write {write} never arrived"));
        }
    }
    Ok(())
}

const WRITTEN_BANK: u32 = 3;

/// Begins a launch, records zones, writes over the NoC, and overwrites the core's own coordinates.
fn record_and_write(core: &mut Core<'_>, risc: usize, case: Uncounted) -> Result<(), String> {
    let Uncounted { noc, writes, is_posted } = case;
    calls(
        core,
        risc,
        &[
            ("choose_noc", &[noc]),
            ("begin", &[]),
            ("zone", &[ZONES]),
            ("write_uncounted", &[writes, u32::from(is_posted), WRITTEN_BANK]),
        ],
    )?;
    core.noc().forget_own_coordinates();
    Ok(())
}

/// Begins a launch, records zones, writes over the NoC, and ends the launch.
fn end_of_launch(probes: &Probes, case: Uncounted) -> Result<(), String> {
    let writes = case.writes;
    let mut core = Core::new(probes.chip, probes);
    core.noc().answer_cycles = 700;
    record_and_write(&mut core, 0, case)?;
    calls(&mut core, 0, &[("finish", &[])])?;
    check(&mut core, 0, writes)?;
    let timed_out = core.control(TIMED_OUT);
    if probes.header == Header::Ours && timed_out != 0 {
        return Err(format!("{timed_out} pushes timed out"));
    }
    Ok(())
}

/// Like [`end_of_launch`], with a push during the kernel. If all writes were counted, the kernel's
/// own barrier must end afterwards.
fn quick_push(probes: &Probes, risc: usize, case: Uncounted) -> Result<(), String> {
    let writes = case.writes;
    let mut core = Core::new(probes.chip, probes);
    core.noc().answer_cycles = 700;
    calls(&mut core, 0, &[("begin", &[])])?;
    record_and_write(&mut core, risc, case)?;
    calls(&mut core, risc, &[("push", &[])])?;
    if writes == 0 {
        calls(&mut core, risc, &[("barrier", &[])])?;
    }
    check(&mut core, risc, writes)
}

/// Checks that a launch ends and that its losses are counted, although no packet leaves.
fn stuck(probes: &Probes) -> Result<(), String> {
    let mut core = Core::new(probes.chip, probes);
    core.noc().answer_cycles = 700;
    calls(&mut core, 0, &[("choose_noc", &[0]), ("begin", &[]), ("zone", &[ZONES])])?;
    core.noc().is_stuck = true;
    calls(&mut core, 0, &[("finish", &[])])?;
    let found = [TIMED_OUT, REFUSED_RUNS, REFUSED_MARKERS].map(|word| core.control(word));
    if found != [1, 1, 4 + 2 * ZONES] || core.control(LAYOUT.host_end) != 0 {
        let end = core.control(LAYOUT.host_end);
        return Err(format!("a stuck NoC: timed out, runs, markers {found:?}, HOST_END {end}"));
    }
    Ok(())
}

/// Checks the end of a launch if the command buffer accepts some packets and then no more: one wait
/// times out, and the whole launch is counted as lost.
fn jammed_end(probes: &Probes, packets: usize) -> Result<(), String> {
    let mut core = Core::new(probes.chip, probes);
    core.noc().answer_cycles = 700;
    calls(&mut core, 0, &[("choose_noc", &[0]), ("begin", &[]), ("zone", &[ZONES])])?;
    core.publish_others(OTHERS_WORDS);
    core.noc().packets_until_jam = Some(packets);
    calls(&mut core, 0, &[("finish", &[])])?;
    let markers = (OTHERS_WORDS - 4) / 2;
    let mut expected = vec![1, 4 + 2 * ZONES];
    expected.extend([1, markers].repeat(RISCS_PER_CORE - 1));
    let mut found = Vec::new();
    for risc in 0..RISCS_PER_CORE {
        found.extend([REFUSED_RUNS, REFUSED_MARKERS].map(|word| core.control(word + risc)));
        let end = core.control(LAYOUT.host_end + risc);
        if end != 0 {
            return Err(format!("HOST_END of RISC {risc} is {end}"));
        }
    }
    if (core.control(TIMED_OUT), &found) != (1, &expected) {
        let timed_out = core.control(TIMED_OUT);
        return Err(format!("timed out {timed_out}, runs and markers {found:?}"));
    }
    one_wait(&mut core)
}

/// Checks a push within a kernel that finds the command buffer busy: it leaves all records for the
/// end of the launch.
fn jammed_quick_push(probes: &Probes, packets: usize) -> Result<(), String> {
    let mut core = Core::new(probes.chip, probes);
    core.noc().answer_cycles = 700;
    calls(&mut core, 0, &[("choose_noc", &[0]), ("begin", &[]), ("zone", &[ZONES])])?;
    core.noc().packets_until_jam = Some(packets);
    calls(&mut core, 0, &[("push", &[])])?;
    if core.control(LAYOUT.host_end) != 0 {
        return Err("HOST_END without data".to_owned());
    }
    one_wait(&mut core)
}

/// Checks that command buffers were polled no more often than in one wait.
fn one_wait(core: &mut Core<'_>) -> Result<(), String> {
    let polls = core.noc().busy_reads.get();
    if polls > NOC_POLLS + 8 {
        return Err(format!("{polls} polls of a busy command buffer"));
    }
    Ok(())
}

const NOC_POLLS: u64 = 1 << 20;
/// Words of the other RISCs' runs.
const OTHERS_WORDS: u32 = 12 + 4;

/// # Compatibility
/// `docs/wire-extensions.md`.
const TIMED_OUT: usize = 21;
const REFUSED_RUNS: usize = 9;
const REFUSED_MARKERS: usize = 14;

#[test]
fn a_push_ends_whatever_the_kernel_did_to_the_noc() {
    let Some(package) = package() else { return };
    let faults = in_parallel(&Chip::ALL, |&chip| {
        let mut faults = Vec::new();
        let built = [Variant::Plain, Variant::DynamicNoc(0), Variant::DynamicNoc(1)]
            .map(|variant| probes::build(package, chip, Header::Ours, variant, 2));
        let built: Result<Vec<_>, _> = built.into_iter().collect();
        let built = match built {
            Ok(built) => built,
            Err(error) => return vec![format!("{chip}: {}", first_error(&error))],
        };
        let (plain, dynamic) = (&built[0], &built[1..]);
        for case in all_uncounted() {
            let dynamic = &dynamic[case.noc as usize];
            let results = [
                ("end of a launch", end_of_launch(plain, case)),
                ("quick push of BRISC", quick_push(plain, 0, case)),
                ("quick push of NCRISC", quick_push(plain, 1, case)),
                ("dynamic NoC, BRISC", quick_push(dynamic, 0, case)),
                ("dynamic NoC, NCRISC", quick_push(dynamic, 1, case)),
            ];
            for (name, result) in results {
                faults
                    .extend(result.err().map(|error| format!("{chip}, {name}, {case:?}: {error}")));
            }
        }
        faults.extend(stuck(plain).err().map(|error| format!("{chip}: {error}")));
        for packets in [0, 1, 3, 5] {
            let result = jammed_end(plain, packets);
            let error = result.err();
            faults.extend(error.map(|error| format!("{chip}, {packets} packets: {error}")));
        }
        for packets in [0, 1] {
            let error = jammed_quick_push(plain, packets).err();
            faults.extend(error.map(|error| format!("{chip}, quick push, {packets}: {error}")));
        }
        faults
    });
    let faults = faults.concat();
    crate::publish("hazards.txt", &format!("{} faults\n{}\n", faults.len(), faults.join("\n")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
