//! Properties that can differ between chips of one architecture, such as harvesting.

use crate::access::NocTile;
use reader::architecture::{
    Arch, TileCoord,
    floorplan::{Floorplan, FloorplanError},
    translation::Translation,
};

/// Properties of a chip, as reported by the chip's controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipFacts {
    /// Number of the chip on this host.
    pub chip_id: u32,
    /// The architecture.
    pub arch: Arch,
    /// Harvested rows or columns, with one bit each. Bit N stands for entry N of the architecture's
    /// [`harvest_order`](reader::architecture::ArchFacts::harvest_order).
    pub harvest_mask: u32,
    /// Harvested groups of DRAM tiles, with one bit each. Bit N stands for entry N of the
    /// architecture's [`dram_groups`](reader::architecture::ArchFacts::dram_groups).
    pub dram_harvest_mask: u32,
    /// Clock frequency of the tiles in MHz; 0 if unknown.
    pub aiclk_mhz: u32,
    /// True if the chip's firmware has enabled coordinate translation.
    pub is_translated: bool,
    /// Number of Ethernet channels with a link. The channels with the lowest numbers have a link;
    /// all other channels are idle.
    ///
    /// If `None`, the number is unknown, and the Ethernet cores' memory is searched for control
    /// vectors.
    pub active_ethernet: Option<usize>,
}

impl ChipFacts {
    /// Returns the properties of a chip that has no harvested tiles and runs at the nominal clock.
    #[must_use]
    pub const fn whole(chip_id: u32, arch: Arch) -> Self {
        Self {
            chip_id,
            arch,
            harvest_mask: 0,
            dram_harvest_mask: 0,
            aiclk_mhz: arch.facts().aiclk_mhz,
            is_translated: true,
            active_ethernet: None,
        }
    }
}

/// Error in the reported properties of a chip.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FactsError {
    /// The harvest mask has bits that do not correspond to a row or column.
    #[error("chip {chip_id}: bits {bits:#x} of the harvest mask mean no row or column of a {arch}")]
    HarvestMask {
        /// The chip.
        chip_id: u32,
        /// Architecture of the chip.
        arch: Arch,
        /// Bits of the mask that do not correspond to a row or column.
        bits: u32,
    },
    /// The reported harvesting leads to a floor plan that no product has.
    #[error("chip {chip_id}: {source}")]
    Floorplan {
        /// The chip.
        chip_id: u32,
        /// The reason why the floor plan is impossible.
        source: FloorplanError,
    },
    /// The chip does not translate coordinates. The coordinates of its tiles are unknown without
    /// translation.
    #[error(
        "chip {chip_id} is a {arch} whose coordinates are not translated; expected the translation \
         that its firmware switches on since 2025"
    )]
    Untranslated {
        /// The chip.
        chip_id: u32,
        /// Architecture of the chip.
        arch: Arch,
    },
}

/// The tiles of a chip, and their coordinates on NoC 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipPlan {
    /// The positions and kinds of the cores.
    pub floorplan: Floorplan,
    translation: Translation,
}

impl ChipPlan {
    /// Computes the tiles and their coordinates from the chip's reported properties.
    ///
    /// # Errors
    /// If the properties contradict the architecture, or if the location of tiles is unknown.
    pub fn new(facts: &ChipFacts) -> Result<Self, FactsError> {
        let ChipFacts { chip_id, arch, .. } = *facts;
        if arch == Arch::Blackhole && !facts.is_translated {
            return Err(FactsError::Untranslated { chip_id, arch });
        }
        let harvested = Floorplan::harvested_lines(arch, facts.harvest_mask)
            .map_err(|bits| FactsError::HarvestMask { chip_id, arch, bits })?;
        let active = facts.active_ethernet.unwrap_or(0);
        let floorplan = Floorplan::new(arch, &harvested, active)
            .and_then(|plan| plan.with_harvested_dram(facts.dram_harvest_mask))
            .map_err(|source| FactsError::Floorplan { chip_id, source })?;
        Ok(Self { translation: floorplan.translation(), floorplan })
    }

    /// Returns the coordinates of a Tensix or Ethernet tile on NoC 1.
    ///
    /// A Wormhole accepts raw coordinates whether or not translation is enabled. This method
    /// returns raw coordinates on a Wormhole, because each of them belongs to a tile that exists. A
    /// Blackhole does not accept the raw coordinates of some tiles.
    #[must_use]
    pub fn core(&self, tile: TileCoord) -> Option<NocTile> {
        match self.floorplan.arch() {
            Arch::WormholeB0 => {
                let (x, y) = self.translation.mirrored(NOC_1, tile.x, tile.y);
                noc_tile(x, y)
            }
            Arch::Blackhole => {
                // A chip has 12 of the 14 Ethernet tiles. Translated coordinates reach only these
                // 12.
                let (x, y) = self.translation.logical(tile)?;
                let reached = self.translation.tile(NOC_1, x, y)?;
                noc_tile(x, y).filter(|_| reached == tile)
            }
        }
    }

