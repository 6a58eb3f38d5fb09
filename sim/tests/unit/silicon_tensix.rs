//! Replay of measurements on cards: instructions that RISCs push to the coprocessor.
//!
//! A loop is unrolled as the rows describe it, and its rows are slopes over the number of rounds,
//! minus those of the empty loop. A burst is executed once, between two reads of the clock.

use super::silicon_rows::{Replayed, Row, compare_page, errors, is_all, number_before, rows};
use crate::{
    arch::{Arch, WALL_CLOCK_LOW},
    machine::coprocessor::Coprocessor,
    riscv::{
        Flow, Hart, L1Front, L1Port, Pause, Refusal, StoreResult, Width,
        asm::{A0, A1, A2, A3, A5, EBREAK, S0, S1, T0, ZERO, addi, bne, lw, sub, sw},
        tile::{Registers, Tile},
    },
};

/// The coprocessor's registers, and the clock.
struct Pushed {
    coprocessor: Coprocessor,
    /// TRISC that runs.
    thread: usize,
}

const TTSYNC: u32 = 0xFFE8_0004;

impl Registers for Pushed {
    fn load(&mut self, address: u32, _: Width, cycle: u64) -> Result<u32, Refusal> {
        self.coprocessor.advance(cycle);
        match address {
            WALL_CLOCK_LOW => Ok(u32::try_from(cycle).unwrap()),
            TTSYNC if self.coprocessor.is_drained(self.thread, cycle) => Ok(0),
            TTSYNC => Err(Refusal::Busy),
            _ => Err(Refusal::Unmapped),
        }
    }
    fn store(&mut self, _: &[u8], address: u32, value: (Width, u32), cycle: u64) -> StoreResult {
        self.coprocessor.advance(cycle);
        match address {
            0xFFE4_0000 => self.coprocessor.push(self.thread, value.1, cycle)?,
            TTSYNC => {}
            _ => return Err(Refusal::Unmapped),
        }
        Ok(Flow::Continue)
    }
}

const NOP: u32 = 0x0200_0000;
const SFPNOP: u32 = 0x8F00_0000;
const SETDMAREG: u32 = 0x4500_0000;
const ADDDMAREG: u32 = 0x5800_0000;

/// Returns the word of `.ttinsn` with an instruction.
const fn pushed(instruction: u32) -> u32 {
    instruction.rotate_left(2)
}

/// Returns the instruction that a row names.
fn instruction(what: &str) -> Option<u32> {
    let name = what.split_once(".ttinsn ")?.1;
    let name = name.split([' ', ',']).next()?;
    Some(match name {
        "NOP" => NOP,
        "SFPNOP" => SFPNOP,
        "SETDMAREG" => SETDMAREG,
        "ADDDMAREG" => ADDDMAREG,
        _ => return None,
    })
}

