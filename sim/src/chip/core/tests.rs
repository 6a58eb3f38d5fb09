//! Accesses that a chip refuses, and effects between tiles, each tested with a few instructions.
//!
//! The tests `mistake_1` to `mistake_5` cover device code that stops a chip or Tenstorrent's
//! simulator; earlier versions of this simulator accepted it.

use super::bare::{BareChip, Script};
use crate::{
    arch::{Arch, TileCoord},
    riscv::asm::{A0, EBREAK, T0, T1, jal, li, sw},
};

const A: TileCoord = TileCoord { x: 1, y: 2 };
const B: TileCoord = TileCoord { x: 4, y: 9 };
/// Values of `NOC_CTRL`: a write with acknowledgement, and a write without.
const ACKED: u32 = 0x2092;
const POSTED: u32 = 0x2082;
pub(super) const READ: u32 = 0x2090;
const INCREMENT: u32 = 0x2091;
const INLINE: u32 = 0x209A;
/// Coordinates of the first DRAM tile, as used in the registers of each NoC.
const DRAM: [TileCoord; 2] = [TileCoord { x: 0, y: 0 }, TileCoord { x: 9, y: 11 }];

/// Offsets of a request initiator's registers.
pub(super) mod at {
    pub(in super::super) const TARGET: u32 = 0x00;
    pub(in super::super) const RETURN: u32 = 0x0C;
    pub(in super::super) const TAG: u32 = 0x18;
    pub(in super::super) const CTRL: u32 = 0x1C;
    pub(in super::super) const LENGTH: u32 = 0x20;
}

fn immediate(arch: Arch) -> u32 {
    if arch == Arch::WormholeB0 { 0x24 } else { 0x28 }
}

pub(super) fn send(arch: Arch) -> u32 {
    if arch == Arch::WormholeB0 { 0x28 } else { 0x40 }
}

/// Returns the stores that set one endpoint of a request to an address in a tile.
pub(super) fn side(arch: Arch, first: u32, tile: TileCoord, address: u32) -> Vec<(u32, u32)> {
    let coordinates = u32::from(tile.x) | u32::from(tile.y) << 6;
    match arch {
        Arch::WormholeB0 => vec![(first, address), (first + 4, coordinates << 4)],
        Arch::Blackhole => vec![(first, address), (first + 4, 0), (first + 8, coordinates)],
    }
}

/// Returns the stores that send a request from one endpoint to the other.
fn request(
    arch: Arch,
    noc: u32,
    target: (TileCoord, u32),
    back: (TileCoord, u32),
    (control, length): (u32, u32),
) -> Script {
    let mut stores = side(arch, at::TARGET, target.0, target.1);
    stores.extend(side(arch, at::RETURN, back.0, back.1));
    stores.extend([(at::CTRL, control), (at::LENGTH, length), (send(arch), 1)]);
    Script::default().command(noc, &stores)
}

/// Returns the address of a counter register of a NoC interface.
pub(super) fn counter(noc: u32, index: u32) -> u32 {
    0xFFB2_0200 + noc * 0x1_0000 + 4 * index
}

fn dram_word(chip: &BareChip, bank: u32, address: u64) -> u32 {
    let mut word = [0];
    assert!(chip.dram.read(bank, address, &mut word));
    word[0]
}

/// Returns the only failure in the list.
fn only(failures: &[String]) -> &str {
    assert_eq!(failures.len(), 1, "{failures:?}");
    &failures[0]
}

#[test]
fn mistake_1_reset_addresses_in_registers_that_a_wormhole_lacks() {
    for address in (0xFFB1_2228..=0xFFB1_223C).step_by(4) {
        let script = Script::default().store(address, 0x2000);
        let failures = BareChip::new(Arch::WormholeB0).run(&[(A, &script)]);
        let expected = format!("wormhole_b0 has no register at {address:#010x}");
        assert!(only(&failures).contains(&expected), "{failures:?}");
        assert!(only(&failures).contains("core (1,2), BRISC"), "{failures:?}");
        assert_eq!(BareChip::new(Arch::Blackhole).run(&[(A, &script)]), [""; 0]);
    }
}

