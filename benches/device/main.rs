//! Cost of the probes on a core, compared with the committed figures and listings.
//!
//! The figures come from the modelled pipelines. `BLESS=1` regenerates the committed figures.

#![allow(clippy::unwrap_used, reason = "tests and what they are made of")]

mod bare_core;
mod cost;
mod cpp;
mod link_rules;
mod listing;
mod probes;

use bare_core::{BareCore, Cost};
use sim::{
    arch::Arch,
    machine::images::{self, ParsedImage, Selection},
};
use std::{fmt::Write as _, fs, path::PathBuf};

/// Upper limits of the costs, as stated in the project's issues.
mod bar {
    /// Name of a probe, maximum instructions, and maximum cycles on Wormhole and on Blackhole.
    pub(super) type Row = (&'static str, f64, [f64; 2]);
    pub(super) const PROBES: [Row; 4] = [
        ("zone", 23.0, [29.0, 27.0]),
        ("data", 15.0, [20.0, 16.0]),
        ("sum", 8.0, [13.0, 11.0]),
        ("kernel_zone", 12.0, [23.0, 23.0]),
    ];
    /// Maximum instructions and cycles to begin a launch on BRISC, for each architecture. BRISC
    /// pushes the records of all RISCs of its core.
    ///
    /// `FINISH` is the limit for the launch's end. `BEGIN_OWN` and `FINISH_OWN` are limits for the
    /// other RISCs.
    pub(super) const BEGIN: [(u64, u64); 2] = [(40, 110), (60, 70)];
    pub(super) const BEGIN_OWN: (u64, [u64; 2]) = (10, [10, 10]);
    pub(super) const FINISH: (u64, [u64; 2]) = (310, [530, 470]);
    pub(super) const FINISH_OWN: (u64, [u64; 2]) = (19, [31, 34]);
    pub(super) const ZONE_SITE_BYTES: u32 = 112;
    pub(super) const OUT_OF_LINE_MARKER_BYTES: u32 = 24;
    pub(super) const STACK_BYTES: u32 = 176;
    /// Maximum bytes that the profiler adds to the firmware of each processor. Only BRISC has code
    /// that pushes records.
    pub(super) const FIRMWARE_BYTES: [(&str, usize); 3] =
        [("brisc", 2944), ("ncrisc", 500), ("trisc0", 500)];
}

/// Probes measured in a loop; they leave no zone open.
const PROBES: [&str; 7] = ["zone", "data", "data_16b", "event", "noc_event", "sum", "kernel_zone"];

fn image(arch: Arch, is_enabled: bool, part: &str) -> &'static ParsedImage {
    let has_sums = is_enabled && part == "sums";
    probes::find(arch, has_sums, is_enabled, if part == "sums" { "probes" } else { part })
}

/// Returns the image that contains a probe.
///
/// If sums are not recorded, a sum zone compiles to nothing. The kernel zone is in the image with
/// sums, because a second caller in the other image would change the inlining that `finish_of_five`
/// measures.
fn image_of(arch: Arch, probe: &str) -> &'static ParsedImage {
    let part = if ["sum", "kernel_zone"].contains(&probe) { "sums" } else { "probes" };
    image(arch, true, part)
}

/// Returns instructions and cycles of one pass of a probe's loop, without the loop itself.
fn cost_per_pass(arch: Arch, probe: &str) -> (f64, f64) {
    cost::per_pass(arch, image_of(arch, probe), probe)
}

/// Returns the bytes of one additional call site of a probe, without the code that the probe
/// measures.
fn site_bytes(image: &ParsedImage, probe: &str) -> u32 {
    let size = |name: &str| image.symbol(name).expect("call sites").size_bytes;
    let seven = |probe| size(&format!("{probe}_sites_8")) - size(&format!("{probe}_sites_1"));
    (seven(probe) - seven("nothing")).div_ceil(7)
}

fn zone_site_bytes(arch: Arch) -> u32 {
    site_bytes(image_of(arch, "zone"), "zone")
}

/// Makes a core on which a launch has ended.
fn core_after_a_launch(arch: Arch) -> BareCore {
    let mut core = BareCore::new(arch, image(arch, true, "probes"));
    core.call("open_main", 0);
    core.publish_others(12);
    core.call("finish", 0);
    core
}

/// Measures the beginning of a launch on BRISC, after a launch that has ended.
fn begin_of_launch(arch: Arch) -> Cost {
    core_after_a_launch(arch).call("open_main", 0)
}

/// Measures the end of a launch on BRISC, after all five RISCs have published.
fn finish_of_five(arch: Arch) -> Cost {
    let mut core = core_after_a_launch(arch);
    core.call("open_main", 0);
    core.publish_others(12);
    core.call("finish", 0)
}

/// Returns the number of bytes per marker if each marker is a function call.
fn out_of_line_marker_bytes() -> u32 {
    let image = image(Arch::WormholeB0, true, "probes-out-of-line");
    site_bytes(image, "zone").div_ceil(2)
}

