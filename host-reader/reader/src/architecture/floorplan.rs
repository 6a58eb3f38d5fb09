//! Floorplan of one particular chip: its cores, with their coordinates and indices.

use super::{Arch, HarvestAxis, TileCoord, translation::Translation};
use crate::mesh::{CoreDescription, LogicalCoord};
use wire::CoreKind;

/// A core that runs kernels, and its position on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorePlace {
    /// Coordinate on the NoC-0 grid.
    pub coord: TileCoord,
    /// Coordinate in the grid of usable cores of the same kind. Ethernet cores have the coordinate
    /// (0, channel number).
    pub logical: TileCoord,
    /// Kind of the core.
    pub kind: CoreKind,
    /// Index of the core on the chip, with cores of all kinds ordered by x, then y.
    pub flat_id: u32,
}

impl CorePlace {
    /// Returns the core's description for the host reader.
    ///
    /// The arguments are the L1 addresses of the control vector and of the first RISC's vector.
    #[must_use]
    pub const fn description(&self, control_address: u64, vector_address: u64) -> CoreDescription {
        let Self { coord: noc0, logical, kind, flat_id } = *self;
        let logical = LogicalCoord { x: logical.x, y: logical.y };
        CoreDescription { noc0, logical, kind, flat_id, control_address, vector_address }
    }
}

/// The cores of one chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floorplan {
    arch: Arch,
    harvested: Vec<u16>,
    /// Harvested group of DRAM tiles.
    harvested_dram: Option<usize>,
    cores: Vec<CorePlace>,
}

/// Reason why a floorplan cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FloorplanError {
    /// No product has this number of worker cores.
    #[error("{arch} comes with {} worker cores, not with {asked}", list(.possible))]
    WorkerCoreCount {
        /// The architecture.
        arch: Arch,
        /// The requested number of worker cores.
        asked: u32,
        /// Possible numbers of worker cores.
        possible: &'static [u32],
    },
    /// A given row or column has no Tensix tiles, or is given twice.
    #[error("{line} cannot be harvested on {arch}: name each of {} at most once", list(.possible))]
    HarvestedLine {
        /// The architecture.
        arch: Arch,
        /// The given row or column.
        line: u16,
        /// Rows or columns that can be harvested.
        possible: &'static [u16],
    },
    /// No product has this DRAM disabled.
    #[error(
        "expected a mask of the DRAM that is harvested on {arch}: {}, found {mask:#x}",
        match .arch { Arch::Blackhole => "0, or one of the eight lowest bits", _ => "0" }
    )]
    HarvestedDram {
        /// The architecture.
        arch: Arch,
        /// The given mask.
        mask: u32,
    },
    /// More Ethernet links were requested than the chip has Ethernet tiles.
    #[error("{arch} has {possible} ethernet tiles, {asked} active ones were asked for")]
    EthernetCount {
        /// The architecture.
        arch: Arch,
        /// The requested number of links.
        asked: usize,
        /// The number of Ethernet tiles.
        possible: usize,
    },
}

impl Floorplan {
    /// Computes the floorplan of a chip on which the rows or columns in `harvested` are disabled.
    ///
    /// The links of the first `active_eth_count` Ethernet channels are assumed to be connected.
    ///
    /// # Errors
    /// If the rows or columns cannot be harvested, if no product has the remaining number of worker
    /// cores, or if there are too few Ethernet tiles.
    ///
    /// ```
    /// use reader::architecture::{Arch, floorplan::Floorplan};
    /// let plan = Floorplan::new(Arch::WormholeB0, &[11, 1], 0)?;
    /// assert_eq!(plan.worker_grid(), (8, 8));
    /// assert_eq!(plan.cores().len(), 64 + 16);
    /// # Ok::<(), reader::architecture::floorplan::FloorplanError>(())
    /// ```
    pub fn new(
        arch: Arch,
        harvested: &[u16],
        active_eth_count: usize,
    ) -> Result<Self, FloorplanError> {
        check_lines(arch, harvested)?;
        let possible = arch.facts().ethernet.len();
        if active_eth_count > possible {
            return Err(FloorplanError::EthernetCount { arch, asked: active_eth_count, possible });
        }
        let mut plan =
            Self { arch, harvested: harvested.to_vec(), harvested_dram: None, cores: Vec::new() };
        let (columns, rows) = plan.worker_grid();
        check_worker_core_count(arch, u32::from(columns) * u32::from(rows))?;
        plan.cores = plan.numbered_cores(active_eth_count);
        Ok(plan)
    }

