//! Roles of the RISCs that move data: reader or writer.

use crate::op::OpView;
use wire::{
    Risc,
    wait::{SignalKind, WaitKind},
};

/// RISC that reads and RISC that writes, derived from the waits and signals of both; `None` if
/// unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) reader: Option<Risc>,
    pub(crate) writer: Option<Risc>,
}

impl Roles {
    pub(crate) fn from_view(view: &OpView<'_>) -> Self {
        let movers: Vec<Risc> = [Risc::Brisc, Risc::Ncrisc]
            .into_iter()
            .filter(|risc| {
                view.runs
                    .iter()
                    .any(|run| run.lane.risc == *risc && run.evidence.kernel().is_some())
            })
            .collect();
        let sides: Vec<(Risc, Side)> =
            movers.iter().map(|&risc| (risc, Side::from_view(view, risc))).collect();
        let only = |fills: bool, empties: bool| {
            let wanted = Side { fills, empties };
            let mut found = sides.iter().filter(|(_, side)| *side == wanted).map(|(risc, _)| *risc);
            found.next().filter(|_| found.next().is_none())
        };
        let (reader, writer) = (only(true, false), only(false, true));
        // A RISC that never waits leaves no record. Its role then follows from the role of the
        // other RISC.
        let silent = only(false, false).filter(|_| movers.len() == 2);
        Self {
            reader: reader.or_else(|| silent.filter(|_| writer.is_some())),
            writer: writer.or_else(|| silent.filter(|_| reader.is_some())),
        }
    }
}

/// Position of a RISC in the pipeline: it fills buffers before the math, or empties buffers after
/// the math.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Side {
    fills: bool,
    empties: bool,
}

impl Side {
    fn from_view(view: &OpView<'_>, risc: Risc) -> Self {
        let mut side = Self::default();
        let runs = view.runs.iter().filter(|run| run.lane.risc == risc);
        for sync in runs.filter_map(|run| run.evidence.sync()) {
            let kinds = sync.totals.iter().map(|total| total.kind);
            for kind in kinds.chain(sync.waits.iter().map(|wait| wait.kind)) {
                side.fills |= kind == WaitKind::CB_RESERVE || kind == WaitKind::NOC_READ_BARRIER;
                side.empties |=
                    [WaitKind::CB_WAIT, WaitKind::NOC_WRITE_BARRIER, WaitKind::NOC_WRITE_FLUSH]
                        .contains(&kind);
            }
            for signal in &sync.signals {
                side.fills |= signal.kind == SignalKind::CbPush;
                side.empties |= signal.kind == SignalKind::CbPop;
            }
        }
        side
    }
}
