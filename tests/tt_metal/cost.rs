//! Cost of each operation with either header, and the limits.

use crate::{
    core::{Code, Core, Cost, End, LAYOUT, SEEN_RUNS},
    package::{Package, package},
    probes::{self, Probes, Variant},
    toolchain::{Chip, Header, first_error, in_parallel},
};
use std::{fmt::Write as _, sync::OnceLock};

/// A row of the table of costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Zone,
    Data,
    Data16,
    Event,
    NocEvent,
    NocEventWithAddresses,
    HardwareCounter,
    Signal,
    DispatchZone,
    DispatchData,
    QuickPush,
    Sum,
    KernelZone,
    BeginOnBrisc,
    BeginOnOthers,
    FinishOfFive,
    FinishOfOthers,
    LaunchOnBrisc,
    LaunchOfFive,
}

impl Row {
    pub(crate) const ALL: [Self; 19] = [
        Self::Zone,
        Self::Data,
        Self::Data16,
        Self::Event,
        Self::NocEvent,
        Self::NocEventWithAddresses,
        Self::HardwareCounter,
        Self::Signal,
        Self::DispatchZone,
        Self::DispatchData,
        Self::QuickPush,
        Self::Sum,
        Self::KernelZone,
        Self::BeginOnBrisc,
        Self::BeginOnOthers,
        Self::FinishOfFive,
        Self::FinishOfOthers,
        Self::LaunchOnBrisc,
        Self::LaunchOfFive,
    ];

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Zone => "zone, open and close",
            Self::Data => "64 bits of data",
            Self::Data16 => "128 bits of data",
            Self::Event => "event",
            Self::NocEvent => "NoC event",
            Self::NocEventWithAddresses => "NoC event with addresses",
            Self::HardwareCounter => "hardware counter's record",
            Self::Signal => "sync event: a signal; TT-Metal's as data",
            Self::DispatchZone => "zone of a dispatch kernel",
            Self::DispatchData => "64 bits of data of a dispatch kernel",
            Self::QuickPush => "push of a dispatch kernel's full ring",
            Self::Sum => "sum zone",
            Self::KernelZone => "kernel's zone, open and close",
            Self::BeginOnBrisc => "begin of a launch, BRISC",
            Self::BeginOnOthers => "begin of a launch, another RISC",
            Self::FinishOfFive => "end of a launch, BRISC pushes five RISCs",
            Self::FinishOfOthers => "end of a launch, another RISC",
            Self::LaunchOnBrisc => "launch of one zone, BRISC alone",
            Self::LaunchOfFive => "launch of one zone, all five RISCs",
        }
    }

    /// Returns the limit on a chip: instructions and cycles; `None` if only TT-Metal's cycles are
    /// the limit.
    const fn bar(self, chip: Chip) -> Option<(u64, u64)> {
        let [wormhole, blackhole] = match self {
            Self::Zone => [(23, 29), (23, 27)],
            Self::Data => [(15, 20), (15, 16)],
            // The first use in a launch reserves room for the total.
            Self::Sum => [(8, 13), (8, 12)],
            Self::KernelZone => [(12, 23), (12, 23)],
            Self::BeginOnBrisc => [(40, 110), (60, 70)],
            Self::BeginOnOthers => [(10, 10), (10, 10)],
            Self::FinishOfFive => [(310, 530), (310, 470)],
            Self::FinishOfOthers => [(19, 31), (19, 34)],
            Self::Data16
            | Self::Event
            | Self::NocEvent
            | Self::NocEventWithAddresses
            | Self::HardwareCounter
            | Self::Signal
            | Self::DispatchZone
            | Self::DispatchData
            | Self::QuickPush
            | Self::LaunchOnBrisc
            | Self::LaunchOfFive => return None,
        };
        Some(match chip {
            Chip::Wormhole => wormhole,
            Chip::Blackhole => blackhole,
        })
    }
}

/// Maximum bytes of kernel text for one more zone.
const ZONE_SITE_BYTES: u32 = 128;

/// Costs of a header on a chip.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// Costs of code that was executed before.
    pub(crate) rows: Vec<Cost>,
    /// Costs of code that is not in the instruction cache.
    pub(crate) cold_rows: Vec<Cost>,
    pub(crate) zone_site_bytes: u32,
    /// Cost of the begin of a launch after the host has read everything.
    pub(crate) first_begin: Cost,
}

