//! Properties of all explanations, over generated files and over the recordings in the repository.

use super::{explain_log, explain_ops};
use captures::{capture_path, log_of_json, log_path};
use causes::{Cause, Explanation, Window};
use recording::device_log::PackedLog;
use reports::perf::{PerfReport, read_ops_csv};
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write, path::Path};

/// Largest percentage that inexact peaks, clocks and durations explain.
const MOST_PERCENT: f64 = 105.0;

/// Facts about a file, which the generator or a second reading of the file knows.
#[derive(Debug, Default)]
struct Truth {
    /// Number of ops.
    op_count: u64,
    /// Number of ops without a length.
    unknown_count: u64,
    /// For each chip, the nanoseconds from its first start to its last end.
    spans_ns: BTreeMap<u32, f64>,
}

/// Pseudorandom numbers (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let at = self.below(of.len() as u64);
        of[usize::try_from(at).unwrap()]
    }
}

/// Returns every text of a JSON value, and every number of a key that ends with `percent`.
fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>, percents: &mut Vec<(&'a str, f64)>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|of| collect(of, texts, percents)),
        Value::Object(fields) => {
            for (key, field) in fields {
                if let Some(number) = field.as_f64().filter(|_| key.ends_with("percent")) {
                    percents.push((key, number));
                }
                collect(field, texts, percents);
            }
        }
        _ => {}
    }
}

/// Returns the numbers before each occurrence of a unit.
fn numbers_before<'a>(text: &'a str, unit: &'a str) -> impl Iterator<Item = f64> + 'a {
    text.match_indices(unit).filter_map(|(at, _)| {
        let before = text[..at].trim_end();
        let from = before.rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |at| at + 1);
        before[from..].parse().ok()
    })
}

/// Asserts the properties of an explanation, and of the sentences that a user reads.
fn assert_claims(explanation: &Explanation, truth: &Truth, what: &str) {
    let json = serde_json::to_value(explanation).unwrap();
    let (mut texts, mut percents) = (Vec::new(), Vec::new());
    collect(&json, &mut texts, &mut percents);
    for (key, percent) in percents {
        assert!(
            (-0.01..=MOST_PERCENT).contains(&percent),
            "{what}: {key} {percent}: {explanation:?}"
        );
    }
    let gains = explanation.findings.iter().map(|finding| explanation.gain_text(finding));
    let gains: Vec<String> = gains.collect();
    for text in texts.into_iter().chain(gains.iter().map(String::as_str)) {
        for percent in numbers_before(text, " %") {
            // More than 100 % late is a comparison and not a share.
            let compares = text.contains(" late in ") || text.contains("longer than the other");
            assert!(percent <= MOST_PERCENT || compares, "{what}: {text}");
        }
        for word in ["all ", "each of "] {
            let mut after = text.match_indices(word).map(|(at, _)| &text[at + word.len()..]);
            let counts = after.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            assert!(!counts, "{what}: counts without saying of how many: {text}");
        }
    }
    for finding in &explanation.findings {
        let basis = finding.rests_on;
        assert!(basis.count > 0 && basis.count <= basis.of, "{what}: {finding:?}");
        let is_of_host = finding.cause == Cause::HostOps;
        assert!(basis.of <= truth.op_count || is_of_host, "{what}: {truth:?}: {finding:?}");
    }
    for untold in explanation.untold.iter().filter(|of| of.question == "how long every op took") {
        let start = format!("{} of {} ", truth.unknown_count, truth.op_count);
        assert!(untold.reason.starts_with(&start), "{what}: {truth:?}: {untold:?}");
    }
    let says_none = explanation
        .no_cause
        .as_ref()
        .is_some_and(|no_cause| no_cause.sentence.starts_with("No op has a known duration"));
    assert!(
        !says_none || truth.unknown_count == truth.op_count,
        "{what}: {truth:?}: {explanation:?}"
    );
    for device in &explanation.devices {
        let Some(span_ns) = device.chip_id.and_then(|chip| truth.spans_ns.get(&chip)) else {
            continue;
        };
        let elapsed = device.time.total_ns.unwrap_or(0) as f64;
        assert!(elapsed <= span_ns + 1.0, "{what}: {elapsed} of {span_ns} ns: {device:?}");
        let shares: f64 = device.time.shares.iter().filter_map(|share| share.ns).sum();
        assert!(shares <= span_ns + 1.0, "{what}: {shares} of {span_ns} ns: {device:?}");
    }
}

