//! Tests of the coprocessor's behaviour and times. Expected values are from tt-isa-documentation, or
//! from ttsim where a test says so.

use super::instruction::kind;
use super::*;

const A: u32 = 0;
const B: u32 = 1;

fn coprocessor(arch: Arch) -> Coprocessor {
    Coprocessor::new(arch, false)
}

/// Pushes instructions of a thread at one cycle.
fn push(coprocessor: &mut Coprocessor, thread: usize, cycle: u64, instructions: &[u32]) {
    for &instruction in instructions {
        coprocessor.push(thread, instruction, cycle).unwrap();
    }
}

/// Returns the cycle at which a thread has executed all that was pushed.
fn done_at(coprocessor: &Coprocessor, thread: usize) -> u64 {
    let mut copy = coprocessor.clone();
    copy.advance(1_000_000);
    assert!(copy.is_drained(thread, 1_000_000), "thread {thread} waits for ever");
    (0..1_000_000).find(|&cycle| copy.is_drained(thread, cycle)).unwrap()
}

/// Cycles from the push of one instruction to its end that do not belong to the unit.
fn transit(arch: Arch) -> u64 {
    let mut coprocessor = coprocessor(arch);
    // SETDMAREG takes one cycle.
    push(&mut coprocessor, 0, 0, &[0x45 << 24]);
    done_at(&coprocessor, 0) - 1
}

#[test]
fn instructions_count_and_semaphores_follow_them() {
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    // In ttsim's layout: initialise semaphores 1 and 3 to 2, post semaphore 1, get semaphore 3.
    push(&mut coprocessor, 0, 0, &[0xA3 << 24 | 5 << 20 | 2 << 16 | 0b1010 << 2]);
    push(&mut coprocessor, 1, 100, &[0xA4 << 24 | 0b10 << 2, 0xA5 << 24 | 0b1000 << 2]);
    push(&mut coprocessor, 2, 100, &[0x0200_0000]);
    coprocessor.advance(200);
    let values: Vec<u32> = (0..4).map(|index| coprocessor.semaphore(index)).collect();
    assert_eq!(values, [0, 3, 0, 1]);
    assert_eq!(coprocessor.issued().by_thread, [1, 2, 1]);
    // Data for the matrix unit. MVMUL, ELWADD and GAPOOL; SFPMAD and SFPLUTFP32; an unpack and a
    // clear, which count for neither unit.
    push(&mut coprocessor, 0, 200, &[0x57 << 24 | 3]);
    for opcode in [0x26, 0x28, 0x34, 0x84, 0x95, 0x42, 0x10] {
        push(&mut coprocessor, 1, 300, &[opcode << 24]);
    }
    coprocessor.advance(400);
    let issued = IssuedInstructions { by_thread: [2, 9, 1], fpu: 3, sfpu: 2 };
    assert_eq!(coprocessor.issued(), issued);
    coprocessor.write_semaphore(3, 1, 400);
    coprocessor.write_semaphore(3, 1, 400);
    coprocessor.write_semaphore(2, 0, 400);
    assert_eq!((coprocessor.semaphore(3), coprocessor.semaphore(2)), (0, 1));
}

#[test]
fn a_register_is_set_by_halves_and_stored_to_the_tile() {
    let mut coprocessor = coprocessor(Arch::Blackhole);
    let halves = [0x45 << 24 | 0x1234 << 8 | 9, 0x45 << 24 | 0x0007 << 8 | 8];
    push(&mut coprocessor, 2, 0, &halves);
    push(&mut coprocessor, 2, 0, &[0x67 << 24 | 4 << 18 | (0x4_1028 >> 2)]);
    assert_eq!(coprocessor.take_stores(), []);
    coprocessor.advance(100);
    assert_eq!(coprocessor.gpr(2, 4), 0x1234_0007);
    let expected = Store { thread: 2, address: 0xFFB4_1028, value: 0x1234_0007 };
    assert_eq!(coprocessor.take_stores(), [expected]);
}

#[test]
fn configuration_has_two_banks_and_a_part_that_both_share() {
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    coprocessor.set_config(10, 1);
    coprocessor.set_config(188 + 10, 2);
    coprocessor.set_config(188 + 157, 3);
    assert_eq!([10, 198, 157, 345].map(|word| coprocessor.config(word)), [1, 2, 3, 3]);
    coprocessor.set_config(4, 1);
    assert_eq!([10, 198, 157].map(|word| coprocessor.config(word)), [0, 2, 3]);
}

