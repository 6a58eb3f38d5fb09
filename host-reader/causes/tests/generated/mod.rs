//! Ops CSVs and device logs from a seed, with what is true about them, and the claims of any output.

use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write};

/// Largest percentage that inexact peaks, clocks and durations explain.
pub(crate) const MOST_PERCENT: f64 = 105.0;

/// Facts about a file, which the generator or a second reading of the file knows.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// Number of ops.
    pub(crate) op_count: u64,
    /// Number of ops without a length.
    pub(crate) unknown_count: u64,
    /// For each chip, the nanoseconds from its first start to its last end.
    pub(crate) spans_ns: BTreeMap<u32, f64>,
    /// Time of firmware around kernels of known length, over all chips; infinite if unknown.
    pub(crate) firmware_ns: f64,
}

/// Pseudorandom numbers (splitmix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(crate) fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let at = self.below(of.len() as u64);
        of[usize::try_from(at).unwrap()]
    }
}

/// Returns the number of generated files that a variable asks for, or else `default`, half of them from
/// fixed and half from fresh seeds. `KPROF_CLAIMS_SEED` runs a single seed.
pub(crate) fn seeds(default: u64) -> Vec<u64> {
    if let Some(seed) = std::env::var_os("KPROF_CLAIMS_SEED") {
        return vec![seed.to_str().unwrap().parse().unwrap()];
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let fresh = u64::from(now.subsec_nanos());
    let count = std::env::var("KPROF_CLAIMS_COUNT").map_or(default, |of| of.parse().unwrap());
    (0..count / 2).chain(fresh..fresh + count / 2).collect()
}

/// Returns every text of a JSON value, and every number of a key that ends with `percent`.
pub(crate) fn collect<'a>(
    value: &'a Value,
    texts: &mut Vec<&'a str>,
    percents: &mut Vec<(&'a str, f64)>,
) {
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
        let from = before.rfind(|c: char| !c.is_ascii_digit() && !".,".contains(c));
        before[from.map_or(0, |at| at + 1)..].replace(',', "").parse().ok()
    })
}

/// Asserts that a text of an output names no impossible share, and counts what it speaks of.
pub(crate) fn assert_text(text: &str, what: &str) {
    assert_counted(text, what);
    for percent in numbers_before(text, " %") {
        // More than 100 % late is a comparison and not a share.
        let compares = text.contains(" late in ") || text.contains("longer than the other");
        assert!(percent <= MOST_PERCENT || compares, "{what}: {text}");
    }
}

/// Asserts that a text of an output counts what it speaks of, and has no number that is none.
pub(crate) fn assert_counted(text: &str, what: &str) {
    for word in ["all ", "each of ", "every one of "] {
        let mut after = text.match_indices(word).map(|(at, _)| &text[at + word.len()..]);
        let counts = after.any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        assert!(!counts, "{what}: counts without saying of how many: {text}");
    }
    for word in ["NaN", " inf ", "-0.0 "] {
        assert!(!text.contains(word), "{what}: {text}");
    }
}

/// Names of ops: with a model, in place, with contents that decide, unknown.
const NAMES: [&str; 13] = [
    "MatmulDeviceOperation",
    "SdpaDecodeDeviceOperation",
    "SDPAOperation",
    "PagedUpdateCacheDeviceOperation",
    "EmbeddingsDeviceOperation",
    "TransposeDeviceOperation",
    "BinaryNgDeviceOperation",
    "SoftmaxDeviceOperation",
    "AllGatherDeviceOperation",
    "ReduceScatterDeviceOperation",
    "UntilizeDeviceOperation",
    "Conv2dDeviceOperation",
    "OpOfTomorrow",
];

/// Titles that a report may lack.
const OPTIONAL: [&str; 9] = [
    "SUB DEVICE ID",
    "PM BANDWIDTH [ns]",
    "NOC UTIL (%)",
    "DRAM BW UTIL (%)",
    "ETH BW UTIL (%)",
    "NPE CONG IMPACT (%)",
    "LOC",
    "CONST_EVAL_OP",
    "PROGRAM_METADATA",
];

/// Returns the titles of the generated ops CSVs.
fn titles(numbers: &mut Numbers) -> Vec<String> {
    let fixed = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,MATH FIDELITY,CORE COUNT,\
        AVAILABLE WORKER CORE COUNT,HOST START TS,HOST DURATION [ns],DEVICE FW START CYCLE,\
        DEVICE FW END CYCLE,OP TO OP LATENCY [ns],DEVICE FW DURATION [ns],\
        DEVICE KERNEL DURATION [ns],PM COMPUTE [ns]";
    let mut titles: Vec<String> = fixed.split(',').map(str::to_owned).collect();
    for tensor in ["INPUT_0", "INPUT_1", "INPUT_2", "OUTPUT_0"] {
        let sides = ["W", "Z", "Y", "X"].map(|side| format!("{tensor}_{side}_PAD[LOGICAL]"));
        titles.extend(sides);
        titles.extend(["DATATYPE", "MEMORY"].map(|of| format!("{tensor}_{of}")));
    }
    titles.extend(OPTIONAL.into_iter().filter(|_| numbers.below(2) == 0).map(str::to_owned));
    titles
}

