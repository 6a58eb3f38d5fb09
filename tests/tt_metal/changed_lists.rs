//! Our header with a changed `profiler_common.h`: either it does not compile, or a host that uses
//! the changed list reads all records correctly.

use crate::{
    core::{CORES_PER_BANK, Core, FLAT_ID, LANES_ADDRESS, LAYOUT},
    package::{Package, package, sources},
    probes::{self, Probes, Variant},
    records,
    script::{self, Name, Step},
    toolchain::{Chip, Header, Processor, Target, folder, in_parallel, run},
};
use std::fs;
use wire::control::ControlLayout;

/// Expected result of a change.
enum Outcome {
    /// The compiler prints this message.
    Refused(&'static str),
    Read(Reading),
}

/// Parameters of a host that uses the changed list.
struct Reading {
    layout: ControlLayout,
    /// Number of the first packet type.
    first_type: u32,
    /// Shift and mask of the core's flat id in the run header.
    flat_field: (u32, u32),
}

/// Parameters of the unchanged list.
const UNCHANGED: Reading = Reading { layout: LAYOUT, first_type: 0, flat_field: (5, 0xFF) };

const fn read_at(layout: ControlLayout) -> Outcome {
    Outcome::Read(Reading { layout, ..UNCHANGED })
}

/// A text in `profiler_common.h`, its replacement, and the expected result.
struct Change {
    from: &'static str,
    to: &'static str,
    outcome: Outcome,
}

const fn refused(from: &'static str, to: &'static str, message: &'static str) -> Change {
    Change { from, to, outcome: Outcome::Refused(message) }
}

const fn read(from: &'static str, to: &'static str, outcome: Outcome) -> Change {
    Change { from, to, outcome }
}

const LOW_WORDS: &str = "names a word from 5 to 23";
const HIGH_WORDS: &str = "names a word from 29 to 47";
const SHARED_WORDS: &str = "has moved words 58 to 63";
const GENERATION_BITS: &str = "needs bits 29 to 31";
const HEAD: &str = "expected four ID words and four markers";
const VECTORS: &str = "expected vectors of at most 512 words";
const ORDER: &str = "expected the ends of RISCs in the order of their numbers";

#[rustfmt::skip]
const CHANGES: [Change; 27] = [
    refused("DRAM_PROFILER_ADDRESS_DEFAULT,", "SPARE, DRAM_PROFILER_ADDRESS_DEFAULT,", SHARED_WORDS),
    refused("    FW_RESET_L,", "    FW_RESET_L, SPARE,", SHARED_WORDS),
    refused("    PROFILER_DONE,", "    PROFILER_DONE, SPARE,", SHARED_WORDS),
    refused("    TRACE_REPLAY_STATUS,", "", "'TRACE_REPLAY_STATUS' was not declared"),
    refused("    HOST_BUFFER_END_INDEX_T2,", "    HOST_BUFFER_END_INDEX_T2, SPARE,", LOW_WORDS),
    refused("    FW_RESET_L,", "    FW_RESET_L, SPARE = 23, GAP = 49,", LOW_WORDS),
    refused("    FW_RESET_L,", "    FW_RESET_L, SPARE = 13, GAP = 49,", LOW_WORDS),
    refused("    DEVICE_BUFFER_END_INDEX_T2,", "    DEVICE_BUFFER_END_INDEX_T2, SPARE,", HIGH_WORDS),
    refused("    FW_RESET_L,", "    FW_RESET_L, SPARE = 47, GAP = 49,", HIGH_WORDS),
    refused("PROFILER_MAX_RISC_COUNT = 24;", "PROFILER_MAX_RISC_COUNT = 32;", HIGH_WORDS),
    refused("PROFILER_MAX_RISC_COUNT = 24;", "PROFILER_MAX_RISC_COUNT = 16;", LOW_WORDS),
    refused("    HOST_BUFFER_END_INDEX_T0,", "    HOST_BUFFER_END_INDEX_X, HOST_BUFFER_END_INDEX_T0 = 1,", ORDER),
    refused("PROFILER_ID_RISC_BITS = 5;", "PROFILER_ID_RISC_BITS = 6;", GENERATION_BITS),
    refused("PROFILER_ID_TRACE_BITS = 16;", "PROFILER_ID_TRACE_BITS = 17;", GENERATION_BITS),
    refused("    ID_LL,", "    ID_LL, ID_MORE_H, ID_MORE_L,", HEAD),
    refused("    GUARANTEED_MARKER_4_L,", "    GUARANTEED_MARKER_4_L, GUARANTEED_MARKER_5_H, GUARANTEED_MARKER_5_L,", HEAD),
    refused("PROFILER_L1_OPTIONAL_MARKER_COUNT = 250;", "PROFILER_L1_OPTIONAL_MARKER_COUNT = 252;", VECTORS),
    refused("PROFILER_L1_OPTIONAL_MARKER_COUNT = 250;", "PROFILER_L1_OPTIONAL_MARKER_COUNT = 249;", VECTORS),
    refused("PROFILER_L1_MARKER_UINT32_SIZE = 2;", "PROFILER_L1_MARKER_UINT32_SIZE = 3;", "expected markers of two words"),
    read("    RUN_COUNTER,\n    NOC_X,", "    NOC_X,\n    RUN_COUNTER,",
         read_at(ControlLayout { run_counter: 52, noc_x: 51, ..LAYOUT })),
    read("    DROPPED_ZONES,\n    PROFILER_DONE,", "    PROFILER_DONE,\n    DROPPED_ZONES,",
         read_at(ControlLayout { profiler_done: 56, dropped_zones: 57, ..LAYOUT })),
    read("    FLAT_ID,\n    CORE_COUNT_PER_DRAM,", "    CORE_COUNT_PER_DRAM,\n    FLAT_ID,",
         read_at(ControlLayout { cores_per_bank: 54, flat_id: 55, ..LAYOUT })),
    read("    FW_RESET_L,\n    DRAM_PROFILER_ADDRESS_DEFAULT,", "    DRAM_PROFILER_ADDRESS_DEFAULT,\n    FW_RESET_L,",
         read_at(ControlLayout { dram_address: 49, fw_reset_low: 50, ..LAYOUT })),
    read("PROFILER_ID_FLAT_BITS = 8;", "PROFILER_ID_FLAT_BITS = 7;",
         Outcome::Read(Reading { flat_field: (5, 0x7F), ..UNCHANGED })),
    read("PROFILER_ID_TRACE_BITS = 16;", "PROFILER_ID_TRACE_BITS = 15;", read_at(LAYOUT)),
    read("{ ZONE_START, ZONE_END,", "{ NOTHING, ZONE_START, ZONE_END,",
         Outcome::Read(Reading { first_type: 1, ..UNCHANGED })),
    read("PROFILER_L1_OPTIONAL_MARKER_COUNT = 250;", "PROFILER_L1_OPTIONAL_MARKER_COUNT = 248;", read_at(LAYOUT)),
];

/// Writes the changed list to a folder. Returns a target that searches this folder first for
/// included files.
fn changed_target(package: &Package, number: usize, change: &Change) -> Result<Target, String> {
    let list = package.root.join("tt_metal/hw/inc/hostdev/profiler_common.h");
    let text = fs::read_to_string(&list).map_err(|error| error.to_string())?;
    if text.matches(change.from).count() != 1 {
        return Err(format!("{} is not in the list once", change.from));
    }
    let instead = folder("changed_lists").join(number.to_string());
    fs::create_dir_all(instead.join("hostdev")).unwrap();
    let text = text.replace(change.from, change.to);
    fs::write(instead.join("hostdev/profiler_common.h"), text).unwrap();
    let chip = Chip::ALL[number % 2];
    let target = probes::target(chip, Processor::Brisc, Header::Ours, Variant::Plain);
    Ok(Target { instead: Some(instead), ..target })
}

fn check(package: &Package, number: usize, change: &Change) -> Result<(), String> {
    let target = changed_target(package, number, change)?;
    match &change.outcome {
        Outcome::Refused(message) => {
            let source = sources().join("probes.cpp");
            let mut command = target.compiler(package);
            match run(command.args(["-fsyntax-only", "-x", "c++"]).arg(source)) {
                Ok(_) => Err("compiles".to_owned()),
                Err(output) if output.contains(message) => Ok(()),
                Err(output) => Err(format!("is refused otherwise: {output}")),
            }
        }
        Outcome::Read(reading) => {
            let program =
                probes::program_of(package, &target, "probes.cpp", &format!("list-{number}"), 0)?;
            let probes = Probes {
                chip: target.chip,
                header: Header::Ours,
                has_sums: false,
                programs: vec![program],
            };
            check_reading(&probes, reading)
        }
    }
}

/// Runs a launch twice and reads its records with the parameters of the changed list.
fn check_reading(probes: &Probes, reading: &Reading) -> Result<(), String> {
    let Reading { layout, first_type, flat_field: (flat_shift, flat_mask) } = *reading;
    let inner = vec![Step::Data(0x1234), Step::Data16([5, 6]), Step::Event(7)];
    let steps = [Step::Zone(Name::A, inner)];
    let mut core = Core::with_layout(probes.chip, probes, layout);
    let place = core.place_script(0, &script::words(&steps));
    for program in [3, 4] {
        core.launch(&[place], program)?;
    }
    let lane = core.lane(0);
    let run_words = lane.len() / 2;
    for (run, program) in lane.chunks(run_words).zip([3, 4]) {
        let ids = [run[2] & 0x1F, run[2] >> flat_shift & flat_mask, run[3]];
        if ids != [0, FLAT_ID, program] {
            return Err(format!("ID words {ids:?}"));
        }
        let found = records::decode_types_from(run, first_type)?;
        let said: Vec<_> = found.into_iter().skip(4).map(|record| record.said).collect();
        if said != script::said(&steps, false) {
            return Err(format!("reads {said:?}"));
        }
    }
    let words = [
        layout.dram_address,
        layout.flat_id,
        layout.cores_per_bank,
        layout.run_counter,
        layout.profiler_done,
        layout.dropped_zones,
    ];
    let expected = [LANES_ADDRESS, FLAT_ID, CORES_PER_BANK, 2, 1, 0];
    let found = words.map(|word| core.control(word));
    if found != expected {
        return Err(format!("control words {found:?}, expected {expected:?}"));
    }
    Ok(())
}

#[test]
fn a_changed_list_of_upstreams_is_refused_or_read_right() {
    let Some(package) = package() else { return };
    let changes: Vec<_> = CHANGES.iter().enumerate().collect();
    let faults = in_parallel(&changes, |(number, change)| {
        let outcome = check(package, *number, change);
        outcome.err().map(|error| format!("{} for {}: {error}", change.to, change.from))
    });
    let faults: Vec<_> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
