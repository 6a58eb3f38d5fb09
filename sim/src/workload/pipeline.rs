//! Reader, compute and writer kernels that block on circular buffers.
//!
//! | RISC | does for each tile |
//! |---|---|
//! | NCRISC, the reader | waits for room in buffer 0, reads, waits for the data, pushes |
//! | TRISC 0 | waits for the tile, lets its engine unpack and pop the tile |
//! | TRISC 1 | computes |
//! | TRISC 2 | waits for room in buffer 16, lets its engine pack and push the tile |
//! | BRISC, the writer | waits for the tile, writes, waits for the answers, pops |
//!
//! If several cores share a reader, the first core of each group reads for the whole group:
//!
//! | core | its reader does for each tile |
//! |---|---|
//! | first core | waits for room, reads, waits until each other core has asked, signals them, pushes |
//! | other cores | waits for room, asks the first core, waits for its signal, pushes |
//!
//! Each TRISC also simulates its engine: unpacker, math engine or packer. Between two engines, up
//! to two tiles are in progress.
//!
//! # Compatibility
//! Groups correspond to tt-metal's matrix products, in which a reader multicasts blocks. Here the
//! semaphores count up, while tt-metal resets them.

use super::{Plan, WorkloadOptions};
use crate::{
    arch::TileCoord,
    chip::Chip,
    kernel::{
        body::TILE_BYTES,
        events_of_transfer,
        tile_words::{self, FIRST_SILENT_BUFFER, NO_BUFFER, NO_TILE, SEMAPHORES_END},
    },
    machine::logical_id,
    mesh::SimulatedMesh,
    program::{Emission, Kernel, KernelContext, Program},
};
use std::{borrow::Cow, collections::BTreeMap, ops::Range, str::FromStr, sync::Arc};
use wire::Risc;

pub use crate::kernel::tile_words::{ASKED_SEMAPHORE, SENT_SEMAPHORE, WRITTEN_SEMAPHORE};

/// Number of the buffer from the reader to the compute kernels, like tt-metal's `CBIndex::c_0`.
pub const INPUT_BUFFER: u32 = 0;
/// Number of the buffer from the compute kernels to the writer, like tt-metal's `CBIndex::c_16`.
pub const OUTPUT_BUFFER: u32 = 16;

/// Sizes and durations for the workload `pipeline`.
///
/// Its text form is a list of `name=number`, separated by commas:
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
    /// Number of tiles per core.
    pub tiles: u32,
    /// Cycles that the reader spends per tile.
    pub reader: u32,
    /// Cycles that the unpacker spends per tile.
    pub unpack: u32,
    /// Cycles that the math engine spends per tile.
    pub compute: u32,
    /// Cycles that the packer spends per tile.
    pub pack: u32,
    /// Cycles that the writer spends per tile.
    pub writer: u32,
    /// Capacity of the input buffer in tiles.
    pub input: u32,
    /// Capacity of the output buffer in tiles.
    pub output: u32,
    /// Percentage of the reader's and the writer's cycles that are spent at barriers.
    pub barrier: u32,
    /// Additional tiles of each chip's last worker core, in percent of the tiles per core.
    pub straggler: u32,
    /// Maximum random variation of the cycles per tile, in percent.
    pub jitter: u32,
    /// Maximum number of tiles by which the reader may be ahead of the writer, which a semaphore
    /// enforces; 0 for no limit.
    pub ahead: u32,
    /// Number of cores in a row that share one reader. If this is 0 or 1, each core has its own
    /// reader. If it is 2 or more, `straggler` has no effect.
    pub group: u32,
    /// How a reader signals the other cores of its group: 0 for one multicast, any other number for
    /// one signal per core.
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