#[test]
fn instructions_change_the_bank_of_their_thread() {
    let mut coprocessor = coprocessor(Arch::Blackhole);
    coprocessor.set_config(224 + 72, 0xFFFF_FFFF);
    // The second bank; byte 2 of word 72 under a mask; word 70 from register 5, and words 64 to 67
    // from registers 4 to 7.
    let program = [
        0xB2 << 24 | 1,
        0xB5 << 24 | 0x0F << 16 | 0x52 << 8 | 72,
        0x45 << 24 | 0xBEEF << 8 | 10,
        0xB0 << 24 | 5 << 16 | 70,
        0xB0 << 24 | 6 << 16 | 1 << 15 | 66,
    ];
    push(&mut coprocessor, 1, 0, &program);
    coprocessor.advance(100);
    let words = [72, 70, 64, 65].map(|word| coprocessor.config(224 + word));
    assert_eq!(words, [0xFFF2_FFFF, 0xBEEF, 0, 0xBEEF]);
    assert_eq!([72, 70, 65].map(|word| coprocessor.config(word)), [0, 0, 0]);
}

/// SEMWAIT of the kinds `blocked` while semaphores are empty (1) or full (2).
fn semwait(blocked: u16, semaphores: u32, condition: u32) -> u32 {
    0xA6 << 24 | u32::from(blocked) << 15 | semaphores << 2 | condition
}

/// STALLWAIT of the kinds `blocked` for conditions.
fn stallwait(blocked: u16, conditions: u32) -> u32 {
    0xA2 << 24 | u32::from(blocked) << 15 | conditions
}

/// Thread 2 packs a tile when thread 1 has posted it, and takes it back; thread 1 is at most two
/// tiles ahead.
#[test]
fn threads_wait_for_each_others_semaphores() {
    const TILE: u32 = 0b10;
    const SFPLOAD: u32 = 0x70 << 24;
    let (post, get) = (0xA4 << 24 | TILE << 2, 0xA5 << 24 | TILE << 2);
    let mut coprocessor = coprocessor(Arch::Blackhole);
    push(&mut coprocessor, 1, 0, &[0xA3 << 24 | 2 << 20 | TILE << 2]);
    coprocessor.advance(100);
    let packing = kind::MISCELLANEOUS | kind::SYNC | kind::PACK;
    push(&mut coprocessor, 2, 100, &[semwait(packing, TILE, 1), 0x41 << 24, get]);
    coprocessor.advance(200);
    assert!(!coprocessor.has_computed() && !coprocessor.is_drained(2, 200));
    let computing = semwait(kind::VECTOR | kind::SYNC, TILE, 2);
    for _ in 0..4 {
        push(&mut coprocessor, 1, 200, &[computing, SFPLOAD, post]);
    }
    coprocessor.advance(300);
    // The first tile was packed; two more are ready; the fourth has no room.
    assert!(coprocessor.has_computed() && coprocessor.is_drained(2, 300));
    assert_eq!((coprocessor.semaphore(1), coprocessor.is_drained(1, 300)), (2, false));
    assert_eq!(coprocessor.issued().sfpu, 3);
    push(&mut coprocessor, 2, 300, &[get]);
    coprocessor.advance(400);
    assert_eq!((coprocessor.semaphore(1), coprocessor.is_drained(1, 400)), (2, true));
    assert_eq!(coprocessor.issued().sfpu, 4);
    // A RISC takes the tiles.
    push(&mut coprocessor, 1, 400, &[computing, SFPLOAD]);
    coprocessor.advance(500);
    assert!(!coprocessor.is_drained(1, 500));
    coprocessor.write_semaphore(1, 1, 500);
    coprocessor.advance(600);
    assert!(coprocessor.is_drained(1, 600));
}

