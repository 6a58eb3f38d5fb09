//! Bytes and words that reach deep into the readers, from seeds so that a run can be repeated.

/// Generator of pseudo-random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Returns the generator for a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    #[expect(clippy::cast_possible_truncation, reason = "it is below a number of its type")]
    pub const fn below(&mut self, end: usize) -> usize {
        match end {
            0 => 0,
            end => (self.roll() % end as u64) as usize,
        }
    }

    /// Returns the next byte.
    pub const fn byte(&mut self) -> u8 {
        self.roll().to_le_bytes()[7]
    }

    /// Returns the next word.
    pub const fn word(&mut self) -> u32 {
        (self.roll() >> 32) as u32
    }

    /// Returns `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}

/// Edge cases for readers, used as the last bytes of a field.
const EDGES: [u64; 10] =
    [0, 1, 7, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, u64::MAX >> 1, u64::MAX];

/// Changes up to six parts of the bytes: flips bits, overwrites fields, or removes, repeats, moves
/// or truncates pieces. `telling` are bytes that have a meaning for the reader.
pub fn mutate(bytes: &mut Vec<u8>, telling: &[u8], dice: &mut Dice) {
    for _ in 0..1 + dice.below(6) {
        mutate_once(bytes, telling, dice);
    }
}

fn mutate_once(bytes: &mut Vec<u8>, telling: &[u8], dice: &mut Dice) {
    let at = dice.below(bytes.len());
    let end = (at + dice.below(64)).min(bytes.len());
    match dice.below(8) {
        _ if bytes.is_empty() => bytes.extend(dice.bytes(40)),
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes[at] = telling.get(dice.below(telling.len())).copied().unwrap_or(0),
        2 => {
            let field = EDGES[dice.below(EDGES.len())].to_le_bytes();
            let width = (1 << dice.below(4)).min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&field[..width]);
        }
        3 => drop(bytes.drain(at..end)),
        4 => {
            let piece = bytes[at..end].to_vec();
            let to = dice.below(bytes.len());
            bytes.splice(to..to, piece);
        }
        5 => {
            let count = dice.below(16);
            let piece = dice.bytes(count);
            bytes.splice(at..at, piece);
        }
        6 if dice.below(4) == 0 => bytes.truncate(at),
        _ => bytes[at..end].fill(telling.get(dice.below(telling.len())).copied().unwrap_or(0)),
    }
}

/// Bytes of a [`damage`] script for one change.
pub const DAMAGE_BYTES: usize = 8;

/// Damages a capture according to a script of eight bytes per change.
///
/// The bytes are the kind, the amount, the position and, for pieces that are repeated or moved, the
/// target position. Half of the kinds damage whole sections.
pub fn damage(bytes: &mut Vec<u8>, script: &[u8]) {
    for &[kind, amount, a, b, c, d, e, f] in script.as_chunks().0 {
        let places = [u32::from_le_bytes([a, b, c, 0]), u32::from_le_bytes([d, e, f, 0])];
        if kind & 1 == 0 {
            damage_bytes(bytes, kind >> 1, amount, places);
        } else {
            damage_sections(bytes, kind >> 1, places);
        }
    }
}

/// Scales a 24-bit position in a script to a position below `end`.
fn scaled(place: u32, end: usize) -> usize {
    usize::try_from((u64::from(place) * end as u64) >> 24).unwrap_or(0)
}

fn damage_bytes(bytes: &mut Vec<u8>, kind: u8, amount: u8, [at, to]: [u32; 2]) {
    let (at, to) = (scaled(at, bytes.len()), scaled(to, bytes.len()));
    let end = (at + usize::from(amount)).min(bytes.len());
    match kind % 6 {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= amount.max(1);
            }
        }
        2 => drop(bytes.drain(at..end)),
        3 => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(to..to, piece);
        }
        4 => bytes[at..end].fill(amount),
        _ => bytes.truncate(at),
    }
}

/// Removes, repeats or moves a section, or truncates the file before it.
fn damage_sections(bytes: &mut Vec<u8>, kind: u8, [at, to]: [u32; 2]) {
    let bounds = section_bounds(bytes);
    let count = bounds.len() - 1;
    let at = scaled(at, count);
    let Some(&[start, end]) = bounds.get(at..at + 2).and_then(|pair| pair.first_chunk()) else {
        return;
    };
    let to = bounds[scaled(to, count + 1)];
    match kind % 5 {
        0 | 1 => drop(bytes.drain(start..end)),
        2 => {
            let section = bytes[start..end].to_vec();
            bytes.splice(to..to, section);
        }
        3 => {
            let section: Vec<u8> = bytes.drain(start..end).collect();
            let to = if to >= end { to - section.len() } else { to.min(start) };
            bytes.splice(to..to, section);
        }
        _ => bytes.truncate(start),
    }
}

