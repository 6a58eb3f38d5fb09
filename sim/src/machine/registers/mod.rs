//! The registers of a tile, as a table per architecture and kind of tile.
//!
//! An access to an address that is not in the table stops the hart. A register that exists but is
//! not modelled is marked as such, so that the failure message can distinguish the two cases.

mod blackhole;
mod common;
mod wormhole;

use super::{
    daisychain::DaisyRegister,
    performance::{BankIndex, BankRegister},
};
use crate::arch::{Arch, WALL_CLOCK_HIGH};
use std::sync::OnceLock;

/// Address of the register with the wall clock's latched high word. A read of the low word latches
/// the high word.
pub(super) const WALL_CLOCK_LATCHED: u32 = WALL_CLOCK_HIGH + 4;

/// Set of users that can access a register: one bit per RISC of a Tensix tile, one for the NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach(u8);

impl Reach {
    /// The NoC, and every RISC of the tile.
    pub(crate) const ALL: Self = Self(0b11_1111);
    /// The RISCs with access to the coprocessor: BRISC and the TRISCs.
    pub(crate) const COPROCESSOR: Self = Self(0b1_1101);
    /// BRISC.
    pub(crate) const BRISC: Self = Self(0b1);
    /// The TRISCs.
    pub(crate) const TRISCS: Self = Self(0b1_1100);

    /// Returns true if the RISC with this index has access.
    pub(crate) const fn has_risc(self, risc_index: usize) -> bool {
        self.0 >> risc_index & 1 != 0
    }

    /// Returns true if other tiles have access over the NoC.
    pub(crate) const fn has_noc(self) -> bool {
        self.0 >> 5 != 0
    }
}

/// Permitted directions of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    ReadWrite,
}

impl Access {
    pub(crate) const fn can_read(self) -> bool {
        !matches!(self, Self::Write)
    }

    pub(crate) const fn can_write(self) -> bool {
        !matches!(self, Self::Read)
    }
}

/// Effect of an access to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    WallClockLow,
    WallClockHigh,
    WallClockLatched,
    SoftReset,
    /// Register for the entry address of the RISC with this index.
    ResetAddress(usize),
    /// Register with the bits that enable the entry addresses of the TRISCs.
    TriscResetOverride,
    /// Register with the bit that enables the entry address of NCRISC.
    NcriscResetOverride,
    /// Register that keeps the value written to it.
    Stored,
    /// Register to which writes are ignored, because no modelled state depends on it.
    Accepted,
    /// Register of a request initiator.
    Initiator,
    /// Register that starts a request when its low bit is written.
    Send,
    /// Register with one bit per initiator, set while the initiator is busy.
    InitiatorsBusy,
    NodeId,
    LogicalId,
    Counter,
    ClearOutstanding,
    /// Size of a stream's buffer. A write also sets the buffer's free space to this size.
    StreamSize,
    StreamSpaceUpdate,
    StreamSpace,
    /// Stream register that keeps the low 17 bits of the value written to it.
    StreamStored,
    Gpr,
    MopConfig,
    PushInstruction,
    PcBuffer,
    CoprocessorDone,
    Semaphore,
    Mailbox,
    Config,
    MoverParameter,
    MoverCommand,
    MoverStatus,
    /// Register of a bank of performance counters.
    Performance(BankIndex, BankRegister),
    /// Register of the debug daisychain.
    Daisychain(DaisyRegister),
    /// Register that exists but is not modelled.
    NotModelled,
}

impl Effect {
    /// Returns true if the register is a counter of a circular buffer's tiles.
    pub(crate) const fn is_stream(self) -> bool {
        matches!(self, Self::StreamSize | Self::StreamStored)
    }

    /// Returns true if other tiles can access the register over the NoC in this model.
    pub(crate) const fn is_remote(self) -> bool {
        matches!(
            self,
            Self::WallClockLow
                | Self::WallClockHigh
                | Self::WallClockLatched
                | Self::SoftReset
                | Self::ResetAddress(0 | 1)
                | Self::Stored
                | Self::StreamSize
                | Self::StreamSpaceUpdate
                | Self::StreamSpace
                | Self::StreamStored
                | Self::Counter
                | Self::NodeId
                | Self::LogicalId
                | Self::Daisychain(_)
        )
    }
}

