//! Names of ops, and where the program called them, as reported by the host.

use host_reader::{
    analysis::Op, capture::OpMetadata, host::OpTexts, recording::metadata_by_program,
};
use std::collections::BTreeMap;
use wire::RunHostId;

/// The host's metadata by chip id and program.
#[derive(Debug, Default)]
pub(crate) struct OpNames(BTreeMap<(u32, RunHostId), OpMetadata>);

impl OpNames {
    /// Collects the host's metadata. If a program has several entries, the first one with a name is
    /// used.
    pub(crate) fn new(ops: &[OpMetadata]) -> Self {
        let found = metadata_by_program(ops).into_iter();
        Self(found.map(|(program, op)| (program, op.clone())).collect())
    }

    /// Returns the name of an op and where it was called, as far as the host has reported it.
    pub(crate) fn op_texts(&self, op: &Op) -> OpTexts<'_> {
        let found = self.0.get(&(op.chip_id, RunHostId(op.run_host_id)));
        found.map(OpMetadata::texts).unwrap_or_default()
    }

    /// Returns the name of a program on a chip, if the host has reported it.
    pub(crate) fn program_name(&self, chip_id: u32, program: RunHostId) -> Option<&str> {
        self.0.get(&(chip_id, program))?.value(OpMetadata::NAME)
    }
}
