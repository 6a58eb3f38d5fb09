//! Problems of measurements and fits; none of them stops a synchronisation.

use reader::{
    clock::{ClockError, Tile},
    mesh::{AccessError, Noc0Coord},
};

/// Something that is missing from, or doubtful about, a mesh's clock.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SyncProblem {
    /// A chip has no core whose clock was to be read.
    #[error("chip {chip_id} has no core among those chosen; its times are unknown")]
    NoCore {
        /// The chip.
        chip_id: u32,
    },
    /// A core's place is beyond what samples can name.
    #[error("core {core} of chip {chip_id} lies beyond row or column 255; its times are unknown")]
    Place {
        /// The chip.
        chip_id: u32,
        /// The core.
        core: Noc0Coord,
    },
    /// A clock could not be read.
    #[error("core {core} of chip {chip_id} failed to answer {failure_count} pings: {first}")]
    Access {
        /// The chip.
        chip_id: u32,
        /// The core.
        core: Noc0Coord,
        /// How often.
        failure_count: u64,
        /// The first failure.
        first: AccessError,
    },
    /// No line explains a chip's pings.
    #[error("chip {chip_id} has no clock: {source}")]
    ChipFit {
        /// The chip.
        chip_id: u32,
        /// Why.
        source: ClockError,
    },
    /// Frequency steps came too close to each other for the samples.
    #[error(
        "chip {chip_id} changed its frequency too often for its pings, {unfitted_count} of which \
         no line explains; its bound is an estimate"
    )]
    Unassured {
        /// The chip.
        chip_id: u32,
        /// Pings that no line explains.
        unfitted_count: usize,
    },
    /// Pings that contradict those around them, such as torn readings.
    #[error("{rejected_count} pings of core {core} of chip {chip_id} contradict the others and were left out", core = place(.tile), chip_id = .tile.chip)]
    Rejected {
        /// The tile.
        tile: Tile,
        /// How many.
        rejected_count: usize,
    },
    /// A tile does not tick like its chip; its times come from its own pings alone, and it
    /// has no offset.
    #[error("core {core} of chip {chip_id} does not tick like its chip: {source}", core = place(.tile), chip_id = .tile.chip)]
    TileFit {
        /// The tile.
        tile: Tile,
        /// Why.
        source: ClockError,
    },
    /// A link's messages give no relation between its chips.
    #[error("the link from chip {sender} to chip {receiver} ties no clocks: {source}", sender = .sender.chip, receiver = .receiver.chip)]
    LinkFit {
        /// The tile that sends.
        sender: Tile,
        /// The tile that echoes.
        receiver: Tile,
        /// Why.
        source: ClockError,
    },
    /// A link's tile has no origin, or one of its chips no clock of constant frequency.
    #[error("the link from chip {sender} to chip {receiver} ties no clocks, since one of its ends has none of constant frequency", sender = .sender.chip, receiver = .receiver.chip)]
    LinkEnd {
        /// The tile that sends.
        sender: Tile,
        /// The tile that echoes.
        receiver: Tile,
    },
    /// Two ways between the same chips disagree by more than their bounds.
    #[error(
        "the clocks of chips {sender} and {receiver} disagree by {residual_cycles:.1} cycles over \
         two ways, {allowed_cycles:.1} are allowed; a frequency changed or a link is wrong"
    )]
    OpenLoop {
        /// Chip at the sending end.
        sender: u32,
        /// Chip at the receiving end.
        receiver: u32,
        /// The disagreement.
        residual_cycles: f64,
        /// The most that the bounds allow.
        allowed_cycles: f64,
    },
}

impl SyncProblem {
    /// The chip whose clock it is about; of a link, the sending one.
    #[must_use]
    pub const fn chip_id(&self) -> u32 {
        match self {
            Self::NoCore { chip_id }
            | Self::Place { chip_id, .. }
            | Self::Access { chip_id, .. }
            | Self::ChipFit { chip_id, .. }
            | Self::Unassured { chip_id, .. } => *chip_id,
            Self::Rejected { tile, .. } | Self::TileFit { tile, .. } => tile.chip,
            Self::LinkFit { sender, .. } | Self::LinkEnd { sender, .. } => sender.chip,
            Self::OpenLoop { sender, .. } => *sender,
        }
    }
}

fn place(tile: &Tile) -> Noc0Coord {
    super::ping::core_of(*tile)
}