/// Names of ops: with a model, in place, with contents that decide, unknown.
const NAMES: [&str; 10] = [
    "MatmulDeviceOperation",
    "SdpaDecodeDeviceOperation",
    "SDPAOperation",
    "PagedUpdateCacheDeviceOperation",
    "EmbeddingsDeviceOperation",
    "TransposeDeviceOperation",
    "BinaryNgDeviceOperation",
    "SoftmaxDeviceOperation",
    "AllGatherDeviceOperation",
    "OpOfTomorrow",
];

/// Returns the titles of the generated ops CSVs.
fn titles() -> String {
    let mut text =
        "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,MATH FIDELITY,CORE COUNT,\
        AVAILABLE WORKER CORE COUNT,HOST START TS,DEVICE FW START CYCLE,DEVICE FW END CYCLE,\
        OP TO OP LATENCY [ns],DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns],PM COMPUTE [ns]"
            .to_owned();
    for tensor in ["INPUT_0", "INPUT_1", "INPUT_2", "OUTPUT_0"] {
        for side in ["W", "Z", "Y", "X"] {
            write!(text, ",{tensor}_{side}_PAD[LOGICAL]").unwrap();
        }
        write!(text, ",{tensor}_DATATYPE,{tensor}_MEMORY").unwrap();
    }
    text.push('\n');
    text
}

/// Returns an ops CSV: iterations of the same ops, with ops that overlap, lengths that are missing,
/// and times that the shapes contradict.
fn ops_csv(seed: u64) -> (String, Truth) {
    let mut numbers = Numbers(seed);
    let (op_count, iterations) = (1 + numbers.below(5), 1 + numbers.below(5));
    let has_cycles = numbers.below(4) > 0;
    let missing = numbers.below(3);
    let overlap = numbers.below(2) * numbers.below(40_000);
    let mhz = 1_000 + 350 * numbers.below(2);
    let ghz = mhz as f64 / 1e3;
    let ops: Vec<_> = (0..op_count)
        .map(|_| {
            let mut tensor = || {
                let side = |numbers: &mut Numbers| 32 << numbers.below(7);
                let memory = numbers.one_of(&["DEV_0_DRAM_INTERLEAVED", "DEV_0_L1_INTERLEAVED"]);
                let datatype = numbers.one_of(&["BFLOAT16", "BFLOAT8_B", "INT32"]);
                format!(
                    "1,{},{},{},{datatype},{memory}",
                    side(&mut numbers),
                    side(&mut numbers),
                    side(&mut numbers)
                )
            };
            let tensors = [(); 4].map(|()| tensor()).join(",");
            let name = numbers.one_of(&NAMES);
            let compute = 1 + numbers.below(2) * numbers.below(200_000);
            (name, tensors, 2_000 + numbers.below(100_000), compute)
        })
        .collect();
    let mut text = titles();
    let mut truth = Truth { op_count: op_count * iterations, ..Truth::default() };
    let (mut start, mut last_end, mut are_known) = (1_000_000_u64, 0, has_cycles);
    for number in 0..op_count * iterations {
        let (name, tensors, kernel_ns, compute) = &ops[usize::try_from(number % op_count).unwrap()];
        let kernel_ns = kernel_ns + numbers.below(500);
        let is_missing = missing > 0 && numbers.below(4) < missing;
        let cycles = (kernel_ns + 600) * mhz / 1_000;
        let end = start + cycles;
        let shown = |value: String| if is_missing { String::new() } else { value };
        let cycle = |value: u64| if has_cycles { shown(value.to_string()) } else { String::new() };
        writeln!(
            text,
            "{name},tt_dnn_device,{},0,wormhole_b0,HiFi2,{},64,{number},{},{},{},{},{},{compute},{tensors}",
            1024 * (number + 1),
            1 + numbers.below(64),
            cycle(start),
            cycle(end),
            shown(if number == 0 { "0".into() } else { "1400".into() }),
            shown(format!("{}", cycles as f64 / ghz)),
            shown(kernel_ns.to_string()),
        )
        .unwrap();
        if is_missing {
            truth.unknown_count += 1;
            are_known = false;
        } else {
            last_end = last_end.max(end);
        }
        start = (end + 1_400).saturating_sub(overlap).max(start);
    }
    if are_known {
        let span = (last_end - 1_000_000) as f64 / ghz;
        truth.spans_ns.insert(0, span);
    }
    (text, truth)
}

