//! Shares of a critical path, as the tests of modelled pipelines compare them.

use crate::model::{READER, WRITER};
use causes::{Explanation, PathShare, StepKind};
use wire::Risc;

/// Returns the shares of the path on reader, math and writer, in percent.
pub(crate) fn shares(explanation: &Explanation) -> [f64; 3] {
    let path = explanation.ops[0].critical_path.as_ref().unwrap();
    let works = |share: &&PathShare| matches!(share.kind, StepKind::Busy | StepKind::Barrier);
    let percent = |riscs: &[Risc]| -> f64 {
        let own = path.shares.iter().filter(works).filter(|share| riscs.contains(&share.risc));
        own.map(|share| share.percent).sum()
    };
    let math = [Risc::Trisc0, Risc::Trisc1, Risc::Trisc2];
    [percent(&[READER]), percent(&math), percent(&[WRITER])]
}
