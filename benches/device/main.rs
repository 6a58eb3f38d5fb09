//! What the probes cost on a core, compared with the committed figures and listings.
//!
//! The figures are those of the modelled pipelines. `BLESS=1` writes them anew.

#![allow(clippy::unwrap_used, reason = "tests and what they are made of")]

mod bare_core;
mod cost;
mod cpp;
mod listing;

use bare_core::{BareCore, Cost};
use sim::{
    arch::Arch,
    machine::{
        has_object_code,
        images::{self, Image, Selection},
    },
};
use std::{fmt::Write as _, fs, path::PathBuf};

/// What issue by issue was promised; a core has little room.
mod bar {
    pub(super) const ZONE_INSTRUCTIONS: f64 = 24.0;
    pub(super) const ZONE_CYCLES: [f64; 2] = [30.0, 27.0];
    pub(super) const DATA_CYCLES: f64 = 22.0;
    pub(super) const ZONE_SITE_BYTES: u32 = 120;
    pub(super) const OUT_OF_LINE_MARKER_BYTES: u32 = 24;
    /// Fewer than upstream's.
    pub(super) const FINISH: super::Cost =
        super::Cost { instruction_count: 633, cycle_count: 1045 };
    pub(super) const STACK_BYTES: u32 = 96;
    pub(super) const FIRMWARE_BYTES: usize = 1900;
}

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
fn finish_of_five(arch: Arch) -> Cost {
    let mut core = BareCore::new(arch, image(arch, true, "probes"));
    core.call("open_main", 0);
    core.publish_others(12);
    core.call("finish", 0);
    core.call("open_main", 0);
    core.publish_others(12);
    core.call("finish", 0)
}

/// Bytes per marker where markers are calls.
fn out_of_line_marker_bytes() -> u32 {
    let image = image(Arch::WormholeB0, true, "probes-out-of-line");
    let size = |name| image.symbol(name).unwrap().size_bytes;
    (size("zone_sites_8") - size("zone_sites_1")).div_ceil(7 * 2)
}

/// Most stack that each call needs on the aggregating RISC, whatever happens in it. Measured:
/// the stack is filled with a pattern before each call.
fn stacks(arch: Arch) -> Vec<(&'static str, u32)> {
    let mut core = BareCore::new(arch, image(arch, true, "sums"));
    let mut stacks = vec![("open", core.stack_bytes("open_main", 0))];
    for probe in PROBES {
        stacks.push((probe, core.stack_bytes(probe, 150)));
    }
    stacks.push(("quick push", core.stack_bytes("quick_push", 0)));
    core.publish_others(512);
    stacks.push(("finish", core.stack_bytes("finish", 0)));
    core.publish_others(512);
    stacks.push(("open, runs came late", core.stack_bytes("open_main", 0)));
    core.call("zone", 150);
    core.publish_others(512);
    core.lose_others(3);
    stacks.push(("finish, L1 was full", core.stack_bytes("finish", 0)));
    core.set_control(wire::control::ext::DRAM_LANE_WORDS, 2400);
    for name in ["finish, DRAM gets full", "finish, DRAM is full", "finish, DRAM was full"] {
        let open = core.stack_bytes("open_main", 0);
        core.call("zone", 150);
        core.publish_others(512);
        let finish = core.stack_bytes("finish", 0);
        stacks.extend([("open, DRAM gets full", open), (name, finish)]);
    }
    stacks
}

/// Bytes that the profiler adds to BRISC's firmware.
fn profiler_bytes_of_firmware(arch: Arch) -> usize {
    let without = image(Arch::WormholeB0, false, "firmware").loaded_bytes();
    image(arch, true, "firmware").loaded_bytes() - without
}