#[test]
fn a_wait_holds_back_only_what_it_names_until_the_fifos_are_full() {
    const SETADC: u32 = 0x50 << 24;
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    push(&mut coprocessor, 0, 0, &[semwait(kind::MISCELLANEOUS, 1, 1)]);
    // An instruction of the vector unit passes, and so does one of another thread.
    push(&mut coprocessor, 0, 0, &[0x70 << 24]);
    push(&mut coprocessor, 1, 0, &[SETADC]);
    coprocessor.advance(100);
    assert!(coprocessor.is_drained(0, 100) && coprocessor.is_drained(1, 100));
    push(&mut coprocessor, 0, 100, &[SETADC; 42]);
    assert_eq!(coprocessor.push(0, SETADC, 100), Err(Refusal::Busy));
    // Even what the wait does not name waits behind what it holds back.
    assert_eq!(coprocessor.issued().by_thread, [44, 1, 0]);
    coprocessor.write_semaphore(0, 0, 200);
    coprocessor.advance(300);
    assert!(coprocessor.is_drained(0, 300));
    // A second wait does not take the place of the first one.
    coprocessor.write_semaphore(0, 1, 300);
    push(&mut coprocessor, 0, 300, &[semwait(kind::UNPACK, 1, 1), stallwait(kind::UNPACK, 1)]);
    coprocessor.advance(400);
    assert!(!coprocessor.is_drained(0, 400), "STALLWAIT is held back by every wait");
}

#[test]
fn a_macro_before_the_gate_leaves_room_only_in_the_first_fifo() {
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    push(&mut coprocessor, 1, 0, &[semwait(kind::VECTOR, 1, 1)]);
    coprocessor.advance(50);
    // MOPs of two SFPNOP, of which the first one is at the gate.
    for (word, value) in [(0, 1), (1, 1), (2, 0x8F00_0000), (3, 0x0200_0000), (6, 0x0200_0000)] {
        coprocessor.set_macro_config(1, word, value);
    }
    coprocessor.set_macro_config(1, 7, 0x8F00_0000);
    push(&mut coprocessor, 1, 50, &[0x0180_0000; 17]);
    assert_eq!(coprocessor.push(1, 0x0180_0000, 50), Err(Refusal::Busy));
}

/// Instructions that a thread's frontend puts out.
fn expanded(config: [u32; 9], pushed: &[u32]) -> Vec<u32> {
    let mut frontend = frontend::Frontend::new(false);
    frontend.macro_config = config;
    for &instruction in pushed {
        assert!(frontend.push(0, Instruction(instruction), 0));
    }
    std::iter::from_fn(|| frontend.next().map(|(instruction, _)| instruction.0)).collect()
}

const NOP: u32 = 0x0200_0000;

#[test]
fn nested_loops_alternate_and_replace_their_last_instruction() {
    let [start, end, end2, x, y, last, last_of_round] =
        [0x7000_0001, 0x7000_0002, 0x7000_0003, 0x7000_0004, 0x7000_0005, 0x7000_0006, 0x7000_0007];
    let run = 0x0180_0000;
    // Two rounds of two times x and y.
    let all = [2, 2, start, end, end2, x, y, last, last_of_round];
    let round = |last| [start, x, y, x, last, end, end2];
    assert_eq!(expanded(all, &[run]), [round(last_of_round), round(last)].concat());
    // One kind of instruction, and no ends: what follows is not part of the macro.
    let plain = [2, 3, NOP, NOP, end2, x, NOP, last, last_of_round];
    assert_eq!(expanded(plain, &[run, y]), [x, x, last_of_round, x, x, last, y]);
    let without_second_end = [1, 1, NOP, end, NOP, x, NOP, last, last_of_round];
    assert_eq!(expanded(without_second_end, &[run]), [last, end]);
    // The hardware's fault: 129 rounds of only the end.
    let ends = [1, 0, NOP, end, NOP, x, NOP, last, last_of_round];
    assert_eq!(expanded(ends, &[run]), [end; 129]);
}