/// Reason why a text is not a pipeline shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineShapeError {
    /// There is no parameter with this name.
    #[error("a pipeline has no `{name}`; choose from {known}")]
    UnknownName {
        /// The name in the text.
        name: String,
        /// Names of all parameters.
        known: String,
    },
    /// The value is not a number up to the limit.
    #[error("expected {name}=NUMBER with a number up to {most}, found `{found}`")]
    NoNumber {
        /// Name of the parameter.
        name: String,
        /// Largest valid number.
        most: u32,
        /// The value in the text.
        found: String,
    },
}

/// Largest valid number of most parameters; it keeps a launch shorter than a second.
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
    let cores = Arc::new(cores(mesh, &options.pipeline));
    let kernel = |role: Role| -> Arc<dyn Kernel> {
        let (shape, moves_tiles) = (options.pipeline, options.moves_tiles);
        Arc::new(PipelineKernel { role, shape, moves_tiles, cores: Arc::clone(&cores) })
    };
    let program = Program::new("pipeline")
        .with_kernel(Risc::Brisc, kernel(Role::Writer))
        .with_kernel(Risc::Ncrisc, kernel(Role::Reader))
        .with_kernel(Risc::Trisc0, kernel(Role::Unpack))
        .with_kernel(Risc::Trisc1, kernel(Role::Math))
        .with_kernel(Risc::Trisc2, kernel(Role::Pack));
    Plan::launching(&Arc::new(program), options.ops.unwrap_or(DEFAULT_OPS), &[])
}

/// Special role of a core; a core that has none reads for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CorePart {
    /// The core has more tiles than the other cores.
    Straggler,
    /// The core at these coordinates reads for this core, when this core asks for a tile.
    Asks(u32),
    /// The core reads for the cores at these coordinates. The second field is their rectangle.
    Reads(Vec<u32>, u32),
}

/// The special role of each core that has one, by chip and core coordinates.
type CoreParts = BTreeMap<(u32, TileCoord), CorePart>;

/// Returns the special roles of all cores: either neighbours in a row share a reader, or the last
/// core of each chip is a straggler.
fn cores(mesh: &SimulatedMesh, shape: &PipelineShape) -> CoreParts {
    let mut parts = CoreParts::new();
    let size = usize::try_from(shape.group).unwrap_or(usize::MAX);
    for chip in mesh.chips() {
        let chip_id = chip.facts().chip_id;
        let groups = if size > 1 { groups(chip, size) } else { Vec::new() };
        for group in &groups {
            let [reader, others @ ..] = &group[..] else { continue };
            let at = |tile: &TileCoord| logical_id(chip.facts(), *tile);
            if !others.is_empty() {
                let part =
                    CorePart::Reads(others.iter().map(at).collect(), rectangle(chip, others));
                parts.insert((chip_id, *reader), part);
            }
            parts
                .extend(others.iter().map(|other| ((chip_id, *other), CorePart::Asks(at(reader)))));
        }
        let last = chip.workers().next_back().filter(|_| groups.is_empty() && shape.straggler > 0);
        parts.extend(last.map(|core| ((chip_id, core.coord), CorePart::Straggler)));
    }
    parts
}

/// Returns the groups of a chip's worker cores that share a reader. A group consists of neighbours
/// in a row; its first core reads.
fn groups(chip: &Chip, size: usize) -> Vec<Vec<TileCoord>> {
    let mut rows: BTreeMap<u16, Vec<TileCoord>> = BTreeMap::new();
    for core in chip.workers() {
        rows.entry(core.coord.y).or_default().push(core.coord);
    }
    rows.values().flat_map(|row| row.chunks(size)).map(<[TileCoord]>::to_vec).collect()
}

/// Encodes the smallest rectangle that contains the tiles, for the reader's NoC, which is NoC 1.
/// Packets on NoC 1 travel left and up, so the rectangle starts at its lower right corner and ends
/// at its upper left corner.
fn rectangle(chip: &Chip, tiles: &[TileCoord]) -> u32 {
    let all = tiles.iter().map(|&tile| logical_id(chip.facts(), tile));
    let (columns, rows) = (all.clone().map(|at| at & 0x3F), all.map(|at| at >> 6));
    let end = columns.clone().min().unwrap_or(0) | rows.clone().min().unwrap_or(0) << 6;
    let beginning = columns.max().unwrap_or(0) | rows.max().unwrap_or(0) << 6;
    end | beginning << 12
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Reader,
    Unpack,
    Math,
    Pack,
    Writer,
}

