//! Problems that are found while clocks are fitted. They do not stop the synchronisation.

use reader::{
    clock::{ClockError, Tile},
    mesh::Noc0Coord,
};

/// A missing or doubtful part of a mesh's clock.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SyncProblem {
    /// No line fits a chip's pings.
    #[error("chip {chip_id} has no clock: {source}")]
    ChipFit {
        /// Id of the chip.
        chip_id: u32,
        /// Reason why the fit failed.
        source: ClockError,
    },
    /// The chip's frequency changed too often: there are too few pings between two changes to fit a
    /// line.
    #[error(
        "chip {chip_id} changed its frequency too often: no line fits {unfitted_count} of its \
         pings; its error bound is an estimate"
    )]
    Unassured {
        /// Id of the chip.
        chip_id: u32,
        /// Number of pings that are not covered by a line.
        unfitted_count: usize,
    },
    /// Pings were rejected because they contradict the other pings of their tile. One cause is a
    /// clock reading with a high word and a low word from different times.
    #[error("{rejected_count} pings of core {core} of chip {chip_id} contradict the others and are ignored", core = place(.tile), chip_id = .tile.chip)]
    Rejected {
        /// The tile.
        tile: Tile,
        /// Number of rejected pings.
        rejected_count: usize,
    },
    /// A tile does not tick at its chip's frequency.
    ///
    /// The tile's times come only from the tile's own pings, and the tile has no offset.
    #[error("the clock of core {core} of chip {chip_id} differs from the chip's: {source}", core = place(.tile), chip_id = .tile.chip)]
    TileFit {
        /// The tile.
        tile: Tile,
        /// Reason why the fit failed.
        source: ClockError,
    },
    /// The messages over a link do not give a relation between the two chips.
    #[error("the link from chip {sender} to chip {receiver} cannot relate clocks: {source}", sender = .sender.chip, receiver = .receiver.chip)]
    LinkFit {
        /// The tile that sends the messages.
        sender: Tile,
        /// The tile that echoes the messages.
        receiver: Tile,
        /// Reason why the fit failed.
        source: ClockError,
    },
    /// A tile at one end of a link has no known offset, or its chip's frequency was not constant.
    #[error("the link from chip {sender} to chip {receiver} cannot relate clocks, because one of the chips has no clock of constant frequency", sender = .sender.chip, receiver = .receiver.chip)]
    LinkEnd {
        /// The tile that sends the messages.
        sender: Tile,
        /// The tile that echoes the messages.
        receiver: Tile,
    },
    /// Two paths between the same chips disagree by more than their bounds.
    #[error(
        "the clocks of chips {sender} and {receiver} disagree by {residual_cycles:.1} cycles between \
         two paths, {allowed_cycles:.1} are allowed; a frequency changed or a link is wrong"
    )]
    OpenLoop {
        /// Sending chip.
        sender: u32,
        /// Receiving chip.
        receiver: u32,
        /// Disagreement in cycles.
        residual_cycles: f64,
        /// Maximum disagreement that the bounds allow, in cycles.
        allowed_cycles: f64,
    },
}

impl SyncProblem {
    /// Returns the chip that the problem affects. For a link, this is the sending chip.
    #[must_use]
    pub const fn chip_id(&self) -> u32 {
        match self {
            Self::ChipFit { chip_id, .. } | Self::Unassured { chip_id, .. } => *chip_id,
            Self::Rejected { tile, .. } | Self::TileFit { tile, .. } => tile.chip,
            Self::LinkFit { sender, .. } | Self::LinkEnd { sender, .. } => sender.chip,
            Self::OpenLoop { sender, .. } => *sender,
        }
    }
}

fn place(tile: &Tile) -> Noc0Coord {
    super::ping::core_of(*tile)
}
