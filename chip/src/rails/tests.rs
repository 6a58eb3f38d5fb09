//! Tests each rule against a chip that logs every access.

use super::*;
use crate::access::NocResult;
use std::cell::RefCell;

const TILE: NocTile = NocTile { x: 3, y: 4 };
const OTHER: NocTile = NocTile { x: 5, y: 4 };
const CONTROL: NamedRange =
    NamedRange { start: 0xB00, size_bytes: 256, range_use: RangeUse::Control };
const MARKERS: NamedRange =
    NamedRange { start: 0xC00, size_bytes: 2048, range_use: RangeUse::Markers };

/// A logged access: true for a write, then NoC, tile, address and number of bytes.
type Noted = (bool, u8, NocTile, u64, usize);

/// A chip in which every word contains its own address unless set otherwise.
#[derive(Default)]
struct Chip {
    noted: RefCell<Vec<Noted>>,
    words: RefCell<BTreeMap<(NocTile, u64), u32>>,
    /// Tiles in which every word reads as all ones.
    dead: RefCell<Vec<NocTile>>,
    /// Tiles for which every access returns an error.
    failing: RefCell<Vec<NocTile>>,
}

impl ChipAccess for &Chip {
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
        self.noted.borrow_mut().push((false, noc, tile, address, bytes.len()));
        if self.failing.borrow().contains(&tile) {
            return Err(AccessFailure("no answer".to_owned()));
        }
        for (address, bytes) in (address..).step_by(4).zip(bytes.chunks_mut(4)) {
            let set = self.words.borrow().get(&(tile, address)).copied();
            let word = set.unwrap_or(u32::try_from(address).unwrap());
            let word = if self.dead.borrow().contains(&tile) { u32::MAX } else { word };
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }

    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
        self.noted.borrow_mut().push((true, noc, tile, address, bytes.len()));
        for (address, bytes) in (address..).step_by(4).zip(bytes.chunks(4)) {
            let word = u32::from_le_bytes(bytes.try_into().unwrap());
            self.words.borrow_mut().insert((tile, address), word);
        }
        Ok(())
    }
}

fn rails(chip: &Chip, writes: Writes) -> Rails<&Chip> {
    let mut rails = Rails::new(chip, writes);
    for tile in [TILE, OTHER] {
        rails.name(tile, CONTROL);
        rails.name(tile, MARKERS);
    }
    rails
}

#[test]
fn words_come_after_a_probe_of_four_bytes_over_noc_1() {
    let chip = Chip::default();
    let mut words = [0; 3];
    rails(&chip, Writes::Refused).read(TILE, 0xC04, &mut words).unwrap();
    assert_eq!(words, [0xC04, 0xC08, 0xC0C]);
    assert_eq!(*chip.noted.borrow(), [(false, 1, TILE, 0xC04, 4), (false, 1, TILE, 0xC08, 8)]);
}

#[test]
fn what_was_not_named_is_never_touched() {
    let chip = Chip::default();
    let mut rails = rails(&chip, Writes::ControlVectors);
    let elsewhere = NocTile { x: 4, y: 4 };
    for (tile, address, count) in [
        (elsewhere, 0xB00, 1),
        (TILE, 0xAFC, 1),
        (TILE, 0xB00, 65),
        (TILE, 0xBFC, 2),
        (TILE, 0xC00, 513),
        (TILE, 0x13FE, 1),
        (TILE, 0xB02, 1),
        (TILE, u64::MAX - 3, 1),
        (TILE, 0xFFB1_2000, 1),
    ] {
        let size_bytes = 4 * count as u64;
        let expected = Refusal::NotNamed { tile, address, size_bytes };
        assert_eq!(rails.read(tile, address, &mut vec![0; count]), Err(expected.clone()));
        assert_eq!(rails.write(tile, address, &vec![0; count]), Err(expected));
    }
    assert!(chip.noted.borrow().is_empty(), "{:?}", chip.noted);
    rails.read(TILE, 0xC00, &mut [0; 512]).unwrap();
}

