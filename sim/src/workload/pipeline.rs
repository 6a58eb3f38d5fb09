//! Reader, compute and writer over circular buffers that block.
//!
//! | RISC | does for each tile |
//! |---|---|
//! | NCRISC, the reader | waits for room in buffer 0, reads, waits for the data, pushes |
//! | TRISC 0 | waits for the tile, has it unpacked, which pops it |
//! | TRISC 1 | computes |
//! | TRISC 2 | waits for room in buffer 16, has the tile packed, which pushes it |
//! | BRISC, the writer | waits for the tile, writes, waits for the answers, pops |
//!
//! Where cores share a reader, the first of each group reads for all of it:
//!
//! | reader | does for each tile |
//! |---|---|
//! | first core | waits for room, reads, waits until each other core has asked, signals them, pushes |
//! | other cores | waits for room, asks the first core, waits for its signal, pushes |
//!
//! As object code, the TRISCs stand for their engines, two tiles of which are under way between
//! each two. It has no semaphore and no straggler: a shape with one of them is native.
//!
//! # Compatibility
//! Groups are those of tt-metal's matrix products whose readers multicast a block, with semaphores
//! that count in place of being reset.

use super::{Plan, WorkloadOptions};
use crate::{
    arch::TileCoord,
    kernel::{
        Native,
        body::TILE_BYTES,
        script_body::{IS_WRITE, transfer},
        tile_words::{self, FIRST_SILENT_BUFFER, NO_BUFFER},
    },
    mesh::SimulatedMesh,
    native::{self, dataflow},
    program::{Emission, Kernel, KernelContext, Program, Progress, SteppedKernel},
    random::Stream,
};
use std::{collections::BTreeMap, str::FromStr, sync::Arc};
use wire::{Risc, wait::WaitKind};

/// Buffer from the reader to the compute kernels, as tt-metal's `CBIndex::c_0`.
pub const INPUT_BUFFER: u32 = 0;
/// Buffer from the compute kernels to the writer, as tt-metal's `CBIndex::c_16`.
pub const OUTPUT_BUFFER: u32 = 16;
/// L1 address of the semaphore that the writer increments for each tile.
pub const WRITTEN_SEMAPHORE: u32 = 0x9_0000;
/// L1 address of the semaphore of a group's first core that the others increment for each tile.
pub const ASKED_SEMAPHORE: u32 = 0x9_0010;
/// L1 address of the semaphore of the other cores that the first one increments for each tile.
pub const SENT_SEMAPHORE: u32 = 0x9_0020;

/// Sizes and speeds of the workload `pipeline`.
///
/// As text they are `name=number`, with commas between them:
///
/// ```
/// use sim::workload::PipelineShape;
/// let shape: PipelineShape = "reader=1200,compute=1000".parse().unwrap();
/// assert_eq!((shape.reader, shape.compute), (1200, 1000));
/// let error = "reader=1200,readr=1".parse::<PipelineShape>().unwrap_err();
/// assert!(error.to_string().starts_with("a pipeline has no `readr`; choose from tiles, reader,"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineShape {
    /// Tiles of a core.
    pub tiles: u32,
    /// Cycles of the reader for a tile.
    pub reader: u32,
    /// Cycles of the unpacker for a tile.
    pub unpack: u32,
    /// Cycles of the math engine for a tile.
    pub compute: u32,
    /// Cycles of the packer for a tile.
    pub pack: u32,
    /// Cycles of the writer for a tile.
    pub writer: u32,
    /// Tiles that the input buffer has room for.
    pub input: u32,
    /// Tiles that the output buffer has room for.
    pub output: u32,
    /// Percent of the reader's and the writer's cycles that they wait at barriers.
    pub barrier: u32,
    /// Percent by which the last worker core of each chip has more tiles than the others.
    pub straggler: u32,
    /// Percent up to which cycles of a tile vary.
    pub jitter: u32,
    /// Tiles that the reader may be ahead of the writer, by a semaphore; 0 for any number.
    pub ahead: u32,
    /// Cores of a row that share one reader; below 2 each has its own. None of them is a straggler.
    pub group: u32,
    /// How a reader signals those that share it: 0 by one multicast, else one after the other.
    pub unicast: u32,
}

impl Default for PipelineShape {
    fn default() -> Self {
        Self {
            tiles: 32,
            reader: 1000,
            unpack: 150,
            compute: 1000,
            pack: 150,
            writer: 1000,
            input: 2,
            output: 2,
            barrier: 60,
            straggler: 0,
            jitter: 2,
            ahead: 0,
            group: 0,
            unicast: 0,
        }
    }
}

