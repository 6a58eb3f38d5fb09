//! Display of cores and RISCs in Tracy: contexts, lane numbers, names and colours.
//!
//! # Compatibility
//! Tenstorrent's fork of Tracy: `public/tracy/TracyTTDevice.hpp` (colours) and
//! `public/common/TracyTTDeviceData.hpp` (the low three bits of a lane's number are the RISC; the
//! viewer knows seven RISCs). tt-metal's `tt_metal/impl/profiler/profiler.cpp`: names of contexts.

use reader::lane::LaneId;
use wire::Risc;

/// Number of low bits that encode the RISC in a lane number.
const RISC_BITS: u32 = 3;

/// Number of low bits that encode the RISC in a lane number of a Quasar.
const QUASAR_BITS: u32 = 5;
/// Flag that is set only in the lane numbers of a Quasar.
const QUASAR: u32 = 1 << 31;

/// Colour as 0xRRGGBB.
pub(super) type Rgb = u32;

/// Colour of zones that measure the profiler's own work.
const PROFILER_RGB: Rgb = 0x00CD_4F39;
/// Colour of ops.
pub(super) const OP_RGB: Rgb = 0x00EE_9A00;

/// Colour of the host's zones. If the colour is 0, the viewer chooses a colour for each thread.
pub(super) const HOST_RGB: Rgb = 0;

/// Returns the colour of a RISC's zones.
const fn risc_rgb(risc: Risc) -> Rgb {
    match risc {
        Risc::Brisc => 0x00EE_9A00,
        Risc::Ncrisc => 0x0043_CD80,
        Risc::Trisc0 => 0x006C_A6CD,
        Risc::Trisc1 => 0x0000_E5EE,
        Risc::Trisc2 => 0x0098_F5FF,
        Risc::Erisc => 0x00CD_CD00,
        Risc::TensixAggregate => 0x0079_CDCD,
        quasar if quasar.moves_data() => 0x00EE_9A00,
        _ => 0x006C_A6CD,
    }
}

/// Returns the colour of a zone.
pub(super) fn zone_rgb(risc: Risc, name: &str) -> Rgb {
    if name.contains("PROFILER") { PROFILER_RGB } else { risc_rgb(risc) }
}

/// Returns the number of a lane: unique, ordered by core and RISC, never 0.
pub(super) const fn lane_number(core_number: u32, risc: Risc) -> u32 {
    // Tenstorrent's fork numbers RISCs in the same order.
    let number = risc as u32;
    if risc.is_quasar() {
        return QUASAR | ((core_number + 1) << QUASAR_BITS) | number;
    }
    ((core_number + 1) << RISC_BITS) | number
}

/// Returns the name of a core's context.
pub(super) fn core_name(id: LaneId) -> String {
    format!("Device: {}, Core ({},{})", id.chip_id, id.core.x, id.core.y)
}

/// Returns the name of a lane. The name begins with the RISC, because a viewer may have room only
/// for the beginning.
pub(super) fn lane_name(id: LaneId) -> String {
    format!("{} (device {}, core {}-{})", id.risc, id.chip_id, id.core.x, id.core.y)
}

/// Lanes that share one context in the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// All lanes of one core.
    Core,
    /// All lanes of one chip.
    Device,
    /// All lanes of all chips.
    Mesh,
}

impl Grouping {
    /// Returns the grouping with the most contexts, but with at most `limit` if possible.
    pub(super) fn new(lanes: &[LaneId], limit: usize) -> Self {
        [Self::Core, Self::Device]
            .into_iter()
            .find(|of| lanes.chunk_by(|a, b| of.key(*a) == of.key(*b)).count() <= limit)
            .unwrap_or(Self::Mesh)
    }

    /// Returns a key that is equal for all lanes in the same context.
    pub(super) const fn key(self, id: LaneId) -> (u32, u16, u16) {
        match self {
            Self::Core => (id.chip_id, id.core.x, id.core.y),
            Self::Device => (id.chip_id, 0, 0),
            Self::Mesh => (0, 0, 0),
        }
    }

    /// Returns the name of the context that contains a lane.
    pub(super) fn name(self, id: LaneId) -> String {
        match self {
            Self::Core => core_name(id),
            Self::Device => format!("Device: {}", id.chip_id),
            Self::Mesh => "All devices".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::mesh::Noc0Coord;

    #[test]
    fn a_lane_number_ends_in_the_risc_that_the_fork_labels_it_with() {
        let labels = ["BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2", "ERISC"];
        for (number, label) in (0_u32..).zip(labels) {
            let risc = Risc::from_label(label).unwrap();
            assert_eq!(lane_number(41, risc) & 7, number, "{label}");
        }
        assert_eq!(lane_number(0, Risc::TensixAggregate), 8 | 6);
    }

    #[test]
    fn cores_share_a_context_only_where_a_viewer_has_too_few() {
        let lanes = [lane(0, 1), lane(0, 2), lane(1, 1)];
        let grouping = |limit| Grouping::new(&lanes, limit);
        assert_eq!(grouping(3), Grouping::Core);
        assert_eq!(grouping(2), Grouping::Device);
        assert_eq!(grouping(1), Grouping::Mesh);
        assert_eq!(Grouping::Core.name(lanes[1]), "Device: 0, Core (2,2)");
        assert_eq!(lane_name(lanes[2]), "BRISC (device 1, core 1-2)");
    }

    fn lane(chip_id: u32, x: u16) -> LaneId {
        LaneId { chip_id, core: Noc0Coord { x, y: 2 }, risc: Risc::Brisc }
    }
}