#[test]
fn a_mask_selects_rounds() {
    let [b, a0, a1, a2, a3, skip, skip_b] =
        [0x7000_0001, 0x7000_0002, 0x7000_0003, 0x7000_0004, 0x7000_0005, 0x7000_0006, 0x7000_0007];
    let config = |flags| [0, flags, b, a0, a1, a2, a3, skip, skip_b];
    // Four rounds, of which the mask skips the second one.
    let run = 0x0100_0000 | 3 << 16 | 0b10;
    assert_eq!(expanded(config(0), &[run]), [a0, skip, a0, a0]);
    assert_eq!(expanded(config(1), &[run]), [a0, b, skip, skip_b, a0, b, a0, b]);
    let four = [a0, a1, a2, a3, b];
    let expected = [&four[..], &[skip, skip_b], &four, &four].concat();
    assert_eq!(expanded(config(3), &[run]), expected);
    // The high half of the mask comes from MOP_CFG.
    let long = 0x0100_0000 | 16 << 16;
    let found = expanded(config(0), &[0x0300_0001, long]);
    assert_eq!((found.len(), found[15], found[16]), (17, a0, skip));
}

#[test]
fn recorded_instructions_are_replayed_also_by_macros() {
    let [x, y, z] = [0x7000_0001, 0x7000_0002, 0x7000_0003];
    let record = |is_executed: u32| 4 << 24 | 30 << 14 | 3 << 4 | is_executed << 1 | 1;
    let replay = |index: u32, count: u32| 4 << 24 | index << 14 | count << 4;
    let unexecuted = [record(0), x, y, z, replay(31, 2), replay(30, 1)];
    assert_eq!(expanded([0; 9], &unexecuted), [y, z, x]);
    assert_eq!(expanded([0; 9], &[record(1), x, y, z, replay(0, 1)]), [x, y, z, z]);
    let replays = [1, 2, NOP, NOP, NOP, replay(30, 2), NOP, replay(30, 3), NOP];
    assert_eq!(expanded(replays, &[record(0), x, y, z, 0x0180_0000]), [x, y, x, y, z]);
}

#[test]
fn units_take_the_documented_cycles() {
    // ADDDMAREG with registers of one group, and with registers of two; ATCAS; SFPMAD, SFPNOP;
    // two SFPSWAP, and one with the SFPNOP that hides its second cycle; two SHIFTXB.
    let [add, far, nop] = [0x58 << 24, 0x58 << 24 | 4 << 6, 0x8F << 24];
    let swap = 0x92 << 24;
    for (program, cycles) in [
        (&[add, add, add, add][..], 12),
        (&[far, add], 7),
        (&[0x64 << 24, add], 18),
        (&[nop, nop, nop], 3),
        (&[swap, swap], 4),
        (&[swap, nop, nop], 3),
        (&[0x45 << 24, 0x45 << 24], 2),
        (&[0xB0 << 24, 0xB0 << 24], 3),
        (&[0x46 << 24], 2),
    ] {
        for arch in Arch::ALL {
            let mut coprocessor = coprocessor(arch);
            push(&mut coprocessor, 0, 0, program);
            assert_eq!(done_at(&coprocessor, 0), transit(arch) + cycles, "{arch} {program:x?}");
        }
    }
}

#[test]
fn only_a_blackhole_holds_back_what_reads_a_late_register() {
    // SFPMAD of registers 0 to 2 to register 3; SFPMAD that reads it, and one that does not.
    let mad = |c: u32, d: u32| 0x84 << 24 | 1 << 12 | c << 8 | d << 4;
    for (second, blackhole) in [(mad(3, 4), 4), (mad(2, 4), 3), (0x72 << 24 | 3 << 20, 3)] {
        for (arch, cycles) in [(Arch::WormholeB0, 3.min(blackhole)), (Arch::Blackhole, blackhole)] {
            let mut coprocessor = coprocessor(arch);
            push(&mut coprocessor, 1, 0, &[mad(2, 3), second]);
            let found = done_at(&coprocessor, 1) - transit(arch);
            // A store takes one cycle, and a multiplication two.
            let cycles = if second >> 24 == 0x72 && arch == Arch::WormholeB0 { 2 } else { cycles };
            assert_eq!(found, cycles, "{arch} {second:x}");
        }
    }
}

#[test]
fn threads_share_units_whichever_runs_first() {
    let add = 0x58 << 24;
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    push(&mut coprocessor, 0, 0, &[add; 20]);
    coprocessor.advance(40);
    // Thread 1 finds no gap before what thread 0 has executed; then it has waited longest.
    push(&mut coprocessor, 1, 10, &[add]);
    let transit_cycles = transit(Arch::WormholeB0);
    let executed = (40 - transit_cycles) / 3 + 1;
    assert_eq!(done_at(&coprocessor, 1), transit_cycles + 3 * (executed + 1));
    // A gap in the past is used.
    push(&mut coprocessor, 0, 200, &[add]);
    coprocessor.advance(240);
    push(&mut coprocessor, 1, 190, &[add]);
    assert_eq!(done_at(&coprocessor, 1), 190 + transit(Arch::WormholeB0) + 3);
}

