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
    use crate::perf::{PerfOptions, PerfReport, read_ops_csv};

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

    const CONFIG: &str =
        "{'program_config': 'Config(in0_block_w=2;out_subblock_h=1;out_subblock_w=4)'}";

    #[test]
    fn advice_that_another_row_shows_to_gain_nothing_is_not_given() {
        let slow = (8, "", "DRAM", 900_000.0);
        let given = |other: (u64, &str, &str, f64)| {
            let of = &advice(&[slow, other])[0];
            ["in L1", "more cores", "program_config"].map(|text| of.contains(text))
        };
        assert_eq!(given(slow), [true; 3]);
        assert_eq!(given((8, "", "L1", 900_000.0)), [false, true, true]);
        assert_eq!(given((8, "", "L1", 800_000.0)), [true; 3]);
        assert_eq!(given((64, "", "DRAM", 950_000.0)), [true, false, true]);
        assert_eq!(given((64, "", "DRAM", 600_000.0)), [true; 3]);
        assert_eq!(given((8, CONFIG, "DRAM", 899_000.0)), [true, true, false]);
        assert_eq!(given((8, CONFIG, "DRAM", 700_000.0)), [true; 3]);
        // One of two rows with the change is enough for the advice.
        let of = &advice(&[slow, (8, "", "L1", 950_000.0), (8, "", "L1", 500_000.0)])[0];
        assert!(of.contains("in L1"), "{of}");
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
