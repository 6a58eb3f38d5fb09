//! What the probes cost on a core, compared with the committed figures and listings.
//!
//! The figures are those of the modelled pipelines. `BLESS=1` writes them anew.

#![allow(clippy::unwrap_used, reason = "tests and what they are made of")]

mod bare_core;
mod cost;
mod cpp;
mod listing;

use bare_core::BareCore;
use sim::{
    arch::Arch,
    machine::{
        has_object_code,
        images::{self, Image, Selection},
    },
};
use std::{fmt::Write as _, fs, path::PathBuf};

/// Probes that are measured in a loop.
const PROBES: [&str; 4] = ["zone", "data", "event", "sum"];

fn image(arch: Arch, is_enabled: bool, part: &str) -> &'static Image {
    let selection = Selection { arch, has_sums: is_enabled && part == "sums", is_enabled };
    let part = if part == "sums" { "probes" } else { part };
    images::find(selection, part, "brisc").expect("the build has every image")
}

/// Instructions and cycles of one pass of a probe's loop, without the loop.
fn cost_per_pass(arch: Arch, probe: &str) -> (f64, f64) {
    let part = if probe == "sum" { "sums" } else { "probes" };
    cost::per_pass(arch, image(arch, true, part), probe)
}

fn zone_site_bytes(arch: Arch) -> u32 {
    let size = |name| image(arch, true, "probes").symbol(name).unwrap().size_bytes;
    (size("zone_sites_8") - size("zone_sites_1")).div_ceil(7)
}

/// What the aggregating RISC does at the end of a launch in which all five have published.
fn finish_of_five(arch: Arch) -> bare_core::Cost {
    let mut core = BareCore::new(arch, image(arch, true, "probes"));
    core.call("open_main", 0);
    core.publish_others(12);
    core.call("finish", 0);
    core.call("open_main", 0);
    core.publish_others(12);
    core.call("finish", 0)
}

fn deepest_stack(arch: Arch) -> u32 {
    let mut core = BareCore::new(arch, image(arch, true, "probes"));
    core.call("open_main", 0);
    for probe in PROBES {
        core.call(probe, 150);
    }
    core.publish_others(512);
    core.call("finish", 0);
    core.stack_bytes_used()
}

fn profiler_bytes_of_firmware(arch: Arch) -> usize {
    let enabled = image(arch, true, "firmware").loaded_bytes();
    enabled - image(Arch::WormholeB0, false, "firmware").loaded_bytes()
}

fn report(arch: Arch) -> String {
    let mut report = format!("{arch}\n\nprobe  instructions  cycles\n");
    for probe in PROBES {
        let (instructions, cycles) = cost_per_pass(arch, probe);
        writeln!(report, "{probe:<6} {instructions:>12.1} {cycles:>7.1}").unwrap();
    }
    let finish = finish_of_five(arch);
    writeln!(report, "\nzone call site: {} bytes", zone_site_bytes(arch)).unwrap();
    writeln!(
        report,
        "finish of five RISCs: {} instructions, {} cycles",
        finish.instruction_count, finish.cycle_count
    )
    .unwrap();
    writeln!(report, "deepest stack: {} bytes", deepest_stack(arch)).unwrap();
    let bytes = profiler_bytes_of_firmware(arch);
    writeln!(report, "profiler in BRISC's firmware: {bytes} bytes").unwrap();
    report
}

/// Compares with a committed file, or writes it.
fn compare(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("device").join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(expected, actual, "{name} has changed; if that is wanted, run with BLESS=1");
}

#[test]
fn costs_are_the_committed_ones() {
    if !has_object_code() {
        return;
    }
    for arch in Arch::ALL {
        compare(&format!("{arch}.txt"), &report(arch));
    }
}

#[test]
fn listings_are_the_committed_ones() {
    if !has_object_code() {
        return;
    }
    for probe in PROBES {
        let part = if probe == "sum" { "sums" } else { "probes" };
        let image = image(Arch::WormholeB0, true, part);
        compare(&format!("{probe}.s"), &listing::of(image, probe));
    }
}

#[test]
fn the_hot_path_keeps_its_promises() {
    if !has_object_code() {
        return;
    }
    for (arch, zone_cycles) in [(Arch::WormholeB0, 30.0), (Arch::Blackhole, 27.0)] {
        let (instructions, cycles) = cost_per_pass(arch, "zone");
        assert!(instructions <= 24.0 && cycles <= zone_cycles, "{instructions} {cycles}");
        let (_, cycles) = cost_per_pass(arch, "data");
        assert!(cycles <= 22.0, "{cycles}");
    }
}

/// A disabled build is, byte for byte, one that has never heard of the profiler.
#[test]
fn a_disabled_probe_leaves_no_byte() {
    if !has_object_code() {
        return;
    }
    let image = image(Arch::WormholeB0, false, "probes");
    let code = |name| listing::words(image, name);
    for probe in PROBES {
        assert_eq!(code(probe), code("nothing"), "{probe}");
    }
    assert!(image.zones.is_empty());
}
