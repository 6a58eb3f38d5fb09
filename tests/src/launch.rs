//! Memory of a chip after launches, word by word, for meshes without a simulator.

use host_reader::mesh::{CoreDescription, LogicalCoord, Noc0Coord};
use wire::CoreKind;

/// L1 address of the control words of [`tensix`] cores.
pub const CONTROL_ADDRESS: u64 = 0x100;

/// L1 address of the first vector, or ring, of [`tensix`] cores.
pub const VECTOR_ADDRESS: u64 = 0x200;

/// Returns a worker core.
#[must_use]
pub const fn tensix(flat_id: u32, noc0: Noc0Coord) -> CoreDescription {
    CoreDescription {
        noc0,
        logical: LogicalCoord { x: 0, y: 0 },
        kind: CoreKind::Tensix,
        flat_id,
        control_address: CONTROL_ADDRESS,
        vector_address: VECTOR_ADDRESS,
    }
}

/// Appends the words of one launch on one RISC: zones of firmware and kernel, and inner zones with
/// five names. A launch takes 100,000 cycles.
pub fn push_launch(words: &mut Vec<u32>, zone_count: u32, [flat_id, risc]: [u32; 2], launch: u32) {
    let start = launch * 100_000;
    words.extend([0, 0, risc | flat_id << 5, launch + 1]);
    words.extend([0x8FC0_D001, start, 0x9FC0_D001, start + 90_000]);
    words.extend([0x8E42_7001, start + 10, 0x9E42_7001, start + 89_000]);
    for zone in 0..zone_count {
        let time = start + 100 + zone * 600;
        words.extend([0x8000_1001 + ((zone % 5) << 12), time]);
        words.extend([0x9000_1001 + ((zone % 5) << 12), time + 400]);
    }
}