#[test]
fn mistake_2_an_acknowledgement_that_goes_to_nobody() {
    for arch in Arch::ALL {
        let dram = if arch == Arch::WormholeB0 { DRAM[0] } else { TileCoord { x: 17, y: 12 } };
        let nobody = TileCoord { x: 0, y: 0 };
        let script = request(arch, 0, (nobody, 0x1000), (dram, 0x40), (ACKED, 16));
        let failures = BareChip::new(arch).run(&[(A, &script)]);
        assert!(
            only(&failures).contains("would be acknowledged to (0,0) of NoC 0"),
            "{failures:?}"
        );
        let posted = request(arch, 0, (nobody, 0x1000), (dram, 0x40), (POSTED, 16));
        assert_eq!(BareChip::new(arch).run(&[(A, &posted)]), [""; 0]);
    }
}

#[test]
fn mistake_2_an_acknowledgement_that_goes_to_another_core() {
    for arch in Arch::ALL {
        let dram = if arch == Arch::WormholeB0 { DRAM[0] } else { TileCoord { x: 17, y: 12 } };
        let mut chip = BareChip::new(arch);
        chip.put(A, 0x1000, &[7; 4]);
        let wrong = request(arch, 0, (B, 0x1000), (dram, 0x40), (ACKED, 16))
            .pause(500)
            .copy(counter(0, 1), 0x1100)
            .copy(counter(0, 16), 0x1104);
        let other = Script::default().pause(800).copy(counter(0, 1), 0x1100);
        assert_eq!(chip.run(&[(A, &wrong), (B, &other)]), [""; 0]);
        assert_eq!(dram_word(&chip, 0, 0x40), 7, "the data arrives");
        assert_eq!((chip.word(A, 0x1100), chip.word(A, 0x1104)), (0, 1), "never completes");
        assert_eq!(chip.word(B, 0x1100), 1, "it was acknowledged here");

        let waits = request(arch, 0, (B, 0x1000), (dram, 0x40), (ACKED, 16)).wait(counter(0, 1), 1);
        let failures = BareChip::new(arch).run(&[(A, &waits)]);
        assert!(only(&failures).contains("still running after"), "{failures:?}");
    }
}

#[test]
fn mistake_3_registers_of_a_request_that_a_wormhole_lacks() {
    for offset in [0x08, 0x14] {
        for base in [0xFFB2_0000, 0xFFB3_0000, 0xFFB2_0400] {
            let read = Script::default().copy(base + offset, 0x1000);
            let write = Script::default().store(base + offset, 0);
            for script in [read, write] {
                let failures = BareChip::new(Arch::WormholeB0).run(&[(A, &script)]);
                assert!(only(&failures).contains("wormhole_b0 has no register"), "{failures:?}");
            }
        }
        let read = Script::default().copy(0xFFB2_0000 + offset, 0x1000);
        assert_eq!(BareChip::new(Arch::Blackhole).run(&[(A, &read)]), [""; 0]);
    }
}

#[test]
fn mistake_4_coordinates_of_noc_0_on_noc_1() {
    let arch = Arch::WormholeB0;
    let mirrored = TileCoord { x: 9 - A.x, y: 11 - A.y };
    let run = |dram| {
        let mut chip = BareChip::new(arch);
        chip.put(A, 0x1000, &[7; 4]);
        let script = request(arch, 1, (mirrored, 0x1000), (dram, 0x2040), (ACKED, 16));
        let failures = chip.run(&[(A, &script.wait(counter(1, 1), 1))]);
        let (in_dram, l1) = (dram_word(&chip, 0, 0x2040), TileCoord { x: 9, y: 11 });
        (failures, in_dram, chip.word(l1, 0x2040))
    };
    assert_eq!(run(DRAM[1]), (vec![], 7, 0));
    // (0,0) of NoC 1 is the Tensix tile (9,11), whose memory is overwritten.
    assert_eq!(run(DRAM[0]), (vec![], 0, 7));
    // An acknowledgement to the sender's coordinates on the other NoC also goes to the wrong tile.
    let script = request(arch, 1, (A, 0x1000), (DRAM[1], 0x40), (ACKED, 16));
    let failures = BareChip::new(arch).run(&[(A, &script.wait(counter(1, 1), 1))]);
    assert!(only(&failures).contains("still running after"), "{failures:?}");
}

