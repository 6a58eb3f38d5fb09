//! Cost of each probe at every optimisation level, on BRISC and on a TRISC. One loop is opaque to
//! the compiler, the other has memory accesses that the compiler can analyse.

use crate::{
    core::{Core, Cost, LAYOUT, SEEN_RUNS},
    cost::{later, per_pass_on, repeated, returned},
    package::{Package, package},
    probes::{self, Probes},
    readme,
    toolchain::{Chip, Header, Mode, Processor, Target, in_parallel},
};
use std::fmt::Write as _;

/// First line of the table in the documentation.
const HEADING: &str = "| probe, instructions / cycles | Wormhole BRISC | TT-Metal's | Wormhole TRISC | TT-Metal's | Blackhole BRISC | TT-Metal's | Blackhole TRISC | TT-Metal's |";

const LEVELS: [&str; 3] = ["O2", "O3", "Os"];
/// BRISC's program comes first: it has the constants that the core reads.
const PROCESSORS: [Processor; 2] = [Processor::Brisc, Processor::Trisc0];
const HEADERS: [Header; 2] = [Header::Ours, Header::Upstream];

/// Rows of the table: label, loop over a probe, and the loop that is subtracted as the baseline.
const LOOPS: [(&str, &str, &str); 10] = [
    ("zone", "zone", "nothing"),
    ("zone, known accesses", "zone_and_memory", "memory"),
    ("64 bits of data", "data", "nothing"),
    ("64 bits of data, known accesses", "data_and_memory", "memory"),
    ("128 bits of data", "data_16b", "nothing"),
    ("event", "event", "nothing"),
    ("event, known accesses", "event_and_memory", "memory"),
    ("sum zone", "sum", "nothing"),
    ("sum zone, known accesses", "sum_and_memory", "memory"),
    ("kernel's zone", "kernel_zone", "nothing"),
];

/// Labels of the calls.
const CALLS: [&str; 3] = ["begin of a launch", "begin of a launch after a read", "end of a launch"];

/// One program per processor, in the order of [`PROCESSORS`].
struct Built {
    chip: Chip,
    level: &'static str,
    header: Header,
    probes: Probes,
}

fn build(package: &Package, chip: Chip, level: &'static str, header: Header) -> Built {
    let program = |processor: Processor| {
        let target = Target {
            mode: Mode::Sums,
            optimisation: Some(level),
            ..Target::new(chip, processor, header)
        };
        let name = format!("matrix-{}-{level}", target.stem());
        let index = Processor::TENSIX.iter().position(|one| *one == processor).unwrap();
        probes::program_of(package, &target, "probes.cpp", &name, index).unwrap()
    };
    let programs = PROCESSORS.map(program).into();
    Built { chip, level, header, probes: Probes { chip, header, has_sums: true, programs } }
}

/// Returns the costs on a processor, by row.
fn measure(built: &Built, risc: usize) -> Vec<Cost> {
    let mut core = Core::new(built.chip, &built.probes);
    core.set_control(LAYOUT.run_counter, 1);
    let mut costs: Vec<Cost> =
        LOOPS.map(|(_, probe, bare)| per_pass_on(&mut core, risc, probe, bare)).into();
    returned(core.call(risc, "finish", &[]));
    let begin = |core: &mut Core<'_>| later(core, risc, "begin");
    costs.push(repeated(&mut core, begin));
    costs.push(repeated(&mut core, |core| {
        core.set_control(LAYOUT.run_counter, 0);
        core.set_control(SEEN_RUNS, 0);
        begin(core)
    }));
    costs.push(repeated(&mut core, |core| {
        returned(core.call(0, "begin", &[]));
        begin(core);
        later(core, risc, "finish")
    }));
    costs
}

fn labels() -> Vec<&'static str> {
    LOOPS.iter().map(|row| row.0).chain(CALLS).collect()
}

/// Columns of an optimisation level, ordered by chip, processor and header. A column has one cost
/// per row.
type Columns = Vec<Vec<Cost>>;

fn columns(built: &[Built], level: &str) -> Columns {
    let of_level = |chip: Chip, header: Header| {
        let is_wanted =
            |one: &&Built| one.chip == chip && one.level == level && one.header == header;
        built.iter().find(is_wanted).unwrap()
    };
    let mut columns = Vec::new();
    for chip in Chip::ALL {
        for risc in 0..PROCESSORS.len() {
            columns.extend(HEADERS.map(|header| measure(of_level(chip, header), risc)));
        }
    }
    columns
}

fn table(levels: &[(&str, Columns)]) -> String {
    let mut table = format!("{HEADING}\n|---|---|---|---|---|---|---|---|---|\n");
    for (level, columns) in levels {
        for (row, label) in labels().into_iter().enumerate() {
            write!(table, "| {label}, -{level} |").unwrap();
            for column in columns {
                write!(table, " {} / {} |", column[row].instructions, column[row].cycles).unwrap();
            }
            table.push('\n');
        }
    }
    table
}

/// Checks that no probe costs more instructions or cycles than TT-Metal's.
#[test]
fn no_cost_is_above_upstreams_at_any_level() {
    let Some(package) = package() else { return };
    let jobs: Vec<_> = Chip::ALL
        .into_iter()
        .flat_map(|chip| LEVELS.map(|level| (chip, level)))
        .flat_map(|(chip, level)| HEADERS.map(|header| (chip, level, header)))
        .collect();
    let built = in_parallel(&jobs, |&(chip, level, header)| build(package, chip, level, header));
    let levels = LEVELS.map(|level| (level, columns(&built, level)));
    let table = table(&levels);
    crate::publish("cost-matrix.txt", &table);
    let faults = faults(&levels);
    assert!(faults.is_empty(), "{table}\n{}", faults.join("\n"));
    readme::compare_in(package, "docs/costs.md", HEADING, &table);
}

fn faults(levels: &[(&str, Columns)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (level, columns) in levels {
        for (row, label) in labels().into_iter().enumerate() {
            let above = columns.chunks(2).map(|pair| above(pair[0][row], pair[1][row]));
            let most = above.reduce(|[i, c], [j, d]| [i.max(j), c.max(d)]).unwrap();
            if most != [0; 2] {
                faults.push(format!("{label}, -{level}: {most:?} above upstream's"));
            }
        }
    }
    faults
}

/// Returns the instructions and cycles by which a cost exceeds another.
const fn above(ours: Cost, upstream: Cost) -> [u64; 2] {
    [
        ours.instructions.saturating_sub(upstream.instructions),
        ours.cycles.saturating_sub(upstream.cycles),
    ]
}
