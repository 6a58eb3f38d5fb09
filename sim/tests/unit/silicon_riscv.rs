//! Replay of measurements on cards: code of RISCs, their memory, and the fetch of instructions.
//!
//! Each kernel is a loop of unrolled instructions, as the rows describe it. Most rows are slopes over
//! the number of rounds, minus those of the empty loop, so that the start of a loop cancels.

use super::{
    silicon_noc::{self, flows},
    silicon_rows::{Replayed, Row, compare_page, errors, is_all, number_before, rows},
};
use crate::{
    arch::Arch,
    riscv::{
        Hart, L1Front, L1Port, LOCAL_RAM_BASE, Pause, Refusal, StoreResult, Width,
        asm::{
            A0, A1, A2, A3, A4, A5, EBREAK, S0, S1, T0, T1, ZERO, addi, beq, bne, divu, jal, lw,
            mul, sw, xori,
        },
        tile::{Registers, Tile},
    },
};
use std::{collections::BTreeMap, fmt::Write as _};

/// The harts have no registers of the tile.
struct NoRegisters;

impl Registers for NoRegisters {
    fn load(&mut self, _: u32, _: Width, _: u64) -> Result<u32, Refusal> {
        Err(Refusal::Unmapped)
    }
    fn store(&mut self, _: &[u8], _: u32, _: (Width, u32), _: u64) -> StoreResult {
        Err(Refusal::Unmapped)
    }
}

/// Instructions of a loop, and what a row counts in them.
struct Kernel {
    body: Vec<u32>,
    /// Number of items in the body; a row gives the cycles of one.
    items: u32,
}

/// Why a row is not replayed.
const NOT_REPLAYED: [(&str, &str); 2] = [
    ("burst of n addi", "the code between the clock reads is not known"),
    ("two pairs of CSR reads", "waits of CSR reads are not modelled"),
];

/// Returns the body of the loop that a row describes.
fn kernel(what: &str) -> Option<Kernel> {
    let repeat = |body: &[u32], items: u32| Kernel {
        body: body.iter().copied().cycle().take(body.len() * items as usize).collect(),
        items,
    };
    // Four items, 16 times in each round.
    let quads = |body: [u32; 4]| Kernel { items: 64, ..repeat(&body, 16) };
    let xori_then = |branch: u32| repeat(&[xori(A0, A0, 1), branch], 64);
    let starts = |text: &str| what.starts_with(text);
    Some(match () {
        () if starts("addi, four independent") => {
            quads([addi(A0, A0, 1), addi(A1, A1, 1), addi(A2, A2, 1), addi(A3, A3, 1)])
        }
        () if starts("mul, four independent") => {
            quads([mul(A0, A0, A0), mul(A1, A1, A1), mul(A2, A2, A2), mul(A3, A3, A3)])
        }
        () if starts("mul, one dependent") => repeat(&[mul(A0, A0, A0)], 64),
        () if starts("divu") => repeat(&[divu(A0, T0, T1)], 64),
        () if starts("xori, dependent") => repeat(&[xori(A0, A0, 1)], 64),
        () if starts("lw chasing") => repeat(&[lw(S1, S1, 0)], 64),
        () if starts("lw from L1") => {
            quads([lw(A0, S0, 0), lw(A1, S0, 16), lw(A2, S0, 32), lw(A3, S0, 48)])
        }
        () if starts("sw to L1 at offsets 0,16,32,48") => {
            quads([sw(A0, S0, 0), sw(A0, S0, 16), sw(A0, S0, 32), sw(A0, S0, 48)])
        }
        () if starts("sw to L1 at offsets 0,4,0,4") => {
            quads([sw(A0, S0, 0), sw(A0, S0, 4), sw(A0, S0, 0), sw(A0, S0, 4)])
        }
        () if starts("sw to one word of private RAM") => repeat(&[sw(A0, S1, 0)], 64),
        () if starts("forward conditional branch") && what.contains("never") => {
            repeat(&[bne(ZERO, ZERO, 4)], 64)
        }
        () if starts("forward conditional branch") => repeat(&[beq(ZERO, ZERO, 4)], 64),
        () if starts("unconditional jump") => repeat(&[jal(ZERO, 4)], 64),
        () if starts("xori and a never") => xori_then(bne(ZERO, ZERO, 4)),
        () if starts("xori and an always") => xori_then(beq(ZERO, ZERO, 4)),
        () if starts("xori and a forward branch taken every other") => xori_then(bne(A0, ZERO, 4)),
        () if starts("group of 16 addi") => Kernel { items: 16, ..repeat(&[addi(A0, A0, 1)], 256) },
        () if starts("loop body of") => {
            repeat(&[addi(A0, A0, 1)], number_before(what, " addi").unwrap())
        }
        () => return None,
    })
}

