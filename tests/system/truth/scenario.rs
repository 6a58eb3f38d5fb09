//! One random run: its chip, kernels, faults and reads, all derived from one seed.

use crate::support::{Outcome, Session, outcome};
use host_reader::{ReadOptions, read::Reader, readout::Readout};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    fault::{
        ClockPlacement, Rule,
        rules::{
            CorruptWord, DelayWrite, LateSubordinate, PushRule, Selection, TearClock, WordChoice,
            WrapClock,
        },
    },
    program::CoreSelection,
    random::Stream,
    truth::RiscKey,
    workload::WorkloadOptions,
};
use std::{collections::BTreeMap, fmt, sync::Arc};
use tests::pushed::{PushedLaunch, PushedRuns};

/// Everything that a seed determines.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    arch: Arch,
    support_count: u32,
    has_sums: bool,
    workload: &'static str,
    ops: u32,
    /// Number of cores that take part; `None` for all.
    core_count: Option<usize>,
    has_ethernet: bool,
    chip_count: usize,
    faults: Vec<FaultKind>,
    rereads: Option<Rereads>,
}

/// Frequency of reads while launches are in progress.
#[derive(Clone, Copy, Debug)]
struct Rereads {
    every: u32,
    wait_ns: u64,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    LoseWrite,
    CorruptWord,
    DelayWrite,
    TimeOut,
    LateSubordinate,
    WrapClock32,
    WrapClock44,
    TearClock,
}

impl FaultKind {
    pub(super) const ALL: [Self; 8] = [
        Self::LoseWrite,
        Self::CorruptWord,
        Self::DelayWrite,
        Self::TimeOut,
        Self::LateSubordinate,
        Self::WrapClock32,
        Self::WrapClock44,
        Self::TearClock,
    ];

    fn rule(self, random: &mut Stream) -> Arc<dyn Rule> {
        let part = |parts| Selection::everywhere().parts_per_million(parts);
        let at_ns = 20_000 + random.below(600_000);
        let wrap = |bits| {
            let placement = ClockPlacement { bits, at_ns };
            Arc::new(WrapClock { selection: Selection::everywhere(), placement })
        };
        match self {
            Self::LoseWrite => Arc::new(PushRule::new("lose-write", |_, fate, random| {
                if random.chance(3_000) {
                    fate.lose();
                }
            })),
            Self::CorruptWord => {
                // A quarter of the faults flip bits of the run header or of the guaranteed markers
                // that follow it.
                let word = if random.chance(250_000) {
                    WordChoice::At(usize::try_from(random.below(6)).unwrap())
                } else {
                    WordChoice::Any
                };
                Arc::new(CorruptWord { selection: part(2_000), word, mask: 0 })
            }
            Self::DelayWrite => {
                let cycles = 1_000 + random.below(50_000);
                Arc::new(DelayWrite { selection: part(20_000), cycles })
            }
            Self::TimeOut => Arc::new(DelayWrite { selection: part(1_000), cycles: 10_000_000 }),
            Self::LateSubordinate => {
                let cycles = [2_000, 1_000_000][usize::from(random.chance(500_000))];
                Arc::new(LateSubordinate { selection: part(5_000), cycles })
            }
            Self::WrapClock32 => wrap(32),
            Self::WrapClock44 => wrap(44),
            Self::TearClock => {
                Arc::new(TearClock { selection: part(100_000), at_ns, within_us: 50 })
            }
        }
    }
}