/// Capacity in tiles of each buffer between two engines.
const ENGINE_TILES: u32 = 2;

impl Role {
    /// Returns the data words of the kernel with this role, for cores without a special part.
    fn words(self, shape: &PipelineShape, moves_tiles: bool) -> [u32; tile_words::WORD_COUNT] {
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
        let [barrier, ahead] = [shape.barrier, shape.ahead].map(|of| if has_noc { of } else { 0 });
        let work = [shape.tiles, cycles, shape.jitter];
        let buffers = [input, output, capacity.max(1)];
        let noc = [bytes, barrier, ahead, NO_TILE, 0, NO_TILE];
        let mut words = [0; tile_words::WORD_COUNT];
        words
            .iter_mut()
            .zip([work, buffers].as_flattened().iter().chain(&noc))
            .for_each(|(word, of)| *word = *of);
        words
    }
}

/// A kernel of the pipeline.
struct PipelineKernel {
    role: Role,
    shape: PipelineShape,
    /// True if the reader and the writer transfer their tiles and record the transfers.
    moves_tiles: bool,
    cores: Arc<CoreParts>,
}

impl PipelineKernel {
    fn part(&self, context: &KernelContext) -> Option<&CorePart> {
        self.cores.get(&(context.chip_id, context.place.coord))
    }

    /// Returns the number of tiles that a core processes in a launch.
    fn tiles(&self, context: &KernelContext) -> u32 {
        let more = match self.part(context) {
            Some(CorePart::Straggler) => self.shape.straggler,
            _ => 0,
        };
        let tiles = u64::from(self.shape.tiles) * (100 + u64::from(more)) / 100;
        u32::try_from(tiles).unwrap_or(u32::MAX)
    }
}

impl Kernel for PipelineKernel {
    /// Returns the number of records of transfers. Records of waits and signals are not included,
    /// because the simulator counts them itself.
    fn emission(&self, context: &KernelContext) -> Emission {
        let asks = matches!(self.part(context), Some(CorePart::Asks(_)));
        let moves_tiles = match self.role {
            Role::Reader => self.moves_tiles && !asks,
            Role::Writer => self.moves_tiles,
            Role::Unpack | Role::Math | Role::Pack => false,
        };
        let tiles = if moves_tiles { u64::from(self.tiles(context)) } else { 0 };
        Emission { data: tiles * events_of_transfer(context), ..Emission::NONE }
    }

    fn object_name(&self) -> Option<&str> {
        Some("pass_tiles")
    }

    fn object_data(&self, context: &KernelContext) -> Cow<'_, [u32]> {
        let mut words = self.role.words(&self.shape, self.moves_tiles).to_vec();
        words[tile_words::TILES as usize] = self.tiles(context);
        if self.role == Role::Reader {
            match self.part(context) {
                Some(&CorePart::Asks(reader)) => words[tile_words::READER as usize] = reader,
                Some(CorePart::Reads(others, rectangle)) => {
                    let count = u32::try_from(others.len()).unwrap_or(u32::MAX);
                    words[tile_words::OTHERS as usize] = count;
                    if self.shape.unicast == 0 {
                        words[tile_words::RECTANGLE as usize] = *rectangle;
                    }
                    words.extend(others);
                }
                Some(CorePart::Straggler) | None => {}
            }
        }
        Cow::Owned(words)
    }

    fn couples_cores(&self) -> bool {
        self.cores.values().any(|part| *part != CorePart::Straggler)
    }

    fn semaphores(&self) -> Range<u32> {
        if self.role == Role::Reader { WRITTEN_SEMAPHORE..SEMAPHORES_END } else { 0..0 }
    }
}