    /// Computes the floorplan of a product with `worker_core_count` worker cores, without Ethernet
    /// links. Which rows or columns are disabled differs between chips of a product; here it is the
    /// first ones of [`harvest_order`](super::ArchFacts::harvest_order).
    ///
    /// # Errors
    /// If there is no such product.
    ///
    /// ```
    /// use reader::architecture::{Arch, floorplan::Floorplan};
    /// let plan = Floorplan::of_product(Arch::WormholeB0, 64)?;
    /// assert_eq!((plan.worker_grid(), plan.harvested()), ((8, 8), &[11, 1][..]));
    /// let refusal = Floorplan::of_product(Arch::Blackhole, 64).unwrap_err().to_string();
    /// assert_eq!(refusal, "blackhole comes with 120, 130 or 140 worker cores, not with 64");
    /// # Ok::<(), reader::architecture::floorplan::FloorplanError>(())
    /// ```
    pub fn of_product(arch: Arch, worker_core_count: u32) -> Result<Self, FloorplanError> {
        let line_count = Self::harvested_line_count(arch, worker_core_count)?;
        let lines = arch.facts().harvest_order.iter().copied().take(line_count);
        Self::new(arch, &lines.collect::<Vec<_>>(), 0)
    }

    /// Returns the same chip with the groups of DRAM tiles in `mask` disabled; bit `i` is group `i` of
    /// the architecture's [`dram_groups`](super::ArchFacts::dram_groups).
    ///
    /// # Errors
    /// If the mask has a bit for no group, or if no product has these groups disabled: on a
    /// Blackhole, at most one may be, and on a Wormhole none.
    ///
    /// # Compatibility
    /// tt-umd, `blackhole_coordinate_manager.cpp` and the description of a p100 in its tests.
    ///
    /// ```
    /// use reader::architecture::{Arch, floorplan::Floorplan};
    /// let p100 = Floorplan::of_product(Arch::Blackhole, 120)?.with_harvested_dram(0b1000)?;
    /// assert_eq!((p100.bank_count(), p100.dram_harvest_mask()), (7, 0b1000));
    /// # Ok::<(), reader::architecture::floorplan::FloorplanError>(())
    /// ```
    pub fn with_harvested_dram(self, mask: u32) -> Result<Self, FloorplanError> {
        let arch = self.arch;
        let groups = 0..arch.facts().dram_groups.len();
        let harvested_dram = groups.clone().find(|group| mask == 1 << group);
        if mask != 0 && (harvested_dram.is_none() || arch != Arch::Blackhole) {
            return Err(FloorplanError::HarvestedDram { arch, mask });
        }
        Ok(Self { harvested_dram, ..self })
    }

    /// Returns the harvested groups of DRAM tiles as a mask, as in
    /// [`with_harvested_dram`](Self::with_harvested_dram).
    #[must_use]
    pub fn dram_harvest_mask(&self) -> u32 {
        self.harvested_dram.map_or(0, |group| 1 << group)
    }

    /// Returns the number of DRAM banks that are not harvested.
    #[must_use]
    pub fn bank_count(&self) -> u32 {
        // Only a Blackhole has harvested groups; a group there is one bank.
        self.arch.facts().bank_count - u32::from(self.harvested_dram.is_some())
    }