/// Returns instructions and cycles of one pass of a probe's loop, without the loop itself.
fn per_pass(core: &mut Core<'_>, probe: &str) -> Cost {
    per_pass_on(core, 0, probe, "nothing")
}

/// Returns the cost of a probe whose code is executed for the first time, by straight code with eight
/// of them and with one.
fn first_pass(core: &mut Core<'_>, probe: &str) -> Cost {
    let mut cost = |name: &str| {
        repeated(core, |core| {
            returned(core.call(0, "begin", &[]));
            returned(core.call(0, "nothing", &[50]));
            core.forget_code();
            returned(core.call(0, name, &[1]))
        })
    };
    let mut per_site = |name: &str| {
        let [long, short] = [8, 1].map(|count| cost(&format!("{name}_sites_{count}")));
        let of = |long: u64, short: u64| (long - short).div_ceil(7);
        (of(long.instructions, short.instructions), of(long.cycles, short.cycles))
    };
    let (whole, alone) = (per_site(probe), per_site("nothing"));
    Cost { instructions: whole.0 - alone.0, cycles: whole.1 - alone.1 }
}

/// Returns the cost of one pass of the loop `probe` on a RISC, minus the cost of one pass of the
/// loop `bare`.
pub(crate) fn per_pass_on(core: &mut Core<'_>, risc: usize, probe: &str, bare: &str) -> Cost {
    let mut slope = |name: &str| {
        let [short, long] = [8_u32, 24].map(|passes| {
            returned(core.call(risc, "begin", &[]));
            returned(core.call(risc, name, &[passes]));
            returned(core.call(risc, "begin", &[]));
            returned(core.call(risc, name, &[passes]))
        });
        let of = |long: u64, short: u64| (long - short).div_ceil(16);
        Cost {
            instructions: of(long.instructions, short.instructions),
            cycles: of(long.cycles, short.cycles),
        }
    };
    let (whole, alone) = (slope(probe), slope(bare));
    Cost {
        instructions: whole.instructions - alone.instructions,
        cycles: whole.cycles - alone.cycles,
    }
}

pub(crate) fn returned((end, cost): (End, Cost)) -> Cost {
    assert_eq!(end, End::Returned);
    cost
}

/// Returns a core on which launches have ended and the host has read nothing.
fn used_core<'a>(chip: Chip, probes: &'a Probes, code: Code) -> Core<'a> {
    let mut core = match code {
        Code::Warm => Core::new(chip, probes),
        Code::Cold => Core::cold(chip, probes),
    };
    for _ in 0..2 {
        core.launch(&vec![0; probes.programs.len()], 1).unwrap();
    }
    core
}

pub(crate) fn measure(package: &Package, chip: Chip, header: Header) -> Result<Costs, String> {
    let plain = probes::build(package, chip, header, Variant::Plain, 5)?;
    let sums = probes::build(package, chip, header, Variant::Sums, 1)?;
    let wide = probes::build(package, chip, header, Variant::Wide, 1)?;
    let dispatch = probes::build(package, chip, header, Variant::Dispatch, 1)?;
    let kernel = probes::build(package, chip, header, Variant::SyncEvents, 1)?;
    let rows = |code| {
        let core = &mut used_core(chip, &plain, code);
        let with_sums = &mut used_core(chip, &sums, code);
        let wide = &mut used_core(chip, &wide, code);
        let dispatch = &mut used_core(chip, &dispatch, code);
        let kernel = &mut used_core(chip, &kernel, code);
        let per_pass = match code {
            Code::Warm => per_pass,
            Code::Cold => first_pass,
        };
        Row::ALL.map(|row| match row {
            Row::Zone => per_pass(core, "zone"),
            Row::Data => per_pass(core, "data"),
            Row::Data16 => per_pass(core, "data_16b"),
            Row::Event => per_pass(core, "event"),
            Row::NocEvent => per_pass(core, "noc_event"),
            Row::NocEventWithAddresses => per_pass(wide, "noc_event"),
            Row::HardwareCounter => per_pass(wide, "counter"),
            Row::Signal => per_pass(kernel, "signal"),
            Row::DispatchZone => per_pass(dispatch, "zone"),
            Row::DispatchData => per_pass(dispatch, "data"),
            Row::QuickPush => push_of_a_full_ring(dispatch),
            Row::Sum => per_pass(with_sums, "sum"),
            Row::KernelZone => per_pass(core, "kernel_zone"),
            Row::BeginOnBrisc => begin_on(core, 0),
            Row::BeginOnOthers => begin_on(core, 1),
            Row::FinishOfFive => finish_of_five(core),
            Row::FinishOfOthers => finish_of_another(core),
            Row::LaunchOnBrisc => launch_of(&mut used_core(chip, &plain, code), 1),
            Row::LaunchOfFive => launch_of(&mut used_core(chip, &plain, code), 5),
        })
    };
    let program = &plain.programs[0];
    let size = |name: &str| program.symbol(name).size_bytes;
    let seven = |name: &str| size(&format!("{name}_sites_8")) - size(&format!("{name}_sites_1"));
    let mut fresh = used_core(chip, &plain, Code::Warm);
    Ok(Costs {
        rows: rows(Code::Warm).to_vec(),
        cold_rows: rows(Code::Cold).to_vec(),
        zone_site_bytes: (seven("zone") - seven("nothing")).div_ceil(7),
        first_begin: repeated(&mut fresh, begin_after_a_read),
    })
}

