//! Host writes that prepare a core's L1 before BRISC leaves reset.
//!
//! # Compatibility
//! The order and the contents follow `llrt.cpp` and `risc_firmware_initializer.cpp`; the addresses
//! are those that the firmware was compiled with.

use super::{
    HostWrite,
    firmware::{FirmwareSet, Mailboxes},
};
use crate::{
    arch::{Arch, floorplan::CorePlace},
    chip::facts::ChipFacts,
    machine::coordinates::{bank_coordinates, bank_offset},
    riscv::{LOCAL_RAM_BASE, narrow},
};
use reader::firmware_elf::debug_info::Part;
use wire::CoreKind;

/// Properties of a core and its chip that the firmware needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreFacts {
    /// Column and row of the core in the grid of worker cores.
    pub logical: (u8, u8),
    /// Coordinates of each DRAM bank on each NoC, in the format of command buffers.
    pub dram_banks: [Vec<u16>; 2],
    /// Offset to add to the addresses in each DRAM bank.
    pub dram_offsets: Vec<u32>,
    /// Coordinates of each worker on each NoC, in the format of command buffers.
    pub l1_banks: [Vec<u16>; 2],
    /// Translated column of each logical column.
    pub virtual_columns: Vec<u8>,
    /// Translated row of each logical row.
    pub virtual_rows: Vec<u8>,
}

impl CoreFacts {
    /// Collects the properties that a host writes to the core for the firmware.
    #[must_use]
    pub fn new(chip: &ChipFacts, place: CorePlace) -> Self {
        let banks = 0..chip.arch.facts().bank_count;
        let dram = |noc| banks.clone().map(|bank| bank_coordinates(chip, noc, bank)).collect();
        let mut facts = Self {
            logical: (byte(place.logical.x), byte(place.logical.y)),
            dram_banks: [dram(0), dram(1)],
            dram_offsets: banks.clone().map(|bank| bank_offset(chip.arch, bank)).collect(),
            ..Self::default()
        };
        let workers = chip.plan.cores().iter().filter(|core| core.kind == CoreKind::Tensix);
        for worker in workers {
            let Some((x, y)) = chip.translation.logical(worker.coord) else { continue };
            let shift = if chip.arch == Arch::WormholeB0 { 4 } else { 0 };
            let coordinates = (x | y << 6) << shift;
            // Translated coordinates identify the same tile on both NoCs.
            facts.l1_banks.iter_mut().for_each(|banks| banks.push(coordinates));
            put_at(&mut facts.virtual_columns, worker.logical.x, byte(x));
            put_at(&mut facts.virtual_rows, worker.logical.y, byte(y));
        }
        facts
    }
}

fn byte(at: u16) -> u8 {
    u8::try_from(at).unwrap_or(u8::MAX)
}

fn put_at(values: &mut Vec<u8>, index: u16, value: u8) {
    let index = usize::from(index);
    if index >= values.len() {
        values.resize(index + 1, 0);
    }
    values[index] = value;
}

impl FirmwareSet {
    /// Returns everything that a core's L1 must contain when BRISC leaves reset, in the order in
    /// which a host writes it. The profiler's memory is not included, because the host's profiler
    /// sets it up.
    #[must_use]
    pub fn boot_writes(&self, core: &CoreFacts) -> Vec<HostWrite> {
        let mut writes = Vec::new();
        for firmware in self.processors() {
            let image = firmware.image();
            for segment in image.iter().flat_map(|image| image.segments()) {
                let is_private = segment.address >= LOCAL_RAM_BASE;
                let address =
                    if is_private { firmware.data_image_address } else { segment.address };
                writes.push(HostWrite { address, bytes: whole_words(segment.bytes.to_vec()) });
            }
        }
        writes.push(self.bank_tables(core));
        writes.push(self.virtual_coordinates(core));
        writes.extend(self.mailbox_writes(core));
        let entry = self.processors().first().and_then(|brisc| Some(brisc.image()?.entry()));
        let jump = crate::riscv::jump_to(entry.unwrap_or_default());
        writes.push(HostWrite { address: 0, bytes: jump.to_le_bytes().to_vec() });
        writes
    }

    fn bank_tables(&self, core: &CoreFacts) -> HostWrite {
        let tables = &self.tables;
        let coordinates = |banks: &[Vec<u16>; 2], count| {
            banks
                .iter()
                .flat_map(|banks| cut(banks, count))
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>()
        };
        let offsets = cut(&core.dram_offsets, tables.sizes.dram_bank_count);
        let mut bytes = coordinates(&core.dram_banks, tables.sizes.dram_bank_count);
        bytes.extend(coordinates(&core.l1_banks, tables.sizes.l1_bank_count));
        bytes.extend(offsets.into_iter().flat_map(u32::to_le_bytes));
        bytes.extend(vec![0; 4 * tables.sizes.l1_bank_count]);
        HostWrite { address: tables.banks_address, bytes: whole_words(bytes) }
    }

    fn virtual_coordinates(&self, core: &CoreFacts) -> HostWrite {
        let tables = &self.tables;
        let mut bytes = cut(&core.virtual_columns, tables.sizes.column_count);
        bytes.extend(cut(&core.virtual_rows, tables.sizes.row_count));
        HostWrite { address: tables.virtual_address, bytes: whole_words(bytes) }
    }

    /// Returns the writes to the mailboxes, except those to the profiler's memory, which is part of
    /// the mailboxes.
    fn mailbox_writes(&self, core: &CoreFacts) -> Vec<HostWrite> {
        let mailboxes = &self.mailboxes;
        let mut bytes = vec![0; mailboxes.size_bytes as usize];
        let (column, row) = core.logical;
        for (part, value) in [
            (mailboxes.logical_x, column.into()),
            (mailboxes.logical_y, row.into()),
            (mailboxes.core_magic, mailboxes.worker_magic),
            (mailboxes.watcher_enable, WATCHER_DISABLED),
            (mailboxes.go_signal, mailboxes.signals.init),
            (mailboxes.go_index, 0),
        ] {
            put(&mut bytes, part, value);
        }
        let profiler_end = narrow(mailboxes.profiler.end());
        let start = narrow(mailboxes.profiler.control_address).saturating_sub(mailboxes.address);
        let end = profiler_end.saturating_sub(mailboxes.address) as usize;
        let behind = bytes.split_off(end.min(bytes.len()));
        bytes.truncate(start as usize);
        let before = HostWrite { address: mailboxes.address, bytes };
        [before, HostWrite { address: profiler_end, bytes: behind }]
            .into_iter()
            .filter(|write| !write.bytes.is_empty())
            .collect()
    }
}

impl Mailboxes {
    /// Returns the L1 address of a part of the mailboxes.
    pub(crate) const fn address_of(&self, part: Part) -> u32 {
        self.address + part.offset
    }
}

/// Value that disables the watcher.
///
/// # Compatibility
/// `WatcherDisabled` in `dev_msgs.h`.
const WATCHER_DISABLED: u32 = 2;

/// Writes a value of up to four bytes to a part of the mailboxes.
pub(super) fn put(bytes: &mut [u8], part: Part, value: u32) {
    let start = part.offset as usize;
    let size = (part.size_bytes as usize).min(4);
    if let Some(place) = bytes.get_mut(start..start + size) {
        place.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// Returns the first `count` values; missing values are set to the default.
fn cut<T: Copy + Default>(values: &[T], count: usize) -> Vec<T> {
    values.iter().copied().chain(std::iter::repeat(T::default())).take(count).collect()
}

pub(super) fn whole_words(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
