//! Data words of the kernel `pass_tiles`, shared with its object code.

/// Index of the word with the number of tiles.
pub const TILES: u32 = 0;
/// Index of the word with the number of cycles per tile.
pub const CYCLES: u32 = 1;
/// Index of the word with the maximum random variation of the cycles per tile, in percent.
pub const JITTER: u32 = 2;
/// Index of the word with the number of the input buffer, from which tiles are popped;
/// [`NO_BUFFER`] if there is none.
pub const INPUT: u32 = 3;
/// Index of the word with the number of the output buffer, to which tiles are pushed; [`NO_BUFFER`]
/// if there is none.
pub const OUTPUT: u32 = 4;
/// Index of the word with the output buffer's capacity in tiles.
pub const CAPACITY: u32 = 5;
/// Index of the word with the number of bytes per tile that are transferred over the NoC and
/// recorded; 0 for no transfer.
///
/// A kernel without an output buffer writes the bytes; a kernel with an output buffer reads them.
pub const BYTES: u32 = 6;
/// Index of the word with the share of a tile's cycles that is spent at a NoC barrier, in percent.
pub const BARRIER: u32 = 7;
/// Index of the word with the maximum number of tiles by which a core's reader kernel may be ahead
/// of the writer kernel of the same core; 0 for no limit.
///
/// If the value is not 0, the writer counts its tiles in [`WRITTEN_SEMAPHORE`].
pub const AHEAD: u32 = 8;
/// Index of the word with the coordinates of the core that reads for this core; [`NO_TILE`] if this
/// core reads its own tiles.
pub const READER: u32 = 9;
/// Index of the word with the number of other cores for which this core reads.
pub const OTHERS: u32 = 10;
/// Index of the word with the rectangle of the other cores for which this core reads; [`NO_TILE`]
/// if each core is signalled separately.
pub const RECTANGLE: u32 = 11;
/// Number of words before the coordinates of the cores for which this core reads.
pub const WORD_COUNT: usize = 12;

/// Buffer number that means "no buffer".
pub const NO_BUFFER: u32 = u32::MAX;
/// Coordinates that mean "no tile".
///
/// All other values contain coordinates: the column in the low six bits, the row in the six bits
/// above. For a rectangle, the low twelve bits contain the coordinates of its end corner, and the
/// twelve bits above contain those of its start corner.
pub const NO_TILE: u32 = u32::MAX;
/// Number of the first buffer whose waits and signals are not recorded.
///
/// The TRISCs pass tiles to each other through these buffers, which model the synchronisation
/// between the coprocessor's engines.
pub const FIRST_SILENT_BUFFER: u32 = 24;
/// Mask for the value of a buffer's counter, which has 16 bits.
pub const BUFFER_MASK: u32 = 0xFFFF;

/// L1 address of the semaphore in which the writer counts its tiles, for the reader on the same
/// core.
pub const WRITTEN_SEMAPHORE: u32 = 0x9_0000;
/// L1 address, in the first core of a group, of the semaphore that every other core of the group
/// increments once per tile.
pub const ASKED_SEMAPHORE: u32 = 0x9_0010;
/// L1 address, in every core of a group but the first, of the semaphore in which the first core
/// counts the tiles that it has sent.
pub const SENT_SEMAPHORE: u32 = 0x9_0020;
/// First L1 address after the semaphores.
pub const SEMAPHORES_END: u32 = 0x9_0030;