    /// Returns the coordinates on NoC 1 of a DRAM bank's tile, and the bank's start address in that
    /// tile.
    #[must_use]
    pub fn bank(&self, bank: u32) -> Option<(NocTile, u64)> {
        let facts = self.floorplan.arch().facts();
        let (x, y) = self.translation.dram(NOC_1, self.floorplan.bank_tile(bank)?)?;
        Some((noc_tile(x, y)?, facts.bank_offset(bank)))
    }
}

fn noc_tile(x: u16, y: u16) -> Option<NocTile> {
    Some(NocTile { x: u8::try_from(x).ok()?, y: u8::try_from(y).ok()? })
}

const NOC_1: usize = crate::rails::NOC as usize;

#[cfg(test)]
mod tests {
    use super::*;

    const WORMHOLE: ChipFacts = ChipFacts {
        chip_id: 2,
        arch: Arch::WormholeB0,
        harvest_mask: 0b11,
        dram_harvest_mask: 0,
        aiclk_mhz: 1000,
        is_translated: true,
        active_ethernet: None,
    };

    /// Checks that a tile's coordinates on NoC 0 and on NoC 1 have the sum (9,11), which is the
    /// corner opposite to the origin.
    #[test]
    fn a_wormhole_is_reached_by_raw_coordinates_from_the_opposite_corner() {
        let plan = ChipPlan::new(&WORMHOLE).unwrap();
        assert_eq!(plan.floorplan.harvested(), [11, 1]);
        for core in plan.floorplan.cores() {
            let tile = plan.core(core.coord).unwrap();
            assert_eq!(u16::from(tile.x) + core.coord.x, 9);
            assert_eq!(u16::from(tile.y) + core.coord.y, 11);
        }
        // Banks 6 and 7 share the group of tiles (5,2), (5,9), (5,10).
        assert_eq!(plan.bank(6), Some((NocTile { x: 4, y: 9 }, 0)));
        assert_eq!(plan.bank(7), Some((NocTile { x: 4, y: 2 }, 1 << 30)));
        assert_eq!(plan.bank(12), None);
    }

    #[test]
    fn a_blackhole_is_reached_by_translated_coordinates() {
        let facts = ChipFacts { arch: Arch::Blackhole, harvest_mask: 0b1, ..WORMHOLE };
        let plan = ChipPlan::new(&facts).unwrap();
        // Column 1 is harvested, so column 2 is the first translated column.
        let tile = TileCoord { x: 2, y: 5 };
        assert_eq!(plan.core(tile), Some(NocTile { x: 1, y: 5 }));
        // The first and the twelfth Ethernet channel have coordinates. The last Ethernet channel
        // and a harvested tile have none.
        let core = |x, y| plan.core(TileCoord { x, y });
        assert_eq!([core(1, 1), core(11, 1)], [20, 31].map(|x| Some(NocTile { x, y: 25 })));
        assert_eq!([core(10, 1), core(1, 5)], [None; 2]);
        assert_eq!(plan.bank(0), Some((NocTile { x: 17, y: 12 }, 0)));
        assert_eq!(plan.bank(7), Some((NocTile { x: 18, y: 21 }, 0)));
        let untranslated = ChipFacts { is_translated: false, ..facts };
        let error = ChipPlan::new(&untranslated).unwrap_err();
        assert!(error.to_string().contains("are not translated"), "{error}");
        // Group 7 is harvested, so group 3 has the last coordinates of the first column.
        let plan = ChipPlan::new(&ChipFacts { dram_harvest_mask: 1 << 7, ..facts }).unwrap();
        assert_eq!(plan.bank(3), Some((NocTile { x: 17, y: 21 }, 0)));
        assert_eq!([plan.bank(7), plan.bank(u32::MAX)], [None; 2]);
        let error = ChipPlan::new(&ChipFacts { dram_harvest_mask: 3, ..facts }).unwrap_err();
        assert!(error.to_string().contains("found 0x3"), "{error}");
    }

    #[test]
    fn a_mask_that_no_product_has_is_refused() {
        let refusal = |harvest_mask| {
            ChipPlan::new(&ChipFacts { harvest_mask, ..WORMHOLE }).unwrap_err().to_string()
        };
        assert!(refusal(1 << 10).contains("bits 0x400"), "{}", refusal(1 << 10));
        assert!(refusal(0b111).contains("64, 72 or 80 worker cores"), "{}", refusal(0b111));
    }
}
