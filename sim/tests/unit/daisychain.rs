//! The debug daisychain of tiles whose BRISC runs a few instructions.

use super::bare::{BareChip, Script};
use crate::{
    arch::{Arch, TileCoord},
    riscv::asm::{A0, A1, T0, T1, li, sw},
};

const TILE: TileCoord = TileCoord { x: 1, y: 2 };
const FIRST: u32 = 0xFFB1_2048;
const END: u32 = 0xFFB1_204C;
const MODE: u32 = 0xFFB1_2050;
const CONTROL: u32 = 0xFFB1_2054;
const DATA: u32 = 0xFFB1_205C;
/// Group B of BRISC, from the document's table of signals.
const B_OF_BRISC: u32 = 1 << 29 | 7 << 16 | 11;
const BUFFER: u32 = 0x8000;

/// Takes `count` samples, `interval` cycles apart, in the document's order of stores.
fn series(count: u32, interval: u32) -> Script {
    Script::default()
        .store(CONTROL, B_OF_BRISC)
        .store(MODE, 15)
        .store(FIRST, BUFFER >> 4)
        .store(END, (BUFFER >> 4) + count)
        .store(MODE, 4 | (interval - 1) << 4 | 1 << 12)
}

fn samples(chip: &mut BareChip, count: u32) -> Vec<[u32; 4]> {
    let word = |chip: &mut BareChip, sample, word| {
        chip.word(TILE, u64::from(BUFFER + 16 * sample + 4 * word))
    };
    (0..count)
        .map(|sample| std::array::from_fn(|of| word(chip, sample, u32::try_from(of).unwrap())))
        .collect()
}

#[test]
fn a_tile_samples_its_own_loop() {
    for arch in Arch::ALL {
        let begin = series(40, 7);
        let first = 4 * u32::try_from(begin.words().len() - 1).unwrap();
        let mut chip = BareChip::new(arch);
        chip.put(TILE, u64::from(BUFFER + 16 * 40), &[0xABCD; 4]);
        // 500 rounds of three instructions.
        let script = begin.pause(500);
        assert_eq!(chip.run(&[(TILE, &script)]), [""; 0]);
        let found = samples(&mut chip, 41);
        assert_eq!(found[40], [0xABCD; 4], "{arch}: no sample more than asked for");
        let end = 4 * u32::try_from(script.words().len()).unwrap();
        let mut rounds = [0; 3];
        for [reserved, pc, _, flags] in &found[..40] {
            assert_eq!(*reserved, 0);
            let pc = pc & 0x3FFF_FFFF;
            assert!((first..end).contains(&pc), "{arch}: {pc:#x} is in {first:#x}..{end:#x}");
            assert_eq!(flags & !(1 << 7), 0, "{arch}");
            if let Some(rounds) =
                (end - 4).checked_sub(pc).and_then(|back| rounds.get_mut(back as usize / 4 - 1))
            {
                *rounds += 1;
            }
        }
        // 7 and the length of a round have no common divisor, so that each of its instructions is seen.
        assert!(rounds.iter().all(|&count| count >= 8), "{arch}: {rounds:?}");
    }
}

#[test]
fn single_words_are_read_as_the_document_says() {
    for arch in Arch::ALL {
        // The four instructions of the document.
        let read = |select: u32, to: u32| {
            Script::default()
                .store(CONTROL, B_OF_BRISC | select << 25)
                .store(DATA, 0)
                .store(DATA, 0)
                .copy(DATA, to)
        };
        let script = read(1, 0x9000).pause(10).then(read(1, 0x9004)).then(read(3, 0x9008));
        let mut chip = BareChip::new(arch);
        assert_eq!(chip.run(&[(TILE, &script)]), [""; 0]);
        let [pc, later, flags] = [0x9000, 0x9004, 0x9008].map(|at| chip.word(TILE, at));
        let (pc, later) = (pc & 0x3FFF_FFFF, later & 0x3FFF_FFFF);
        assert!(pc < later && later < 4 * u32::try_from(script.words().len()).unwrap(), "{arch}");
        assert_eq!(flags & !(1 << 7), 0, "{arch}: only bit 103");
    }
}

#[test]
fn a_series_that_begins_too_early_stops_the_risc() {
    let prepared =
        Script::default().store(MODE, 15).store(FIRST, BUFFER >> 4).store(END, (BUFFER >> 4) + 1);
    // Both stores directly follow each other.
    let values = [li(A0, MODE), li(A1, 4 | 1 << 12), li(T0, CONTROL), li(T1, B_OF_BRISC)];
    let words = values.into_iter().flatten().chain([sw(T1, T0, 0), sw(A1, A0, 0)]);
    let script = words.fold(prepared, Script::instruction);
    let failures = BareChip::new(Arch::WormholeB0).run(&[(TILE, &script)]);
    assert_eq!(failures.len(), 1);
    assert!(failures[0].contains("RISCV_DEBUG_REG_DBG_L1_MEM_REG2"), "{failures:?}");
    assert!(failures[0].contains("cycles ago, and show after 5"), "{failures:?}");
}

#[test]
fn registers_beside_those_of_the_document_are_refused() {
    for address in [0xFFB1_2058, 0xFFB1_2060, 0xFFB1_2064] {
        let script = Script::default().store(address, 0);
        let failures = BareChip::new(Arch::Blackhole).run(&[(TILE, &script)]);
        assert!(failures[0].contains("does not model it"), "{failures:?}");
    }
}