    /// Returns the tile through which a DRAM bank is accessed; `None` beyond the last bank. Banks are
    /// numbered without those that are harvested.
    #[must_use]
    pub fn bank_tile(&self, bank: u32) -> Option<TileCoord> {
        let is_behind = self.harvested_dram.is_some_and(|group| bank as usize >= group);
        self.arch.facts().bank_tile(bank.checked_add(is_behind.into())?)
    }

    /// Returns the translation of coordinates on this chip.
    #[must_use]
    pub fn translation(&self) -> Translation {
        Translation::of(self.arch, &self.harvested, self.harvested_dram)
    }

    /// Returns the number of harvested rows or columns in a product with `worker_core_count` cores.
    ///
    /// # Errors
    /// If there is no such product.
    pub fn harvested_line_count(
        arch: Arch,
        worker_core_count: u32,
    ) -> Result<usize, FloorplanError> {
        check_worker_core_count(arch, worker_core_count)?;
        let facts = arch.facts();
        let (columns, rows) = (facts.tensix_columns.len(), facts.tensix_rows.len());
        let line_length = match facts.harvest_axis {
            HarvestAxis::Rows => columns,
            HarvestAxis::Columns => rows,
        };
        Ok((columns * rows - worker_core_count as usize) / line_length)
    }

    /// Returns the architecture.
    #[must_use]
    pub const fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the harvested rows (Wormhole) or columns (Blackhole).
    #[must_use]
    pub fn harvested(&self) -> &[u16] {
        &self.harvested
    }

    /// Converts a harvest mask to row or column numbers, ordered from the lowest bit of the mask.
    ///
    /// # Errors
    /// If a set bit of the mask belongs to no row or column; the error contains all such bits.
    pub fn harvested_lines(arch: Arch, mask: u32) -> Result<Vec<u16>, u32> {
        let order = arch.facts().harvest_order;
        let unknown = mask >> order.len() << order.len();
        let named = order.iter().enumerate().filter(|&(bit, _)| mask >> bit & 1 != 0);
        if unknown == 0 { Ok(named.map(|(_, &line)| line).collect()) } else { Err(unknown) }
    }

    /// Returns the harvested rows or columns as a mask. Bit `i` is set if entry `i` of the
    /// architecture's `harvest_order` is harvested.
    #[must_use]
    pub fn harvest_mask(&self) -> u32 {
        let order = self.arch.facts().harvest_order;
        let bits = order.iter().enumerate().filter(|(_, line)| self.harvested.contains(line));
        bits.fold(0, |mask, (bit, _)| mask | 1 << bit)
    }

    /// Returns all cores, ordered by `flat_id`.
    #[must_use]
    pub fn cores(&self) -> &[CorePlace] {
        &self.cores
    }

    /// Returns the number of columns and rows in the grid of worker cores.
    #[must_use]
    pub fn worker_grid(&self) -> (u16, u16) {
        let [columns, rows] = [HarvestAxis::Columns, HarvestAxis::Rows]
            .map(|axis| u16::try_from(self.worker_lines(axis).len()).unwrap_or(u16::MAX));
        (columns, rows)
    }

    fn worker_lines(&self, axis: HarvestAxis) -> Vec<u16> {
        let [left, _] = self.arch.facts().tensix_lines(axis, &self.harvested);
        left
    }

    fn numbered_cores(&self, active_eth_count: usize) -> Vec<CorePlace> {
        let mut cores = self.tensix_cores();
        cores.extend(self.ethernet_cores(active_eth_count));
        cores.sort_by_key(|core| core.coord);
        for (flat_id, core) in (0..).zip(&mut cores) {
            core.flat_id = flat_id;
        }
        cores
    }

    fn tensix_cores(&self) -> Vec<CorePlace> {
        let mut cores = Vec::new();
        for (logical_x, x) in (0..).zip(self.worker_lines(HarvestAxis::Columns)) {
            for (logical_y, y) in (0..).zip(self.worker_lines(HarvestAxis::Rows)) {
                cores.push(CorePlace {
                    coord: TileCoord { x, y },
                    logical: TileCoord { x: logical_x, y: logical_y },
                    kind: CoreKind::Tensix,
                    flat_id: 0,
                });
            }
        }
        cores
    }

