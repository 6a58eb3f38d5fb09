//! Reasons for empty figures.

use crate::noc_events::counted;
use std::fmt;

/// Reason for empty figures of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NocGap {
    /// The tile or network of this many transfers is unknown.
    UnknownWay(u64),
    /// The size of this many transfers is unknown.
    UnknownSize(u64),
    /// This many multicasts wrap around the grid's edge. Their links are not modelled.
    AroundEdge(u64),
    /// This many fabric packets were sent. Their routes depend on other chips.
    Fabric(u64),
    /// The assumed end of the kernels is not later than the first record, so rates cannot be
    /// computed.
    NoTime,
    /// All transfers begin after the assumed end of the kernels. This end is assumed to be shortly
    /// before the last record.
    AllAtEnd,
    /// The model would need too many steps.
    TooLong,
    /// The number of DRAM controllers depends on the board, and the board is unknown.
    UnknownBoard,
    /// More bytes were moved than a DRAM controller moves in the assumed time of the kernels.
    AboveDramPeak,
    /// More bytes arrived than an Ethernet link carries in the assumed time of the kernels.
    AboveEthernetPeak,
    /// More bytes were moved than the links carry in the assumed time of the kernels.
    AboveLinkPeak,
}

impl fmt::Display for NocGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Self::UnknownWay(count) => {
                counted(count, "transfer has an unknown target", "transfers have unknown targets")
            }
            Self::UnknownSize(count) => {
                counted(count, "transfer has an unknown size", "transfers have unknown sizes")
            }
            Self::AroundEdge(count) => {
                counted(count, "multicast leads around the edge", "multicasts lead around the edge")
            }
            Self::Fabric(count) => counted(
                count,
                "fabric packet has an unknown way",
                "fabric packets have unknown ways",
            ),
            Self::NoTime => "the records span too little time".to_owned(),
            Self::AllAtEnd => "all transfers begin at the end of the kernels".to_owned(),
            Self::TooLong => "the transfers take too long to model".to_owned(),
            Self::UnknownBoard => "the number of DRAM controllers is unknown".to_owned(),
            Self::AboveDramPeak => above("a DRAM controller moves"),
            Self::AboveEthernetPeak => above("an Ethernet link carries"),
            Self::AboveLinkPeak => above("the links carry"),
        };
        f.write_str(&text)
    }
}

fn above(peak: &str) -> String {
    format!("more bytes than {peak} in the time of the kernels")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_says_how_many() {
        assert_eq!(NocGap::UnknownWay(1).to_string(), "1 transfer has an unknown target");
        assert_eq!(NocGap::Fabric(20).to_string(), "20 fabric packets have unknown ways");
    }
}