/// Returns the cost of a piece of a launch whose branches are known: the cost of the last of several
/// executions. Those before it took the same path, as the launches of a program do. Without them, the
/// predictor would expect the paths that other measurements have taken, and a cost would depend on
/// the order of the rows.
pub(crate) fn repeated(core: &mut Core<'_>, piece: impl Fn(&mut Core<'_>) -> Cost) -> Cost {
    const EXECUTIONS_BEFORE: usize = 3;
    for _ in 0..EXECUTIONS_BEFORE {
        piece(core);
    }
    piece(core)
}

/// Returns the cost of a call that follows other code of the RISC, during which earlier stores have
/// reached their memory: a launch neither begins right after another, nor ends right after its begin.
pub(crate) fn later(core: &mut Core<'_>, risc: usize, function: &str) -> Cost {
    returned(core.call(risc, "nothing", &[50]));
    core.forget_code();
    returned(core.call(risc, function, &[]))
}

fn begin_on(core: &mut Core<'_>, risc: usize) -> Cost {
    repeated(core, |core| later(core, risc, "begin"))
}

/// Returns the cost of BRISC's begin after the host has read everything.
fn begin_after_a_read(core: &mut Core<'_>) -> Cost {
    core.set_control(LAYOUT.run_counter, 0);
    core.set_control(SEEN_RUNS, 0);
    later(core, 0, "begin")
}

/// Returns the cost of a launch on the first RISCs, summed over them.
fn launch_of(core: &mut Core<'_>, riscs: usize) -> Cost {
    let scripts = vec![0; riscs];
    repeated(core, |core| {
        core.forget_code();
        let costs = core.launch(&scripts, 3).unwrap();
        costs.into_iter().fold(Cost::default(), |sum, one| sum + one)
    })
}

/// Returns the cost of a push during a launch, with 116 zones in the ring. The next zone would
/// itself cause a push.
fn push_of_a_full_ring(core: &mut Core<'_>) -> Cost {
    repeated(core, |core| {
        returned(core.call(0, "begin", &[]));
        returned(core.call(0, "zone", &[116]));
        later(core, 0, "quick_push")
    })
}

/// Returns the cost of a launch's end in which all five RISCs have published only the fixed slots.
fn finish_of_five(core: &mut Core<'_>) -> Cost {
    repeated(core, |core| {
        returned(core.call(0, "begin", &[]));
        core.publish_others(12);
        later(core, 0, "finish")
    })
}

fn finish_of_another(core: &mut Core<'_>) -> Cost {
    repeated(core, |core| {
        returned(core.call(0, "begin", &[]));
        returned(core.call(1, "begin", &[]));
        later(core, 1, "finish")
    })
}

/// Returns the costs of both headers on both chips, in the order of [`Chip::ALL`], with TT-Metal's
/// header first. The costs are measured only once.
fn all(package: &Package) -> &'static [[Result<Costs, String>; 2]] {
    static ALL: OnceLock<Vec<[Result<Costs, String>; 2]>> = OnceLock::new();
    ALL.get_or_init(|| {
        in_parallel(&Chip::ALL, |&chip| {
            [Header::Upstream, Header::Ours].map(|header| measure(package, chip, header))
        })
    })
}

/// Returns the costs of both headers. Panics if a header does not compile.
pub(crate) fn all_measured(package: &Package) -> Vec<[Costs; 2]> {
    let costs = |costs: &Result<Costs, String>| match costs {
        Ok(costs) => costs.clone(),
        Err(error) => panic!("{}", first_error(error)),
    };
    all(package).iter().map(|headers| headers.each_ref().map(costs)).collect()
}

