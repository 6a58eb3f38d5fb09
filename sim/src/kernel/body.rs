//! Bodies of the kernels.
//!
//! The bodies are compiled for riscv32im by `sim/objects/kernels`. They are also compiled into the
//! simulator, which uses their constants. The kernels in C++ record the same zones. A body accesses
//! the hardware and the launch's parameters only through [`Environment`].

use kernel_profiler::{
    device_record_event, device_timestamped_data, device_timestamped_data_16b, device_zone_scoped,
    device_zone_scoped_sum1, device_zone_scoped_sum2, read_perf_counters, start_perf_counters,
    stop_perf_counters,
};

/// Services that a RISC provides to a kernel.
pub trait Environment {
    /// Waits for at least a number of cycles.
    fn spin(&mut self, cycles: u32);

    /// Returns runtime argument `index` of the launch, or 0 if there is no such argument.
    fn arg(&self, index: u32) -> u32;

    /// Returns word `index` of this RISC's kernel data; a launch has separate data for each RISC.
    fn data(&self, index: u32) -> u32;

    /// Returns a random number below `bound`, specific to this RISC and launch.
    fn draw(&mut self, bound: u32) -> u32;

    /// Returns the NoC that this RISC uses; `None` if kernels on this RISC record no NoC events.
    fn noc(&self) -> Option<u8>;

    /// Returns the coordinates of a tile on this RISC's NoC: column in the low six bits, row in the
    /// bits above. Target 0 is the RISC's own tile. Targets 1, 2, ... are the tiles of the DRAM
    /// banks; after the last bank, the first bank follows again.
    fn tile(&self, target: u32) -> u32;

    /// Issues a transfer on this RISC's NoC.
    fn transfer(&mut self, transfer: &Transfer);

    /// Issues a coprocessor instruction `times` times on a TRISC; does nothing on a processor
    /// without a coprocessor.
    fn issue(&mut self, instruction: u32, times: u32);
}

/// A transfer between this tile's L1 and another tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// True for a write to the other tile, on virtual channel 1; false for a read from it.
    pub is_write: bool,
    /// True for a write without acknowledgement.
    pub is_posted: bool,
    /// Coordinates of the other tile, see [`Environment::tile`].
    pub tile: u32,
    /// Address in this tile's L1.
    pub local: u32,
    /// Address in the other tile.
    pub remote: u32,
    /// Number of bytes, at most 8,192.
    pub byte_count: u32,
}

/// Does nothing.
pub fn empty<E: Environment>(_: &mut E) {}

/// Spins for 300 to 420 cycles; records no zone of its own.
pub fn short<E: Environment>(environment: &mut E) {
    let cycles = 300 + environment.draw(121);
    environment.spin(cycles);
}

/// Spins for `arg(0)` cycles in a zone.
pub fn work<E: Environment>(environment: &mut E) {
    device_zone_scoped!("WORK");
    environment.spin(environment.arg(0));
}

/// Number of zones that [`full_buffer`] records, more than a RISC's record buffer holds.
pub const FULL_BUFFER_ZONES: u16 = 150;

/// Opens and closes [`FULL_BUFFER_ZONES`] zones, more than a RISC's record buffer holds.
pub fn full_buffer<E: Environment>(environment: &mut E) {
    for _ in 0..FULL_BUFFER_ZONES {
        device_zone_scoped!("TEST-FULL");
        environment.spin(12);
    }
}

/// Number of passes in [`timestamped_events`].
pub const EVENT_PASSES: u16 = 150;

/// Records zones, data and events; together more records than a RISC's record buffer holds.
pub fn timestamped_events<E: Environment>(environment: &mut E) {
    for pass in 0..EVENT_PASSES {
        device_zone_scoped!("TEST");
        device_timestamped_data!("TEST-DATA", u64::from(pass) + (1 << 32));
        device_record_event!(pass);
        environment.spin(20);
    }
}