#[test]
fn mistake_5_raw_coordinates_of_dram_on_a_blackhole() {
    let arch = Arch::Blackhole;
    for noc in 0..2 {
        for tile in arch.facts().dram_groups.iter().flatten() {
            let write = request(arch, noc, (A, 0x1000), (*tile, 0x40), (ACKED, 16));
            let read = request(arch, noc, (*tile, 0x40), (A, 0x1040), (READ, 16));
            for script in [write, read] {
                let failures = BareChip::new(arch).run(&[(A, &script)]);
                let (x, y) = (tile.x, tile.y);
                let expected = format!("no tile answers at ({x},{y}) of NoC {noc}");
                assert!(only(&failures).contains(&expected), "{failures:?}");
            }
        }
        let mut chip = BareChip::new(arch);
        chip.put(A, 0x1000, &[9; 4]);
        let dram = TileCoord { x: 18, y: 15 };
        let script = request(arch, noc, (A, 0x1000), (dram, 0x80), (ACKED, 16));
        assert_eq!(chip.run(&[(A, &script.wait(counter(noc, 1), 1))]), [""; 0]);
        assert_eq!(dram_word(&chip, 5, 0x80), 9);
    }
}

#[test]
fn what_is_no_register_or_not_so_stops_the_hart() {
    let stores = [
        (0xFFB2_0050, false, "NOC_CLEAR_OUTSTANDING_REQ_CNT at 0xffb20050"),
        (0xFFB2_0200, true, "NIU counter at 0xffb20200"),
        (0xFFB1_203C, true, "exists, but this simulator does not model it"),
        (0xFFB1_21F0, true, "RISCV_DEBUG_REG_WALL_CLOCK_L"),
        (0xFFB8_0000, true, "is not in this RISC's address space"),
        (0xFFB2_0FF0, true, "wormhole_b0 has no register"),
        (0xFFEF_0600, true, "wormhole_b0 has no register"),
        (0xFFB5_0000 + 0x3_1000, true, ""),
    ];
    for (address, is_store, expected) in stores {
        let script = Script::default();
        let script = if is_store { script.store(address, 0) } else { script.copy(address, 0x1000) };
        let failures = BareChip::new(Arch::WormholeB0).run(&[(A, &script)]);
        if !expected.is_empty() {
            assert!(only(&failures).contains(expected), "{address:#x} {failures:?}");
        }
    }
}

#[test]
fn reset_addresses_release_the_other_riscs() {
    for arch in Arch::ALL {
        let first = if arch == Arch::WormholeB0 { 0xFFEF_0278 } else { 0xFFB1_2228 };
        let mut chip = BareChip::new(arch);
        // Each RISC stores its number to its own word; TRISC 2 begins at its default address.
        for (number, address) in [(1_u32, 0x2000_u32), (2, 0x2100), (3, 0x2200), (4, 0xE000)] {
            let mut code = li(T0, 0x3000 + 4 * number).to_vec();
            code.extend(li(T1, number));
            code.extend([sw(T1, T0, 0), EBREAK]);
            chip.put(A, u64::from(address), &code);
        }
        let script = Script::default()
            .store(first, 0x2100)
            .store(first + 4, 0x2200)
            .store(first + 8, 0x7777_0000)
            .store(first + 12, 0b011)
            .store(first + 16, 0x2000)
            .store(first + 20, 1)
            .store(0xFFB1_21B0, 0)
            .wait(0x3010, 4);
        assert_eq!(chip.run(&[(A, &script)]), [""; 0]);
        let numbers: Vec<u32> = (0..5).map(|risc| chip.word(A, 0x3000 + 4 * risc)).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4], "{arch}");
    }
}

#[test]
fn what_a_tile_writes_another_one_sees_in_order() {
    for arch in Arch::ALL {
        let mut chip = BareChip::new(arch);
        chip.put(A, 0x1000, &[11, 12, 13, 14]);
        let data = request(arch, 0, (A, 0x1000), (B, 0x5000), (POSTED, 16));
        let bell = request(arch, 0, (B, 0x5020), (A, 0x1100), (INCREMENT, 0x107C));
        let bell = Script::default().command(0, &[(immediate(arch), 5)]).then(bell);
        let sender = data.then(idle(arch)).then(bell).wait(counter(0, 0), 1);
        let receiver = Script::default().wait(0x5020, 5).copy(0x5000, 0x6000).copy(0x500C, 0x6004);
        assert_eq!(chip.run(&[(A, &sender), (B, &receiver)]), [""; 0], "{arch}");
        assert_eq!((chip.word(B, 0x6000), chip.word(B, 0x6004)), (11, 14));
        assert_eq!(chip.word(A, 0x1100), 0, "what the counter held before");
    }
}

