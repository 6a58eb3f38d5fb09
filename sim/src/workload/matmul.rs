//! Matrix products, with the zones that an author of kernels would typically add.
//!
//! The kernels do not exchange data. Their durations are computed from the shape of the product, as
//! if they exchanged data, with random differences between cores. If NoC events are requested, the
//! reader and the writer transfer tiles from and to DRAM.

use super::{Plan, WorkloadOptions};
use crate::{
    kernel::{ObjectKernel, body::MatmulShape},
    mesh::SimulatedMesh,
    program::{Launch, Program},
    random::Stream,
};
use std::sync::Arc;
use wire::Risc;

const DEFAULT_OPS: u32 = 8;

const SHAPES: [MatmulShape; 4] = [
    MatmulShape { blocks: 8, tiles_in: 8, tiles_out: 16 },
    MatmulShape { blocks: 4, tiles_in: 16, tiles_out: 16 },
    MatmulShape { blocks: 12, tiles_in: 8, tiles_out: 4 },
    MatmulShape { blocks: 2, tiles_in: 4, tiles_out: 4 },
];

pub(super) fn plan(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let (reader, writer) = match options.moves_tiles {
        true => ("matmul_tile_reader", "matmul_tile_writer"),
        false => ("matmul_reader", "matmul_writer"),
    };
    let program = Arc::new(
        Program::new("matmul")
            .with_kernel(Risc::Brisc, ObjectKernel::shared(reader))
            .with_kernel(Risc::Ncrisc, ObjectKernel::shared(writer))
            .with_kernel(Risc::Trisc0, ObjectKernel::shared("matmul_unpack"))
            .with_kernel(Risc::Trisc1, ObjectKernel::shared("matmul_math"))
            .with_kernel(Risc::Trisc2, ObjectKernel::shared("matmul_pack")),
    );
    let first_shape = Stream::new(options.seed, &[]).below(SHAPES.len() as u64);
    let shapes = SHAPES.iter().cycle().skip(usize::try_from(first_shape).unwrap_or(0));
    Plan::new((1..=options.ops.unwrap_or(DEFAULT_OPS)).zip(shapes).map(|(id, shape)| {
        let args = [shape.blocks, shape.tiles_in, shape.tiles_out];
        Launch::new(&program, id).with_args(&args)
    }))
}