/// Records 128 bits of data, `arg(0)` times.
pub fn wide_data<E: Environment>(environment: &mut E) {
    for index in 0..environment.arg(0) {
        device_timestamped_data_16b!("WIDE", u64::from(index), u64::MAX);
    }
}

/// Issues `arg(0)` FPU instructions, `arg(1)` SFPU instructions and `arg(2)` other instructions, after
/// one that gives the FPU its data.
pub fn instructions<E: Environment>(environment: &mut E) {
    give_data(environment);
    device_zone_scoped!("INSTRUCTIONS");
    issue_all(environment);
}

/// Runs the instructions of [`instructions`] while hardware counters count. If counters are
/// recorded, the kernel, not the firmware, starts, stops and reads the groups in the mask `arg(3)`.
pub fn counted_instructions<E: Environment>(environment: &mut E) {
    give_data(environment);
    let groups = environment.arg(3);
    start_perf_counters!(groups);
    issue_all(environment);
    stop_perf_counters!(groups);
    read_perf_counters!(groups);
}

/// Gives the matrix unit a bank of each source, without which it would wait for ever.
#[inline(always)]
fn give_data<E: Environment>(environment: &mut E) {
    environment.issue(SETDVALID, 1);
}

#[inline(always)]
fn issue_all<E: Environment>(environment: &mut E) {
    for (index, instruction) in (0..).zip([MVMUL, SFPMAD, NOP]) {
        environment.issue(instruction, environment.arg(index));
    }
}

/// Instructions of the Tensix coprocessor.
///
/// # Compatibility
/// `ckernel_ops.h`.
const MVMUL: u32 = 0x26 << 24;
const SFPMAD: u32 = 0x84 << 24;
const NOP: u32 = 0x02 << 24;
/// `SETDVALID` of both sources.
const SETDVALID: u32 = 0x57 << 24 | 3;

/// Records one zone around a loop of 2000 passes, each of which takes 52 cycles.
///
/// # Compatibility
/// `test_custom_cycle_count` of tt-metal accepts 20,800 to 1,040,000 cycles on average.
pub fn cycle_count<E: Environment>(environment: &mut E) {
    device_zone_scoped!("LOOPS");
    for _ in 0..2000 {
        environment.spin(52);
    }
}

/// Number of zones in [`steps`].
pub const STEPS: u16 = 100;

/// Records zones of 1000 cycles, one after another.
pub fn steps<E: Environment>(environment: &mut E) {
    for _ in 0..STEPS {
        device_zone_scoped!("STEP");
        environment.spin(1000);
    }
}

/// Records `arg(0)` zones of random lengths, which average `arg(1)` cycles, with `arg(2)` cycles
/// between two zones.
pub fn paced<E: Environment>(environment: &mut E) {
    for _ in 0..environment.arg(0) {
        {
            device_zone_scoped!("PACED");
            let average = environment.arg(1);
            let drawn = environment.draw(average);
            environment.spin(average / 2 + drawn);
        }
        environment.spin(environment.arg(2));
    }
}

/// Runs `arg(0)` passes; each adds 2 * `arg(1)` cycles to zone SUM-ONE and `arg(1)` to SUM-TWO.
pub fn sums<E: Environment>(environment: &mut E) {
    for _ in 0..environment.arg(0) {
        device_zone_scoped_sum1!("SUM-ONE");
        environment.spin(environment.arg(1));
        device_zone_scoped_sum2!("SUM-TWO");
        environment.spin(environment.arg(1));
    }
}

/// Number of passes of [`calibration`]: the maximum whose records fit in a record buffer.
pub const CALIBRATION_PASSES: u16 = 13;

/// Records `arg(0)` zones, each with its number and a random number as data.
pub fn numbers<E: Environment>(environment: &mut E) {
    for number in 0..environment.arg(0) {
        device_zone_scoped!("NUMBERED");
        let drawn = environment.draw(u32::MAX);
        device_timestamped_data!("NUMBER", u64::from(number) << 32 | u64::from(drawn));
    }
}