/// Returns the loop that a row describes as executed once, with its number of rounds.
fn single_loop(what: &str) -> Option<(u32, Vec<u32>)> {
    let what = what.strip_prefix("loop executed once, ")?;
    let (rounds, what) = what.split_once(" rounds of ")?;
    let eight = |index: u32| {
        let offset = 16 * i32::try_from(index % 8).unwrap();
        lw([A0, A1, A2, A3][index as usize % 4], S0, offset)
    };
    let body = match what {
        "64 dependent mul" => kernel("mul, one dependent")?.body,
        "16 times 4 independent mul" => kernel("mul, four independent")?.body,
        "16 divu of 0xFFF by 3" => vec![divu(A0, A4, T1); 16],
        "16 divu of 0x12345678 by 3" => vec![divu(A0, T0, T1); 16],
        "64 lw that chase a ring of nodes 16 bytes apart in L1" => kernel("lw chasing")?.body,
        "8 times 8 lw from L1 at offsets 0 to 112 step 16 into four registers in turn" => {
            (0..64).map(eight).collect()
        }
        "16 times 4 sw to L1 at offsets 0,16,32,48" => {
            kernel("sw to L1 at offsets 0,16,32,48")?.body
        }
        "64 pairs of xori and an always taken forward branch" => kernel("xori and an always")?.body,
        _ => return None,
    };
    Some((rounds.parse().unwrap(), body))
}