/// Configures an unpacker: format and throttle mode; the last X of thread 0.
fn configure_unpackers(coprocessor: &mut Coprocessor, format: u32, mode: u32, count: u32) {
    let (first, stride) = if coprocessor.arch == Arch::WormholeB0 { (52, 40) } else { (64, 48) };
    for unpacker in 0..2 {
        coprocessor.set_config(first + stride * unpacker, format);
        coprocessor.set_config(first + stride * unpacker + 8, mode << 4);
    }
    push(coprocessor, 0, 0, &[0x5E << 24 | 7 << 21 | (count - 1) << 10]);
    coprocessor.advance(100);
}

/// UNPACR of an unpacker that gives its bank to the matrix unit.
fn unpack(unpacker: u32) -> u32 {
    0x42 << 24 | unpacker << 23 | 1 << 6
}

#[test]
fn an_unpacker_takes_the_time_of_its_bytes() {
    // Codes of BF16, BFP8, FP32, BFP2; a tile of 1024 data. Two cycles for the address.
    for (format, mode, cycles) in
        [(5, 2, 32), (5, 1, 64), (5, 0, 128), (6, 2, 16), (0, 2, 64), (15, 2, 16)]
    {
        for arch in Arch::ALL {
            let mut coprocessor = coprocessor(arch);
            configure_unpackers(&mut coprocessor, format, mode, 1024);
            push(&mut coprocessor, 0, 100, &[unpack(A)]);
            let expected = 100 + transit(arch) + 2 + cycles;
            assert_eq!(done_at(&coprocessor, 0), expected, "{arch} {format} {mode}");
        }
    }
}

#[test]
fn unpackers_share_the_bandwidth_of_l1() {
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    configure_unpackers(&mut coprocessor, 5, 2, 1000);
    // 2000 bytes each. The first one reads alone for two cycles, and then both read 32 bytes.
    push(&mut coprocessor, 0, 100, &[unpack(A), unpack(B)]);
    let begin = 100 + transit(Arch::WormholeB0) + 2;
    let first = begin + 2 + (2000_u64 - 2 * 64).div_ceil(32);
    let second = first + (2000 - 32 * (first - begin - 2)).div_ceil(64);
    assert_eq!(done_at(&coprocessor, 0), second);
    // The matrix unit gets both banks then.
    push(&mut coprocessor, 1, 100, &[0x26 << 24]);
    assert_eq!(done_at(&coprocessor, 1), second + 5);
    let mut alone = coprocessor.clone();
    // SrcA's bank comes when its data have come, not when they would have come without SrcB's.
    push(&mut alone, 2, 100, &[0x12 << 24]);
    assert_eq!(done_at(&alone, 2), first + 4);
}

#[test]
fn unpackers_and_matrix_unit_hand_banks_to_each_other() {
    for arch in Arch::ALL {
        let mut coprocessor = coprocessor(arch);
        configure_unpackers(&mut coprocessor, 5, 2, 32);
        // Two banks of each source are filled; the third unpack waits.
        for _ in 0..3 {
            push(&mut coprocessor, 0, 100, &[unpack(A), unpack(B)]);
        }
        coprocessor.advance(1000);
        assert!(!coprocessor.is_drained(0, 1000));
        // An MVMUL that keeps both banks, and one that gives SrcA's back: only SrcA has room.
        push(&mut coprocessor, 1, 1000, &[0x26 << 24, 0x26 << 24 | 1 << 22]);
        coprocessor.advance(2000);
        assert_eq!(coprocessor.issued().fpu, 2);
        assert!(!coprocessor.is_drained(0, 2000), "{arch}: SrcB has no room");
        // MOVB2D, and SETRWC that gives SrcB's back.
        push(&mut coprocessor, 1, 2000, &[0x13 << 24, 0x37 << 24 | 2 << 22]);
        coprocessor.advance(3000);
        assert!(coprocessor.is_drained(0, 3000) && coprocessor.is_drained(1, 3000));
        // Two tiles of each are left; the matrix unit waits for a third one.
        push(&mut coprocessor, 1, 3000, &[0x26 << 24 | 3 << 22; 3]);
        coprocessor.advance(4000);
        assert_eq!(coprocessor.issued().fpu, 4);
        assert!(!coprocessor.is_drained(1, 4000));
        // SETDVALID gives banks without data.
        push(&mut coprocessor, 0, 4000, &[0x57 << 24 | 3]);
        coprocessor.advance(5000);
        assert_eq!((coprocessor.issued().fpu, coprocessor.is_drained(1, 5000)), (5, true));
    }
}