/// Waits until request initiator 0 of NoC 0 is idle.
fn idle(arch: Arch) -> Script {
    Script::default().wait(0xFFB2_0000 + send(arch), 0)
}

#[test]
fn what_is_read_from_dram_and_other_tiles_is_there_when_it_is_counted() {
    for arch in Arch::ALL {
        let mut chip = BareChip::new(arch);
        let dram = if arch == Arch::WormholeB0 { DRAM[0] } else { TileCoord { x: 17, y: 12 } };
        chip.put(A, 0x1000, &[21, 22, 23, 24]);
        chip.put(B, 0x1000, &[31, 32, 33, 34]);
        let script = request(arch, 0, (A, 0x1000), (dram, 0x4000), (ACKED, 16))
            .wait(counter(0, 1), 1)
            .then(request(arch, 0, (dram, 0x4000), (A, 0x2000), (READ, 16)))
            .wait(counter(0, 2), 1)
            .copy(0x2004, 0x3000)
            .then(request(arch, 0, (B, 0x1000), (A, 0x2040), (READ, 12)))
            .wait(counter(0, 2), 2)
            .copy(0x2048, 0x3004)
            .copy(0x204C, 0x3008)
            .copy(counter(0, 16), 0x300C);
        assert_eq!(chip.run(&[(A, &script)]), [""; 0], "{arch}");
        let words: Vec<u32> = (0..4).map(|index| chip.word(A, 0x3000 + 4 * index)).collect();
        assert_eq!(words, [22, 33, 0, 0], "{arch}");
    }
}

#[test]
fn transaction_ids_count_what_is_under_way() {
    let arch = Arch::WormholeB0;
    let mut chip = BareChip::new(arch);
    let script = Script::default()
        .command(0, &[(at::TAG, 5 << 10)])
        .then(request(arch, 0, (A, 0x1000), (DRAM[0], 0x40), (ACKED, 4096)))
        .copy(counter(0, 32 + 5), 0x3000)
        .copy(counter(0, 16 + 5), 0x3004)
        .copy(counter(0, 16), 0x3008)
        .wait(counter(0, 32 + 5), 0)
        .copy(counter(0, 16 + 5), 0x300C)
        .wait(counter(0, 16 + 5), 0)
        .copy(counter(0, 1), 0x3010)
        .copy(counter(0, 10), 0x3014)
        .copy(counter(0, 11), 0x3018);
    assert_eq!(chip.run(&[(A, &script)]), [""; 0]);
    let words: Vec<u32> = (0..7).map(|index| chip.word(A, 0x3000 + 4 * index)).collect();
    assert_eq!(words, [1, 1, 0, 1, 1, 1, 0]);
}

#[test]
fn an_initiator_that_is_busy_must_not_be_touched() {
    let arch = Arch::WormholeB0;
    let script = request(arch, 0, (A, 0x1000), (DRAM[0], 0x40), (ACKED, 4096));
    // The second request waits in the initiator until the flits of the first one have left.
    let twice = script.clone().then(script);
    let waits = twice.clone().then(idle(arch)).command(0, &[(at::LENGTH, 16)]);
    assert_eq!(BareChip::new(arch).run(&[(A, &waits)]), [""; 0]);
    let failures = BareChip::new(arch).run(&[(A, &twice.command(0, &[(at::LENGTH, 16)]))]);
    assert!(only(&failures).contains("request initiator 0 is still busy"), "{failures:?}");
}

#[test]
fn a_linked_transaction_goes_to_one_tile_and_ends() {
    let arch = Arch::WormholeB0;
    let linked =
        |to, control| request(arch, 0, (A, 0x1000), (to, 0x5000), (control, 16)).then(idle(arch));
    let sound = linked(B, POSTED | 0x40).then(linked(B, POSTED)).then(linked(DRAM[0], POSTED));
    assert_eq!(BareChip::new(arch).run(&[(A, &sound)]), [""; 0]);
    let wrong = linked(B, POSTED | 0x40).then(linked(DRAM[0], POSTED));
    let failures = BareChip::new(arch).run(&[(A, &wrong)]);
    let expected = "a linked transaction to (4,9) is open, a request to (0,0) stops the NoC";
    assert!(only(&failures).contains(expected), "{failures:?}");
}

