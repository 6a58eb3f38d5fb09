//! Words of the data of the kernel `pass_tiles`, shared with its object code.

/// Index of the number of tiles.
pub const TILES: u32 = 0;
/// Index of the cycles of a tile.
pub const CYCLES: u32 = 1;
/// Index of the percent up to which the cycles vary.
pub const JITTER: u32 = 2;
/// Index of the buffer that tiles are taken from, [`NO_BUFFER`] for none.
pub const INPUT: u32 = 3;
/// Index of the buffer that tiles are put into, [`NO_BUFFER`] for none.
pub const OUTPUT: u32 = 4;
/// Index of the number of tiles that the latter has room for.
pub const CAPACITY: u32 = 5;
/// Index of the bytes of a tile that are moved over the NoC and recorded, 0 for none. A kernel
/// without a buffer to put tiles into writes them, another reads them.
pub const BYTES: u32 = 6;
/// Index of the percent of a tile's cycles that are spent at a barrier of the NoC.
pub const BARRIER: u32 = 7;
/// Number of words.
pub const WORD_COUNT: usize = 8;

/// Number that is none of a buffer.
pub const NO_BUFFER: u32 = u32::MAX;
/// First of the buffers whose waits and signals are not recorded: those between the TRISCs, which
/// stand for the engines' own synchronisation.
pub const FIRST_SILENT_BUFFER: u32 = 24;
/// Bits of a buffer's counters.
pub const BUFFER_MASK: u32 = 0xFFFF;
