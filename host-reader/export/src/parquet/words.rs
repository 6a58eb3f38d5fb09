//! Texts of a recording, each encoded once and shared by all rows.

use crate::{NameId, PointCategory, TraceNames};
use parquet::data_type::ByteArray;
use std::collections::BTreeMap;
use wire::Risc;

/// Every text that rows have in common.
pub(super) struct Words {
    pub(super) recording: ByteArray,
    event: ByteArray,
    data: ByteArray,
    sum: ByteArray,
    empty: ByteArray,
    names: Vec<ByteArray>,
    files: Vec<Option<ByteArray>>,
    riscs: BTreeMap<Risc, ByteArray>,
}

impl Words {
    pub(super) fn new(recording: &str, names: &TraceNames<'_>) -> Self {
        let names = names.as_slice();
        let file = |file: &str| (!file.is_empty()).then(|| ByteArray::from(file));
        Self {
            recording: ByteArray::from(recording),
            event: ByteArray::from(PointCategory::Event.label()),
            data: ByteArray::from(PointCategory::Data.label()),
            sum: ByteArray::from(PointCategory::Sum.label()),
            empty: ByteArray::from(""),
            names: names.iter().map(|name| ByteArray::from(&*name.label)).collect(),
            files: names.iter().map(|name| file(name.file)).collect(),
            riscs: Risc::ALL
                .into_iter()
                .map(|risc| (risc, ByteArray::from(risc.label())))
                .collect(),
        }
    }

    pub(super) const fn category(&self, category: PointCategory) -> &ByteArray {
        match category {
            PointCategory::Event => &self.event,
            PointCategory::Data => &self.data,
            PointCategory::Sum => &self.sum,
        }
    }

    pub(super) fn name(&self, name: NameId) -> &ByteArray {
        self.names.get(name.index()).unwrap_or(&self.empty)
    }

    pub(super) fn file(&self, name: NameId) -> Option<&ByteArray> {
        self.files.get(name.index())?.as_ref()
    }

    pub(super) fn risc(&self, risc: Risc) -> &ByteArray {
        self.riscs.get(&risc).unwrap_or(&self.empty)
    }
}