/// Measures the beginning of a launch on a RISC other than BRISC.
fn begin_of_own(arch: Arch) -> Cost {
    BareCore::new(arch, image(arch, true, "probes")).call("begin_own", 0)
}

/// Measures the end of a launch on a RISC other than BRISC.
fn finish_of_own(arch: Arch) -> Cost {
    let mut core = BareCore::new(arch, image(arch, true, "probes"));
    core.call("begin_own", 0);
    core.call("finish_own", 0)
}

/// Measures the maximum stack of each call on BRISC, in all cases.
///
/// The stack is filled with a pattern before each call.
fn stacks(arch: Arch) -> Vec<(&'static str, u32)> {
    let mut core = BareCore::new(arch, image(arch, true, "sums"));
    let mut stacks = vec![("open, lanes taken back", core.stack_bytes("open_main", 0))];
    // A NoC event pushes when the buffer is full; the quick push below measures this.
    for probe in PROBES.into_iter().filter(|probe| *probe != "noc_event") {
        stacks.push((probe, core.stack_bytes(probe, 150)));
    }
    stacks.push(("quick push", core.stack_bytes("quick_push", 0)));
    core.publish_others(512);
    stacks.push(("finish", core.stack_bytes("finish", 0)));
    stacks.push(("open", core.stack_bytes("open_main", 0)));
    core.set_control(wire::control::ext::SCRATCH, 0b11111);
    core.publish_others(0);
    stacks.push(("finish, runs are late", core.stack_bytes("finish", 0)));
    core.set_control(wire::control::ext::DRAM_LANE_WORDS, 1200);
    for name in ["finish, DRAM gets full", "finish, DRAM is full", "finish, DRAM was full"] {
        core.call("open_main", 0);
        core.call("zone", 150);
        core.publish_others(512);
        stacks.push((name, core.stack_bytes("finish", 0)));
    }
    assert!(core.control(wire::control::ext::REFUSED_RUNS) >= 2, "DRAM was full");
    assert_ne!(core.control(wire::control::ext::LATE_RUNS), 0, "runs were late");
    stacks
}

/// Returns the bytes that the profiler adds to the firmware of a processor.
fn profiler_bytes_of_firmware(arch: Arch, processor: &str) -> usize {
    let image = images::find(Selection::new(arch, false), "firmware", processor);
    let without = probes::firmware_without_profiler(processor).loaded_bytes();
    image.expect("the build has every image").loaded_bytes() - without
}

fn report(arch: Arch) -> String {
    let mut report = format!("{arch}\n\n{}", probe_table(arch));
    let marker = out_of_line_marker_bytes();
    let added = |processor| profiler_bytes_of_firmware(arch, processor);
    write!(
        report,
        "\nmarker out of line: {marker} bytes\nprofiler in BRISC's firmware: {} bytes\n\
         profiler in NCRISC's firmware: {} bytes\n\nstack in bytes\n",
        added("brisc"),
        added("ncrisc"),
    )
    .unwrap();
    for (name, bytes) in stacks(arch) {
        writeln!(report, "{name:<24} {bytes:>4}").unwrap();
    }
    report
}

/// Returns a table with the time of each probe and the code size of its call site.
///
/// The cost of a zone's end is the cost of the whole zone minus the cost of the zone's beginning.
fn probe_table(arch: Arch) -> String {
    let mut table = String::from("probe                        instructions  cycles  call site\n");
    let mut row = |label: &str, (instructions, cycles): (f64, f64), site_bytes: Option<u32>| {
        let site = site_bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        writeln!(table, "{label:<28} {instructions:>12.1} {cycles:>7.1} {site:>10}").unwrap();
    };
    for probe in PROBES {
        let has_sites = probe != "kernel_zone";
        let site = has_sites.then(|| site_bytes(image_of(arch, probe), probe));
        let cost = cost_per_pass(arch, probe);
        row(probe, cost, site);
        if probe == "zone" {
            let open = cost_per_pass(arch, "open");
            let open_site = site_bytes(image_of(arch, "open"), "open");
            row("zone, open", open, Some(open_site));
            let close_site = site.map(|whole| whole.saturating_sub(open_site));
            row("zone, close", (cost.0 - open.0, cost.1 - open.1), close_site);
        }
    }
    for (label, Cost { instruction_count, cycle_count }) in [
        ("begin of a launch", begin_of_launch(arch)),
        ("begin, other RISCs", begin_of_own(arch)),
        ("end of a launch, five RISCs", finish_of_five(arch)),
        ("end, other RISCs", finish_of_own(arch)),
    ] {
        row(label, (instruction_count as f64, cycle_count as f64), None);
    }
    table
}

/// Compares a text with a committed file, or writes the file.
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
    if !probes::are_there() {
        return;
    }
    for arch in Arch::ALL {
        compare(&format!("{arch}.txt"), &report(arch));
    }
}