/// Text that is no shape of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineShapeError {
    /// Unknown name.
    #[error("a pipeline has no `{name}`; choose from {known}")]
    UnknownName {
        /// The name.
        name: String,
        /// Names of a pipeline.
        known: String,
    },
    /// Something else than a number in its range.
    #[error("expected {name}=NUMBER with a number up to {most}, found `{found}`")]
    NoNumber {
        /// The name before it.
        name: String,
        /// Largest number.
        most: u32,
        /// The text.
        found: String,
    },
}

/// Largest number of any name: a launch stays below a second.
const LARGEST: u32 = 100_000;

impl PipelineShape {
    fn fields(&mut self) -> [(&'static str, &mut u32); 14] {
        let Self { tiles, reader, unpack, compute, pack, writer, input, output, .. } = self;
        let Self { barrier, straggler, jitter, ahead, group, unicast, .. } = self;
        [
            ("tiles", tiles),
            ("reader", reader),
            ("unpack", unpack),
            ("compute", compute),
            ("pack", pack),
            ("writer", writer),
            ("input", input),
            ("output", output),
            ("barrier", barrier),
            ("straggler", straggler),
            ("jitter", jitter),
            ("ahead", ahead),
            ("group", group),
            ("unicast", unicast),
        ]
    }
}

impl FromStr for PipelineShape {
    type Err = PipelineShapeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut shape = Self::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = name.trim();
            let most = if matches!(name, "barrier" | "jitter") { 100 } else { LARGEST };
            let known = shape.fields().map(|(name, _)| name).join(", ");
            let Some((_, field)) = shape.fields().into_iter().find(|field| field.0 == name) else {
                return Err(PipelineShapeError::UnknownName { name: name.to_owned(), known });
            };
            let number = value.trim().parse().ok().filter(|&number: &u32| number <= most);
            *field = number.ok_or_else(|| PipelineShapeError::NoNumber {
                name: name.to_owned(),
                most,
                found: value.to_owned(),
            })?;
        }
        Ok(shape)
    }
}

const DEFAULT_OPS: u32 = 4;

pub(super) fn plan(mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let stragglers: Arc<BTreeMap<u32, TileCoord>> = Arc::new(
        mesh.chips()
            .filter_map(|chip| Some((chip.facts().chip_id, chip.workers().next_back()?.coord)))
            .collect(),
    );
    let groups = Arc::new(groups(mesh, options.pipeline.group));
    let has_object_code = mesh.chips().all(|chip| chip.facts().modes.has_object_waits);
    let kernel = |role: Role| -> Arc<dyn Kernel> {
        let (stragglers, groups) = (Arc::clone(&stragglers), Arc::clone(&groups));
        let (shape, moves_tiles) = (options.pipeline, options.moves_tiles);
        let tile_words = role.tile_words(&shape, moves_tiles);
        Arc::new(PipelineKernel {
            role,
            shape,
            moves_tiles,
            tile_words,
            has_object_code,
            stragglers,
            groups,
        })
    };
    let program = Program::new("pipeline")
        .with_kernel(Risc::Brisc, kernel(Role::Writer))
        .with_kernel(Risc::Ncrisc, kernel(Role::Reader))
        .with_kernel(Risc::Trisc0, kernel(Role::Unpack))
        .with_kernel(Risc::Trisc1, kernel(Role::Math))
        .with_kernel(Risc::Trisc2, kernel(Role::Pack));
    Plan::launching(&Arc::new(program), options.ops.unwrap_or(DEFAULT_OPS), &[])
}

/// Cores that share a reader, the one that reads first.
type Group = Arc<[TileCoord]>;

/// The group of each core, by chip and place: neighbours in a row.
fn groups(mesh: &SimulatedMesh, size: u32) -> BTreeMap<(u32, TileCoord), Group> {
    let mut groups = BTreeMap::new();
    let Some(size) = usize::try_from(size).ok().filter(|&size| size > 1) else { return groups };
    for chip in mesh.chips() {
        let mut rows: BTreeMap<u16, Vec<TileCoord>> = BTreeMap::new();
        for core in chip.workers() {
            rows.entry(core.coord.y).or_default().push(core.coord);
        }
        for row in rows.values() {
            for cores in row.chunks(size) {
                let group: Group = Arc::from(cores);
                let chip_id = chip.facts().chip_id;
                groups.extend(cores.iter().map(|&core| ((chip_id, core), Arc::clone(&group))));
            }
        }
    }
    groups
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Reader,
    Unpack,
    Math,
    Pack,
    Writer,
}

/// Tiles between two engines.
const ENGINE_TILES: u32 = 2;