/// One register, or several consecutive registers of the same kind.
#[derive(Debug)]
pub(crate) struct Register {
    offset: u32,
    word_count: u32,
    pub(crate) name: &'static str,
    pub(crate) access: Access,
    pub(crate) effect: Effect,
}

/// Registers that one page of documentation describes. The block can exist several times, at
/// different base addresses.
#[derive(Debug)]
pub(crate) struct Block {
    /// The page of tt-isa-documentation, or the header of tt-metal.
    pub(crate) source: &'static str,
    base: u32,
    instance_count: u32,
    stride: u32,
    pub(crate) reach: Reach,
    registers: &'static [Register],
}

impl Block {
    /// Creates a block that occurs once, and that the users in `reach` can access.
    const fn single(
        reach: Reach,
        source: &'static str,
        base: u32,
        registers: &'static [Register],
    ) -> Self {
        Self::repeated(reach, source, (base, 1, 0), registers)
    }

    /// Creates a block that occurs several times. The tuple contains the first base address, the
    /// number of occurrences, and the distance between consecutive base addresses in bytes.
    const fn repeated(
        reach: Reach,
        source: &'static str,
        (base, instance_count, stride): (u32, u32, u32),
        registers: &'static [Register],
    ) -> Self {
        Self { source, base, instance_count, stride, reach, registers }
    }

    /// Creates a block that occurs once per NoC interface and that all RISCs and the NoC can
    /// access.
    const fn per_noc(source: &'static str, registers: &'static [Register]) -> Self {
        Self::repeated(Reach::ALL, source, (0xFFB2_0000, 2, 0x1_0000), registers)
    }

    /// Creates a block that occurs once per stream and that all RISCs and the NoC can access.
    const fn streams(source: &'static str, count: u32, registers: &'static [Register]) -> Self {
        Self::repeated(Reach::ALL, source, (0xFFB4_0000, count, 0x1000), registers)
    }
}

/// A register found at an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) register: &'static Register,
    pub(crate) block: &'static Block,
    /// Index of the instance of the register's block, for example the number of the NoC or stream.
    pub(crate) instance: u32,
    /// Index of the word within the register, which can have several words.
    pub(crate) word: u32,
}

impl Found {
    /// Returns the register's name with its address and source.
    pub(crate) fn named(&self, address: u32) -> String {
        format!("{} at {address:#010x} ({})", self.register.name, self.block.source)
    }
}

/// The kinds of tiles that have RISCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileKind {
    Tensix,
    Ethernet,
}

impl From<wire::CoreKind> for TileKind {
    fn from(kind: wire::CoreKind) -> Self {
        match kind {
            wire::CoreKind::Tensix => Self::Tensix,
            wire::CoreKind::ActiveEth | wire::CoreKind::IdleEth => Self::Ethernet,
        }
    }
}

/// The registers of one kind of tile, indexed by address.
#[derive(Debug)]
pub(crate) struct Registers {
    /// Registers, sorted by address; they do not overlap.
    spans: Vec<Span>,
    /// Index (address / 4) of the first word of the first page. A page has [`PAGE_WORD_COUNT`]
    /// words.
    first_word: usize,
    /// For each page from `first_word` on, the index of its table in `leaves`; table 0 is for pages
    /// without registers.
    ///
    /// Polling code accesses a register every few instructions, so looking one up must not involve
    /// a search.
    pages: Vec<usize>,
    /// For each word of a page, 1 + the index in `spans` of the register that contains the word; 0
    /// if no register contains the word.
    leaves: Vec<[u16; PAGE_WORD_COUNT]>,
}

const PAGE_WORD_COUNT: usize = 64;

#[derive(Debug)]
struct Span {
    first: u32,
    found: Found,
}