    fn ethernet_cores(&self, active_count: usize) -> impl Iterator<Item = CorePlace> {
        let channels = (0_u16..).zip(self.arch.facts().ethernet);
        channels.map(move |(channel, &coord)| {
            let is_active = usize::from(channel) < active_count;
            let kind = if is_active { CoreKind::ActiveEth } else { CoreKind::IdleEth };
            CorePlace { coord, logical: TileCoord { x: 0, y: channel }, kind, flat_id: 0 }
        })
    }
}

fn check_lines(arch: Arch, harvested: &[u16]) -> Result<(), FloorplanError> {
    let possible = arch.facts().harvest_order;
    for (index, &line) in harvested.iter().enumerate() {
        if !possible.contains(&line) || harvested[..index].contains(&line) {
            return Err(FloorplanError::HarvestedLine { arch, line, possible });
        }
    }
    Ok(())
}

fn check_worker_core_count(arch: Arch, asked: u32) -> Result<(), FloorplanError> {
    let possible = arch.facts().worker_core_counts;
    if possible.contains(&asked) {
        return Ok(());
    }
    Err(FloorplanError::WorkerCoreCount { arch, asked, possible })
}

fn list<T: ToString>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(T::to_string).collect();
    match texts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => texts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat_id_of(plan: &Floorplan, x: u16, y: u16) -> Option<u32> {
        let coord = TileCoord { x, y };
        plan.cores().iter().find(|core| core.coord == coord).map(|core| core.flat_id)
    }

    #[test]
    fn cores_are_numbered_down_the_columns_with_ethernet_in_its_place() {
        let plan = Floorplan::new(Arch::WormholeB0, &[], 0).unwrap();
        // Column 1 has Ethernet tiles at y 0 and 6, and Tensix tiles between them.
        assert_eq!(flat_id_of(&plan, 1, 0), Some(0));
        assert_eq!(flat_id_of(&plan, 1, 1), Some(1));
        assert_eq!(flat_id_of(&plan, 1, 6), Some(6));
        assert_eq!(flat_id_of(&plan, 1, 11), Some(11));
        assert_eq!(flat_id_of(&plan, 2, 0), Some(12));
        assert_eq!(flat_id_of(&plan, 9, 11), Some(95));
        assert_eq!(flat_id_of(&plan, 5, 5), None);
    }

    #[test]
    fn a_harvested_row_leaves_no_hole_in_numbers_or_logical_places() {
        let plan = Floorplan::new(Arch::WormholeB0, &[2], 0).unwrap();
        assert_eq!(flat_id_of(&plan, 1, 2), None);
        assert_eq!(flat_id_of(&plan, 1, 3), Some(2));
        let third = plan.cores().iter().find(|core| core.coord == TileCoord { x: 1, y: 3 });
        assert_eq!(third.map(|core| core.logical), Some(TileCoord { x: 0, y: 1 }));
        assert_eq!(plan.harvest_mask(), 0b1000);
    }

    /// tt-umd, `blackhole_coordinate_manager.cpp`: with group 3 harvested, as on the p100 of its
    /// tests, the other half's four groups have column 17, the mirror image of the harvested one
    /// last.
    #[test]
    fn banks_of_a_p100_are_numbered_without_the_harvested_one() {
        let whole = Floorplan::of_product(Arch::Blackhole, 120).unwrap();
        let p100 = whole.clone().with_harvested_dram(1 << 3).unwrap();
        let translation = p100.translation();
        let places: Vec<_> = (0..8)
            .map(|bank| Some((p100.bank_tile(bank)?, translation.dram(0, p100.bank_tile(bank)?)?)))
            .collect();
        let at = |x, y, to_x, to_y| Some((TileCoord { x, y }, (to_x, to_y)));
        let expected = [
            at(0, 0, 18, 12),
            at(0, 2, 18, 15),
            at(0, 9, 18, 18),
            at(9, 0, 17, 12),
            at(9, 2, 17, 15),
            at(9, 9, 17, 18),
            at(9, 5, 17, 21),
            None,
        ];
        assert_eq!(places, expected);
        assert_eq!(translation.tile(1, 18, 21), None, "the harvested group");
        // One in the middle of the other half: its mirror image is the last of the first half.
        let other = whole.clone().with_harvested_dram(1 << 5).unwrap();
        let translation = other.translation();
        let rows = [(17, 12), (17, 21), (17, 15), (17, 18), (18, 12), (18, 15), (18, 18)];
        let places = (0..7).map(|bank| translation.dram(1, other.bank_tile(bank).unwrap()));
        assert_eq!(places.collect::<Vec<_>>(), rows.map(Some));
    }

    #[test]
    fn dram_that_no_product_lacks_cannot_be_harvested() {
        for (arch, mask) in
            [(Arch::WormholeB0, 1), (Arch::Blackhole, 0b11), (Arch::Blackhole, 1 << 8)]
        {
            let plan = Floorplan::new(arch, &[], 0).unwrap();
            assert_eq!(plan.clone().with_harvested_dram(0).as_ref(), Ok(&plan));
            let error = plan.with_harvested_dram(mask).unwrap_err();
            assert_eq!(error, FloorplanError::HarvestedDram { arch, mask });
        }
    }

    #[test]
    fn a_harvested_blackhole_loses_columns_but_no_ethernet() {
        let plan = Floorplan::new(Arch::Blackhole, &[1, 16], 2).unwrap();
        assert_eq!(plan.worker_grid(), (12, 10));
        assert_eq!(plan.cores().len(), 120 + 14);
        assert_eq!(flat_id_of(&plan, 1, 1), Some(0));
        assert_eq!(flat_id_of(&plan, 2, 1), Some(1));
        let active = plan.cores().iter().filter(|core| core.kind == CoreKind::ActiveEth);
        let coords: Vec<_> = active.map(|core| (core.coord.x, core.coord.y)).collect();
        assert_eq!(coords, [(1, 1), (16, 1)]);
    }

    #[test]
    fn a_mask_names_lines_in_the_order_of_the_fuses() {
        let lines = |arch, mask| Floorplan::harvested_lines(arch, mask);
        assert_eq!(lines(Arch::WormholeB0, 0b10_0000_0011), Ok(vec![11, 1, 5]));
        assert_eq!(lines(Arch::Blackhole, 0b10_0000_0000_0010), Ok(vec![16, 10]));
        assert_eq!(lines(Arch::WormholeB0, 0b1100_0000_0001), Err(0b1100_0000_0000));
        assert_eq!(lines(Arch::Blackhole, 0), Ok(Vec::new()));
    }

    #[test]
    fn products_that_do_not_exist_are_refused_with_the_list_of_those_that_do() {
        let error = Floorplan::harvested_line_count(Arch::WormholeB0, 56).unwrap_err();
        assert_eq!(
            error.to_string(),
            "wormhole_b0 comes with 64, 72 or 80 worker cores, not with 56"
        );
        for (line, harvested) in [(6, &[6][..]), (3, &[3, 3])] {
            let error = Floorplan::new(Arch::WormholeB0, harvested, 0).unwrap_err();
            assert!(matches!(error, FloorplanError::HarvestedLine { line: l, .. } if l == line));
        }
        assert!(Floorplan::new(Arch::WormholeB0, &[1, 2, 3], 0).is_err());
        assert!(Floorplan::new(Arch::WormholeB0, &[], 17).is_err());
        assert_eq!(Floorplan::harvested_line_count(Arch::Blackhole, 130), Ok(1));
    }
}
