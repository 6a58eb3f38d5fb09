//! Names of ops, as reported by the host.

use host_reader::{analysis::Op, capture::OpMetadata};
use std::collections::BTreeMap;
use wire::RunHostId;

/// Names by chip id and encoded program id.
#[derive(Debug, Default)]
pub(crate) struct OpNames(BTreeMap<(u32, u32), String>);

impl OpNames {
    /// Collects the names in the host's metadata. If an op has several names, the first is used.
    pub(crate) fn new(ops: &[OpMetadata]) -> Self {
        let mut names = BTreeMap::new();
        for op in ops {
            if let Some(name) = op.value(OpMetadata::NAME) {
                names.entry((op.chip_id, op.run_host_id.0)).or_insert_with(|| name.to_owned());
            }
        }
        Self(names)
    }

    /// Returns the name of an op, if the host has reported it.
    pub(crate) fn op_name(&self, op: &Op) -> Option<&str> {
        self.program_name(op.chip_id, RunHostId(op.run_host_id))
    }

    /// Returns the name of a program on a chip, if the host has reported it.
    pub(crate) fn program_name(&self, chip_id: u32, program: RunHostId) -> Option<&str> {
        self.0.get(&(chip_id, program.0)).map(String::as_str)
    }
}