impl Role {
    /// Data of the role's object code.
    fn tile_words(self, shape: &PipelineShape, moves_tiles: bool) -> [u32; tile_words::WORD_COUNT] {
        const UNPACKED: u32 = FIRST_SILENT_BUFFER;
        const COMPUTED: u32 = FIRST_SILENT_BUFFER + 1;
        let (cycles, input, output, capacity) = match self {
            Self::Reader => (shape.reader, NO_BUFFER, INPUT_BUFFER, shape.input),
            Self::Unpack => (shape.unpack, INPUT_BUFFER, UNPACKED, ENGINE_TILES),
            Self::Math => (shape.compute, UNPACKED, COMPUTED, ENGINE_TILES),
            Self::Pack => (shape.pack, COMPUTED, OUTPUT_BUFFER, shape.output),
            Self::Writer => (shape.writer, OUTPUT_BUFFER, NO_BUFFER, 1),
        };
        let has_noc = matches!(self, Self::Reader | Self::Writer);
        let bytes = if moves_tiles && has_noc { TILE_BYTES } else { 0 };
        let barrier = if has_noc { shape.barrier } else { 0 };
        [shape.tiles, cycles, shape.jitter, input, output, capacity.max(1), bytes, barrier]
    }
}

/// One of the kernels.
struct PipelineKernel {
    role: Role,
    shape: PipelineShape,
    /// True if reader and writer move their tiles and record that.
    moves_tiles: bool,
    /// Data of the kernel's object code.
    tile_words: [u32; tile_words::WORD_COUNT],
    /// True if the mesh's object code records waits: no other has the kernel.
    has_object_code: bool,
    /// The core with more tiles, by chip.
    stragglers: Arc<BTreeMap<u32, TileCoord>>,
    groups: Arc<BTreeMap<(u32, TileCoord), Group>>,
}

impl PipelineKernel {
    /// Tiles of a core.
    fn tiles(&self, context: &KernelContext) -> u64 {
        let core = context.place.coord;
        let is_straggler = !self.groups.contains_key(&(context.chip_id, core))
            && self.stragglers.get(&context.chip_id) == Some(&core);
        let percent = 100 + if is_straggler { u64::from(self.shape.straggler) } else { 0 };
        u64::from(self.shape.tiles) * percent / 100
    }
}

impl Kernel for PipelineKernel {
    fn run(&self, _: &KernelContext) {
        panic!("kernels of a pipeline run in steps");
    }

    /// Transfers, beside waits and signals, which the firmware counts.
    fn emission(&self, context: &KernelContext) -> Emission {
        let group = self.groups.get(&(context.chip_id, context.place.coord));
        let is_first = group.is_none_or(|group| group.first() == Some(&context.place.coord));
        let moves_tiles = match self.role {
            Role::Reader => self.moves_tiles && is_first,
            Role::Writer => self.moves_tiles,
            Role::Unpack | Role::Math | Role::Pack => false,
        };
        Emission { data: if moves_tiles { self.tiles(context) } else { 0 }, ..Emission::NONE }
    }

    fn object_name(&self) -> Option<&str> {
        let PipelineShape { straggler, ahead, group, .. } = self.shape;
        (self.has_object_code && straggler == 0 && ahead == 0 && group < 2).then_some("pass_tiles")
    }

    fn object_data(&self) -> &[u32] {
        &self.tile_words
    }

    fn couples_cores(&self) -> bool {
        !self.groups.is_empty()
    }

    fn stepped(&self, context: &KernelContext) -> Option<Box<dyn SteppedKernel>> {
        let group = self.groups.get(&(context.chip_id, context.place.coord)).cloned();
        Some(Box::new(Running {
            role: self.role,
            shape: self.shape,
            moves_tiles: self.moves_tiles,
            tiles: self.tiles(context),
            tile: 0,
            phase: 0,
            group: group.unwrap_or_else(|| Arc::from([])),
            random: context.random(),
            context: context.clone(),
        }))
    }
}

/// A kernel on its way.
struct Running {
    role: Role,
    shape: PipelineShape,
    moves_tiles: bool,
    tiles: u64,
    /// Tile that it is at.
    tile: u64,
    /// Part of the tile's work that is next.
    phase: u8,
    /// Cores that share its reader; none if it has its own.
    group: Group,
    random: Stream,
    context: KernelContext,
}

impl SteppedKernel for Running {
    fn step(&mut self) -> Progress {
        if self.tile == 0 && self.phase == 0 {
            dataflow::set_capacity(INPUT_BUFFER, self.shape.input.into());
            dataflow::set_capacity(OUTPUT_BUFFER, self.shape.output.into());
        }
        if self.tile == self.tiles {
            return self.end();
        }
        let is_done = match self.role {
            Role::Reader => self.read(),
            Role::Unpack => self.engine(|shape, cycles| match shape {
                0 => dataflow::wait_front(INPUT_BUFFER, 1),
                _ => dataflow::unpack(INPUT_BUFFER, cycles),
            }),
            Role::Math => self.engine(|shape, cycles| shape == 0 || dataflow::compute(cycles)),
            Role::Pack => self.engine(|shape, cycles| match shape {
                0 => dataflow::reserve_back(OUTPUT_BUFFER, 1),
                _ => dataflow::pack(OUTPUT_BUFFER, cycles),
            }),
            Role::Writer => self.write(),
        };
        if is_done { Progress::Advanced } else { Progress::Waiting }
    }
}