fn report(arch: Arch) -> String {
    let mut report = format!("{arch}\n\nprobe  instructions  cycles\n");
    for probe in PROBES {
        let (instructions, cycles) = cost_per_pass(arch, probe);
        writeln!(report, "{probe:<6} {instructions:>12.1} {cycles:>7.1}").unwrap();
    }
    let finish = finish_of_five(arch);
    writeln!(report, "\nzone call site: {} bytes", zone_site_bytes(arch)).unwrap();
    writeln!(report, "marker out of line: {} bytes", out_of_line_marker_bytes()).unwrap();
    writeln!(
        report,
        "finish of five RISCs: {} instructions, {} cycles",
        finish.instruction_count, finish.cycle_count
    )
    .unwrap();
    let added = profiler_bytes_of_firmware(arch);
    writeln!(report, "profiler in BRISC's firmware: {added} bytes\n\nstack in bytes").unwrap();
    for (name, bytes) in stacks(arch) {
        writeln!(report, "{name:<24} {bytes:>4}").unwrap();
    }
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
fn every_bar_holds() {
    if !has_object_code() {
        return;
    }
    for (arch, zone_cycles) in Arch::ALL.into_iter().zip(bar::ZONE_CYCLES) {
        let (instructions, cycles) = cost_per_pass(arch, "zone");
        assert!(instructions <= bar::ZONE_INSTRUCTIONS, "{arch}: {instructions}");
        assert!(cycles <= zone_cycles, "{arch}: {cycles}");
        let (_, cycles) = cost_per_pass(arch, "data");
        assert!(cycles <= bar::DATA_CYCLES, "{arch}: {cycles}");
        let finish = finish_of_five(arch);
        assert!(finish.instruction_count <= bar::FINISH.instruction_count, "{finish:?}");
        assert!(finish.cycle_count <= bar::FINISH.cycle_count, "{finish:?}");
        assert!(zone_site_bytes(arch) <= bar::ZONE_SITE_BYTES, "{arch}");
        for (name, bytes) in stacks(arch) {
            assert!(bytes <= bar::STACK_BYTES, "{arch}: {name} takes {bytes} bytes");
        }
        let added = profiler_bytes_of_firmware(arch);
        assert!(added <= bar::FIRMWARE_BYTES, "{arch}: {added}");
    }
    assert!(out_of_line_marker_bytes() <= bar::OUT_OF_LINE_MARKER_BYTES);
}

/// The tables of costs in the README and the runtime's documentation have today's figures.
#[test]
fn documented_costs_are_the_measured_ones() {
    if !has_object_code() {
        return;
    }
    let [wormhole, blackhole] = Arch::ALL;
    let mut rows = Vec::new();
    for (probe, label, words) in [
        ("zone", "zone, open and close", 4),
        ("data", "64 bits of data", 4),
        ("event", "event", 2),
        ("sum", "sum zone", 0),
    ] {
        let (instructions, cycles) = cost_per_pass(wormhole, probe);
        let (_, on_blackhole) = cost_per_pass(blackhole, probe);
        rows.push(format!("| {label} | {words} | {instructions} | {cycles} | {on_blackhole} |"));
    }
    let [finish, on_blackhole] = Arch::ALL.map(finish_of_five);
    let (instructions, cycles) = (finish.instruction_count, finish.cycle_count);
    let on_blackhole = on_blackhole.cycle_count;
    rows.push(format!(
        "| end of a launch, five RISCs | | {instructions} | {cycles} | {on_blackhole} |"
    ));
    let added = profiler_bytes_of_firmware(wormhole);
    let deepest = stacks(wormhole).into_iter().map(|(_, bytes)| bytes).max().unwrap();
    rows.push(format!("| bytes of a zone's call site | {} |", zone_site_bytes(wormhole)));
    rows.push(format!("| bytes of a marker out of line | {} |", out_of_line_marker_bytes()));
    rows.push(format!("| bytes of stack, at most | {deepest} |"));
    rows.push(format!("| bytes in BRISC's firmware | {added} |"));
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    for (file, mark) in [("kernel-profiler/src/lib.rs", "//! "), ("README.md", "")] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        for row in &rows {
            let line = format!("{mark}{row}");
            assert!(text.lines().any(|found| found == line), "{file} lacks {line}");
        }
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
