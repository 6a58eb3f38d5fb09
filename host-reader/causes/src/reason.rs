//! Reasons, found in the rows of ops, why ops are slower than their shapes allow.

use crate::{
    finding::percent,
    late_starts::{LATE_STARTS, start_skew_of},
    op_code_group::{
        TimedRow, dram_percent, few_cores_of, limit_ns, may_be_dram_bound, tensors_ns,
    },
    rules::duration,
    threshold::{BETTER_ROW, DRAM_REASON, PADDING, REASON_TIME, START_SKEW, STRAGGLER, WAITING},
};
use recording::problem::counted;
use reports::perf::{Bound, LimitKind, OpCategory, OpReport, ProgramBlocks, Tensor};

/// Property of a group's rows that costs time, with the change that would avoid the cost.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Reason {
    /// Fact with its figure.
    pub fact: String,
    /// Suggested change.
    pub advice: String,
    /// True if the reason is a higher math fidelity than the element types need.
    #[serde(skip)]
    pub(crate) is_fidelity: bool,
    /// True if the reason is that ops run on few cores.
    #[serde(skip)]
    pub(crate) is_few_cores: bool,
    /// Nanoseconds that the group would save if each op came as close to its minimum time as the
    /// group's best op; `None` for reasons other than such an op.
    #[serde(skip)]
    pub(crate) gain_ns: Option<f64>,
}

impl Reason {
    fn new(fact: String, advice: &str) -> Self {
        Self { fact, advice: advice.to_owned(), ..Self::default() }
    }
}