/// Runs the same code on some TRISCs at once; returns the register A0 and the cycle of each at its
/// end.
fn run(arch: Arch, triscs: &[usize], code: &[u32], rounds: u32) -> Vec<(u32, u64)> {
    let coprocessor = Coprocessor::new(arch, false);
    let mut tile = Tile {
        l1: vec![0; 0x2_0000],
        local: vec![0; 0x1000],
        instruction_ram: Vec::new(),
        registers: Pushed { coprocessor, thread: 0 },
    };
    let mut harts = Vec::new();
    for (start, &trisc) in (0x4000_u32..).step_by(0x4000).zip(triscs) {
        let hart = Hart::new(arch, if trisc == 0 { L1Port::Port2 } else { L1Port::Port3 });
        let mut hart = match (arch, trisc) {
            (Arch::WormholeB0, 1) => hart.with_small_instruction_cache(),
            _ => hart,
        };
        for (at, word) in (start as usize..).step_by(4).zip(code) {
            tile.l1[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        for (register, value) in [(A5, rounds), (S0, WALL_CLOCK_LOW), (S1, TTSYNC)] {
            hart.set_register(register as usize, value);
        }
        hart.set_pc(start);
        harts.push(hart);
    }
    let mut front = L1Front::new();
    let mut running = vec![true; harts.len()];
    while let Some(index) =
        (0..harts.len()).filter(|&index| running[index]).min_by_key(|&index| harts[index].cycle())
    {
        tile.registers.thread = triscs[index];
        let until = harts[index].cycle() + 1;
        match harts[index].run_until(&mut tile, &mut front, until) {
            Ok(Pause::Cycle) => {}
            Ok(Pause::Blocked { .. }) => harts[index].advance_to(until),
            _ => running[index] = false,
        }
    }
    harts.iter().map(|hart| (hart.register(A0 as usize), hart.cycle())).collect()
}

/// Returns the code of a loop: its body, and a branch back as long as A5 is not 0.
fn looped(body: &[u32]) -> Vec<u32> {
    let back = -4 * (i32::try_from(body.len()).unwrap() + 1);
    [body, &[addi(A5, A5, -1), bne(A5, ZERO, back)]].concat()
}

/// Returns the body of a loop, and the number of items that a row counts in it.
fn body(what: &str) -> Option<(Vec<u32>, u32)> {
    let push = pushed(instruction(what)?);
    let nothing = [addi(A0, A0, 1), addi(A1, A1, 1), addi(A2, A2, 1), addi(A3, A3, 1)];
    let additions = |count: usize| nothing.iter().copied().cycle().take(count);
    let group: Vec<u32> = match what.strip_prefix("group of ") {
        None => return Some((vec![push; 64], 64)),
        Some(rest) if rest.contains("each followed by an addi") => {
            let pairs = (0..4).flat_map(|_| [push, nothing[0]]);
            pairs.chain(additions(12)).collect()
        }
        Some(rest) => {
            let count = rest.split(' ').next()?.parse().ok()?;
            std::iter::repeat_n(push, count).chain(additions(16)).collect()
        }
    };
    let length = 16 * group.len();
    Some((group.into_iter().cycle().take(length).collect(), 16))
}

/// Returns the cycles of a burst between two reads of the clock.
fn burst(row: &Row<'_>) -> Option<f64> {
    let count = row.parameters.split_once("n=")?.1.split(' ').next()?.parse::<u32>().ok()?;
    let unrolled =
        row.parameters.split_once("a loop of ")?.1.split(';').next()?.parse::<u32>().ok()?;
    let mut code = vec![lw(A1, S0, 0), addi(A1, A1, 0)];
    code.extend(looped(&vec![pushed(instruction(row.what)?); unrolled as usize]));
    if row.what.contains("then a wait") {
        code.extend([sw(ZERO, S1, 0), lw(T0, S1, 0), addi(T0, T0, 0)]);
    }
    code.extend([lw(A0, S0, 0), sub(A0, A0, A1), EBREAK]);
    Some(f64::from(run(row.arch, &[1], &code, count / unrolled)[0].0))
}

/// Returns the simulated value of a row.
fn replay(row: &Row<'_>) -> Option<f64> {
    if row.what.starts_with("burst") {
        return burst(row);
    }
    let (body, items) = body(row.what)?;
    let measured: usize = row.parameters["TRISC".len()..][..1].parse().ok()?;
    let together: Vec<usize> = match number_before(row.what, " TRISCs at the same time") {
        Some(count) => (0..count as usize).collect(),
        None => vec![measured],
    };
    let place = together.iter().position(|&trisc| trisc == measured)?;
    let slope = |body: &[u32]| {
        let code = [looped(body), vec![EBREAK]].concat();
        let [short, long] =
            [32, 128].map(|rounds| run(row.arch, &together, &code, rounds)[place].1);
        (long - short) as f64 / 96.0
    };
    Some((slope(&body) - slope(&[])) / f64::from(items))
}

fn group(row: &Row<'_>) -> &'static str {
    match row.what {
        what if what.starts_with("group") => "pushes between other instructions",
        what if what.contains("then a wait") => "pushes, then a wait until all are executed",
        what if what.starts_with("burst") => "pushes until the FIFOs are full",
        what if what.contains("at the same time") => "pushes of several RISCs",
        _ => "pushes in a loop",
    }
}

#[test]
fn pushes_take_as_long_as_on_cards() {
    let rows = rows();
    let mut replayed = Vec::new();
    for row in rows.iter().filter(|row| row.class == "Tensix push") {
        let simulated = replay(row).expect(row.what);
        let one = Replayed { row, group: group(row), simulated };
        one.print();
        replayed.push(one);
    }
    assert_eq!(replayed.len(), 70);
    if is_all() {
        compare_page("replayed pushes", &errors(&replayed));
    }
}