/// Records zones with at most one other probe in each; a host computes probe costs from them. The
/// zones are far enough apart in time for the stores of the previous zone to drain.
///
/// # Compatibility
/// The names of the zones are those that the host's `probe_cost` module expects.
pub fn calibration<E: Environment>(environment: &mut E) {
    for pass in 0..CALIBRATION_PASSES {
        environment.spin(100);
        {
            device_zone_scoped!("PROBE-COST-EMPTY");
        }
        environment.spin(100);
        {
            device_zone_scoped!("PROBE-COST-NESTED");
            device_zone_scoped!("PROBE-COST-INNER");
        }
        environment.spin(100);
        {
            device_zone_scoped!("PROBE-COST-DATA");
            device_timestamped_data!("PROBE-COST-VALUE", u64::from(pass));
        }
        environment.spin(100);
        {
            device_zone_scoped!("PROBE-COST-WIDE-DATA");
            device_timestamped_data_16b!("PROBE-COST-VALUES", u64::from(pass), 0);
        }
        environment.spin(100);
        {
            device_zone_scoped!("PROBE-COST-EVENT");
            device_record_event!(pass);
        }
    }
}

/// Size of one core's matrix product in 32-by-32 tiles; the `arg` values of `matmul` kernels.
#[derive(Clone, Copy, Debug)]
pub struct MatmulShape {
    /// Number of blocks along the inner dimension.
    pub blocks: u32,
    /// Number of input tiles per block.
    pub tiles_in: u32,
    /// Number of tiles in the result.
    pub tiles_out: u32,
}

impl MatmulShape {
    fn from_environment<E: Environment>(environment: &E) -> Self {
        let [blocks, tiles_in, tiles_out] = [0, 1, 2].map(|index| environment.arg(index));
        Self { blocks, tiles_in, tiles_out }
    }

    /// Returns the cycles it takes to load a block of tiles from DRAM.
    const fn load_cycles(self) -> u32 {
        350 + self.tiles_in * 70
    }

    /// Returns the cycles it takes to multiply a block.
    const fn multiply_cycles(self) -> u32 {
        self.tiles_in * self.tiles_out / 4 * 18
    }

    const fn unpack_cycles(self) -> u32 {
        self.tiles_in * 30
    }

    const fn pack_cycles(self) -> u32 {
        self.tiles_out * 40
    }

    /// Returns the cycles from one block to the next; loading and computing overlap.
    fn block_cycles(self) -> u32 {
        self.load_cycles().max(self.multiply_cycles())
    }
}

/// Spins for `cycles` cycles plus a random number of cycles up to an eighth of that.
fn work_about<E: Environment>(environment: &mut E, cycles: u32) {
    let more = environment.draw(cycles / 8 + 1);
    environment.spin(cycles + more);
}

/// Loads blocks from DRAM, each in a zone. Issues NoC transfers only if `MOVES` is true.
fn read_blocks<E: Environment, const MOVES: bool>(environment: &mut E) {
    let shape = MatmulShape::from_environment(environment);
    for block in 0..shape.blocks {
        {
            device_zone_scoped_sum1!("WaitSpace");
            work_about(environment, shape.block_cycles() - shape.load_cycles());
        }
        device_zone_scoped!("LoadData");
        device_timestamped_data!("LoadBlock", u64::from(block) << 32 | u64::from(shape.tiles_in));
        load_block::<E, MOVES>(environment, shape);
    }
}

/// Spins for as long as the engine needs to unpack the blocks.
pub fn matmul_unpack<E: Environment>(environment: &mut E) {
    let shape = MatmulShape::from_environment(environment);
    for _ in 0..shape.blocks {
        {
            device_zone_scoped_sum1!("WaitInput");
            work_about(environment, shape.block_cycles().saturating_sub(shape.unpack_cycles()));
        }
        device_zone_scoped!("Unpack");
        work_about(environment, shape.unpack_cycles());
    }
}

