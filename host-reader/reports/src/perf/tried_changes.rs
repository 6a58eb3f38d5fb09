//! Changes of a matmul that other rows of the same files have tried without success.

use super::op::{OpReport, RowKind};
use std::{collections::HashMap, sync::Arc};

/// Part of a row's time that another row must save to count as faster: repetitions of one op differ, too.
const FASTER: f64 = 0.02;

/// Changes that do not make a matmul faster, as other rows of the same shape and types show: none of the
/// rows that have them is faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriedChanges {
    /// Input 0 in L1.
    pub input_0_in_l1: bool,
    /// More cores.
    pub more_cores: bool,
    /// A program configuration.
    pub program_config: bool,
}

/// What a row sets that advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Settings {
    is_in_l1: bool,
    core_count: Option<u64>,
    has_config: bool,
}

impl Settings {
    fn of(row: &OpReport) -> Self {
        Self {
            is_in_l1: row.input_0_memory.as_ref().is_some_and(|memory| memory.contains("L1")),
            core_count: row.core_count,
            has_config: row.recorded.program_config.is_some(),
        }
    }
}

/// Shortest times in microseconds of the matmuls of one shape and types, by their settings.
type Times = HashMap<Settings, f64>;

/// Marks for each matmul the changes that other rows have tried.
pub(super) fn mark_tried_changes(rows: &mut [OpReport]) {
    let mut shapes: HashMap<(Arc<str>, Arc<str>), Times> = HashMap::new();
    for row in rows.iter().filter(|row| is_known_matmul(row)) {
        let Some(us) = row.device_time_us else { continue };
        let of_shape = shapes.entry(shape(row)).or_default();
        let shortest = of_shape.entry(Settings::of(row)).or_insert(us);
        *shortest = shortest.min(us);
    }
    let tried: HashMap<_, HashMap<Settings, TriedChanges>> = shapes
        .into_iter()
        .map(|(shape, times)| {
            let of = times.iter().map(|(own, us)| (*own, tried_changes(*own, *us, &times)));
            (shape, of.collect())
        })
        .collect();
    for row in rows.iter_mut().filter(|row| is_known_matmul(row)) {
        let found = tried.get(&shape(row)).and_then(|of| of.get(&Settings::of(row)));
        row.tried = found.copied().unwrap_or_default();
    }
}

/// Returns true for a matmul of which more than the name is known.
fn is_known_matmul(row: &OpReport) -> bool {
    row.kind == RowKind::Device && row.is_matmul() && !row.source.is_empty()
}

/// Returns what must be equal for the times of two rows to be compared: the op with its shape, and its
/// fidelity with its types.
fn shape(row: &OpReport) -> (Arc<str>, Arc<str>) {
    (Arc::clone(&row.op_code), Arc::clone(&row.math_fidelity))
}

fn tried_changes(own: Settings, us: f64, times: &Times) -> TriedChanges {
    let in_vain = |has_change: &dyn Fn(&Settings) -> bool| {
        let of = times.iter().filter(|(of, _)| has_change(of)).map(|(_, us)| *us);
        of.min_by(f64::total_cmp).is_some_and(|best| best > us * (1.0 - FASTER))
    };
    TriedChanges {
        input_0_in_l1: !own.is_in_l1 && in_vain(&|of| of.is_in_l1),
        more_cores: in_vain(&|of| {
            of.core_count.zip(own.core_count).is_some_and(|(of, own)| of > own)
        }),
        program_config: !own.has_config && in_vain(&|of| of.has_config),
    }
}

#[cfg(test)]
mod tests {
    use crate::perf::{Bound, PerfOptions, PerfReport, read_ops_csv};