impl Registers {
    /// Returns the registers of a kind of tile on an architecture.
    pub(crate) fn for_tile(arch: Arch, kind: TileKind) -> &'static Self {
        static TABLES: [OnceLock<Registers>; 4] = [const { OnceLock::new() }; 4];
        let index =
            usize::from(arch == Arch::Blackhole) * 2 + usize::from(kind == TileKind::Ethernet);
        TABLES[index].get_or_init(|| Self::new(blocks(arch, kind)))
    }

    fn new(blocks: impl Iterator<Item = &'static Block>) -> Self {
        let mut spans = Vec::new();
        for block in blocks {
            for instance in 0..block.instance_count {
                for register in block.registers {
                    let first = block.base + instance * block.stride + register.offset;
                    spans.push(Span { first, found: Found { register, block, instance, word: 0 } });
                }
            }
        }
        spans.sort_by_key(|span| span.first);
        let first_word = spans.first().map_or(0, |span| span.first as usize / 4);
        let first_word = first_word - first_word % PAGE_WORD_COUNT;
        let (mut pages, mut leaves) = (Vec::new(), vec![[0; PAGE_WORD_COUNT]]);
        for (number, span) in (1..).zip(&spans) {
            for word in 0..span.found.register.word_count {
                let at = (span.first / 4 + word) as usize - first_word;
                let page = at / PAGE_WORD_COUNT;
                if page >= pages.len() {
                    pages.resize(page + 1, 0);
                }
                if pages[page] == 0 {
                    pages[page] = leaves.len();
                    leaves.push([0; PAGE_WORD_COUNT]);
                }
                leaves[pages[page]][at % PAGE_WORD_COUNT] = number;
            }
        }
        Self { spans, first_word, pages, leaves }
    }

    /// Returns the register at an address, if there is one.
    pub(crate) fn find(&self, address: u32) -> Option<Found> {
        let at = (address as usize / 4).checked_sub(self.first_word)?;
        let leaf = &self.leaves[*self.pages.get(at / PAGE_WORD_COUNT)?];
        let index = usize::from(leaf[at % PAGE_WORD_COUNT]).checked_sub(1)?;
        let Span { first, found } = &self.spans[index];
        Some(Found { word: (address - first) / 4, ..*found })
    }
}

/// Returns the register blocks of a kind of tile.
fn blocks(arch: Arch, kind: TileKind) -> impl Iterator<Item = &'static Block> {
    let (own, tensix): (&[Block], &[Block]) = match arch {
        Arch::WormholeB0 => (&wormhole::ALL_TILES, &wormhole::TENSIX),
        Arch::Blackhole => (&blackhole::ALL_TILES, &blackhole::TENSIX),
    };
    let streams = match (arch, kind) {
        (Arch::WormholeB0, TileKind::Tensix) => &wormhole::TENSIX_STREAMS,
        (Arch::WormholeB0, TileKind::Ethernet) => &wormhole::ETHERNET_STREAMS,
        (Arch::Blackhole, TileKind::Tensix) => &blackhole::TENSIX_STREAMS,
        (Arch::Blackhole, TileKind::Ethernet) => &blackhole::ETHERNET_STREAMS,
    };
    let is_tensix = kind == TileKind::Tensix;
    let tensix = tensix.iter().chain(&common::TENSIX).filter(move |_| is_tensix);
    let ethernet = common::ETHERNET.iter().filter(move |_| !is_tensix);
    let tensix = tensix.chain(ethernet);
    let has_entry = arch == Arch::Blackhole && !is_tensix;
    let tensix = tensix.chain(blackhole::ETHERNET.iter().filter(move |_| has_entry));
    own.iter().chain(&common::ALL_TILES).chain(tensix).chain(std::iter::once(streams))
}

const fn word(offset: u32, name: &'static str, access: Access, effect: Effect) -> Register {
    Register { offset, word_count: 1, name, access, effect }
}

const fn words(
    offset: u32,
    word_count: u32,
    name: &'static str,
    access: Access,
    effect: Effect,
) -> Register {
    Register { offset, word_count, name, access, effect }
}