/// Cells of a row by title. A title without a cell is empty.
type Cells = BTreeMap<String, String>;

/// Returns the tensors of an op, its fidelity and its cores, which are the same in each iteration.
fn program(numbers: &mut Numbers) -> Cells {
    let mut cells = Cells::new();
    let fidelity = numbers.one_of(&["HiFi2", "HiFi4", "LoFi", ""]);
    cells.insert("MATH FIDELITY".into(), fidelity.into());
    cells.insert("CORE COUNT".into(), (1 + numbers.below(64)).to_string());
    for tensor in ["INPUT_0", "INPUT_1", "INPUT_2", "OUTPUT_0"] {
        cells.insert(format!("{tensor}_W_PAD[LOGICAL]"), "1".into());
        for side in ["Z", "Y", "X"] {
            let length = 32_u64 << numbers.below(7);
            cells.insert(format!("{tensor}_{side}_PAD[LOGICAL]"), length.to_string());
        }
        let datatype = numbers.one_of(&["BFLOAT16", "BFLOAT8_B", "INT32"]);
        cells.insert(format!("{tensor}_DATATYPE"), datatype.into());
        let memory = numbers.one_of(&["DEV_0_DRAM_INTERLEAVED", "DEV_0_L1_INTERLEAVED"]);
        cells.insert(format!("{tensor}_MEMORY"), memory.into());
    }
    cells
}

/// An op of the generated CSVs.
struct GeneratedOp {
    name: &'static str,
    program: Cells,
    kernel_ns: u64,
    model_ns: u64,
}

impl GeneratedOp {
    /// Returns the cells of a row, without its times.
    fn cells(
        &self,
        numbers: &mut Numbers,
        number: u64,
        (chip, sub_device, arch): (u32, u64, &str),
    ) -> Cells {
        let mut cells = self.program.clone();
        let mut set = |title: &str, value: String| cells.insert(title.to_owned(), value);
        set("OP CODE", self.name.to_owned());
        set("OP TYPE", "tt_dnn_device".to_owned());
        set("GLOBAL CALL COUNT", (1024 * (number + 1)).to_string());
        set("DEVICE ID", chip.to_string());
        set("DEVICE ARCH", arch.to_owned());
        set("AVAILABLE WORKER CORE COUNT", "64".to_owned());
        set("HOST START TS", (number * 1_000).to_string());
        set("HOST DURATION [ns]", (100 + numbers.below(2_000)).to_string());
        set("PM COMPUTE [ns]", self.model_ns.to_string());
        set("PM BANDWIDTH [ns]", (self.model_ns / 2).to_string());
        set("SUB DEVICE ID", sub_device.to_string());
        set("LOC", format!("loc(\"{}\")", self.name).replace('"', "'"));
        set("CONST_EVAL_OP", "False".to_owned());
        set("PROGRAM_METADATA", "{}".to_owned());
        for title in ["NOC UTIL (%)", "DRAM BW UTIL (%)"] {
            set(title, numbers.one_of(&["3.2", "99.9", "120.5", ""]).to_owned());
        }
        set("ETH BW UTIL (%)", numbers.one_of(&["", "(0,1,1):140.0%"]).to_owned());
        set("NPE CONG IMPACT (%)", numbers.one_of(&["", "1.25"]).to_owned());
        cells
    }
}

/// Writes the cells of a row in the order of the titles.
fn write_row(text: &mut String, titles: &[String], cells: &Cells) {
    let row = titles.iter().map(|title| {
        let cell = cells.get(title).map_or("", String::as_str);
        if cell.contains(',') { format!("\"{cell}\"") } else { cell.to_owned() }
    });
    writeln!(text, "{}", row.collect::<Vec<_>>().join(",")).unwrap();
}

/// Returns some ops.
fn any_ops(numbers: &mut Numbers, count: u64) -> Vec<GeneratedOp> {
    let op = |_| GeneratedOp {
        program: program(numbers),
        name: numbers.one_of(&NAMES),
        kernel_ns: 50 + numbers.below(3) * numbers.below(50_000),
        model_ns: 1 + numbers.below(2) * numbers.below(200_000),
    };
    (0..count).map(op).collect()
}