impl Scenario {
    /// Returns the scenario of a seed.
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut random = Stream::new(seed, &[0x7247_0001]);
        let mut pick = |count: usize| usize::try_from(random.below(count as u64)).unwrap();
        let mut faults = Vec::new();
        for _ in 0..[0, 1, 1, 1, 2, 3][pick(6)] {
            faults.push(FaultKind::ALL[pick(FaultKind::ALL.len())]);
        }
        // Each scenario keeps only one fault that sets clocks, because clocks can be set only once.
        let mut has_placed = false;
        let is_placement = |fault: &FaultKind| {
            matches!(fault, FaultKind::WrapClock32 | FaultKind::WrapClock44 | FaultKind::TearClock)
        };
        faults.retain(|fault| !is_placement(fault) || !std::mem::replace(&mut has_placed, true));
        // Lanes fill up over many launches; a few cores are enough for that.
        let core_count = [Some(4), Some(8), Some(16), None][pick(4)];
        let ops = if core_count.is_some() { 6 + pick(20) } else { 3 + pick(4) };
        Self {
            seed,
            arch: [Arch::WormholeB0, Arch::Blackhole][pick(2)],
            support_count: [43, 44, 47, 60, 100, 1000][pick(6)],
            has_sums: pick(2) == 0,
            workload: ["random", "random", "quick-push"][pick(3)],
            ops: u32::try_from(ops).unwrap(),
            core_count,
            has_ethernet: pick(4) == 0,
            chip_count: 1 + usize::from(pick(12) == 0),
            faults,
            rereads: (pick(2) == 0).then(|| Rereads {
                every: 1 + u32::try_from(pick(4)).unwrap(),
                wait_ns: 200 + pick(30_000) as u64,
            }),
        }
    }

    pub(super) fn faults(&self) -> &[FaultKind] {
        &self.faults
    }

    pub(super) fn rereads(&self) -> bool {
        self.rereads.is_some()
    }

    /// Returns true if the runtime pushes within launches, and records zones around these pushes.
    pub(super) fn has_own_zones(&self) -> bool {
        self.workload == "quick-push"
    }

    pub(super) const fn arch(&self) -> Arch {
        self.arch
    }

    /// Executes the run; returns the readout and the pushed records.
    pub(super) fn run(&self) -> (Outcome, Pushed) {
        let mut config = MeshConfig::new(self.seed)
            .with_program_support_count(self.support_count)
            .with_sums(self.has_sums)
            .with_noc_truth();
        for _ in 0..self.chip_count {
            let chip = ChipConfig::new(self.arch);
            let ethernet = if self.has_ethernet { 4 } else { 0 };
            config = config.with_chip(chip.with_active_ethernet(ethernet));
        }
        let mut random = Stream::new(self.seed, &[0x7247_0002]);
        let pushed = Arc::new(PushedRuns::default());
        let mut rules: Vec<Arc<dyn Rule>> = vec![pushed.clone()];
        rules.extend(self.faults.iter().map(|fault| fault.rule(&mut random)));
        let options =
            WorkloadOptions { ops: Some(self.ops), seed: self.seed, ..WorkloadOptions::default() };
        let mut session = Session::new(&config, self.workload, &options, rules);
        self.choose_cores(&mut session);
        let outcome = match self.rereads {
            Some(rereads) => rereads.run(session),
            None => session.run(),
        };
        let pushed = pushed.launches(&outcome.truth);
        (outcome, pushed)
    }

    /// Removes the cores that do not take part from the launches.
    fn choose_cores(&self, session: &mut Session) {
        let Some(count) = self.core_count else { return };
        let mut random = Stream::new(self.seed, &[0x7247_0003]);
        let mut places = session.mesh.chip(0).unwrap().plan().cores().to_vec();
        let mut draw = |_| {
            let index = usize::try_from(random.below(places.len() as u64)).unwrap();
            places.swap_remove(index)
        };
        let chosen: Vec<_> = (0..count).map(&mut draw).collect();
        for launch in session.plan.phases.iter_mut().flat_map(|phase| &mut phase.launches) {
            let cores = chosen.iter().filter(|place| launch.cores.includes(place));
            let cores = cores.map(|place| place.coord).collect();
            *launch = launch.clone().on(CoreSelection::At(cores));
        }
    }
}

/// Pushed records of each RISC, launch by launch.
pub(super) type Pushed = BTreeMap<RiscKey, Vec<PushedLaunch>>;

impl Rereads {
    /// Reads repeatedly while launches and pushes are in progress.
    fn run(self, session: Session) -> Outcome {
        let Session { mut mesh, plan } = session;
        let mut reader = Reader::new(ReadOptions::default());
        let mut readout = Readout::default();
        for (launch, number) in plan.phases.iter().flat_map(|phase| &phase.launches).zip(0_u32..) {
            mesh.enqueue_everywhere(launch);
            mesh.wait_ns(self.wait_ns);
            if number % self.every == 0 {
                readout.append(reader.read(&mut mesh).unwrap());
            }
        }
        mesh.run_to_completion();
        readout.append(reader.read(&mut mesh).unwrap());
        reader.options_mut().last_read = true;
        readout.append(reader.read(&mut mesh).unwrap());
        outcome(readout, &mesh)
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, arch, workload, ops, core_count, faults, rereads, .. } = self;
        write!(
            f,
            "seed {seed}: {arch:?}, {workload}, {ops} ops, {core_count:?} cores, {faults:?}, "
        )?;
        write!(f, "{} programs, sums {}, ", self.support_count, self.has_sums)?;
        match rereads {
            Some(Rereads { every, wait_ns }) => write!(f, "read every {every}, {wait_ns} ns"),
            None => write!(f, "read after each phase"),
        }
    }
}