/// Returns a device log: launches on a few cores, with zones and sums of their authors, with or
/// without firmware, side by side, and cut.
fn device_log(seed: u64) -> (String, Truth) {
    let mut numbers = Numbers(seed);
    let (programs, iterations, cores) =
        (1 + numbers.below(3), 1 + numbers.below(4), 1 + numbers.below(4));
    let has_firmware = numbers.below(3) > 0;
    let overlap = numbers.below(2) * numbers.below(3_000);
    let lengths: Vec<u64> = (0..programs).map(|_| 1_000 + numbers.below(20_000)).collect();
    let mut rows = Vec::new();
    let (mut start, mut id_of_zone) = (10_000_u64, BTreeMap::new());
    for launch in 0..programs * iterations {
        let program = launch % programs;
        let length = lengths[usize::try_from(program).unwrap()];
        let first_core = 1 + cores * (program % 2);
        let skew = numbers.below(2) * numbers.below(length / 2);
        for core in 0..cores {
            let begin = start + skew * core / cores;
            for risc in ["BRISC", "NCRISC", "TRISC_1"] {
                let family = risc.trim_end_matches("_1");
                let mut zone = |name: &str, edge: &str, time: u64, data: u64| {
                    let count = id_of_zone.len() as u64;
                    let id = *id_of_zone.entry(name.to_owned()).or_insert(count + 100);
                    rows.push((
                        time,
                        format!(
                            "0,{},2,{risc},{id},{time},{data},{},{name},{edge}",
                            first_core + core,
                            1024 * (program + 1)
                        ),
                    ));
                };
                let end = start + length;
                if has_firmware {
                    zone(&format!("{family}-FW"), "ZONE_START", begin, 0);
                }
                zone(&format!("{family}-KERNEL"), "ZONE_START", begin + 50, 0);
                zone("DRAM-READ", "ZONE_START", begin + 60, 0);
                zone("DRAM-READ", "ZONE_END", begin + 60 + (length - skew) / 2, 0);
                zone("WAIT_IN", "ZONE_TOTAL", end + 39, (end - begin) / 3);
                zone(&format!("{family}-KERNEL"), "ZONE_END", end + 40, 0);
                if has_firmware {
                    zone(&format!("{family}-FW"), "ZONE_END", end + 90, 0);
                }
            }
        }
        start = (start + length + 500 + numbers.below(9_000)).saturating_sub(overlap);
    }
    let all = rows.iter().map(|(time, _)| *time);
    let cut = match numbers.below(3) {
        0 => all.clone().max().unwrap() - numbers.below(lengths[0]),
        _ => u64::MAX,
    };
    rows.retain(|(time, _)| *time <= cut);
    let times: Vec<u64> = rows.iter().map(|(time, _)| *time).collect();
    let span = times.iter().max().unwrap() - times.iter().min().unwrap();
    let mut text =
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC processor type,\
        timer_id,time[cycles since reset],data,run host ID,zone name,type\n"
            .to_owned();
    rows.iter().for_each(|(_, row)| writeln!(text, "{row}").unwrap());
    // 1000 MHz: one cycle is one nanosecond.
    let spans_ns = BTreeMap::from([(0, span as f64)]);
    (text, Truth { op_count: programs * iterations, unknown_count: 0, spans_ns })
}