#[test]
fn inline_writes_reach_l1_on_a_wormhole_and_registers_on_both() {
    let inline = |arch, address, lengths| {
        let value = Script::default().command(0, &[(immediate(arch), 0x0102_0304)]);
        value.then(request(arch, 0, (B, address), (A, 0), (INLINE, lengths))).wait(counter(0, 1), 1)
    };
    let mut chip = BareChip::new(Arch::WormholeB0);
    chip.put(B, 0x5000, &[u32::MAX; 4]);
    let script = inline(Arch::WormholeB0, 0x5000, 0x30F0);
    assert_eq!(chip.run(&[(A, &script)]), [""; 0]);
    let words: Vec<u32> = (0..4).map(|index| chip.word(B, 0x5000 + 4 * index)).collect();
    assert_eq!(words, [u32::MAX, 0x0102_0304, u32::MAX, 0xFFFF_0304]);
    let failures =
        BareChip::new(Arch::Blackhole).run(&[(A, &inline(Arch::Blackhole, 0x5000, 0xF))]);
    assert!(only(&failures).contains("unsafe on a Blackhole"), "{failures:?}");
    for (arch, stream) in [(Arch::WormholeB0, 0xFFB4_1010), (Arch::Blackhole, 0xFFB4_1028)] {
        let receiver = Script::default().wait(stream, 0x0304).copy(stream, 0x1000);
        let mut chip = BareChip::new(arch);
        let script = inline(arch, stream, 0xF);
        let failures = chip.run(&[(A, &script), (B, &receiver)]);
        // Streams keep 17 bits.
        assert_eq!((failures, chip.word(B, 0x1000)), (vec![], 0x0304), "{arch}");
    }
}

#[test]
fn a_rectangle_of_tiles_is_written_to_at_once() {
    for arch in Arch::ALL {
        let mut chip = BareChip::new(arch);
        chip.put(A, 0x1000, &[41; 4]);
        let coordinates = |tile: TileCoord| u32::from(tile.x) | u32::from(tile.y) << 6;
        let corners = coordinates(B) | coordinates(A) << 12;
        let broadcast = match arch {
            Arch::WormholeB0 => vec![(at::RETURN, 0x5000), (at::RETURN + 4, corners << 4)],
            Arch::Blackhole => {
                vec![(at::RETURN, 0x5000), (at::RETURN + 4, 0), (at::RETURN + 8, corners)]
            }
        };
        let mut stores = side(arch, at::TARGET, A, 0x1000);
        stores.extend(broadcast);
        stores.extend([(at::CTRL, ACKED | 0x120), (at::LENGTH, 16), (send(arch), 1)]);
        // The rectangle has four columns and rows 2 to 9, on a Wormhole without row 6. The sender
        // is excluded.
        let receivers = if arch == Arch::WormholeB0 { 4 * 7 - 1 } else { 4 * 8 - 1 };
        let script = Script::default().command(0, &stores).wait(counter(0, 1), receivers);
        assert_eq!(chip.run(&[(A, &script)]), [""; 0], "{arch}");
        let at = |x, y| TileCoord { x, y };
        let seen = [at(1, 3), at(4, 9), at(3, 5), A, at(6, 3), at(1, 10)];
        assert_eq!(seen.map(|tile| chip.word(tile, 0x5000)), [41, 41, 41, 0, 0, 0]);
    }
}

#[test]
fn answers_must_come_back_to_the_sender() {
    for arch in Arch::ALL {
        let read = request(arch, 0, (B, 0x1000), (B, 0x1000), (READ, 16));
        let failures = BareChip::new(arch).run(&[(A, &read)]);
        assert!(
            only(&failures).contains("the answer to the read would go to (4,9)"),
            "{failures:?}"
        );
        let skewed = request(arch, 0, (B, 0x1000), (A, 0x1004), (READ, 16));
        let failures = BareChip::new(arch).run(&[(A, &skewed)]);
        assert!(only(&failures).contains("which differ modulo 16"), "{failures:?}");
        let long = request(arch, 0, (B, 0x1000), (A, 0x1000), (READ, 20_000));
        let failures = BareChip::new(arch).run(&[(A, &long)]);
        assert!(only(&failures).contains("found 20000"), "{failures:?}");
    }
}