/// Returns the begins of all sections, and the end of the file.
fn section_bounds(bytes: &[u8]) -> Vec<usize> {
    let magic = b"\xABSECTION";
    let is_start = |at: &usize| bytes[*at..].starts_with(magic);
    (0..bytes.len()).step_by(8).filter(is_start).chain([bytes.len()]).collect()
}

/// Appends at least `count` words that are meaningful to the decoder.
///
/// They are complete and partial runs of the lane with `id_word` and of other lanes, markers of
/// every type, trailers, zeros and noise. The share of damage differs from seed to seed, since
/// damage costs the rest of a run.
pub fn telling_words(words: &mut Vec<u32>, count: usize, id_word: u32, dice: &mut Dice) {
    let end = words.len() + count;
    let mut clock = dice.roll() >> 20;
    let rarity = [20, 300, 5000][dice.below(3)];
    while words.len() < end {
        clock = clock.wrapping_add(pause(rarity, dice));
        match dice.below(rarity) {
            0 => words.extend([0, 0]),
            1 => words.extend([0, 0, id_word, dice.word() % 5]),
            2 => words.extend([0, 0, id_word ^ 1 << dice.below(32), 1]),
            3 => words.extend([1 << 31, dice.word() & 0xF000_001F]),
            // An odd word misaligns all pairs up to the next odd word.
            4 if dice.below(4) == 0 => words.push(dice.word()),
            4 => words.extend([dice.word(), dice.word()]),
            5 => words.extend([0; 12]),
            6 => words.extend(stamped(6 + dice.word() % 2, 1, clock)),
            _ if dice.below(20) == 0 => run(words, id_word, clock, dice),
            _ => marker(words, clock, dice),
        }
    }
}

/// Returns the cycles from one marker to the next: few, or so many that the low word or the whole
/// time stamp wraps.
const fn pause(rarity: usize, dice: &mut Dice) -> u64 {
    let bits = match dice.below(rarity) {
        0 => 44,
        1 | 2 => 33,
        _ => 8,
    };
    dice.roll() >> (64 - bits)
}

/// Appends a run header and its four guaranteed slots.
fn run(words: &mut Vec<u32>, id_word: u32, clock: u64, dice: &mut Dice) {
    words.extend([0, 0, id_word, dice.word() % 5]);
    for (kind, id) in [(0, 0xFC0D), (1, 0xFC0D), (0, 0xE427), (1, 0xE427)] {
        match dice.below(6) {
            0 => words.extend([1 << 31, 0]),
            _ => words.extend(stamped(kind, id, clock)),
        }
    }
}

fn marker(words: &mut Vec<u32>, clock: u64, dice: &mut Dice) {
    let kind = [0, 1, 0, 1, 0, 1, 2, 3, 4, 5][dice.below(10)];
    words.extend(stamped(kind, dice.word() % 8, clock));
    let payload = [0, 0, 0, 2, 0, 4][kind as usize];
    for _ in 0..payload {
        let word = [0, 1 << 31, dice.word()][dice.below(3)];
        words.push(word);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a stamp's low word is its low word")]
const fn stamped(kind: u32, id: u32, clock: u64) -> [u32; 2] {
    [1 << 31 | kind << 28 | id << 12 | (clock >> 32) as u32 & 0xFFF, clock as u32]
}

/// Returns a 32-bit ELF for RISC-V with one section and the section of section names.
#[must_use]
pub fn elf(section_name: &str, section: &[u8]) -> Vec<u8> {
    let names = format!("\0{section_name}\0.shstrtab\0");
    let size = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let (names_at, names_name) = (52 + size(section), 2 + size(section_name.as_bytes()));
    let mut bytes = b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xF3\0".to_vec();
    // Version, entry, no program headers, offset of the section headers, flags.
    for word in [1, 0, 0, names_at + size(names.as_bytes()), 0] {
        bytes.extend(word.to_le_bytes());
    }
    for half in [52_u16, 0, 0, 40, 3, 2] {
        bytes.extend(half.to_le_bytes());
    }
    bytes.extend_from_slice(section);
    bytes.extend_from_slice(names.as_bytes());
    let headers = [
        [0; 10],
        [1, 1, 0, 0, 52, size(section), 0, 0, 1, 0],
        [names_name, 3, 0, 0, names_at, size(names.as_bytes()), 0, 0, 1, 0],
    ];
    bytes.extend(headers.iter().flatten().flat_map(|word| word.to_le_bytes()));
    bytes
}