impl Running {
    /// Ends the kernel once the engines are done.
    fn end(&self) -> Progress {
        let tiles = usize::try_from(self.tiles).unwrap_or(usize::MAX);
        let has_engine = !matches!(self.role, Role::Reader | Role::Writer);
        if has_engine && !dataflow::drain(&self.context, tiles) {
            return Progress::Waiting;
        }
        Progress::Done
    }

    /// Cycles of a tile, which vary a little.
    fn vary(random: &mut Stream, cycles: u32, jitter: u32) -> u64 {
        let cycles = u64::from(cycles);
        let spread = cycles * u64::from(jitter) / 100;
        cycles - spread / 2 + random.below(spread + 1)
    }

    fn next_tile(&mut self) {
        self.tile += 1;
        self.phase = 0;
    }

    /// The two parts of a tile on a TRISC: waits, then hands the tile to its engine.
    fn engine(&mut self, part: impl Fn(u8, u64) -> bool) -> bool {
        let cycles = match self.role {
            Role::Unpack => self.shape.unpack,
            Role::Math => self.shape.compute,
            _ => self.shape.pack,
        };
        let mut random = self.random.clone();
        let drawn = Self::vary(&mut random, cycles, self.shape.jitter);
        if !part(self.phase, drawn) {
            return false;
        }
        if self.phase == 0 {
            self.phase = 1;
        } else {
            self.random = random;
            self.next_tile();
        }
        true
    }

    fn read(&mut self) -> bool {
        let ahead = u64::from(self.shape.ahead);
        if self.phase == 0 {
            if ahead > 0 && !dataflow::wait_min(WRITTEN_SEMAPHORE, self.tile.saturating_sub(ahead))
            {
                return false;
            }
            self.phase = 1;
        }
        if self.phase == 1 {
            if !dataflow::reserve_back(INPUT_BUFFER, 1) {
                return false;
            }
            self.fetch();
            self.phase = 2;
        }
        if !self.has_tile() {
            return false;
        }
        dataflow::push_back(INPUT_BUFFER, 1);
        self.next_tile();
        true
    }

    /// Reads a tile, or asks the core that reads it.
    fn fetch(&mut self) {
        match self.group.first() {
            Some(&reader) if reader != self.context.place.coord => {
                dataflow::increment_at(reader, ASKED_SEMAPHORE);
            }
            _ => self.transfer(self.shape.reader, WaitKind::NOC_READ_BARRIER),
        }
    }

    /// Waits until the tile is there, and hands it on to those that share the reader; false if
    /// another core has to go on first.
    fn has_tile(&self) -> bool {
        match &*self.group {
            [reader, others @ ..] if *reader == self.context.place.coord => {
                let asked = (self.tile + 1) * others.len() as u64;
                if !dataflow::wait_min(ASKED_SEMAPHORE, asked) {
                    return false;
                }
                if self.shape.unicast > 0 {
                    others.iter().for_each(|&to| dataflow::increment_at(to, SENT_SEMAPHORE));
                } else if !others.is_empty() {
                    dataflow::increment_all(others, SENT_SEMAPHORE);
                }
                true
            }
            [] => true,
            _ => dataflow::wait_min(SENT_SEMAPHORE, self.tile + 1),
        }
    }

    fn write(&mut self) -> bool {
        if !dataflow::wait_front(OUTPUT_BUFFER, 1) {
            return false;
        }
        self.transfer(self.shape.writer, WaitKind::NOC_WRITE_BARRIER);
        dataflow::pop_front(OUTPUT_BUFFER, 1);
        if self.shape.ahead > 0 {
            dataflow::increment(WRITTEN_SEMAPHORE);
        }
        self.next_tile();
        true
    }

    /// Moves a tile, where that is recorded, and spends cycles, a part of them at a barrier.
    fn transfer(&mut self, cycles: u32, barrier: WaitKind) {
        if self.moves_tiles {
            let form = if self.role == Role::Writer { IS_WRITE } else { 0 };
            let bank = u32::try_from(self.tile % u64::from(u16::MAX)).unwrap_or(0) + 1;
            let mut environment = Native::new(&self.context, &Arc::default());
            transfer(&mut environment, form | bank << 8, TILE_BYTES);
        }
        let cycles = Self::vary(&mut self.random, cycles, self.shape.jitter);
        let waited = cycles * u64::from(self.shape.barrier) / 100;
        native::spin(cycles - waited);
        if waited > 0 {
            let noc = self.context.noc().unwrap_or(0);
            dataflow::barrier(barrier, noc.into(), waited);
        }
    }
}