/// Finds the reasons for the ops of one op code. The rows must be sorted by descending time.
pub(crate) fn reasons(rows: &[TimedRow<'_>]) -> Vec<Reason> {
    let found = [
        on_few_cores(rows),
        on_uneven_cores(rows),
        with_late_starts(rows),
        with_waits(rows, DATA_WAIT),
        with_waits(rows, ROOM_WAIT),
        with_high_fidelity(rows),
        with_input_in_dram(rows),
        with_block_config(rows),
        with_padding(rows),
        without_program_config(rows),
        with_single_tiles(rows),
        better_row(rows),
    ];
    found.into_iter().flatten().collect()
}

/// Returns a text with the number of ops that have a property; `None` if these ops do not take a
/// large part of the time.
fn holds(rows: &[TimedRow<'_>], of: impl Fn(&OpReport) -> bool) -> Option<String> {
    let own: Vec<f64> = rows.iter().filter(|(row, _)| of(row)).map(|(_, ns)| *ns).collect();
    let time_percent = percent(own.iter().sum(), rows.iter().map(|(_, ns)| ns).sum());
    (time_percent >= REASON_TIME.value).then(|| match rows.len() {
        1 => String::new(),
        all => format!(" in {} of {all} ops", own.len()),
    })
}

fn on_few_cores(rows: &[TimedRow<'_>]) -> Option<Reason> {
    // More cores do not help an op that DRAM limits.
    let few = |row: &OpReport| {
        let is_dram_bound = row.bound == Some(Bound::Dram) || may_be_dram_bound(row);
        few_cores_of(row).filter(|_| !is_dram_bound && !row.tried.more_cores)
    };
    let count = holds(rows, |row| few(row).is_some())?;
    let (longest, (cores, available)) = rows.iter().find_map(|(row, _)| Some((row, few(row)?)))?;
    let mut fact = match rows.len() {
        1 => format!("it runs on {cores} of {available} cores"),
        _ => format!("few cores{count}, the longest on {cores} of {available}"),
    };
    let of_tensors = |row: &TimedRow<'_>| few(row.0).and_then(|_| tensors_ns(*row));
    let least_ns: f64 = rows.iter().filter_map(of_tensors).sum();
    if least_ns > 0.0 {
        fact += &format!(
            "; to move each tensor once takes {} at the peak of DRAM, which remains",
            duration(least_ns)
        );
    }
    // ttnn.matmul has parameters that set the number of cores.
    let advice = if longest.raw_op_code.starts_with("Matmul") {
        "use more cores (core_grid, or a program_config with a larger compute_with_storage_grid_size)"
    } else {
        "use more cores"
    };
    Some(Reason { is_few_cores: true, ..Reason::new(fact, advice) })
}

/// Finds ops whose longest core takes much longer than the mean of their cores.
fn on_uneven_cores(rows: &[TimedRow<'_>]) -> Option<Reason> {
    let uneven = |row: &OpReport| {
        row.recorded.core_times.filter(|of| of.max_ns >= of.mean_ns * STRAGGLER.value)
    };
    let count = holds(rows, |row| uneven(row).is_some())?;
    let of = rows.iter().find_map(|(row, _)| uneven(row))?;
    let [min, mean, max] = [of.min_ns, of.mean_ns, of.max_ns].map(duration);
    let fact = match rows.len() {
        1 => format!("its cores take {min} to {max}, {mean} in the mean"),
        _ => {
            format!(
                "uneven cores{count}, those of the longest take {min} to {max}, {mean} in the mean"
            )
        }
    };
    Some(Reason::new(fact, "give each core the same work"))
}

/// Finds ops whose cores start late, by a column of the report.
fn with_late_starts(rows: &[TimedRow<'_>]) -> Option<Reason> {
    let late = |row: &OpReport| {
        let (skew_ns, ns) = start_skew_of(row)?;
        Some((skew_ns, percent(skew_ns, ns))).filter(|(_, share)| *share >= START_SKEW.value)
    };
    let count = holds(rows, |row| late(row).is_some())?;
    let (skew_ns, share) = rows.iter().find_map(|(row, _)| late(row))?;
    let apart = duration(skew_ns);
    let fact = match rows.len() {
        1 => format!("its cores start up to {apart} apart, {share:.0} % of its time"),
        _ => format!(
            "cores start late{count}, those of the longest up to {apart} apart, {share:.0} % of it"
        ),
    };
    Some(Reason::new(fact, LATE_STARTS))
}

/// A column of waits: what an engine waits for, and what to do about it.
type WaitColumn = (fn(&OpReport) -> Option<f64>, &'static str, &'static str);

const DATA_WAIT: WaitColumn = (
    |row| row.recorded.compute_data_wait_ns,
    "the unpacker waits for data",
    "look at the kernel that reads: the compute kernel waits for it",
);

const ROOM_WAIT: WaitColumn = (
    |row| row.recorded.compute_room_wait_ns,
    "the packer waits for room",
    "look at the kernel that writes: the compute kernel waits for it",
);

/// Finds ops whose compute kernels wait at circular buffers, by a column of the report.
///
/// # Compatibility
/// TT-Metal's columns are sums over all cores.
fn with_waits(rows: &[TimedRow<'_>], (ns, what, advice): WaitColumn) -> Option<Reason> {
    let share = |row: &OpReport| {
        let whole_ns = row.device_time_us? * 1000.0 * row.recorded.core_count? as f64;
        // More than all of the time of all cores is no time of this op.
        Some(percent(ns(row)?, whole_ns)).filter(|share| *share <= 100.0)
    };
    let is_large = |row: &OpReport| share(row).is_some_and(|share| share >= WAITING.value);
    let count = holds(rows, is_large)?;
    let longest = rows.iter().find(|(row, _)| is_large(row)).and_then(|(row, _)| share(row))?;
    let fact = match rows.len() {
        1 => format!("{what} {longest:.0} % of the time, in the mean of its cores"),
        _ => format!(
            "{what}{count}, in the longest {longest:.0} % of the time in the mean of its cores"
        ),
    };
    Some(Reason::new(fact, advice))
}

fn with_high_fidelity(rows: &[TimedRow<'_>]) -> Option<Reason> {
    let is_high = |row: &OpReport| row.fidelity.is_some_and(|fidelity| fidelity.is_excess);
    let count = holds(rows, is_high)?;
    let (longest, _) = rows.iter().find(|(row, _)| is_high(row))?;
    let fact = format!("math fidelity above what its types need{count}: {}", longest.math_fidelity);
    let note = longest.fidelity.and_then(|fidelity| fidelity.note);
    let note = note.unwrap_or("use a lower math fidelity").trim_end_matches('.');
    Some(Reason { is_fidelity: true, ..Reason::new(fact, note) })
}

fn memory(row: &OpReport) -> Option<&str> {
    row.input_0_memory.as_deref().map(without_device)
}

/// Returns the name of a memory without the number of its device.
fn without_device(memory: &str) -> &str {
    let place = memory.strip_prefix("DEV_").and_then(|rest| rest.split_once('_'));
    place.map_or(memory, |(_, place)| place)
}

/// Names the kind of a row's program configuration; `None` if the row does not say whether it has one.
fn program_config(row: &OpReport) -> Option<String> {
    match row.recorded.program_config.as_deref() {
        Some(config) => {
            let kind = config.split(['(', '{']).next().unwrap_or(config).trim();
            Some(format!("program_config {kind}"))
        }
        None if row.recorded.attributes.contains("program_config") => {
            Some("no program_config".to_owned())
        }
        None => None,
    }
}

fn with_input_in_dram(rows: &[TimedRow<'_>]) -> Option<Reason> {
    let whole_ns = rows.iter().map(|(_, ns)| ns).sum();
    // Below this use, DRAM reads hardly affect the time.
    dram_percent(rows, whole_ns).filter(|percent| *percent >= DRAM_REASON.value)?;
    let count = holds(rows, |row| {
        let is_in_dram = memory(row).is_some_and(|memory| memory.contains("DRAM_INTERLEAVED"));
        is_in_dram && !row.tried.input_0_in_l1
    })?;
    let fact = format!("input 0 interleaved in DRAM{count}");
    let advice = "keep input 0 in L1, sharded over the cores that use it (memory_config of the op that \
                  produces it)";
    Some(Reason::new(fact, advice))
}

/// Returns the elements of the row's tensors in tiles, all and without padding; `None` if the file does not
/// tell the padding of one apart.
fn tile_elements(row: &OpReport) -> Option<(f64, f64)> {
    let tensors = row.recorded.tensors.iter();
    let tiles = tensors.filter(|of| of.layout.as_deref().is_some_and(|of| of.contains("TILE")));
    let product = |sides: [Option<u64>; 4]| {
        sides.into_iter().try_fold(1.0, |product, side| Some(product * side? as f64))
    };
    tiles.map(|of| Some((product(of.sides)?, product(of.logical_sides)?))).try_fold(
        (0.0, 0.0),
        |(all, own), of| {
            let (padded, logical) = of?;
            Some((all + padded, own + logical))
        },
    )
}

/// Finds ops that only move data, most of which is the padding of tiles.
fn with_padding(rows: &[TimedRow<'_>]) -> Option<Reason> {
    let share = |row: &OpReport| {
        let only_moves =
            matches!(row.category, Some(OpCategory::TensorManipulation | OpCategory::DataMovement));
        let (all, own) = tile_elements(row).filter(|_| only_moves)?;
        Some(percent(all - own, all)).filter(|share| *share >= PADDING.value)
    };
    let count = holds(rows, |row| share(row).is_some())?;
    let (longest, of) = rows.iter().find_map(|(row, _)| Some((row, share(row)?)))?;
    let fact = match rows.len() {
        1 => format!("{of:.0} % of the elements of its tiles are padding: {}", longest.source),
        _ => format!(
            "mostly padding{count}: in the longest {of:.0} % of the elements of its tiles ({})",
            longest.source
        ),
    };
    let advice = "keep the tensor in rows (ttnn.ROW_MAJOR_LAYOUT) while a short side is among its last \
                  two, which tiles fill up to 32, or move it in another order of its sides";
    Some(Reason::new(fact, advice))
}

/// Returns true if the op accepts a program configuration with block sizes.
fn takes_blocks(row: &OpReport) -> bool {
    row.raw_op_code.starts_with("Matmul") && !row.is_dram_sharded
}

/// Returns the reason about block sizes, for ops whose own configuration sets the block sizes.
///
/// # Compatibility
/// TT-Metal's `MinimalMatmulConfig`. Without this configuration, the op uses blocks of 8 x 8 x 8
/// tiles.
fn with_block_config(rows: &[TimedRow<'_>]) -> Option<Reason> {
    let (longest, _) = rows.first()?;
    longest.raw_op_code.starts_with("MinimalMatmul").then(|| {
        let advice = "set other block sizes in its config (MinimalMatmulConfig: M_block_size, \
                      K_block_size, N_block_size, subblock_h, subblock_w)";
        Reason::new("its config determines the sizes of its blocks".to_owned(), advice)
    })
}

fn without_program_config(rows: &[TimedRow<'_>]) -> Option<Reason> {
    // Without attributes, the op may have had one.
    let is_known = |row: &OpReport| row.recorded.has_attributes();
    let count = holds(rows, |row| {
        let has_none = row.blocks == ProgramBlocks::default() && !row.tried.program_config;
        is_known(row) && takes_blocks(row) && has_none
    })?;
    let advice = "pass a program_config that sets in0_block_w, out_subblock_h and out_subblock_w";
    Some(Reason::new(format!("no program_config{count}"), advice))
}

fn with_single_tiles(rows: &[TimedRow<'_>]) -> Option<Reason> {
    let count = holds(rows, |row| {
        let blocks = row.blocks;
        [blocks.output_subblock_height_tiles, blocks.output_subblock_width_tiles] == [Some(1); 2]
    })?;
    Some(Reason::new(format!("output subblocks of one tile{count}"), "use larger output subblocks"))
}

/// Lists the differences between the group's longest op and the op that comes closest to the minimum time of
/// its shape, of those that differ in a setting.
///
/// Returns `None` if no such op is much closer to its minimum time than the longest op is to its own.
fn better_row(rows: &[TimedRow<'_>]) -> Option<Reason> {
    by_limit(rows).or_else(|| by_shape(rows))
}

/// Compares rows by the minimum times of their shapes, where these are known.
fn by_limit(rows: &[TimedRow<'_>]) -> Option<Reason> {
    let is_exact = |row: &OpReport| row.limit.is_some_and(|of| of.kind == LimitKind::Exact);
    let speed =
        |row: &TimedRow<'_>| Some(percent(limit_ns(*row).filter(|_| is_exact(row.0))?, row.1));
    let longest = rows.first()?;
    let own = speed(longest)?;
    let others = rows.iter().filter_map(|row| Some((row.0, speed(row)?)));
    let mut faster: Vec<_> = others.filter(|(_, of)| *of >= own * BETTER_ROW.value).collect();
    faster.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    // The fastest of all may differ in its shape alone, which is no setting.
    let (best, most, [better, worse]) = faster
        .into_iter()
        .find_map(|(row, of)| Some((row, of, differing_settings(row, longest.0)?)))?;
    let fact = format!(
        "row {} reaches {most:.1} % of the speed that its shape allows, the longest, row {}, only \
         {own:.1} %. Row {} has {better}; row {} has {worse}",
        best.id, longest.0.id, best.id, longest.0.id,
    );
    let advice = format!("use the settings of row {}, if the shape allows them: {better}", best.id);
    let gain_ns = Some(gain_at_speed(rows, most));
    Some(Reason { gain_ns, ..Reason::new(fact, &advice) })
}

/// Compares rows whose tensors have the same sides, where no minimum time is known.
fn by_shape(rows: &[TimedRow<'_>]) -> Option<Reason> {
    fn sides(row: &OpReport) -> Option<[[Option<u64>; 4]; 3]> {
        let sides = row.recorded.tensors.each_ref().map(|tensor| tensor.logical_sides);
        sides.iter().any(|of| of.iter().any(Option::is_some)).then_some(sides)
    }
    let longest = rows.first()?;
    let own = sides(longest.0)?;
    let alike = rows.iter().filter(|row| sides(row.0) == Some(own));
    let alike: Vec<&TimedRow<'_>> = alike.collect();
    let mut faster = alike.iter().rev().filter(|(_, ns)| ns * BETTER_ROW.value <= longest.1);
    let (best, best_ns, [better, worse]) =
        faster.find_map(|(row, ns)| Some((row, *ns, differing_settings(row, longest.0)?)))?;
    let fact = format!(
        "row {} takes {} for tensors of the same sides, the longest, row {}, {}. Row {} has {better}; row {} \
         has {worse}",
        best.id,
        duration(best_ns),
        longest.0.id,
        duration(longest.1),
        best.id,
        longest.0.id,
    );
    let advice =
        format!("use the settings of row {}, if the program allows them: {better}", best.id);
    let saved = alike.iter().map(|(_, ns)| (ns - best_ns).max(0.0));
    Some(Reason { gain_ns: Some(saved.sum()), ..Reason::new(fact, &advice) })
}

/// Returns the time, in nanoseconds, that would be saved if each op reached at least
/// `speed_percent` of the speed that its shape allows.
fn gain_at_speed(rows: &[TimedRow<'_>], speed_percent: f64) -> f64 {
    let saved = rows.iter().filter_map(|row| {
        let ns = limit_ns(*row)? * 100.0 / speed_percent;
        Some((row.1 - ns).max(0.0))
    });
    // `Iterator::sum` would return -0.0 for no items, which would be printed.
    saved.fold(0.0, |sum, ns| sum + ns)
}

/// Lists the settings that differ between two rows, as a text about each row; `None` if none differ.
fn differing_settings(one: &OpReport, other: &OpReport) -> Option<[String; 2]> {
    let names = [
        "memory of input 0",
        "memory of input 1",
        "layout of input 0",
        "layout of input 1",
        "layout of the output",
        "program_config",
        "cores",
        "output subblocks",
        "types",
    ];
    let facts = row_facts(one).into_iter().zip(row_facts(other)).zip(names);
    let differing = facts.filter_map(|((one, other), name)| {
        let one = one.filter(|one| other.as_ref() != Some(one))?;
        Some([one, other.unwrap_or_else(|| format!("unknown {name}"))])
    });
    let (one, other): (Vec<_>, Vec<_>) = differing.map(Into::into).unzip();
    (!one.is_empty()).then(|| [one, other].map(|facts: Vec<String>| facts.join(", ")))
}

/// Names the layout of a tensor; `None` if the file does not.
fn layout(name: &str, tensor: Option<&Tensor>) -> Option<String> {
    Some(format!("{name} in {}", tensor?.layout.as_deref()?))
}

/// Describes the memory of the inputs, the layouts, the program configuration, the cores as the file has
/// them, the output subblocks, and the element types and math fidelity of a row.
fn row_facts(row: &OpReport) -> [Option<String>; 9] {
    let blocks = row.blocks;
    let sides = blocks.output_subblock_height_tiles.zip(blocks.output_subblock_width_tiles);
    let types = row.math_fidelity.to_string();
    let second = row.recorded.tensors.get(1).and_then(|tensor| tensor.memory.as_deref());
    let second = second.map(without_device);
    [
        memory(row).map(|of| format!("input 0 in {of}")),
        second.map(|of| format!("input 1 in {of}")),
        layout("input 0", row.recorded.tensors.first()),
        layout("input 1", row.recorded.tensors.get(1)),
        layout("output", row.recorded.tensors.get(2)),
        program_config(row),
        row.recorded.core_count.map(|count| counted(count, "core", "cores")),
        sides.map(|(height, width)| format!("output subblocks of {height} x {width} tiles")),
        (!types.is_empty()).then(|| format!("types {types}")),
    ]
}

#[cfg(test)]
mod tests {
    use crate::Explanation;
    use reports::perf::{PerfReport, read_ops_csv};

    /// Figures of tt-metal issue 56959: an op takes 97 us or 17 us by which operand is FP32. The fastest row has
    /// the types of the slowest.
    #[test]
    fn a_faster_row_is_told_with_a_setting_that_differs() {
        let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,DEVICE KERNEL DURATION [ns],\
            INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],\
            INPUT_0_DATATYPE,INPUT_0_MEMORY,\
            OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],\
            OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n"
            .to_owned();
        for (ns, rows, input, output) in [
            (97_000, 512, "FLOAT32", "FLOAT32"),
            (16_000, 1024, "FLOAT32", "FLOAT32"),
            (17_000, 512, "BFLOAT16", "FLOAT32"),
        ] {
            text += &format!(
                "UnaryDeviceOperation,tt_dnn_device,0,blackhole,64,{ns},\
                 1,1,{rows},512,{input},DRAM,1,1,{rows},512,{output},DRAM\n"
            );
        }
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        let explanation = Explanation::from_perf_report(&report);
        let facts = explanation.findings.iter().flat_map(|finding| &finding.why);
        let told = facts.filter(|fact| fact.contains("of the speed")).cloned().collect::<Vec<_>>();
        let [told] = told.as_slice() else { panic!("{:#?}", explanation.findings) };
        assert!(told.starts_with("row 4 reaches "), "{told}");
        assert!(told.contains("the longest, row 2, only "), "{told}");
        assert!(told.ends_with("types FP32 => FP32"), "{told}");
    }

    /// Figures of tt-metal issue 52922: a mean takes a quarter of the time of rows instead of tiles. Its
    /// minimum time is not known.
    #[test]
    fn a_faster_layout_is_told_where_no_minimum_time_is_known() {
        let header = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,DEVICE KERNEL DURATION [ns],\
            INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],\
            INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY,\
            OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],\
            OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_LAYOUT,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";
        let told = |rows: &[(u64, u64, &str)]| {
            let rows = rows.iter().map(|(ns, side, layout)| {
                format!(
                    "ReduceDeviceOperation,tt_dnn_device,0,wormhole_b0,64,{ns},1[1],1[1],{side}[{side}],64[64],\
                     {layout},BFLOAT16,DRAM,1[1],1[1],{side}[{side}],32[1],TILE,BFLOAT16,DRAM\n"
                )
            });
            let text = header.to_owned() + &rows.collect::<String>();
            let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
            let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
            let explanation = Explanation::from_perf_report(&report);
            let facts = explanation.findings.into_iter().flat_map(|finding| finding.why);
            facts.filter(|fact| fact.contains("same sides")).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&[
                (240_000, 4096, "ROW_MAJOR"),
                (960_000, 4096, "TILE"),
                (100_000, 32, "ROW_MAJOR")
            ]),
            [
                "row 2 takes 240 us for tensors of the same sides, the longest, row 3, 960 us. Row 2 has input \
                 0 in ROW_MAJOR; row 3 has input 0 in TILE"
            ]
        );
        let none: [&str; 0] = [];
        assert_eq!(told(&[(240_000, 32, "ROW_MAJOR"), (960_000, 4096, "TILE")]), none);
        assert_eq!(told(&[(240_000, 4096, "TILE"), (960_000, 4096, "TILE")]), none);
        assert_eq!(told(&[(600_000, 4096, "ROW_MAJOR"), (960_000, 4096, "TILE")]), none);
    }
}