/// Gives an op at most half of the cores of its device: ops that overlap run on different cores.
fn leave_room(cells: &mut BTreeMap<String, String>) {
    let count = |title: &str| cells.get(title).and_then(|cell| cell.parse::<u64>().ok());
    let available = count("AVAILABLE WORKER CORE COUNT").unwrap_or(2);
    let cores = count("CORE COUNT").unwrap_or(1).min((available / 2).max(1));
    cells.insert("CORE COUNT".to_owned(), cores.to_string());
}

/// Returns an ops CSV: iterations of the same ops, on one or several chips and sub-devices, with ops that
/// overlap, lengths that are missing, figures of other tools, and times that the shapes contradict.
pub(crate) fn ops_csv(seed: u64) -> (String, Truth) {
    let mut numbers = Numbers(seed);
    let titles = titles(&mut numbers);
    let op_count = numbers.below(6);
    let iterations = 1 + numbers.below(5);
    let chips = [1_u32, 1, 2, 4][usize::try_from(numbers.below(4)).unwrap()];
    let sub_devices = 1 + numbers.below(2);
    let has_cycles = numbers.below(4) > 0;
    let missing = numbers.below(4);
    let overlap = numbers.below(2) * numbers.below(40_000);
    let mhz = 1_000 + 350 * numbers.below(2);
    let arch = numbers.one_of(&["wormhole_b0", "blackhole"]);
    let ghz = mhz as f64 / 1e3;
    let ops = any_ops(&mut numbers, op_count);
    let quoted = titles.iter().map(String::as_str).collect::<Vec<_>>();
    let mut text = format!("{}\n", quoted.join(","));
    let mut truth = Truth::default();
    let mut clocks: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    let mut spans: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let mut are_known = has_cycles;
    // The firmware of ops of unknown length may be known.
    let keeps_firmware = numbers.below(2) == 0;
    for number in 0..op_count * iterations * u64::from(chips) {
        let chip = u32::try_from(number % u64::from(chips)).unwrap();
        let op = &ops[usize::try_from(number / u64::from(chips) % op_count).unwrap()];
        let sub_device = numbers.below(sub_devices);
        let kernel_ns = op.kernel_ns + numbers.below(500);
        let is_missing = missing > 1 && numbers.below(6) < missing;
        let cycles = (kernel_ns + 600) * mhz / 1_000;
        let clock = clocks.entry((chip, sub_device)).or_insert(1_000_000);
        let (start, end) = (*clock, *clock + cycles);
        let mut cells = op.cells(&mut numbers, number, (chip, sub_device, arch));
        if overlap > 0 || sub_devices > 1 {
            leave_room(&mut cells);
        }
        let mut set = |title: &str, value: String| cells.insert(title.to_owned(), value);
        let is_firmware_known = !is_missing || keeps_firmware;
        if is_firmware_known {
            if has_cycles {
                set("DEVICE FW START CYCLE", start.to_string());
                set("DEVICE FW END CYCLE", end.to_string());
            }
            let latency = numbers.one_of(&["1400", "0", "250000"]);
            set("OP TO OP LATENCY [ns]", latency.to_owned());
            set("DEVICE FW DURATION [ns]", format!("{}", cycles as f64 / ghz));
        }
        if !is_missing {
            set("DEVICE KERNEL DURATION [ns]", kernel_ns.to_string());
            truth.firmware_ns += cycles as f64 / ghz - kernel_ns as f64;
        } else if is_firmware_known && numbers.below(2) == 0 {
            // Longer than the firmware around it.
            set("DEVICE KERNEL DURATION [ns]", (kernel_ns + 1_000_000_000).to_string());
        }
        write_row(&mut text, &titles, &cells);
        truth.op_count += 1;
        if is_missing {
            truth.unknown_count += 1;
            are_known = false;
        } else {
            let span = spans.entry(chip).or_insert((start, end));
            *span = (span.0.min(start), span.1.max(end));
        }
        *clock = (end + 1_400 + numbers.below(2) * numbers.below(900_000))
            .saturating_sub(overlap)
            .max(start);
    }
    if are_known {
        let length = |(first, last): (u64, u64)| (last - first) as f64 / ghz;
        truth.spans_ns = spans.into_iter().map(|(chip, span)| (chip, length(span))).collect();
    }
    (text, truth)
}

/// Returns a device log: launches on a few cores, with zones and sums of their authors, with or
/// without firmware, side by side, and cut.
pub(crate) fn device_log(seed: u64) -> (String, Truth) {
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
    (
        text,
        Truth {
            op_count: programs * iterations,
            spans_ns,
            firmware_ns: f64::INFINITY,
            ..Truth::default()
        },
    )
}
