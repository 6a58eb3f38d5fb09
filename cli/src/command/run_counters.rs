//! Hardware counters of `kprof run`: distribution of counter groups over several runs, and merging
//! of the runs.

use crate::{
    args::{Backend, WorkloadArgs},
    failure::{Failure, failure, note},
    numbers::counted,
};
use host_reader::{
    counters::{CounterArch, CounterGroup, PassPlan, merge_passes},
    readout::Readout,
};
use sim::arch::Arch;
use wire::perf_counter;

/// Returns the groups of hardware counters to read in the first run and in each later run, as bit
/// masks. The first mask is 0 if no groups were requested.
pub(super) fn passes(args: &WorkloadArgs, arch: Arch) -> Result<(u32, Vec<u32>), Failure> {
    let arch = match arch {
        Arch::WormholeB0 => CounterArch::Wormhole,
        Arch::Blackhole => CounterArch::Blackhole,
    };
    let known = CounterGroup::all(arch);
    let asked = args.profiler_capture_perf_counters.iter();
    let mask = asked.fold(0, |mask, choice| mask | choice.mask(&known));
    let groups: Vec<CounterGroup> =
        known.iter().copied().filter(|group| mask & group.bit() != 0).collect();
    let found = groups.iter().fold(0, |mask, group| mask | group.bit());
    if found != mask {
        let known: Vec<_> = known.iter().map(|group| group.label()).collect();
        return Err(failure!(
            "--profiler-capture-perf-counters: {} has no group of bits {:#x}; it has {}",
            args.arch,
            mask & !found,
            known.join(", ")
        ));
    }
    let mut masks = PassPlan::new(&groups).masks().into_iter();
    let first = masks.next().unwrap_or(0);
    if first != 0 && args.backend != Backend::Sim {
        return Err(failure!(
            "--profiler-capture-perf-counters needs hardware counters, which ttsim does not simulate; choose \
             --backend sim"
        ));
    }
    Ok((first, masks.collect()))
}

/// Adds the counters of later runs to the first run's readout. Prints how many counters were added,
/// and how many could not be added.
pub(super) fn add_later(readout: &mut Readout, later: &[Readout]) {
    if later.is_empty() {
        return;
    }
    let merge = merge_passes(readout, later);
    let runs = later.len() + 1;
    let added = counted(merge.added, "counter", "counters");
    note!("kprof: {runs} runs to read all counters: {added} added from later runs");
    if merge.without_anchor > 0 {
        let count = counted(merge.without_anchor, "counter", "counters");
        note!("kprof: {count} omitted: their launches have no counters in the first run");
    }
    for (number, readout) in (2..).zip(later) {
        if !readout.losses.is_intended() {
            let lost = readout.losses.unintended_total().record_count();
            let lost = counted(lost, "record", "records");
            note!("kprof: run {number} lost {lost}, which may include counters");
        }
    }
}

// The host's and the device's tables of counter bits must agree.
const _: () = {
    assert!(CounterGroup::Fpu.bit() == perf_counter::FPU);
    assert!(CounterGroup::Pack.bit() == perf_counter::PACK);
    assert!(CounterGroup::Unpack.bit() == perf_counter::UNPACK);
    assert!(CounterGroup::Instruction.bit() == perf_counter::INSTRUCTIONS);
    assert!(CounterGroup::L1(1).bit() == perf_counter::L1[1]);
    assert!(CounterGroup::L1(5).bit() == perf_counter::L1[5]);
};