/// Spins for as long as the engine needs to multiply the blocks.
pub fn matmul_math<E: Environment>(environment: &mut E) {
    let shape = MatmulShape::from_environment(environment);
    device_zone_scoped!("Matmul");
    for block in 0..shape.blocks {
        {
            device_zone_scoped_sum1!("WaitUnpack");
            work_about(environment, shape.block_cycles() - shape.multiply_cycles());
        }
        device_zone_scoped!("MatmulBlock");
        device_zone_scoped_sum2!("MathBusy");
        work_about(environment, shape.multiply_cycles());
        device_record_event!(u16::try_from(block).unwrap_or(u16::MAX));
    }
}

/// Spins for as long as the engine needs to pack the result.
pub fn matmul_pack<E: Environment>(environment: &mut E) {
    let shape = MatmulShape::from_environment(environment);
    {
        device_zone_scoped_sum1!("WaitMath");
        work_about(environment, shape.blocks * shape.block_cycles());
    }
    device_zone_scoped!("Pack");
    work_about(environment, shape.pack_cycles());
}

/// Writes the result to DRAM. Issues NoC transfers only if `MOVES` is true.
fn write_result<E: Environment, const MOVES: bool>(environment: &mut E) {
    let shape = MatmulShape::from_environment(environment);
    {
        device_zone_scoped!("WaitResult");
        work_about(environment, shape.blocks * shape.block_cycles() + shape.pack_cycles());
    }
    device_zone_scoped!("StoreData");
    device_timestamped_data!("StoreTiles", u64::from(shape.tiles_out));
    store_tiles::<E, MOVES>(environment, shape);
}

/// Spins for as long as loading blocks from DRAM takes, without transfers.
pub fn matmul_reader<E: Environment>(environment: &mut E) {
    read_blocks::<E, false>(environment);
}

/// Loads blocks from DRAM tile by tile over the NoC, and records the transfers.
pub fn matmul_tile_reader<E: Environment>(environment: &mut E) {
    read_blocks::<E, true>(environment);
}

/// Spins for as long as writing the result to DRAM takes, without transfers.
pub fn matmul_writer<E: Environment>(environment: &mut E) {
    write_result::<E, false>(environment);
}

/// Writes the result to DRAM tile by tile over the NoC, and records the transfers.
pub fn matmul_tile_writer<E: Environment>(environment: &mut E) {
    write_result::<E, true>(environment);
}

/// Size in bytes of a tile of 32 by 32 numbers, each of 16 bits.
pub const TILE_BYTES: u32 = 2048;

/// Loads the tiles of a block if `MOVES` is true, then spends the time that loading takes.
fn load_block<E: Environment, const MOVES: bool>(environment: &mut E, shape: MatmulShape) {
    if MOVES {
        for tile in 1..=shape.tiles_in {
            super::script_body::transfer(environment, tile << 8, TILE_BYTES);
        }
    }
    work_about(environment, shape.load_cycles());
}

/// Stores the tiles of the result if `MOVES` is true, then spends the time that storing takes.
fn store_tiles<E: Environment, const MOVES: bool>(environment: &mut E, shape: MatmulShape) {
    if MOVES {
        for tile in 1..=shape.tiles_out {
            let form = super::script_body::IS_WRITE | tile << 8;
            super::script_body::transfer(environment, form, TILE_BYTES);
        }
    }
    work_about(environment, shape.tiles_out * 80);
}

/// Records `arg(0)` zones, each with `arg(1)` reads of a runtime argument in L1.
pub fn reads<E: Environment>(environment: &mut E) {
    for _ in 0..environment.arg(0) {
        device_zone_scoped!("READS");
        for _ in 0..environment.arg(1) {
            let _ = environment.arg(2);
        }
    }
}