    const TITLES: &str = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,CORE COUNT,\
        AVAILABLE WORKER CORE COUNT,DEVICE KERNEL DURATION [ns],\
        INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],\
        INPUT_0_DATATYPE,INPUT_0_MEMORY,\
        INPUT_1_W_PAD[LOGICAL],INPUT_1_Z_PAD[LOGICAL],INPUT_1_Y_PAD[LOGICAL],INPUT_1_X_PAD[LOGICAL],\
        INPUT_1_DATATYPE,INPUT_1_MEMORY,\
        OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],\
        OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";

    /// Returns the advice of each row: its cores, its program configuration, the memory of its first
    /// input, and its time.
    fn advice(rows: &[(u64, &str, &str, f64)]) -> Vec<String> {
        let side = "1,1,1024,1024,BFLOAT16";
        let lines = rows.iter().map(|(cores, config, memory, ns)| {
            format!(
                "Matmul,tt_dnn_device,0,wormhole_b0,{config},HiFi4,{cores},64,{ns},{side},{memory},\
                 {side},DRAM,{side},DRAM\n"
            )
        });
        let text: String = std::iter::once(TITLES.to_owned()).chain(lines).collect();
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &PerfOptions::default()).unwrap();
        report.rows.iter().map(|row| row.advice.clone().unwrap().join("; ")).collect()
    }

    /// Attributes of an op without a program configuration.
    const NONE: &str = "{'transpose_a': 'false'; 'program_config': 'std::nullopt'}";

    const CONFIG: &str =
        "{'program_config': 'Config(in0_block_w=2;out_subblock_h=1;out_subblock_w=4)'}";

    #[test]
    fn advice_that_another_row_shows_to_gain_nothing_is_not_given() {
        let slow = (8, NONE, "DRAM", 900_000.0);
        let given = |other: (u64, &str, &str, f64)| {
            let of = &advice(&[slow, other])[0];
            ["in L1", "more cores", "program_config"].map(|text| of.contains(text))
        };
        assert_eq!(given(slow), [true; 3]);
        assert_eq!(given((8, NONE, "L1", 900_000.0)), [false, true, true]);
        assert_eq!(given((8, NONE, "L1", 800_000.0)), [true; 3]);
        assert_eq!(given((64, NONE, "DRAM", 950_000.0)), [true, false, true]);
        assert_eq!(given((64, NONE, "DRAM", 600_000.0)), [true; 3]);
        assert_eq!(given((8, CONFIG, "DRAM", 899_000.0)), [true, true, false]);
        assert_eq!(given((8, CONFIG, "DRAM", 700_000.0)), [true; 3]);
        // One of two rows with the change is enough for the advice.
        let of = &advice(&[slow, (8, NONE, "L1", 950_000.0), (8, NONE, "L1", 500_000.0)])[0];
        assert!(of.contains("in L1"), "{of}");
    }

    #[test]
    fn without_attributes_nothing_is_known_of_a_program_config() {
        for (attributes, is_known) in [("", false), ("{}", false), ("[ ]", false), (NONE, true)] {
            let of = &advice(&[(8, attributes, "DRAM", 900_000.0)])[0];
            assert_eq!(of.contains("program_config"), is_known, "{attributes}: {of}");
        }
    }

    /// Advice on a matmul of `rows` x 7168 x 512 that takes what DRAM needs for its bytes at 419 GB/s.
    fn dram_bound(rows: u64, fidelity: &str, is_upstream_exact: bool) -> String {
        // BFLOAT16 has 2 bytes, BFLOAT8_B about 1.
        let bytes = rows * 7168 * 2 + 7168 * 512 + rows * 512 * 2;
        let ns = bytes as f64 / 419.0;
        let text = format!(
            "{TITLES}Matmul,tt_dnn_device,0,blackhole,{{'a': 1}},{fidelity},100,110,{ns},\
             1,1,{rows},7168,BFLOAT16,DRAM_INTERLEAVED,1,1,7168,512,BFLOAT8_B,DRAM_INTERLEAVED,\
             1,1,{rows},512,BFLOAT16,DRAM_INTERLEAVED\n"
        );
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let options = PerfOptions { is_upstream_exact, ..PerfOptions::default() };
        let report = PerfReport::new(vec![csv], &options).unwrap();
        let bound = report.rows[0].bound;
        assert!(matches!(bound, Some(Bound::Dram | Bound::Both)), "{bound:?}");
        report.rows[0].advice.clone().unwrap().join("; ")
    }

    #[test]
    fn dram_sharded_weights_are_advised_where_weights_are_most_of_the_bytes() {
        let is_advised = |rows, is_exact| {
            dram_bound(rows, "HiFi2", is_exact).contains("DRAM-sharded program config")
        };
        // 32 rows: 0.5 MB beside 3.7 MB of weights; 3,200 rows: 49 MB beside them.
        assert_eq!([32, 3200].map(|rows| is_advised(rows, false)), [true, false]);
        // tt-perf-report advises them in any case.
        assert_eq!([32, 3200].map(|rows| is_advised(rows, true)), [true, true]);
    }

    #[test]
    fn a_higher_fidelity_is_no_way_to_be_faster() {
        let advises = |is_exact| dram_bound(3200, "LoFi", is_exact).contains("Use HiFi4");
        assert_eq!([false, true].map(advises), [false, true]);
    }

    #[test]
    fn ops_that_no_chip_ran_have_no_advice() {
        let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,MATH FIDELITY,CORE COUNT,METAL TRACE ID,\
            METAL TRACE REPLAY SESSION ID,DEVICE KERNEL DURATION [ns],INPUT_0_Y,INPUT_0_X,\
            INPUT_0_MEMORY\n\
            Matmul,tt_dnn_device,0,wormhole_b0,HiFi4,8,,,90000,32,32,DRAM\n\
            Matmul,tt_dnn_device,0,wormhole_b0,HiFi4,8,1,,,32,32,DRAM\n";
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &PerfOptions::default()).unwrap();
        assert!(report.rows[1].is_captured);
        let has_advice = report.rows.iter().map(|row| row.advice.is_some());
        assert_eq!(has_advice.collect::<Vec<_>>(), [true, false]);
    }
}
