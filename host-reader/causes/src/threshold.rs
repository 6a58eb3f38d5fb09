//! Thresholds of the rules, with their units and sources.

/// Limit of a figure. For some rules, the limit is the minimum at which the rule fires; for others,
/// it is a maximum.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Threshold {
    /// Name, as in `docs/explain.md`.
    pub name: &'static str,
    /// Limit, in `unit`.
    pub value: f64,
    /// Unit of the limit.
    pub unit: &'static str,
    /// What the figure measures that is compared with the limit.
    pub measures: &'static str,
    /// Publication or measurement that the limit comes from; `proposal` if there is none yet.
    pub source: &'static str,
}

macro_rules! thresholds {
    ($($constant:ident: $name:literal, $value:literal, $unit:literal, $measures:literal, $source:literal;)*) => {
        $(pub(crate) const $constant: Threshold = Threshold {
            name: $name, value: $value, unit: $unit, measures: $measures, source: $source,
        };)*

        /// Every threshold, in the order of `docs/explain.md`.
        pub const THRESHOLDS: &[Threshold] = &[$($constant),*];
    };
}

thresholds! {
    LAUNCH_GAP: "launch-gap", 6.5, "us", "time before a launch", "tt-perf-report 1.4.1: longer gaps are worth a trace";
    TRACED_GAP: "traced-gap", 6.0, "us", "time before a launch of a trace", "tt-perf-report 1.4.1: assumed gap between ops of a trace";
    STRAGGLER: "straggler-ratio", 1.3, "x", "time of the core that ends last, over the mean of the launch's cores", "real recordings: p95 of the longest core over the mean is 1.12 to 1.17";
    STRAGGLER_LAUNCHES: "straggler-launches", 3.0, "launches", "launches in which one core ends last", "proposal: random delays hit a different core each time";
    CHIP: "slow-chip-ratio", 1.1, "x", "time of a chip for an op, over that of the other chips", "proposal: chips that run one op at once differ by a few percent";
    CHIP_LAUNCHES: "slow-chip-launches", 3.0, "launches", "launches in which one chip is the slowest", "proposal: random delays hit a different chip each time";
    WORK: "uneven-work", 5.0, "%", "steps of the core that ends last, above the mean of the cores", "tt-metal issue 55766: 165 steps on one core against 153.6 on average";
    WORK_FIT: "work-fit", 3.0, "%", "difference between the time and the steps of that core, each over the mean", "proposal: how closely the time must follow the number of steps";
    WORK_STEPS: "work-steps", 16.0, "zones", "steps of that core", "proposal: with fewer steps, one more step alone exceeds `uneven-work`";
    WAITING: "waiting-share", 20.0, "%", "time of one class of waiting, of the chip's time", "proposal: a class of waiting above a fifth of the time is worth a sentence";
    COLLECTIVES: "collectives-time", 10.0, "%", "time of collective ops, of the chip's time", "proposal: as `group-time`: what ops of one kind may take without a sentence";
    SKEW: "collective-skew", 20.0, "%", "time in collectives in which chips wait for the last one, of the collectives' time", "proposal: as `waiting-share`, of the time of collectives";
    LATE_SHARE: "late-share", 50.0, "%", "of that time, what is waited for one chip", "proposal: a chip is named if most of the time waited in collectives is waited for it";
    LATE_CERTAIN: "late-certain", 4.0, "x", "mean lateness of a chip, over its standard error", "of the standard error, and more with few collectives: by chance less than one chip in 1,000";
    LATE_RARE: "late-rare", 20.0, "x", "lateness of a chip in single collectives, over the usual one", "proposal, and more with few collectives: of the difference between chips that a quarter of all arrivals stays below";
    LONG_GAP: "long-gap", 10.0, "ms", "one gap before a launch", "proposal: gaps this long usually come from compilation, not from a running program";
    STEADY: "steady-ratio", 1.2, "x", "time of the first iteration, over that of later ones", "proposal: iterations of a steady model differ by a few percent";
    LOOP_GAP: "loop-gap", 2.0, "x", "gap before the last iteration, over the median before the others", "proposal: of a gap before the last iteration that is longer than the median before the others, only the median is part of the loop";
    OTHER_OPS: "other-ops", 10.0, "%", "time of ops before the runs of one op, of the kernels' time", "proposal: ops before the runs of one op that take more of the kernels' time are not left out";
    STEADY_COVER: "steady-cover", 50.0, "%", "time of the steady part, of the kernels' time", "proposal: the steady part stands for most of the kernels' time";
    LEAST_GAIN: "least-gain", 1.0, "%", "largest gain of a finding", "proposal: less is not worth a sentence";
    GROUP_TIME: "group-time", 10.0, "%", "time of the ops with one op code, of the kernels' time", "proposal: share of the kernels' time that ops of one name take";
    GROUP_LIMIT: "group-limit", 1.25, "x", "time of ops, over the least time for their shapes", "proposal: as `dram-peak`, an op at 80 % of its modelled limit is close to it";
    FAR_FROM_LIMIT: "far-from-limit", 2.0, "x", "time of ops, over the least time for their shapes", "proposal: from twice its limit on, other reasons than the limit are looked for";
    LAYOUT_TIME: "layout-time", 10.0, "%", "time of ops that rearrange tensors, of the kernels' time", "proposal: share of the kernels' time";
    ROUND_TRIP_TIME: "round-trip-time", 1.0, "%", "time of conversions that the next op undoes, of the kernels' time", "proposal: share of the kernels' time; omitting both conversions changes no result";
    REASON_TIME: "reason-time", 50.0, "%", "time of the ops for which a fact holds, of those with their op code", "proposal: a fact explains a group if it holds for most of its time";
    DRAM_REASON: "dram-reason", 50.0, "%", "DRAM bandwidth of ops, of the peak", "proposal: below half of the peak bandwidth, inputs in DRAM hardly affect the time";
    SMALL_TRANSFER: "small-transfer", 1024.0, "bytes", "mean size of a transfer", "proposal: half a tile of BFLOAT16";
    BETTER_ROW: "better-row", 2.0, "x", "speed of the best op against the limit of its shape, over that of the longest", "proposal: between two ops with the same op code";
    FEW_CORES: "few-cores", 50.0, "%", "cores that an op uses, of those available", "proposal: of the cores that are available";
    SMALL_OP: "small-op", 5.0, "us", "time of an op's kernels", "proposal: a launch costs about as much";
    SMALL_OPS: "small-ops", 25.0, "%", "short ops, of all ops", "public ops CSVs: 12 to 50 % are normal, so `small-ops-time` must also be reached";
    SMALL_TIME: "small-ops-time", 10.0, "%", "time of short ops, of the explained time", "proposal";
    SMALL_COUNT: "small-ops-count", 16.0, "ops", "short ops", "proposal: fewer are not worth fusing";
    MARGIN: "pace-margin", 15.0, "points", "lead in use of the busiest stage over the next one",
        "event model: the least blocked RISC was the bottleneck in 264 of 264 cases with this margin, and in 292 of all 300 cases";
    KNOWN_MARGIN: "pace-margin-known", 4.0, "points", "lead in use of the busiest stage over the next one, where each use is known",
        "proposal: a difference that the event model can resolve if the use of each stage is known";
    TURNS: "turns", 5.0, "%", "time in which all stages of an op wait",
        "proposal: more than uneven blocks cost with buffers of two blocks";
    PACING: "pacing-use", 85.0, "%", "time in which a stage does not wait, of the op's time",
        "proposal: one stage is always busy; if neither reader nor writer is, the math is (the remainder is start and end)";
    BARRIERS: "barrier-share", 50.0, "%", "time at NoC barriers, of a RISC's kernels", "four real NoC traces: barriers take 46 to 52 % of the RISC's time";
    SIGNAL_DELAY: "signal-delay", 128.0, "cycles", "time from the earliest arrival of a signal to the end of the wait for it",
        "simulator: a signal behind a packet of 2 KiB waits 66 cycles, and a wait ends within one poll of 12 cycles";
    SEMAPHORES: "semaphore-share", 50.0, "%", "time of the slowest stage at semaphores of other cores", "proposal: as `barrier-share`, most of the bottleneck stage's time";
    DOMINANT_PART: "dominant-part", 75.0, "%", "time of ops of one shape, of those with their op code", "proposal: ops of one shape that take this much of their kind's time, and are at most a third of its ops, are what is to be looked at";
    KERNEL_ZONE: "kernel-zone", 50.0, "%", "time in one zone, of a RISC's kernels", "proposal: most of a RISC's kernels";
    BLOCKED_RISC: "blocked-risc", 50.0, "%", "time in which a RISC is blocked, of its kernels", "proposal: as `kernel-zone`, most of a RISC's kernels";
    LONGER_RISC: "longer-risc", 1.1, "x", "time of the longest RISC, over the next one", "proposal: where no limit is known, a RISC that ends this much later is worth a sentence";
    LONGEST_RISC: "longest-risc", 2.0, "x", "time of the longest RISC, over the next one", "proposal: RISCs that pass data on to each other end at about the same time";
    LONGEST_UNLESS: "longest-unless", 1.01, "x", "time of an op, over that of its longest RISC", "proposal: a RISC that lasts as long as the op but for this is the longest, whatever is known of others";
    PADDING: "padding", 50.0, "%", "bytes of padding, of all that an op moves", "proposal: most of what an op moves is not the program's";
    START_SKEW: "start-skew", 20.0, "%", "time from the first to the last start of a core, of a launch", "proposal: as `waiting-share`; tt-metal issue 20681 has 47 % in a traced kernel";
    START_SKEW_TIME: "start-skew-time", 10.0, "%", "time in which cores have not started, of the kernels' time", "proposal: as `group-time`, over all ops of an ops CSV";
    SETUP: "setup-time", 4.0, "%", "time of reconfiguration and initialisation, of an op", "tt-metal issue 56692: 12 reconfigurations took 5.4 % of an op";
    L1_ROOM: "l1-room", 100.0, "%", "largest free range of L1, of the bytes that an op's tensors in DRAM would take there; a finding is below", "sizes: what is larger than the largest free range does not fit";
    DRAM: "dram-peak", 80.0, "%", "DRAM bandwidth of ops, of the peak", "proposal; tt-perf-report calls an op DRAM-bound from 65 %";
    NOC: "noc-peak", 65.0, "%", "use of the busiest NoC link, of its peak", "proposal: as `flops-peak`, for the busiest link";
    FLOPS: "flops-peak", 65.0, "%", "FLOP/s of ops, of the peak of their cores", "tt-perf-report 1.4.1";
    MODEL_TIME: "bound-ops-time", 30.0, "%", "time of ops at a limit, of the kernels' time", "proposal: share of the device time that bound ops take";
    BUILT_AGAIN: "built-again", 1.0, "calls", "calls that built a program again in the explained part", "proposal: an iteration that repeats builds no program";
    HOST_OPS: "host-ops", 1.0, "ops", "ops that ran on the host", "tt-perf-report 1.4.1 lists every op that fell back to the host";
}

impl Threshold {
    /// Returns the threshold with a name, such as that of a finding.
    ///
    /// ```
    /// assert_eq!(causes::Threshold::named("group-time").unwrap().unit, "%");
    /// assert_eq!(causes::Threshold::named("colour"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        THRESHOLDS.iter().find(|threshold| threshold.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::THRESHOLDS;

    const HEADER: &str = "| name | value | unit | of what | source |\n|---|---|---|---|---|\n";

    #[test]
    fn the_page_has_every_threshold() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explain.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (text, _) = page.split_once(HEADER).unwrap();
        let rows = THRESHOLDS.iter().map(|threshold| {
            let super::Threshold { name, value, unit, measures, source } = threshold;
            format!("| `{name}` | {value} | {unit} | {measures} | {source} |\n")
        });
        let expected = format!("{text}{HEADER}{}", rows.collect::<String>());
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, expected).unwrap();
        } else {
            assert_eq!(page, expected, "BLESS=1 writes the thresholds into the page");
        }
        for threshold in THRESHOLDS {
            assert!(!threshold.measures.is_empty() && !threshold.unit.is_empty());
            assert_eq!(THRESHOLDS.iter().filter(|other| other.name == threshold.name).count(), 1);
        }
    }
}
