//! Rules for objects that are linked into a kernel, checked with the probes built by `build.rs`.

#[path = "../../sim/tests/unit/object_rules.rs"]
mod object_rules;

use crate::{listing, probes};
use object::{File, Object, ObjectSection, ObjectSymbol};
use object_rules::{broken_rules, calls_elsewhere, is_loaded};
use sim::arch::Arch;
use std::{fs, path::Path};

/// Output folder of the build script.
const OUT: &str = env!("OUT_DIR");

/// An object that breaks every rule.
const BAD: &str = "bad.o";

/// Number of C++ probe objects: four kinds in four variants, and two without the profiler.
const CPP_OBJECTS: usize = 4 * 4 + 2;

#[test]
fn objects_of_probes_keep_the_rules() {
    if !probes::are_there() {
        return;
    }
    let found = broken_rules(OUT, |name| name != BAD);
    assert_eq!(found.broken, [""; 0]);
    let in_cpp = if cfg!(cpp_code) { CPP_OBJECTS } else { 0 };
    // Probes of six variants, each with the objects of the runtime.
    assert!(found.object_count >= 6 + in_cpp, "{}", found.object_count);
}

/// If waits are not recorded, a wait compiles to its polling loop only, with the profiler on or
/// off.
#[test]
fn a_wait_that_nobody_records_is_the_loop_alone() {
    if !probes::are_there() {
        return;
    }
    for is_enabled in [true, false] {
        let image = probes::find(Arch::WormholeB0, false, is_enabled, "probes");
        let code = |name| listing::words(image, name);
        assert!(code("unrecorded_wait").len() >= 3);
        assert_eq!(code("recorded_wait"), code("unrecorded_wait"), "enabled: {is_enabled}");
    }
}

/// Lists the parts of an object that the linker reads.
///
/// The listed parts are the bytes and relocations of each section, and the symbols with their
/// sizes.
fn contents(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).unwrap();
    let file = File::parse(&*bytes).unwrap();
    let sections = file.sections().filter(is_loaded).map(|section| {
        let relocations: Vec<_> = section.relocations().collect();
        format!("{} {:x?} {relocations:?}", section.name().unwrap(), section.data().unwrap())
    });
    let symbols = file
        .symbols()
        .filter(|symbol| symbol.is_global())
        .map(|symbol| format!("{} {}", symbol.name().unwrap(), symbol.size()));
    sections.chain(symbols).collect()
}

#[test]
fn without_the_option_an_object_is_that_of_a_source_without_probes() {
    if !cfg!(cpp_code) {
        return;
    }
    let switched_off = Path::new(OUT).join("wormhole_b0-sums-false-enabled-false");
    let probes = contents(&switched_off.join("cpp_probes.o"));
    assert!(probes.len() > 20, "{probes:#?}");
    assert_eq!(probes, contents(&switched_off.join("cpp_probes_without_header.o")));
}

#[test]
fn an_object_that_breaks_every_rule_is_found_out() {
    if !cfg!(cpp_code) {
        return;
    }
    let found = broken_rules(OUT, |name| name == BAD).broken.join("\n");
    for expected in [
        ".init_array: a section that nobody",
        ".tbss.of_thread: a section that nobody",
        ".srodata.names: a table of addresses",
        ".text.late_high_half+0x4: a low half before its high half",
        ".text.calls_data+0x0: a call to what is no code",
        "a relocation that the loader does not know",
        ".text: functions without a section",
    ] {
        assert!(found.contains(expected), "{expected} is not in\n{found}");
    }
}

/// The header needs no other object at link time, and must not call into the firmware.
///
/// The loader relocates a kernel, but does not adjust the distance of a call into the firmware.
#[test]
fn what_includes_the_header_calls_nothing_elsewhere() {
    if !cfg!(cpp_code) {
        return;
    }
    let found = calls_elsewhere(OUT, |name| name != BAD);
    assert_eq!((found.object_count, found.broken), (CPP_OBJECTS, Vec::new()));
}
