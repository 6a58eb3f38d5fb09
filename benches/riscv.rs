//! Instructions per second of the RV32IM interpreter on one thread, with the timing of each chip.
//!
//! The program resembles an instrumented kernel. Each round has two markers (clock loads, cursor in
//! private RAM, two words to L1 each) around a body of arithmetic, branches and private data.
//! Throughput is reported per executed instruction.

#[path = "../sim/tests/unit/asm.rs"]
mod asm;
#[path = "../sim/tests/unit/tile.rs"]
mod tile;

use asm::{A0, A1, A2, A3, A4, A5, RA, S0, S1, T0, T1, T2, ZERO};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sim::arch::Arch;
use sim::riscv::{
    Bus, Hart, L1Front, L1Port, LOCAL_RAM_BASE, Pause, Refusal, Region, StoreResult, Width,
};
use tile::{Registers, Tile};

const CLOCK_LOW: u32 = 0xFFB1_21F0;
const CLOCK_HIGH: u32 = 0xFFB1_21F4;
/// L1 address of the marker buffer.
const BUFFER: u32 = 0x1_0000;
const ROUND_COUNT: u32 = 100_000;

/// Memory-mapped registers of a tile. Only the wall clock exists.
struct WallClock;

impl Registers for WallClock {
    fn load(&mut self, address: u32, _: Width, cycle: u64) -> Result<u32, Refusal> {
        match address {
            CLOCK_LOW => Ok((cycle & 0xFFFF_FFFF) as u32),
            CLOCK_HIGH => Ok((cycle >> 32) as u32),
            _ => Err(Refusal::Unmapped),
        }
    }
    fn store(&mut self, _: &[u8], _: u32, _: (Width, u32), _: u64) -> StoreResult {
        Err(Refusal::Unmapped)
    }
}

/// Code of a marker: two clock loads, a cursor in private RAM (wraps after 1 KiB), two words to L1.
fn marker(id: u32) -> [u32; 12] {
    [
        asm::lw(A0, T0, 0),
        asm::lw(A1, T0, 4),
        asm::lw(A2, S0, 0),
        asm::lui(A3, id << 12),
        asm::or(A1, A1, A3),
        asm::add(A4, A2, S1),
        asm::addi(A2, A2, 8),
        asm::andi(A2, A2, 0x3F8),
        asm::sw(A2, S0, 0),
        asm::sw(A1, A4, 0),
        asm::sw(A0, A4, 4),
        asm::bltu(A2, ZERO, 8),
    ]
}

/// Code of the body: eight rounds of arithmetic on private data, with one alternating branch.
fn body() -> Vec<u32> {
    vec![
        asm::addi(T1, ZERO, 8),
        asm::lw(A0, S0, 16),
        asm::slli(A1, A0, 3),
        asm::add(A0, A0, A1),
        asm::andi(A2, T1, 1),
        asm::beq(A2, ZERO, 8),
        asm::addi(A0, A0, 7),
        asm::sub(A5, A1, A0),
        asm::sw(A0, S0, 16),
        asm::addi(T1, T1, -1),
        asm::bne(T1, ZERO, -36),
        asm::mul(T2, A5, A0),
        asm::sw(T2, S0, 20),
    ]
}

fn program() -> Vec<u32> {
    let mut words = [marker(1).to_vec(), body(), marker(2).to_vec()].concat();
    words.push(asm::addi(RA, RA, -1));
    let back = -4 * i32::try_from(words.len()).expect("the program is short");
    words.extend([asm::bne(RA, ZERO, back), asm::EBREAK]);
    words
}

fn tile() -> Tile<WallClock> {
    let mut l1: Vec<u8> = program().iter().flat_map(|word| word.to_le_bytes()).collect();
    l1.resize(1464 * 1024, 0);
    Tile { l1, local: vec![0; 4096], instruction_ram: Vec::new(), registers: WallClock }
}

/// Runs the whole program and returns the hart.
fn run(arch: Arch, tile: &mut Tile<WallClock>) -> Hart {
    let mut hart = Hart::new(arch, L1Port::Port2);
    hart.set_register(RA as usize, ROUND_COUNT);
    hart.set_register(T0 as usize, CLOCK_LOW);
    hart.set_register(S0 as usize, LOCAL_RAM_BASE);
    hart.set_register(S1 as usize, BUFFER);
    let pause = hart.run_until(tile, &mut L1Front::new(), u64::MAX);
    assert_eq!(pause, Ok(Pause::Breakpoint));
    hart
}

fn instructions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("riscv");
    group.sample_size(20);
    let mut tile = tile();
    for (name, arch) in [("wormhole", Arch::WormholeB0), ("blackhole", Arch::Blackhole)] {
        let counters = run(arch, &mut tile).counters();
        group.throughput(Throughput::Elements(counters.instruction_count));
        group.bench_function(BenchmarkId::new("markers", name), |bencher| {
            bencher.iter(|| run(arch, &mut tile).cycle());
        });
    }
    group.finish();
}

criterion_group!(benches, instructions);
criterion_main!(benches);