/// Returns registers that exist but are not modelled.
const fn unmodelled(offset: u32, word_count: u32, name: &'static str) -> Register {
    words(offset, word_count, name, Access::ReadWrite, Effect::NotModelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = (Arch, TileKind, &'static Registers)> {
        Arch::ALL.into_iter().flat_map(|arch| {
            [TileKind::Tensix, TileKind::Ethernet]
                .map(|kind| (arch, kind, Registers::for_tile(arch, kind)))
        })
    }

    #[test]
    fn no_two_registers_share_an_address_and_each_has_a_source() {
        for (arch, kind, registers) in all() {
            for pair in registers.spans.windows(2) {
                let last = pair[0].first + 4 * pair[0].found.register.word_count;
                let names = [pair[0].found.register.name, pair[1].found.register.name];
                assert!(last <= pair[1].first, "{arch} {kind:?} {names:?}");
            }
            assert!(registers.spans.iter().all(|span| !span.found.block.source.is_empty()));
            assert!(registers.spans.iter().all(|span| span.first.is_multiple_of(4)));
        }
    }

    #[test]
    fn each_span_answers_from_its_first_word_to_its_last_and_nothing_between_spans() {
        for (arch, kind, registers) in all() {
            let name_at = |address| registers.find(address).map(|found| found.register.name);
            let mut end = 0;
            for Span { first, found } in &registers.spans {
                let place = format!("{arch} {kind:?} {} at {first:#x}", found.register.name);
                if end < *first {
                    assert_eq!((name_at(end), name_at(first - 4)), (None, None), "before {place}");
                }
                for word in 0..found.register.word_count {
                    let at = registers.find(first + 4 * word).expect(&place);
                    assert_eq!((at.word, at.instance), (word, found.instance), "{place}");
                    assert!(std::ptr::eq(at.register, found.register), "{place}");
                }
                end = first + 4 * found.register.word_count;
            }
            assert_eq!((name_at(end), name_at(u32::MAX - 3)), (None, None), "{arch} {kind:?}");
        }
    }

    /// Registers that only one of the architectures has, according to ttsim 1.10
    /// (`tile_regs.json`): the address, whether a Wormhole has the register, and whether a
    /// Blackhole has it.
    const WITNESSED: [(u32, bool, bool); 14] = [
        (0xFFB1_2228, false, true),
        (0xFFB1_223C, false, true),
        (0xFFB1_2240, false, true),
        (0xFFB1_21B0, true, true),
        (0xFFB2_0008, false, true),
        (0xFFB2_0014, false, true),
        (0xFFB2_0028, true, true),
        (0xFFB3_0040, false, true),
        (0xFFB2_0138, true, true),
        (0xFFB3_0148, false, true),
        (0xFFB2_1800, false, true),
        (0xFFB2_0C1C, true, false),
        (0xFFB4_000C, true, false),
        (0xFFB7_F020, false, true),
    ];

    #[test]
    fn each_architecture_has_the_registers_that_ttsim_gives_it() {
        for (address, on_wormhole, on_blackhole) in WITNESSED {
            let has = |arch| Registers::for_tile(arch, TileKind::Tensix).find(address).is_some();
            let found = [has(Arch::WormholeB0), has(Arch::Blackhole)];
            assert_eq!(found, [on_wormhole, on_blackhole], "{address:#x}");
        }
    }

    #[test]
    fn every_word_is_found_with_its_instance() {
        let registers = Registers::for_tile(Arch::WormholeB0, TileKind::Tensix);
        let found = registers.find(0xFFB3_02BC).unwrap();
        assert_eq!((found.register.effect, found.word), (Effect::Counter, 47));
        let found = registers.find(0xFFB3_0C1C).unwrap();
        assert_eq!((found.register.name, found.instance), ("NOC_CTRL", 3));
        let found = registers.find(0xFFEF_0278).unwrap();
        assert_eq!(found.register.effect, Effect::ResetAddress(2));
        assert!(registers.find(0xFFB1_2FFC).is_none());
        assert!(
            Registers::for_tile(Arch::Blackhole, TileKind::Ethernet).find(0xFFEF_0000).is_none()
        );
    }
}
