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
/// Index of the tiles that a reader may be ahead of the core's writer, 0 for any number; a writer
/// counts its tiles where it is not 0.
pub const AHEAD: u32 = 8;
/// Index of the tile of the core that reads for this one, [`NO_TILE`] where it reads itself.
pub const READER: u32 = 9;
/// Index of the number of other cores that it reads for.
pub const OTHERS: u32 = 10;
/// Index of the rectangle of those cores, [`NO_TILE`] where each is signalled by itself.
pub const RECTANGLE: u32 = 11;
/// Number of words, after which the tiles of the other cores follow.
pub const WORD_COUNT: usize = 12;

/// Number that is none of a buffer.
pub const NO_BUFFER: u32 = u32::MAX;
/// Coordinates that are those of no tile: all others have the column's six bits below the row's, in
/// a rectangle those of its end below those of its beginning.
pub const NO_TILE: u32 = u32::MAX;
/// First of the buffers whose waits and signals are not recorded: those between the TRISCs, which
/// stand for the engines' own synchronisation.
pub const FIRST_SILENT_BUFFER: u32 = 24;
/// Bits of a buffer's counters.
pub const BUFFER_MASK: u32 = 0xFFFF;

/// L1 address of the semaphore that the writer increments for each tile.
pub const WRITTEN_SEMAPHORE: u32 = 0x9_0000;
/// L1 address of the semaphore of a group's first core that the others increment for each tile.
pub const ASKED_SEMAPHORE: u32 = 0x9_0010;
/// L1 address of the semaphore of the other cores that the first one increments for each tile.
pub const SENT_SEMAPHORE: u32 = 0x9_0020;
/// L1 address behind the semaphores.
pub const SEMAPHORES_END: u32 = 0x9_0030;