#[test]
fn the_mover_fills_ncriscs_instruction_ram() {
    let mut chip = BareChip::new(Arch::WormholeB0);
    let mut code = li(T0, 0x3000).to_vec();
    code.extend(li(T1, 77));
    code.extend([sw(T1, T0, 0), jal(0, 8), EBREAK, EBREAK]);
    chip.put(A, 0x2000, &code);
    let script = Script::default()
        .store(0xFFB1_1000, 0x2000 >> 4)
        .store(0xFFB1_1004, 0x4_0000 >> 4)
        .store(0xFFB1_1008, 2)
        .store(0xFFB1_100C, 1)
        .store(0xFFB1_1010, 0x40)
        .wait(0xFFB1_1014, 0x428)
        .store(0xFFEF_0288, 0xFFC0_0000)
        .store(0xFFEF_028C, 1)
        .store(0xFFB1_21B0, 0x7000)
        .wait(0x3000, 77);
    assert_eq!(chip.run(&[(A, &script)]), [""; 0]);
}

#[test]
fn tensix_instructions_are_taken_and_counted() {
    for arch in Arch::ALL {
        let mut chip = BareChip::new(arch);
        // SEMINIT of semaphore 2 to 3, by a store and by `.ttinsn`; a NOP for thread 1.
        let seminit = 0xA3 << 24 | 8 << 20 | 3 << 16 | 0b100 << 2;
        let script = Script::default()
            .store(0xFFE4_0000, seminit)
            .instruction(0x0200_0000_u32.rotate_left(2))
            .store(0xFFE5_0000, 0x0200_0000)
            .store(0xFFE0_0104, 9)
            .copy(0xFFE0_0104, 0x3000);
        assert_eq!(chip.run(&[(A, &script)]), [""; 0]);
        let counts = chip.machine(A).devices_mut().coprocessor.issued().by_thread;
        assert_eq!((counts, chip.word(A, 0x3000)), ([2, 1, 0], 9));
        assert_eq!(chip.machine(A).devices_mut().coprocessor.semaphore(2), 3);
    }
}

#[test]
fn control_and_status_registers_are_blackholes() {
    // csrrs a0, 0x7c0, zero; csrrsi zero, 0x7c0, 8; csrrw a0, 0x7c0, a0
    let script = Script::default().instruction(0x7C00_2573).instruction(0x7C04_6073);
    let script = script.instruction(0x7C05_1573);
    let mut store = li(T0, 0x3000).to_vec();
    store.push(sw(A0, T0, 0));
    let script = store.into_iter().fold(script, Script::instruction);
    let mut chip = BareChip::new(Arch::Blackhole);
    assert_eq!(chip.run(&[(A, &script)]), [""; 0]);
    assert_eq!(chip.word(A, 0x3000), 16 << 13 | 8);
    let failures = BareChip::new(Arch::WormholeB0).run(&[(A, &script)]);
    assert!(only(&failures).contains("no control and status registers"), "{failures:?}");
}

#[test]
fn no_number_of_threads_changes_what_tiles_do_to_each_other() {
    let arch = Arch::WormholeB0;
    let run = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        let mut chip = BareChip::new(arch);
        let tiles: Vec<TileCoord> = chip.facts.plan.cores().iter().map(|core| core.coord).collect();
        let centre = TileCoord { x: 3, y: 3 };
        let others = tiles.into_iter().filter(|tile| *tile != centre);
        // Each RISC adds 1 to the same word and stores the old value that was returned.
        let scripts: Vec<(TileCoord, Script)> = others
            .map(|tile| {
                let ask = request(arch, 0, (centre, 0x5000), (tile, 0x1000), (INCREMENT, 0x107C));
                let script = Script::default().command(0, &[(0x24, 1)]).then(ask);
                (tile, script.wait(counter(0, 0), 1))
            })
            .collect();
        let scripts: Vec<_> = scripts.iter().map(|(tile, script)| (*tile, script)).collect();
        assert_eq!(pool.install(|| chip.run(&scripts)), [""; 0]);
        let found: Vec<u32> = scripts.iter().map(|(tile, _)| chip.word(*tile, 0x1000)).collect();
        (chip.word(centre, 0x5000), found)
    };
    let (total, mut found) = run(1);
    assert_eq!(run(2), (total, found.clone()));
    assert_eq!(run(3), (total, found.clone()));
    found.sort_unstable();
    assert_eq!(found, (0..total).collect::<Vec<u32>>(), "each found another number");
    assert_eq!(total, 80 + 16 - 1);
}