#[test]
fn listings_are_the_committed_ones() {
    if !probes::are_there() {
        return;
    }
    for probe in PROBES.into_iter().chain(["open"]) {
        compare(
            &format!("{probe}.s"),
            &listing::disassemble(image_of(Arch::WormholeB0, probe), probe),
        );
    }
}

#[test]
fn every_bar_holds() {
    if !probes::are_there() {
        return;
    }
    let holds = |cost: Cost, instructions: u64, cycles: u64, what: &str| {
        assert!(
            cost.instruction_count <= instructions && cost.cycle_count <= cycles,
            "{what}: {cost:?}, promised {instructions} and {cycles}"
        );
    };
    for (index, arch) in Arch::ALL.into_iter().enumerate() {
        for (probe, instructions, cycles) in bar::PROBES {
            let found = cost_per_pass(arch, probe);
            assert!(
                found.0 <= instructions && found.1 <= cycles[index],
                "{arch} {probe}: {found:?}"
            );
        }
        let (instructions, cycles) = bar::BEGIN[index];
        holds(begin_of_launch(arch), instructions, cycles, "begin");
        for (found, (instructions, cycles), what) in [
            (begin_of_own(arch), bar::BEGIN_OWN, "begin of others"),
            (finish_of_five(arch), bar::FINISH, "finish"),
            (finish_of_own(arch), bar::FINISH_OWN, "finish of others"),
        ] {
            holds(found, instructions, cycles[index], what);
        }
        assert!(zone_site_bytes(arch) <= bar::ZONE_SITE_BYTES, "{arch}");
        for (name, bytes) in stacks(arch) {
            assert!(bytes <= bar::STACK_BYTES, "{arch}: {name} takes {bytes} bytes");
        }
        for (processor, bytes) in bar::FIRMWARE_BYTES {
            let added = profiler_bytes_of_firmware(arch, processor);
            assert!(added <= bytes, "{arch} {processor}: {added}");
        }
    }
    assert!(out_of_line_marker_bytes() <= bar::OUT_OF_LINE_MARKER_BYTES);
}

/// The cost tables in docs/costs.md and in the runtime's documentation contain the current figures.
#[test]
fn documented_costs_are_the_measured_ones() {
    if !probes::are_there() {
        return;
    }
    let [wormhole, blackhole] = Arch::ALL;
    let mut rows = Vec::new();
    for (probe, label, words) in [
        ("zone", "zone, open and close", 4),
        ("data", "64 bits of data", 4),
        ("data_16b", "128 bits of data", 6),
        ("event", "event", 2),
        ("noc_event", "NoC event", 4),
        ("sum", "sum zone", 0),
        ("kernel_zone", "kernel's zone, open and close", 0),
    ] {
        let (instructions, cycles) = cost_per_pass(wormhole, probe);
        let (_, on_blackhole) = cost_per_pass(blackhole, probe);
        rows.push(format!("| {label} | {words} | {instructions} | {cycles} | {on_blackhole} |"));
    }
    for (label, of) in [
        ("beginning of a launch", begin_of_launch as fn(Arch) -> Cost),
        ("beginning, other RISCs", begin_of_own),
        ("end of a launch, five RISCs", finish_of_five),
        ("end, other RISCs", finish_of_own),
    ] {
        let [Cost { instruction_count, cycle_count }, on_blackhole] = Arch::ALL.map(of);
        let on_blackhole = on_blackhole.cycle_count;
        rows.push(format!("| {label} | | {instruction_count} | {cycle_count} | {on_blackhole} |"));
    }
    let added = |processor| profiler_bytes_of_firmware(wormhole, processor);
    let deepest = stacks(wormhole).into_iter().map(|(_, bytes)| bytes).max().unwrap();
    rows.push(format!("| bytes of a zone's call site | {} |", zone_site_bytes(wormhole)));
    rows.push(format!("| bytes of a marker out of line | {} |", out_of_line_marker_bytes()));
    rows.push(format!("| bytes of stack, at most | {deepest} |"));
    rows.push(format!("| bytes in BRISC's firmware | {} |", added("brisc")));
    rows.push(format!("| bytes in NCRISC's firmware | {} |", added("ncrisc")));
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    for (file, mark) in [("kernel-profiler/src/lib.rs", "//! "), ("docs/costs.md", "")] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        for row in &rows {
            let line = format!("{mark}{row}");
            assert!(text.lines().any(|found| found == line), "{file} lacks {line}");
        }
    }
}

/// A disabled build is byte for byte equal to a build of a source without the profiler.
#[test]
fn a_disabled_probe_leaves_no_byte() {
    if !probes::are_there() {
        return;
    }
    let image = image(Arch::WormholeB0, false, "probes");
    let code = |name| listing::words(image, name);
    for probe in PROBES.into_iter().filter(|probe| *probe != "kernel_zone").chain(["open"]) {
        assert_eq!(code(probe), code("nothing"), "{probe}");
    }
    assert!(image.zones.is_empty());
}
