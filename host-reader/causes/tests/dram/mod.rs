//! A pipeline with a reader limited by the DRAM, recognised by the tensors that the host described.

use crate::model::{Form, Recorder, Work, run};
use causes::{Cause, Explanation};
use host_events::OpMetadata;
use recording::Recording;
use wire::RunHostId;

/// DRAM bandwidth of a Wormhole in bytes per nanosecond, from tt-perf-report.
const PEAK: f64 = 288.0;

/// Fraction of the peak that the reader uses.
const USED: f64 = 0.9;

/// Work per stage; the reader has most of it.
const WORK: Work = Work { reader: 1620, writer: 700, ..Work::EVEN };

fn recording(form: Form) -> Recording {
    let mut recorder = Recorder::new();
    for core in 0..4 {
        let x = u16::try_from(core + 1).unwrap();
        recorder.core((x, 1), 1, &run(&WORK, 1000, core), form);
    }
    recorder.finish()
}

/// Returns the op's length in nanoseconds from the event model, with one cycle per nanosecond.
fn length_ns(work: &Work) -> f64 {
    let ends = (0..4).map(|core| run(work, 1000, core).end);
    (ends.max().unwrap() - 1000) as f64
}

/// Describes a matmul with weights of `weight_bytes`, as the host does.
fn matmul(weight_bytes: f64, memory: &str) -> OpMetadata {
    let tensor = |[y, x]: [u64; 2], memory: &str| {
        format!(
            "{{\"shape\": {{\"W\": 1, \"Z\": 1, \"Y\": {y}, \"X\": {x}}}, \"layout\": \"TILE\", \
             \"dtype\": \"BFLOAT16\", \"storage_type\": {{\"device_id\": 0, \"memory_config\": \
             {{\"buffer_type\": \"{memory}\", \"memory_layout\": \"INTERLEAVED\"}}}}}}"
        )
    };
    // 32 rows with two bytes per element.
    #[expect(clippy::cast_possible_truncation, reason = "a few thousand")]
    let columns = (weight_bytes / 64.0).round() as u64;
    let inputs = format!("[{}, {}]", tensor([32, 32], "L1"), tensor([32, columns], memory));
    let fields = [
        (OpMetadata::NAME, "MatmulDeviceOperation".to_owned()),
        ("input_tensors", inputs),
        ("output_tensors", format!("[{}]", tensor([32, columns], "L1"))),
    ];
    OpMetadata {
        chip_id: 0,
        run_host_id: RunHostId::encode(1, 0),
        fields: fields.map(|(key, text)| (key.to_owned(), text)).into(),
    }
}

fn causes(form: Form, weight_bytes: f64, memory: &str) -> Explanation {
    let ops = vec![matmul(weight_bytes, memory)];
    Explanation::from_recording(&Recording { ops, ..recording(form) })
}

#[test]
fn a_reader_at_the_peak_of_the_dram_is_bound_by_the_dram() {
    let length = length_ns(&WORK);
    let bytes = USED * PEAK * length;
    // At the full peak, the reader needs nine tenths of its cycles.
    let faster = Work { reader: 1458, ..WORK };
    let gain = (1.0 - length_ns(&faster) / length) * 100.0;
    assert!((9.0..11.0).contains(&gain), "{gain}");
    for form in [Form::Sums, Form::Single, Form::SingleAndSignals] {
        let found = causes(form, bytes, "DRAM").findings;
        let first = &found[0];
        assert_eq!(first.cause, Cause::Dram, "{form:?}: {found:#?}");
        assert_eq!(first.place.run_host_id, Some(RunHostId::encode(1, 0).0), "{form:?}");
        let said = first.gain_at_most_percent.unwrap();
        assert!((said - gain).abs() <= 2.0, "{form:?}: at most {said}, in truth {gain}");
        assert!(
            first.sentence.contains("1 op uses 90 % of the DRAM's bandwidth"),
            "{}",
            first.sentence
        );
        let of_stages = [Cause::Reader, Cause::Latency, Cause::Writer];
        assert!(found.iter().all(|found| !of_stages.contains(&found.cause)), "{found:#?}");
    }
}

#[test]
fn a_reader_far_from_the_peak_sets_the_pace_itself() {
    let bytes = USED * PEAK * length_ns(&WORK);
    for (bytes, memory) in [(bytes / 2.0, "DRAM"), (bytes, "L1")] {
        for form in [Form::Sums, Form::Single, Form::SingleAndSignals] {
            let found = causes(form, bytes, memory).findings;
            assert_eq!(found[0].cause, Cause::Reader, "{form:?} {memory}: {found:#?}");
            assert!(found.iter().all(|found| found.cause != Cause::Dram), "{found:#?}");
        }
    }
}