#[test]
fn a_thread_can_keep_a_bank_that_its_instructions_leave() {
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    // CLR_DVALID_SrcA_Disable; both banks of both sources are valid.
    push(&mut coprocessor, 1, 0, &[0xB2 << 24 | 5 << 16 | 1]);
    push(&mut coprocessor, 0, 0, &[0x57 << 24 | 3, 0x57 << 24 | 3]);
    coprocessor.advance(100);
    // The matrix unit turns round through SrcA's banks as long as SrcB's last.
    push(&mut coprocessor, 1, 100, &[0x26 << 24 | 1 << 22; 5]);
    coprocessor.advance(200);
    assert_eq!(coprocessor.issued().fpu, 5);
    push(&mut coprocessor, 1, 200, &[0x26 << 24 | 3 << 22; 3]);
    coprocessor.advance(300);
    assert_eq!(coprocessor.issued().fpu, 7);
    // CLEARDVALID gives the bank back all the same; with its third flag, the matrix unit stays.
    push(&mut coprocessor, 0, 300, &[0x57 << 24 | 2]);
    coprocessor.advance(400);
    assert_eq!(coprocessor.issued().fpu, 8);
    push(&mut coprocessor, 2, 400, &[0x36 << 24 | 1 << 22 | 2, 0x12 << 24]);
    coprocessor.advance(500);
    assert!(!coprocessor.is_drained(2, 500), "MOVA2D waits for the bank that was given back");
    // A reset gives all banks to the unpackers.
    push(&mut coprocessor, 1, 500, &[0x36 << 24 | 1]);
    push(&mut coprocessor, 0, 600, &[0x57 << 24 | 1]);
    coprocessor.advance(700);
    assert!(coprocessor.is_drained(2, 700));
}

#[test]
fn unpacks_without_data_give_banks_as_in_ttsim() {
    // Of a Wormhole: set valid; clear, clear and set valid. Of a Blackhole: the same with flags.
    for (arch, gives, clears) in
        [(Arch::WormholeB0, 0x4300_0007, 0x4300_0001), (Arch::Blackhole, 0x4300_0100, 0x4300_0001)]
    {
        let mut coprocessor = coprocessor(arch);
        push(&mut coprocessor, 0, 0, &[clears, gives]);
        coprocessor.advance(50);
        push(&mut coprocessor, 1, 50, &[0x12 << 24]);
        coprocessor.advance(100);
        assert!(coprocessor.is_drained(0, 100) && coprocessor.is_drained(1, 100), "{arch}");
        // A clear waits until the matrix unit has no data.
        push(&mut coprocessor, 0, 100, &[clears]);
        coprocessor.advance(200);
        assert!(!coprocessor.is_drained(0, 200), "{arch}");
        push(&mut coprocessor, 1, 200, &[0x37 << 24 | 1 << 22]);
        coprocessor.advance(300);
        assert!(coprocessor.is_drained(0, 300), "{arch}");
    }
}