/// Returns the cycles of a loop on each of some TRISCs, or on BRISC if there are none, which all run
/// it at once.
fn cycles(row: &Row<'_>, triscs: &[usize], (rounds, body): (u32, &[u32])) -> Vec<u64> {
    let is_private = row.what.contains("private RAM");
    let mut tile = Tile {
        l1: vec![0; 0x2_0000],
        local: vec![0; 0x1000],
        instruction_ram: Vec::new(),
        registers: NoRegisters,
    };
    let count = triscs.len().max(1);
    let mut harts: Vec<Hart> = (0..count)
        .map(|index| {
            let trisc = triscs.get(index).copied();
            let port = if matches!(trisc, Some(1 | 2)) { L1Port::Port3 } else { L1Port::Port2 };
            let hart = Hart::new(row.arch, port);
            match (row.arch, trisc) {
                (Arch::WormholeB0, Some(1)) => hart.with_small_instruction_cache(),
                _ => hart,
            }
        })
        .collect();
    for (index, hart) in harts.iter_mut().enumerate() {
        let index = u32::try_from(index).unwrap();
        let (code, scratch) = (0x8000 + 0x4000 * index, 0x1000 + 0x800 * index);
        let ring = if is_private { (LOCAL_RAM_BASE, 4, 2) } else { (scratch, 16, 64) };
        for node in 0..ring.2 {
            let next = ring.0 + ring.1 * ((node + 1) % ring.2);
            let at = (ring.1 * node) as usize;
            let place = if is_private {
                &mut tile.local[at..]
            } else {
                &mut tile.l1[scratch as usize + at..]
            };
            place[..4].copy_from_slice(&next.to_le_bytes());
        }
        let length = i32::try_from(body.len()).unwrap();
        let mut words = body.to_vec();
        words.push(addi(A5, A5, -1));
        // As assemblers do, a loop that is too long for a branch ends with a jump.
        match length < 1023 {
            true => words.push(bne(A5, ZERO, -4 * (length + 1))),
            false => words.extend([beq(A5, ZERO, 8), jal(ZERO, -4 * (length + 2))]),
        }
        words.push(EBREAK);
        for (at, word) in (code as usize..).step_by(4).zip(words) {
            tile.l1[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        let registers =
            [(A5, rounds), (T0, 0x1234_5678), (T1, 3), (A4, 0xFFF), (S0, scratch), (S1, ring.0)];
        registers.iter().for_each(|&(register, value)| hart.set_register(register as usize, value));
        hart.set_pc(code);
    }
    let mut front = L1Front::new();
    let mut running = vec![true; count];
    while let Some(index) =
        (0..count).filter(|&index| running[index]).min_by_key(|&index| harts[index].cycle())
    {
        let until = if count == 1 { u64::MAX } else { harts[index].cycle() + 1 };
        running[index] = harts[index].run_until(&mut tile, &mut front, until) == Ok(Pause::Cycle);
    }
    harts.iter().map(Hart::cycle).collect()
}

/// Returns the simulated value of a row, or why it is not replayed.
fn replay(row: &Row<'_>) -> Result<f64, &'static str> {
    if let Some((_, reason)) = NOT_REPLAYED.iter().find(|(what, _)| row.what.starts_with(what)) {
        return Err(reason);
    }
    if let Some((rounds, mut body)) = single_loop(row.what) {
        // The cards' loops have more instructions than the branch and its counter.
        let retired = number_before(row.parameters, " instructions").unwrap() / rounds;
        body.resize(retired as usize - 2, addi(A0, A0, 1));
        return Ok(cycles(row, &[], (rounds, &body))[0] as f64);
    }
    let Some(kernel) = kernel(row.what) else { return Err(NO_KERNEL) };
    let measured = row.parameters["TRISC".len()..][..1].parse().unwrap();
    let together = match number_before(row.what, " TRISCs at the same time") {
        Some(count) => (0..count as usize).collect(),
        None => vec![measured],
    };
    let place = together.iter().position(|&trisc| trisc == measured).unwrap();
    let slope = |body: &[u32]| {
        let [short, long] = [32, 128].map(|rounds| cycles(row, &together, (rounds, body))[place]);
        (long - short) as f64 / 96.0
    };
    Ok((slope(&kernel.body) - slope(&[])) / f64::from(kernel.items))
}

const NO_KERNEL: &str = "no kernel of this project repeats this class yet";

fn group(row: &Row<'_>) -> &'static str {
    match row.class {
        "memory" if row.what.contains("at the same time") => "memory, several RISCs",
        "memory" => "memory, one RISC",
        "instruction fetch" => "instruction fetch",
        _ if row.what.contains("branch") || row.what.contains("jump") => "branches, jumps",
        _ => "integer code, loops",
    }
}

/// Returns the largest deviation in percent that a row may have.
fn tolerance(group: &str) -> f64 {
    match group {
        "memory, several RISCs" => 51.0,
        "memory, one RISC" => 12.0,
        _ => 7.0,
    }
}

#[test]
fn code_takes_as_long_as_on_cards() {
    let rows = rows();
    let is_here =
        |row: &&Row<'_>| matches!(row.class, "RISC-V core" | "memory" | "instruction fetch");
    let mut replayed = Vec::new();
    for row in rows.iter().filter(is_here) {
        if let Ok(simulated) = replay(row) {
            let one = Replayed { row, group: group(row), simulated };
            one.print();
            replayed.push(one);
        }
    }
    assert!(replayed.len() > 80, "{}", replayed.len());
    if is_all() {
        compare_page("replayed code", &errors(&replayed));
    }
    let is_wrong = |one: &&Replayed<'_>| one.error_percent().abs() > tolerance(one.group);
    let wrong = replayed.iter().filter(is_wrong);
    let wrong: Vec<_> = wrong.map(|one| (one.row.what, one.error_percent())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_page_says_why_rows_are_not_replayed() {
    let rows = rows();
    let partners = silicon_noc::partners(&rows);
    let mut skipped: BTreeMap<_, usize> = BTreeMap::new();
    for row in &rows {
        let reason = match row.class {
            "NoC" | "DRAM" => flows(row, &partners).err(),
            "RISC-V core" | "memory" | "instruction fetch" => replay(row).err(),
            "Tensix push" => None,
            _ => Some(NO_KERNEL),
        };
        if let Some(reason) = reason {
            *skipped.entry((row.class, row.arch.facts().name, reason)).or_default() += 1;
        }
    }
    let mut text =
        "| class | chip | rows that are not replayed | reason |\n|---|---|---|---|\n".to_owned();
    for ((class, chip, reason), count) in skipped {
        writeln!(text, "| {class} | {chip} | {count} | {reason} |").unwrap();
    }
    compare_page("rows that are not replayed", &text);
}