fn table(all: &[[Result<Costs, String>; 2]]) -> String {
    let mut table = format!(
        "{:<42}{:^32}{:^32}\n{:<42}{:>10}{:>10}{:>10}  {:>10}{:>10}{:>10}\n",
        "instructions / cycles",
        "wormhole",
        "blackhole",
        "",
        "upstream",
        "ours",
        "bar",
        "upstream",
        "ours",
        "bar"
    );
    for (index, row) in Row::ALL.into_iter().enumerate() {
        write!(table, "{:<42}", row.label()).unwrap();
        for (chip, headers) in Chip::ALL.into_iter().zip(all) {
            for costs in headers {
                let text = costs.as_ref().map_or_else(
                    |_| "-".to_owned(),
                    |costs| {
                        format!("{}/{}", costs.rows[index].instructions, costs.rows[index].cycles)
                    },
                );
                write!(table, "{text:>10}").unwrap();
            }
            let bar = row.bar(chip).map_or_else(|| "-".to_owned(), |(i, c)| format!("{i}/{c}"));
            write!(table, "{bar:>10}  ").unwrap();
        }
        table.push('\n');
    }
    type Of = fn(&Costs) -> String;
    let more: [(&str, Of); 2] = [
        ("begin, BRISC, all was read", |costs| {
            format!("{}/{}", costs.first_begin.instructions, costs.first_begin.cycles)
        }),
        ("bytes of a zone's call site", |costs| costs.zone_site_bytes.to_string()),
    ];
    for (label, of) in more {
        write!(table, "{label:<42}").unwrap();
        for headers in all {
            for costs in headers {
                let text = costs.as_ref().map_or_else(|_| "-".to_owned(), of);
                write!(table, "{text:>10}").unwrap();
            }
            write!(table, "{:>10}  ", "-").unwrap();
        }
        table.push('\n');
    }
    for (chip, headers) in Chip::ALL.into_iter().zip(all) {
        for error in headers.iter().filter_map(|costs| costs.as_ref().err()) {
            writeln!(table, "{chip}: {}", first_error(error)).unwrap();
        }
    }
    table
}

/// Checks that every cost is within its limit and never above TT-Metal's in cycles.
#[test]
fn costs_are_within_the_bars_and_never_above_upstreams() {
    let Some(package) = package() else { return };
    let all = all(package);
    let table = table(all);
    println!("{table}");
    crate::publish("cost.txt", &table);
    let mut faults = Vec::new();
    for (chip, headers) in Chip::ALL.into_iter().zip(all) {
        let [upstream, ours] = headers.each_ref().map(|costs| match costs {
            Ok(costs) => costs,
            Err(error) => panic!("{chip}: {}", first_error(error)),
        });
        for (index, row) in Row::ALL.into_iter().enumerate() {
            let (ours, upstream) = (ours.rows[index], upstream.rows[index]);
            let (instructions, cycles) = row.bar(chip).unwrap_or((u64::MAX, u64::MAX));
            if ours.instructions == 0 || upstream.instructions == 0 {
                faults.push(format!("{chip}, {}: nothing was measured", row.label()));
            }
            if ours.instructions > instructions || ours.cycles > cycles.min(upstream.cycles) {
                faults.push(format!("{chip}, {}: {ours:?}", row.label()));
            }
            let [ours_cold, upstream_cold] =
                [&headers[1], &headers[0]].map(|costs| costs.as_ref().unwrap().cold_rows[index]);
            // A sum zone takes a cycle more than TT-Metal's on a Blackhole if neither is cached.
            let is_too_slow = ours_cold.cycles > upstream_cold.cycles + u64::from(row == Row::Sum);
            // Straight code has no loop between two sites, which may save a cycle.
            if is_too_slow || ours_cold.cycles + 1 < ours.cycles {
                let what = (ours_cold, upstream_cold);
                faults.push(format!("{chip}, {}, not cached: {what:?}", row.label()));
            }
        }
        if ours.zone_site_bytes > ZONE_SITE_BYTES {
            faults.push(format!("{chip}: a zone's site takes {} bytes", ours.zone_site_bytes));
        }
        let [ours, upstream] = [ours.first_begin, upstream.first_begin];
        if ours.cycles > upstream.cycles {
            faults.push(format!("{chip}, begin after a read: {ours:?}, upstream {upstream:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