#[test]
fn a_wait_for_a_unit_ends_when_it_is_idle() {
    // Conditions for the packers, the matrix unit and unpacker 0.
    for (arch, packers, matrix) in
        [(Arch::WormholeB0, 0b1000, 1 << 7), (Arch::Blackhole, 8, 1 << 4)]
    {
        let mut coprocessor = coprocessor(arch);
        configure_unpackers(&mut coprocessor, 5, 2, 1024);
        let scalar = 0x45 << 24;
        let transit = transit(arch);
        let stall = |condition| stallwait(kind::SCALAR, condition);
        push(&mut coprocessor, 0, 100, &[unpack(A), stall(2), scalar]);
        // The wait's condition is seen one cycle later.
        assert_eq!(done_at(&coprocessor, 0), 100 + transit + 2 + 32 + 1 + 1);
        // SrcB is empty, so the matrix unit only copies: MOVA2D takes four cycles.
        push(&mut coprocessor, 1, 1000, &[0x12 << 24, stall(matrix), scalar]);
        assert_eq!(done_at(&coprocessor, 1), 1000 + transit + 4 + 1 + 1);
        // Packs of 16 data of four bytes: four cycles each, with all packers.
        let pack = 0x41 << 24 | 0xF << 8;
        push(&mut coprocessor, 2, 1000, &[0x5E << 24 | 4 << 21 | 15 << 10]);
        push(&mut coprocessor, 2, 1100, &[pack, pack, stall(packers), scalar]);
        assert_eq!(done_at(&coprocessor, 2), 1100 + transit + 2 * 4 + 1 + 1);
    }
}

#[test]
fn a_condition_that_was_met_ends_a_wait_for_good() {
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    push(&mut coprocessor, 0, 0, &[semwait(kind::SCALAR, 1, 1)]);
    coprocessor.advance(50);
    coprocessor.write_semaphore(0, 0, 50);
    coprocessor.write_semaphore(0, 1, 60);
    push(&mut coprocessor, 0, 100, &[0x45 << 24]);
    coprocessor.advance(200);
    assert!(coprocessor.is_drained(0, 200));
}

#[test]
fn mutexes_let_one_thread_pass() {
    let mut coprocessor = coprocessor(Arch::Blackhole);
    push(&mut coprocessor, 0, 0, &[0xA0 << 24 | 2]);
    push(&mut coprocessor, 1, 50, &[0xA0 << 24 | 2]);
    push(&mut coprocessor, 2, 50, &[0xA0 << 24 | 3]);
    coprocessor.advance(100);
    let drained = |coprocessor: &Coprocessor| [1, 2].map(|of| coprocessor.is_drained(of, 300));
    assert_eq!(drained(&coprocessor), [false, true]);
    // Only the holder releases.
    push(&mut coprocessor, 2, 100, &[0xA1 << 24 | 2]);
    coprocessor.advance(200);
    assert_eq!(drained(&coprocessor), [false, true]);
    push(&mut coprocessor, 0, 200, &[0xA1 << 24 | 2]);
    coprocessor.advance(250);
    assert_eq!(drained(&coprocessor), [true, true]);
}

#[test]
fn a_free_coprocessor_waits_only_for_data_and_semaphores() {
    let mut coprocessor = Coprocessor::new(Arch::WormholeB0, true);
    configure_unpackers(&mut coprocessor, 5, 0, 1024);
    push(&mut coprocessor, 0, 100, &[unpack(A), stallwait(kind::SCALAR, 2)]);
    push(&mut coprocessor, 0, 100, &[0x58 << 24; 30]);
    assert!(coprocessor.is_drained(0, 100));
    push(&mut coprocessor, 1, 100, &[0x26 << 24]);
    coprocessor.advance(5000);
    assert!(!coprocessor.is_drained(1, 5000), "SrcB has no data");
    push(&mut coprocessor, 0, 5000, &[unpack(B)]);
    assert!(coprocessor.is_drained(1, 5000));
}

#[test]
fn a_risc_learns_how_long_full_fifos_stay_full() {
    let mut coprocessor = coprocessor(Arch::WormholeB0);
    // ATCAS takes 15 cycles.
    let mut count = 0;
    while coprocessor.push(1, 0x64 << 24, 0).is_ok() {
        count += 1;
    }
    assert_eq!(count, 16 + 8 + 2);
    let free_at = coprocessor.busy_until(1);
    assert!((1..=transit(Arch::WormholeB0) + 15).contains(&free_at), "{free_at}");
    let mut later = coprocessor.clone();
    assert_eq!(later.push(1, 0x64 << 24, free_at - 1), Err(Refusal::Busy));
    coprocessor.advance(free_at);
    assert_eq!(coprocessor.push(1, 0x64 << 24, free_at), Ok(()));
}
