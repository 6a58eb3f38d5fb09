//! The memory that a launch uses, as the launch message and the kernels' configuration in L1 say.
//!
//! # Compatibility
//! `dev_msgs.h` for the message, and `circular_buffer_init.h` for the configuration of circular
//! buffers: four words for each local one, from number 0 on, and two words for each remote one,
//! from the last number down.

use super::firmware::{CircularBufferParts, FirmwareSet};
use crate::{
    launch_memory::{L1Range, L1Use},
    riscv::narrow,
    tile::Tile,
};
use reader::firmware_elf::debug_info::Part;
use wire::CoreKind;

/// Bytes of the configuration of a local circular buffer: address, size, page count, page size.
const LOCAL_BYTES: u32 = 16;
/// Bytes of the configuration of a remote circular buffer: address of its state, page size.
const REMOTE_BYTES: u32 = 8;
/// Bits of the mask of local circular buffers.
const MASK_BITS: u32 = 64;

impl FirmwareSet {
    /// Returns the ranges of L1 that the launch uses which a core obeys next, by address.
    pub(crate) fn launch_ranges(&self, tile: &Tile) -> Vec<L1Range> {
        let parts = &self.mailboxes.launch;
        let base = self.field(tile, parts.config_base);
        let profiler = &self.mailboxes.profiler;
        let mut ranges = vec![range(
            narrow(profiler.control_address),
            narrow(profiler.size_bytes),
            L1Use::Profiler,
        )];
        let enables = self.field(tile, parts.enables);
        let mut first_text: Option<u32> = None;
        for (index, &offset) in parts.text_offsets.iter().enumerate() {
            let Some(risc) = CoreKind::Tensix.risc(index) else { continue };
            if enables >> index & 1 == 0 {
                continue;
            }
            let start = base.wrapping_add(self.field(tile, offset));
            if start > base {
                first_text = Some(first_text.map_or(start, |first| first.min(start)));
            }
            if let Some(&size) = parts.text_sizes.get(index) {
                ranges.push(range(start, self.field(tile, size), L1Use::Kernel(risc)));
            }
        }
        let mut config_end = base;
        if let Some(fields) = &parts.circular_buffers {
            let local_end = self.add_local(tile, base, fields, &mut ranges);
            config_end = self.add_remote(tile, base, fields, &mut ranges).max(local_end);
        }
        // The kernels of a trace are elsewhere, and only circular buffers tell where its
        // configuration ends.
        let config_bytes = first_text.unwrap_or(config_end).saturating_sub(base);
        ranges.push(range(base, config_bytes, L1Use::Configuration));
        ranges.retain(|range| range.size_bytes > 0);
        ranges.sort_unstable();
        ranges
    }

    /// Adds the circular buffers that this core fills itself; returns the end of their
    /// configuration.
    fn add_local(
        &self,
        tile: &Tile,
        base: u32,
        fields: &CircularBufferParts,
        ranges: &mut Vec<L1Range>,
    ) -> u32 {
        let part = fields.local_mask;
        let mut mask = u64::from(self.field(tile, part));
        if part.size_bytes > 4 {
            let upper = Part { offset: part.offset + 4, size_bytes: 4 };
            mask |= u64::from(self.field(tile, upper)) << 32;
        }
        let first = base.wrapping_add(self.field(tile, fields.local_offset));
        for number in (0..MASK_BITS).filter(|number| mask >> number & 1 != 0) {
            let config = first.wrapping_add(number * LOCAL_BYTES);
            let [start, size_bytes, count, page_bytes] = words(tile, config);
            let usage = L1Use::CircularBuffer(number);
            let pages = Some((count, page_bytes));
            ranges.push(L1Range { start, size_bytes, usage, pages });
        }
        first.wrapping_add((MASK_BITS - mask.leading_zeros()) * LOCAL_BYTES)
    }

    /// Adds the remote circular buffers that are in this core's memory: those that it receives.
    /// Returns the end of the configuration of all.
    fn add_remote(
        &self,
        tile: &Tile,
        base: u32,
        fields: &CircularBufferParts,
        ranges: &mut Vec<L1Range>,
    ) -> u32 {
        let launch = &self.mailboxes.launch;
        let (least, count) = (self.field(tile, launch.min_remote_cb), launch.circular_buffer_count);
        let first = base.wrapping_add(self.field(tile, fields.remote_offset));
        let numbers = least..count.min(MASK_BITS);
        let end = first.wrapping_add(narrow(numbers.len() as u64) * REMOTE_BYTES);
        for (place, number) in numbers.rev().enumerate() {
            let config = first.wrapping_add(narrow(place as u64) * REMOTE_BYTES);
            let [state, page_bytes, ..] = words(tile, config);
            if state == 0 {
                continue;
            }
            let [is_sender, _, start, size_bytes] = words(tile, state);
            if is_sender != 0 {
                continue;
            }
            let usage = L1Use::RemoteCircularBuffer(number);
            let pages = size_bytes.checked_div(page_bytes).map(|pages| (pages, page_bytes));
            ranges.push(L1Range { start, size_bytes, usage, pages });
        }
        end
    }
}

const fn range(start: u32, size_bytes: u32, usage: L1Use) -> L1Range {
    L1Range { start, size_bytes, usage, pages: None }
}

fn words(tile: &Tile, first: u32) -> [u32; 4] {
    [0, 4, 8, 12].map(|offset| tile.load(u64::from(first.wrapping_add(offset))))
}
