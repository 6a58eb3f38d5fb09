//! Data layout of the kernel `pass_tiles`, shared with its object code.

/// Index of the number of tiles.
pub const TILES: u32 = 0;
/// Index of the cycles per tile.
pub const CYCLES: u32 = 1;
/// Index of the maximum variation of the cycles, in percent.
pub const JITTER: u32 = 2;
/// Index of the buffer that tiles are taken from; [`NO_BUFFER`] for none.
pub const INPUT: u32 = 3;
/// Index of the buffer that tiles are put into; [`NO_BUFFER`] for none.
pub const OUTPUT: u32 = 4;
/// Index of the output buffer's capacity in tiles.
pub const CAPACITY: u32 = 5;
/// Index of the number of bytes of a tile that are moved over the NoC and recorded; 0 for none. A
/// kernel without an output buffer writes the bytes; other kernels read them.
pub const BYTES: u32 = 6;
/// Index of the share of a tile's cycles that is spent at a NoC barrier, in percent.
pub const BARRIER: u32 = 7;
/// Index of the maximum number of tiles by which a reader may be ahead of the core's writer; 0 for
/// no limit. A writer counts its tiles if the value is not 0.
pub const AHEAD: u32 = 8;
/// Index of the coordinates of the core that reads for this core; [`NO_TILE`] for the core itself.
pub const READER: u32 = 9;
/// Index of the number of other cores for which this core reads.
pub const OTHERS: u32 = 10;
/// Index of the rectangle of the other cores; [`NO_TILE`] if each core is signalled separately.
pub const RECTANGLE: u32 = 11;
/// Number of words before the coordinates of the other cores.
pub const WORD_COUNT: usize = 12;

/// Number that means "no buffer".
pub const NO_BUFFER: u32 = u32::MAX;
/// Value that means "no tile".
///
/// Any other value contains coordinates: the column in the low six bits and the row above. For a
/// rectangle, the coordinates of its end are in the lower bits and those of its beginning above.
pub const NO_TILE: u32 = u32::MAX;
/// First of the buffers whose waits and signals are not recorded. The TRISCs pass tiles through
/// these buffers, which model the synchronisation within the engines.
pub const FIRST_SILENT_BUFFER: u32 = 24;
/// Mask of a buffer's counters.
pub const BUFFER_MASK: u32 = 0xFFFF;

/// L1 address of the semaphore that the writer increments for each tile.
pub const WRITTEN_SEMAPHORE: u32 = 0x9_0000;
/// L1 address of the semaphore of a group's first core; the other cores increment it for each tile.
pub const ASKED_SEMAPHORE: u32 = 0x9_0010;
/// L1 address of the semaphore of the other cores; the first core increments it for each tile.
pub const SENT_SEMAPHORE: u32 = 0x9_0020;
/// End of the semaphores in L1.
pub const SEMAPHORES_END: u32 = 0x9_0030;
