//! Matrix products, as a kernel author would profile them.
//!
//! The kernels do not exchange data; their times follow from the shape of the product as
//! if they did, with a skew of their own on every core.

use super::{Plan, WorkloadOptions};
use crate::{
    mesh::SimulatedMesh,
    native::spin,
    program::{Emission, Kernel, KernelContext, Launch, Program},
    random::Stream,
};
use kernel_profiler::{
    device_record_event, device_timestamped_data, device_zone_scoped, device_zone_scoped_sum1,
    device_zone_scoped_sum2,
};
use std::sync::Arc;
use wire::Risc;

const DEFAULT_OPS: u32 = 8;

/// A product of matrices, in tiles of 32 by 32 and per core.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Blocks along the inner dimension.
    blocks: u32,
    /// Tiles that a block brings in.
    tiles_in: u32,
    /// Tiles of the result.
    tiles_out: u32,
}

const SHAPES: [Shape; 4] = [
    Shape { blocks: 8, tiles_in: 8, tiles_out: 16 },
    Shape { blocks: 4, tiles_in: 16, tiles_out: 16 },
    Shape { blocks: 12, tiles_in: 8, tiles_out: 4 },
    Shape { blocks: 2, tiles_in: 4, tiles_out: 4 },
];

pub(super) fn plan(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let program = Arc::new(
        Program::new("matmul")
            .with_kernel(Risc::Brisc, Arc::new(Reader))
            .with_kernel(Risc::Ncrisc, Arc::new(Writer))
            .with_kernel(Risc::Trisc0, Arc::new(Unpack))
            .with_kernel(Risc::Trisc1, Arc::new(Math))
            .with_kernel(Risc::Trisc2, Arc::new(Pack)),
    );
    let first_shape = Stream::new(options.seed, &[]).below(SHAPES.len() as u64);
    let launch = |op: u32| {
        let shape = SHAPES[(op as usize + index(first_shape)) % SHAPES.len()];
        let args = [shape.blocks, shape.tiles_in, shape.tiles_out];
        Launch::new(&program, op + 1).with_args(&args)
    };
    Plan::of((0..options.ops.unwrap_or(DEFAULT_OPS)).map(launch).collect())
}

fn index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

impl Shape {
    fn of(context: &KernelContext) -> Self {
        Self { blocks: context.arg(0), tiles_in: context.arg(1), tiles_out: context.arg(2) }
    }

    /// Cycles in which a block of tiles comes in from DRAM.
    fn load_cycles(self) -> u64 {
        LOAD_LATENCY + u64::from(self.tiles_in) * LOAD_TILE
    }

    /// Cycles in which a block is multiplied.
    fn multiply_cycles(self) -> u64 {
        u64::from(self.tiles_in) * u64::from(self.tiles_out) / 4 * MULTIPLY_TILES
    }

    /// Cycles from one block to the next: loading and computing overlap.
    fn block_cycles(self) -> u64 {
        self.load_cycles().max(self.multiply_cycles())
    }
}

const LOAD_LATENCY: u64 = 350;
const LOAD_TILE: u64 = 70;
const MULTIPLY_TILES: u64 = 18;
const UNPACK_TILE: u64 = 30;
const PACK_TILE: u64 = 40;
const STORE_TILE: u64 = 80;

/// What each core and RISC adds to its times: up to an eighth.
struct Skew(Stream);

impl Skew {
    fn of(context: &KernelContext) -> Self {
        Self(context.random())
    }

    fn work(&mut self, cycles: u64) {
        spin(cycles + self.0.below(cycles / 8 + 1));
    }
}

/// Brings blocks in from DRAM.
struct Reader;

impl Kernel for Reader {
    fn run(&self, context: &KernelContext) {
        let (shape, mut skew) = (Shape::of(context), Skew::of(context));
        for block in 0..shape.blocks {
            {
                device_zone_scoped_sum1!("WaitSpace");
                skew.work(shape.block_cycles() - shape.load_cycles());
            }
            device_zone_scoped!("LoadData");
            device_timestamped_data!(
                "LoadBlock",
                u64::from(block) << 32 | u64::from(shape.tiles_in)
            );
            skew.work(shape.load_cycles());
        }
    }

    fn emission(&self, context: &KernelContext) -> Emission {
        let blocks = u64::from(Shape::of(context).blocks);
        Emission { zones: blocks, data: blocks, events: 0, sums: sums(context, 1) }
    }
}

/// Takes blocks apart for the matrix engine.
struct Unpack;

impl Kernel for Unpack {
    fn run(&self, context: &KernelContext) {
        let (shape, mut skew) = (Shape::of(context), Skew::of(context));
        for _ in 0..shape.blocks {
            {
                device_zone_scoped_sum1!("WaitInput");
                let unpack = u64::from(shape.tiles_in) * UNPACK_TILE;
                skew.work(shape.block_cycles().saturating_sub(unpack));
            }
            device_zone_scoped!("Unpack");
            skew.work(u64::from(shape.tiles_in) * UNPACK_TILE);
        }
    }

    fn emission(&self, context: &KernelContext) -> Emission {
        let zones = u64::from(Shape::of(context).blocks);
        Emission { sums: sums(context, 1), ..Emission::zones(zones) }
    }
}

/// Multiplies.
struct Math;

impl Kernel for Math {
    fn run(&self, context: &KernelContext) {
        let (shape, mut skew) = (Shape::of(context), Skew::of(context));
        device_zone_scoped!("Matmul");
        for block in 0..shape.blocks {
            {
                device_zone_scoped_sum1!("WaitUnpack");
                skew.work(shape.block_cycles() - shape.multiply_cycles());
            }
            device_zone_scoped!("MatmulBlock");
            device_zone_scoped_sum2!("MathBusy");
            skew.work(shape.multiply_cycles());
            device_record_event!(u16::try_from(block).unwrap_or(u16::MAX));
        }
    }

    fn emission(&self, context: &KernelContext) -> Emission {
        let blocks = u64::from(Shape::of(context).blocks);
        Emission { zones: 1 + blocks, data: 0, events: blocks, sums: sums(context, 2) }
    }
}

/// Puts the result together.
struct Pack;

impl Kernel for Pack {
    fn run(&self, context: &KernelContext) {
        let (shape, mut skew) = (Shape::of(context), Skew::of(context));
        {
            device_zone_scoped_sum1!("WaitMath");
            skew.work(u64::from(shape.blocks) * shape.block_cycles());
        }
        device_zone_scoped!("Pack");
        skew.work(u64::from(shape.tiles_out) * PACK_TILE);
    }

    fn emission(&self, context: &KernelContext) -> Emission {
        Emission { sums: sums(context, 1), ..Emission::zones(1) }
    }
}

/// Brings the result to DRAM.
struct Writer;

impl Kernel for Writer {
    fn run(&self, context: &KernelContext) {
        let (shape, mut skew) = (Shape::of(context), Skew::of(context));
        {
            device_zone_scoped!("WaitResult");
            let pack = u64::from(shape.tiles_out) * PACK_TILE;
            skew.work(u64::from(shape.blocks) * shape.block_cycles() + pack);
        }
        device_zone_scoped!("StoreData");
        device_timestamped_data!("StoreTiles", u64::from(shape.tiles_out));
        skew.work(u64::from(shape.tiles_out) * STORE_TILE);
    }

    fn emission(&self, _: &KernelContext) -> Emission {
        Emission { zones: 2, data: 1, events: 0, sums: 0 }
    }
}

fn sums(context: &KernelContext, accumulators: u64) -> u64 {
    if context.sums_enabled { accumulators } else { 0 }
}