fn check_ops(seed: u64) {
    let (text, truth) = ops_csv(seed);
    let found = explain_ops(&text);
    let what = format!("KPROF_CLAIMS_SEED={seed} (ops CSV)");
    assert_claims(&found, &truth, &what);
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
    let json = serde_json::to_value(&report.rows).unwrap();
    let (mut texts, mut percents) = (Vec::new(), Vec::new());
    collect(&json, &mut texts, &mut percents);
    for (key, percent) in percents {
        assert!(percent <= MOST_PERCENT, "{what}: {key} {percent}");
    }
    // The steady part has lengths, if any iteration has.
    let has_lengths = report.rows.iter().any(|row| row.device_time_us.is_some());
    assert_eq!(!found.groups.is_empty(), has_lengths, "{what}");
}

fn check_log(seed: u64) {
    let (text, mut truth) = device_log(seed);
    let found = explain_log(&text);
    // Launches of which the cut left nothing are in no record.
    truth.op_count = found.ops.len() as u64;
    truth.unknown_count = found.ops.iter().filter(|op| op.kernel.is_none()).count() as u64;
    assert_claims(&found, &truth, &format!("KPROF_CLAIMS_SEED={seed} (log)"));
    let json = serde_json::to_string(&found).unwrap();
    let says_firmware = json.contains("of firmware") || json.contains("(firmware");
    assert!(text.contains("-FW") || !says_firmware, "seed {seed}: {json}");
}

#[test]
fn generated_recordings_are_explained_without_a_false_claim() {
    if let Some(seed) = std::env::var_os("KPROF_CLAIMS_SEED") {
        let seed = seed.to_str().unwrap().parse().unwrap();
        check_ops(seed);
        check_log(seed);
        return;
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let fresh = u64::from(now.subsec_nanos());
    let count = std::env::var("KPROF_CLAIMS_COUNT").map_or(100, |count| count.parse().unwrap());
    for seed in (0..count).chain(fresh..fresh + count) {
        check_ops(seed);
        check_log(seed);
    }
}

/// Returns the files with this name below a folder.
fn files(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, is_wanted));
        } else if is_wanted(path.file_name().unwrap().to_str().unwrap()) {
            found.push(path);
        }
    }
    found
}

fn any_truth(op_count: u64, unknown_count: u64) -> Truth {
    Truth { op_count, unknown_count, spans_ns: BTreeMap::new() }
}

#[test]
fn real_recordings_are_explained_without_a_false_claim() {
    let mut count = 0;
    for path in files(&capture_path(""), &|name| name.ends_with(".csv")) {
        let what = path.display().to_string();
        let file = std::fs::File::open(&path).unwrap();
        if let Ok(csv) = read_ops_csv(file, &what) {
            let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
            let totals = &report.totals;
            for window in [Window::Steady, Window::All] {
                let found = Explanation::from_perf_window(&report, window);
                let unknown = totals.invalid_duration_count;
                let truth = any_truth(totals.device_op_count, unknown);
                assert_claims(&found, &truth, &what);
            }
            count += 1;
        } else if let Ok(log) = PackedLog::open(&path) {
            let (_, found) = Explanation::from_log(log).unwrap();
            let unknown = found.ops.iter().filter(|op| op.kernel.is_none()).count() as u64;
            let truth = any_truth(found.ops.len() as u64, unknown);
            assert_claims(&found, &truth, &what);
            count += 1;
        }
    }
    let logs =
        ["wormhole-noc-256", "wormhole-counters-elw"].map(|log| std::fs::read(log_path(log)));
    for log in logs.into_iter().map(Result::unwrap).chain([log_of_json().into_bytes()]) {
        let log = PackedLog::read(log.as_slice(), "log").unwrap();
        let (_, found) = Explanation::from_log(log).unwrap();
        let unknown = found.ops.iter().filter(|op| op.kernel.is_none()).count() as u64;
        assert_claims(&found, &any_truth(found.ops.len() as u64, unknown), "log");
    }
    for path in files(&capture_path("kprof"), &|name| name.ends_with(".kprof")) {
        for recording in recording::load(&path).unwrap().recordings {
            let found = Explanation::from_recording(&recording);
            let unknown = found.ops.iter().filter(|op| op.kernel.is_none()).count() as u64;
            let truth = any_truth(found.ops.len() as u64, unknown);
            assert_claims(&found, &truth, &path.display().to_string());
            count += 1;
        }
    }
    assert!(count > 10, "{count} recordings");
}
