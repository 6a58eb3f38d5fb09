//! Effects of NoC requests on the tile at which they arrive.

use super::{devices::Devices, registers::WALL_CLOCK_LATCHED, request::FIRST_REGISTER};
use crate::{
    arch::{WALL_CLOCK_HIGH, WALL_CLOCK_LOW},
    chip::facts::ChipFacts,
    tile::Tile,
};

/// Operation that a NoC request performs at its target tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    Bytes {
        address: u64,
        bytes: Vec<u8>,
    },
    /// A write of bytes of `value`: for each set bit `i` of the mask, the byte `i & 3` of `value`
    /// is stored at `address + i`.
    Masked {
        address: u64,
        value: u32,
        byte_mask: u32,
    },
    Read {
        address: u64,
        byte_count: u32,
    },
    Increment {
        address: u64,
        amount: u32,
        mask: u32,
    },
}

impl Payload {
    /// Returns the number of data bytes that a request with this payload carries.
    pub(crate) const fn byte_count(&self) -> u64 {
        match self {
            Self::Bytes { bytes, .. } => bytes.len() as u64,
            Self::Masked { .. } => 4,
            Self::Read { .. } | Self::Increment { .. } => 0,
        }
    }
}

/// Carries out a request on a core's tile; returns the bytes read.
pub(crate) fn carry_out(
    payload: &Payload,
    (tile, devices): (&mut Tile, &mut Devices),
    chip: &ChipFacts,
    cycle: u64,
) -> Vec<u8> {
    match payload {
        Payload::Bytes { address, bytes } if *address >= FIRST_REGISTER => {
            let value = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            store_register(devices, chip, (*address, value), cycle);
            Vec::new()
        }
        Payload::Bytes { address, bytes } => {
            write_bytes((tile, devices), *address, bytes, cycle);
            Vec::new()
        }
        Payload::Masked { address, value, .. } if *address >= FIRST_REGISTER => {
            store_register(devices, chip, (*address, *value), cycle);
            Vec::new()
        }
        &Payload::Masked { address, value, byte_mask } => {
            let value = value.to_le_bytes();
            for index in (0..16).filter(|index| byte_mask >> index & 1 != 0) {
                let byte = [value[(index & 3) as usize]];
                write_bytes((tile, devices), address + index, &byte, cycle);
            }
            Vec::new()
        }
        &Payload::Read { address, .. } if address >= FIRST_REGISTER => {
            load_register((tile, devices), chip, address, cycle).to_le_bytes().to_vec()
        }
        &Payload::Read { address, byte_count } => read_bytes(tile, address, byte_count),
        &Payload::Increment { address, amount, mask } => {
            let before = tile.load(address);
            let after = before.wrapping_add(amount) & mask | before & !mask;
            write_bytes((tile, devices), address, &after.to_le_bytes(), cycle);
            before.to_le_bytes().to_vec()
        }
    }
}

/// Returns bytes from a tile's L1.
pub(crate) fn read_bytes(tile: &Tile, address: u64, byte_count: u32) -> Vec<u8> {
    let mut bytes = vec![0; byte_count as usize];
    let first = usize::try_from(address).unwrap_or(usize::MAX);
    let kept = tile.l1.kept().get(first..).unwrap_or_default();
    let length = kept.len().min(bytes.len());
    bytes[..length].copy_from_slice(&kept[..length]);
    bytes
}

/// Writes bytes to a tile's L1.
pub(crate) fn write_bytes(
    (tile, devices): (&mut Tile, &mut Devices),
    address: u64,
    bytes: &[u8],
    cycle: u64,
) {
    devices.signals.written_at = Some(cycle);
    let (mut at, mut rest) = (address, bytes);
    while !rest.is_empty() {
        let (word_address, first) = (at & !3, (at & 3) as usize);
        let (now, later) = rest.split_at(rest.len().min(4 - first));
        let mut word = tile.load(word_address).to_le_bytes();
        word[first..first + now.len()].copy_from_slice(now);
        tile.store(word_address, u32::from_le_bytes(word), cycle);
        (at, rest) = (word_address + 4, later);
    }
    let [first, end] = [address & !3, at].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
    match devices.overwritten.last_mut() {
        _ if bytes.is_empty() => {}
        Some(range) if range.end == first => range.end = end,
        _ => devices.overwritten.push(first..end),
    }
}

fn store_register(
    devices: &mut Devices,
    chip: &ChipFacts,
    (address, value): (u64, u32),
    cycle: u64,
) {
    if let Ok(address) = u32::try_from(address) {
        devices.remote_store(chip, address, value, cycle);
    }
}

fn load_register(
    (tile, devices): (&mut Tile, &mut Devices),
    chip: &ChipFacts,
    address: u64,
    cycle: u64,
) -> u32 {
    let Ok(address) = u32::try_from(address) else { return 0 };
    match address {
        WALL_CLOCK_LOW => tile.clock.read_low(cycle),
        WALL_CLOCK_HIGH => tile.clock.read_live_high(cycle),
        WALL_CLOCK_LATCHED => tile.clock.latched_high(),
        _ => devices.remote_load(chip, address, cycle),
    }
}
