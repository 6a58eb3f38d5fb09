//! What the kernels do, written once for native and for object code.
//!
//! Compiled into the simulator and, by `sim/objects/kernels`, for riscv32im; so the two
//! cannot drift, and a zone has the same text and id in both. A body sees its surroundings
//! only through [`Environment`].

use kernel_profiler::{
    device_record_event, device_timestamped_data, device_timestamped_data_16b, device_zone_scoped,
    device_zone_scoped_sum1, device_zone_scoped_sum2,
};

/// What a kernel can ask of the RISC that runs it.
pub trait Environment {
    /// Lets at least so many cycles pass.
    fn spin(&mut self, cycles: u32);

    /// Runtime argument `index` of the launch, 0 where it gives none.
    fn arg(&self, index: u32) -> u32;
}

/// Does nothing.
pub fn empty<E: Environment>(_: &mut E) {}

/// Spins for argument 0 cycles in a zone.
pub fn work<E: Environment>(environment: &mut E) {
    device_zone_scoped!("WORK");
    environment.spin(environment.arg(0));
}

/// Opens and closes argument 0 zones: more than fit, if asked.
pub fn full_buffer<E: Environment>(environment: &mut E) {
    for _ in 0..environment.arg(0) {
        device_zone_scoped!("TEST-FULL");
        environment.spin(environment.arg(1));
    }
}

/// Argument 0 times a zone with data and an event in it.
pub fn timestamped_events<E: Environment>(environment: &mut E) {
    for index in 0..environment.arg(0) {
        device_zone_scoped!("TEST");
        device_timestamped_data!("TEST-DATA", u64::from(index));
        device_record_event!((index & 0xFFFF) as u16);
    }
}

/// Argument 0 times one record of 128 bits.
pub fn wide_data<E: Environment>(environment: &mut E) {
    for index in 0..environment.arg(0) {
        device_timestamped_data_16b!("WIDE", u64::from(index), u64::MAX);
    }
}

/// Argument 0 loops of argument 1 cycles each, in no zone but the kernel's own.
pub fn cycle_count<E: Environment>(environment: &mut E) {
    for _ in 0..environment.arg(0) {
        environment.spin(environment.arg(1));
    }
}

/// Sums over argument 0 passes of argument 1 cycles each, in both accumulators.
pub fn sums<E: Environment>(environment: &mut E) {
    for _ in 0..environment.arg(0) {
        device_zone_scoped_sum1!("SUM-ONE");
        environment.spin(environment.arg(1));
        device_zone_scoped_sum2!("SUM-TWO");
        environment.spin(environment.arg(1));
    }
}

/// The reader of a matrix product: argument 0 blocks, two tiles each.
pub fn matmul_reader<E: Environment>(environment: &mut E) {
    for _ in 0..environment.arg(0) {
        device_zone_scoped!("READ-BLOCK");
        {
            device_zone_scoped!("READ-IN0");
            environment.spin(environment.arg(1));
        }
        device_zone_scoped!("READ-IN1");
        environment.spin(environment.arg(1));
    }
}

/// The compute kernel of a matrix product: argument 0 blocks.
pub fn matmul_compute<E: Environment>(environment: &mut E) {
    for block in 0..environment.arg(0) {
        device_zone_scoped!("MATMUL-BLOCK");
        device_timestamped_data!("BLOCK", u64::from(block));
        environment.spin(environment.arg(2));
    }
}

/// The writer of a matrix product: argument 0 blocks.
pub fn matmul_writer<E: Environment>(environment: &mut E) {
    for block in 0..environment.arg(0) {
        device_zone_scoped!("WRITE-BLOCK");
        environment.spin(environment.arg(1));
        device_record_event!((block & 0xFFFF) as u16);
    }
}