#[test]
fn a_chip_that_is_gone_is_read_once_and_never_again() {
    let chip = Chip::default();
    chip.dead.borrow_mut().extend([TILE, OTHER]);
    let mut rails = rails(&chip, Writes::ControlVectors);
    let stopped = Refusal::Stopped { tile: TILE, address: 0xB00 };
    assert_eq!(rails.read(TILE, 0xB00, &mut [0; 64]), Err(stopped.clone()));
    assert_eq!(*chip.noted.borrow(), [(false, 1, TILE, 0xB00, 4)]);
    for tile in [TILE, OTHER] {
        assert_eq!(rails.read(tile, 0xC00, &mut [0]), Err(stopped.clone()));
        assert_eq!(rails.write(tile, 0xB00, &[0]), Err(stopped.clone()));
    }
    assert_eq!(chip.noted.borrow().len(), 1);
    assert_eq!(rails.stopped(), Some(&stopped));
}

#[test]
fn a_chip_that_goes_while_it_is_read_is_not_touched_again() {
    let chip = Chip::default();
    let mut rails = rails(&chip, Writes::Refused);
    rails.read(OTHER, 0xB00, &mut [0; 64]).unwrap();
    // The first word still answers, but the other words do not.
    chip.words.borrow_mut().insert((TILE, 0xC10), u32::MAX);
    chip.dead.borrow_mut().push(OTHER);
    let stopped = Refusal::Stopped { tile: TILE, address: 0xC10 };
    assert_eq!(rails.read(TILE, 0xC00, &mut [0; 5]), Err(stopped.clone()));
    let count = chip.noted.borrow().len();
    assert_eq!(rails.read(OTHER, 0xB00, &mut [0]), Err(stopped));
    assert_eq!(chip.noted.borrow().len(), count);
}

#[test]
fn a_word_of_all_ones_is_data_while_a_control_vector_answers() {
    let chip = Chip::default();
    let mut rails = rails(&chip, Writes::Refused);
    rails.read(TILE, 0xB00, &mut [0]).unwrap();
    chip.words.borrow_mut().insert((OTHER, 0xC00), u32::MAX);
    let mut words = [0; 2];
    rails.read(OTHER, 0xC00, &mut words).unwrap();
    assert_eq!((words, rails.stopped()), ([u32::MAX, 0xC04], None));
    // A word of the markers cannot confirm that the chip answers: only the first word of a control
    // vector is never all ones.
    chip.words.borrow_mut().insert((TILE, 0xB00), u32::MAX);
    assert!(rails.read(OTHER, 0xC00, &mut words).is_err());
}

#[test]
fn a_tile_that_gives_an_error_is_asked_no_more_and_others_go_on() {
    let chip = Chip::default();
    chip.failing.borrow_mut().push(TILE);
    let mut rails = rails(&chip, Writes::ControlVectors);
    let error = rails.read(TILE, 0xC00, &mut [0; 9]).unwrap_err();
    assert_eq!(error.to_string(), "tile (3,4), address 0xc00: no answer");
    assert!(rails.write(TILE, 0xB00, &[1]).is_err());
    assert!(chip.noted.borrow().iter().all(|&(writes, .., bytes)| !writes && bytes == 4));
    rails.read(OTHER, 0xC00, &mut [0; 9]).unwrap();
}

#[test]
fn nothing_is_written_unless_it_was_asked_for() {
    let chip = Chip::default();
    let mut refusing = rails(&chip, Writes::Refused);
    let error = refusing.write(TILE, 0xB20, &[7, 8]).unwrap_err();
    assert_eq!(error, Refusal::ReadOnly { tile: TILE, address: 0xB20, size_bytes: 8 });
    assert!(chip.noted.borrow().is_empty());

    let mut writing = rails(&chip, Writes::ControlVectors);
    assert!(matches!(writing.write(TILE, 0xC00, &[1]), Err(Refusal::ReadOnly { .. })));
    assert!(chip.noted.borrow().is_empty(), "markers are never written");
    writing.write(TILE, 0xB20, &[7, 8]).unwrap();
    assert_eq!(*chip.noted.borrow(), [(false, 1, TILE, 0xB20, 4), (true, 1, TILE, 0xB20, 8)]);
    assert_eq!(chip.words.borrow()[&(TILE, 0xB24)], 8);
}
