//! Parser for NoC requests, which the registers of a request initiator describe.
//!
//! Every field of a request is checked before the request is sent, so a failure names the
//! instruction that caused the error.
//!
//! # Compatibility
//! tt-isa-documentation, `NoC/MemoryMap.md`, `NoC/Atomics.md`, `NoC/Alignment.md`. A request whose
//! effect on the chip is undefined is refused, as in ttsim.

use super::registers::{Registers, TileKind};
use crate::{
    arch::{Arch, TileCoord, floorplan::CorePlace},
    chip::facts::{ChipFacts, Endpoint},
};

/// Number of words that the registers of a request initiator occupy.
pub(crate) const COMMAND_WORDS: usize = 17;

/// Register values of a request initiator, by offset / 4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub(crate) words: [u32; COMMAND_WORDS],
}

/// A parsed NoC request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) noc: usize,
    pub(crate) transaction_id: usize,
    /// True if a response is expected.
    pub(crate) wants_response: bool,
    pub(crate) is_linked: bool,
    /// The requested virtual channel; `None` if the request lets the routers choose one.
    pub(crate) virtual_channel: Option<u8>,
    /// True if the request goes to all tiles of a rectangle.
    pub(crate) is_multicast: bool,
    /// Coordinates in the request: first the target tile or a rectangle's end corner, then the
    /// rectangle's start corner.
    pub(crate) coordinates: [(u16, u16); 2],
    pub(crate) action: Action,
}

/// The requested operation. Tiles are given by their coordinates on the NoC-0 grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Writes bytes from the sender's L1 to an address in other tiles.
    Write {
        source: u32,
        byte_count: u32,
        targets: Vec<TileCoord>,
        address: u64,
        acknowledge_to: TileCoord,
    },
    /// Writes a word, or some of the word's bytes, to an address in another tile; the request
    /// itself contains the word.
    Inline { target: [TileCoord; 1], address: u64, value: u32, byte_mask: u32 },
    /// Reads from an address in another tile into the sender's L1.
    Read { target: [TileCoord; 1], address: u64, destination: u32, byte_count: u32 },
    /// Adds `amount` to the low bits (those set in `mask`) of a word in a tile's L1. Returns the
    /// old word if the request asks for a response.
    Increment { target: [TileCoord; 1], address: u64, amount: u32, mask: u32, reply: u32 },
}

impl Request {
    /// Returns the target tiles.
    pub(crate) fn targets(&self) -> &[TileCoord] {
        match &self.action {
            Action::Write { targets, .. } => targets,
            Action::Inline { target, .. }
            | Action::Read { target, .. }
            | Action::Increment { target, .. } => target,
        }
    }

    /// Returns the number of data bytes that the sender sends with the request.
    pub(crate) const fn payload_bytes(&self) -> u64 {
        match self.action {
            Action::Write { byte_count, .. } => byte_count as u64,
            Action::Inline { .. } => 4,
            Action::Read { .. } | Action::Increment { .. } => 0,
        }
    }
}

/// The address and coordinates of one endpoint of a request.
#[derive(Clone, Copy)]
struct Side {
    address: u64,
    /// Coordinates x and y, six bits each, of the tile or of the end corner of a rectangle.
    coordinates: u32,
    /// Coordinates x and y, six bits each, of the start corner of a rectangle of tiles.
    start: u32,
}

impl Command {
    const fn word(&self, offset: usize) -> u32 {
        self.words[offset / 4]
    }

    fn side(&self, arch: Arch, first: usize) -> Side {
        let [low, mid, high] = [0, 4, 8].map(|offset| self.word(first + offset));
        match arch {
            Arch::WormholeB0 => Side {
                address: u64::from(low) | u64::from(mid & 0xF) << 32,
                coordinates: mid >> 4 & 0xFFF,
                start: mid >> 16 & 0xFFF,
            },
            Arch::Blackhole => Side {
                address: u64::from(low) | u64::from(mid) << 32,
                coordinates: high & 0xFFF,
                start: high >> 12 & 0xFFF,
            },
        }
    }

    const fn immediate(&self, arch: Arch) -> u32 {
        self.word(match arch {
            Arch::WormholeB0 => 0x24,
            Arch::Blackhole => 0x28,
        })
    }

    /// Parses the request that the registers of an initiator describe. The initiator belongs to the
    /// tile `own`.
    pub(crate) fn request(
        &self,
        chip: &ChipFacts,
        own: CorePlace,
        noc: usize,
    ) -> Result<Request, String> {
        let control = self.word(CTRL);
        let kind = control & CTRL_TYPE;
        let reader = Reader { chip, own, noc, command: self };
        let action = match kind {
            _ if control & CTRL_BYTE_ENABLE != 0 && kind == CTRL_WRITE => {
                return Err("writes with a mask of bytes are not modelled".to_owned());
            }
            CTRL_WRITE if control & CTRL_INLINE != 0 => reader.inline_write()?,
            CTRL_WRITE => reader.write()?,
            CTRL_READ => reader.read()?,
            CTRL_ATOMIC => reader.atomic()?,
            _ => return Err(format!("NOC_CTRL {control:#x} has the reserved type 3")),
        };
        Ok(Request {
            noc,
            transaction_id: (self.word(PACKET_TAG) >> 10 & 0xF) as usize,
            wants_response: kind == CTRL_READ || control & CTRL_RESPONSE != 0,
            is_linked: control & CTRL_LINKED != 0,
            virtual_channel: (control & CTRL_STATIC_CHANNEL != 0)
                .then_some((control >> CTRL_CHANNEL_SHIFT & 7) as u8),
            is_multicast: control & CTRL_BROADCAST != 0,
            coordinates: reader.named(&action),
            action,
        })
    }
}

/// Parser of one request, with the chip and tile that send it.
struct Reader<'a> {
    chip: &'a ChipFacts,
    own: CorePlace,
    noc: usize,
    command: &'a Command,
}

impl Reader<'_> {
    fn target(&self) -> Side {
        self.command.side(self.chip.arch, TARG_ADDR)
    }

    fn returned(&self) -> Side {
        self.command.side(self.chip.arch, RET_ADDR)
    }

    /// Returns the coordinates of the remote endpoint as they are in the registers.
    fn named(&self, action: &Action) -> [(u16, u16); 2] {
        let side = match action {
            Action::Write { .. } => self.returned(),
            _ => self.target(),
        };
        [side.coordinates, side.start].map(split)
    }

    fn is_broadcast(&self) -> bool {
        self.command.word(CTRL) & CTRL_BROADCAST != 0
    }

    /// Returns the tile at an endpoint's coordinates.
    fn tile(&self, side: Side, role: &str) -> Result<TileCoord, String> {
        let (x, y) = split(side.coordinates);
        self.chip.translation.tile(self.noc, x, y).ok_or_else(|| {
            format!("no tile answers at ({x},{y}) of NoC {}, where its {role} is", self.noc)
        })
    }

    fn write(&self) -> Result<Action, String> {
        let (source, to) = (self.target(), self.returned());
        let byte_count = self.byte_count()?;
        let source_address = self.own_l1(source.address, byte_count, "data")?;
        let targets =
            if self.is_broadcast() { self.rectangle(to)? } else { vec![self.tile(to, "target")?] };
        for &target in &targets {
            self.check_range(target, to.address, byte_count, Direction::Write)?;
        }
        if source.address & 15 != to.address & 15 {
            return Err(misaligned("write", source.address, to.address, 16));
        }
        let wants_response = self.command.word(CTRL) & CTRL_RESPONSE != 0;
        let acknowledge_to =
            if wants_response { self.acknowledged(source)? } else { self.own.coord };
        let source = source_address;
        Ok(Action::Write { source, byte_count, targets, address: to.address, acknowledge_to })
    }

    /// Returns the tile that receives a write's acknowledgement. The registers with the source
    /// address also contain the coordinates of this tile.
    fn acknowledged(&self, source: Side) -> Result<TileCoord, String> {
        let register = match self.chip.arch {
            Arch::WormholeB0 => "NOC_TARG_ADDR_MID",
            Arch::Blackhole => "NOC_TARG_ADDR_HI",
        };
        let (x, y) = split(source.coordinates);
        let tile = self.chip.translation.tile(self.noc, x, y);
        match tile.map(|tile| (tile, self.chip.endpoint(tile))) {
            Some((tile, Some(Endpoint::Core(_)))) => Ok(tile),
            _ => Err(format!(
                "the write would be acknowledged to ({x},{y}) of NoC {}, which is not the sender \
                 and sends no requests: set {register} to the sender's coordinates",
                self.noc
            )),
        }
    }

    fn inline_write(&self) -> Result<Action, String> {
        let to = self.target();
        if self.is_broadcast() {
            return Err("inline writes to several tiles are not modelled".to_owned());
        }
        let target = self.tile(to, "target")?;
        let value = self.command.immediate(self.chip.arch);
        if to.address >= FIRST_REGISTER {
            self.check_range(target, to.address, 4, Direction::Write)?;
            return Ok(Action::Inline {
                target: [target],
                address: to.address,
                value,
                byte_mask: 0xF,
            });
        }
        if self.chip.arch == Arch::Blackhole {
            return Err("inline writes to L1 are unsafe on a Blackhole".to_owned());
        }
        let lengths = self.command.word(AT_LEN_BE);
        let byte_mask = (lengths | lengths >> 16) & 0xFFFF;
        if byte_mask == 0 {
            return Err("an inline write with no byte in NOC_AT_LEN_BE".to_owned());
        }
        let address = to.address & !15;
        self.check_range(target, address, 16, Direction::Write)?;
        Ok(Action::Inline { target: [target], address, value, byte_mask })
    }

    fn read(&self) -> Result<Action, String> {
        let (from, to) = (self.target(), self.returned());
        if self.is_broadcast() {
            return Err("a read from several tiles".to_owned());
        }
        let byte_count = self.byte_count()?;
        let target = self.tile(from, "target")?;
        self.check_range(target, from.address, byte_count, Direction::Read)?;
        self.expect_own(to, "read")?;
        let destination = self.own_l1(to.address, byte_count, "destination")?;
        let align = match (self.chip.endpoint(target), self.chip.arch) {
            (Some(Endpoint::Dram { .. }), Arch::WormholeB0) => 32,
            (Some(Endpoint::Dram { .. }), Arch::Blackhole) => 64,
            _ if from.address >= FIRST_REGISTER => 4,
            _ => 16,
        };
        if from.address % align != to.address % align {
            return Err(misaligned("read", from.address, to.address, align));
        }
        Ok(Action::Read { target: [target], address: from.address, destination, byte_count })
    }

    fn atomic(&self) -> Result<Action, String> {
        let (at, back) = (self.target(), self.returned());
        if self.is_broadcast() {
            return Err("atomics on several tiles are not modelled".to_owned());
        }
        let target = self.tile(at, "target")?;
        if !matches!(self.chip.endpoint(target), Some(Endpoint::Core(_)))
            || at.address >= FIRST_REGISTER
        {
            return Err(format!("atomics work on L1 only, {target} has none at {:#x}", at.address));
        }
        let operands = self.command.word(AT_LEN_BE);
        let opcode = operands >> 12 & 0xF;
        if opcode != ATOMIC_INCREMENT {
            return Err(format!("atomic {opcode:#x} of NOC_AT_LEN_BE is not modelled"));
        }
        let address = (at.address & !15) + u64::from(operands & 3) * 4;
        self.check_range(target, address, 4, Direction::Write)?;
        let mut reply = 0;
        if self.command.word(CTRL) & CTRL_RESPONSE != 0 {
            self.expect_own(back, "atomic")?;
            reply = self.own_l1(back.address, 4, "result")?;
        }
        let mask = u32::MAX >> (31 - (operands >> 2 & 31));
        let amount = self.command.immediate(self.chip.arch);
        Ok(Action::Increment { target: [target], address, amount, mask, reply })
    }

    /// Returns an error if the return address `back` is not in the sender's own tile.
    fn expect_own(&self, back: Side, what: &str) -> Result<(), String> {
        let tile = self.tile(back, "answer's tile")?;
        if tile == self.own.coord {
            return Ok(());
        }
        let register = match self.chip.arch {
            Arch::WormholeB0 => "NOC_RET_ADDR_MID",
            Arch::Blackhole => "NOC_RET_ADDR_HI",
        };
        Err(format!(
            "the answer to the {what} would go to {tile}, not to the sender {}: set {register} to \
             the sender's coordinates",
            self.own.coord
        ))
    }

    fn byte_count(&self) -> Result<u32, String> {
        let byte_count = self.command.word(AT_LEN_BE);
        let max = match self.chip.arch {
            Arch::WormholeB0 => 8192,
            Arch::Blackhole => 16384,
        };
        if byte_count == 0 || byte_count > max {
            return Err(format!("expected 1 to {max} bytes in NOC_AT_LEN_BE, found {byte_count}"));
        }
        Ok(byte_count)
    }

    fn own_l1(&self, address: u64, byte_count: u32, what: &str) -> Result<u32, String> {
        let l1_bytes = self.chip.arch.facts().l1_bytes(self.own.kind);
        if address + u64::from(byte_count) > l1_bytes {
            return Err(format!(
                "its {what}, {byte_count} bytes at {address:#x}, lies outside the sender's L1"
            ));
        }
        Ok(u32::try_from(address).unwrap_or(u32::MAX))
    }

    fn check_range(
        &self,
        target: TileCoord,
        address: u64,
        byte_count: u32,
        direction: Direction,
    ) -> Result<(), String> {
        let facts = self.chip.arch.facts();
        let end = address + u64::from(byte_count);
        match self.chip.endpoint(target) {
            Some(Endpoint::Core(place)) if address >= FIRST_REGISTER => {
                self.check_register(place, address, byte_count, direction)
            }
            Some(Endpoint::Core(place)) if end <= facts.l1_bytes(place.kind) => Ok(()),
            Some(Endpoint::Dram { .. }) if self.chip.bank_at(target, address).is_some() => {
                let is_whole = address.is_multiple_of(4) && byte_count.is_multiple_of(4);
                if is_whole || direction == Direction::Read {
                    return Ok(());
                }
                Err(format!(
                    "{byte_count} bytes to {address:#x} of DRAM are no whole words, which is not \
                     modelled"
                ))
            }
            Some(Endpoint::Host) if self.chip.host_writers > 0 && direction == Direction::Read => {
                Err("reads of the host's memory are modelled only on boards".to_owned())
            }
            Some(Endpoint::Host) => Ok(()),
            Some(_) => Err(format!("{target} has no memory of {byte_count} bytes at {address:#x}")),
            None => Err(format!("{target} is neither a core nor DRAM, which is not modelled")),
        }
    }

    fn check_register(
        &self,
        place: CorePlace,
        address: u64,
        byte_count: u32,
        direction: Direction,
    ) -> Result<(), String> {
        let registers = Registers::for_tile(self.chip.arch, TileKind::from(place.kind));
        let register = u32::try_from(address).ok().and_then(|address| registers.find(address));
        let is_possible = register.is_some_and(|found| {
            let access = found.register.access;
            let has_direction = match direction {
                Direction::Read => access.can_read(),
                Direction::Write => access.can_write(),
            };
            found.block.reach.has_noc() && has_direction && found.register.effect.is_remote()
        });
        if is_possible && byte_count == 4 && address.is_multiple_of(4) {
            return Ok(());
        }
        Err(format!(
            "{} has no register at {address:#x} that {byte_count} bytes can be {} over the NoC",
            place.coord,
            match direction {
                Direction::Read => "read from",
                Direction::Write => "written to",
            }
        ))
    }

    fn corner(&self, coordinates: u32) -> Result<TileCoord, String> {
        let (x, y) = split(coordinates);
        self.chip
            .translation
            .corner(self.noc, x, y)
            .ok_or_else(|| format!("no tile answers at ({x},{y}) of NoC {}, a corner", self.noc))
    }

    /// Returns the Tensix tiles in a rectangle; other tiles receive no multicast.
    fn rectangle(&self, to: Side) -> Result<Vec<TileCoord>, String> {
        let (start, end) = (self.corner(to.start)?, self.corner(to.coordinates)?);
        let includes_own = self.command.word(CTRL) & CTRL_SOURCE_INCLUDED != 0;
        let is_within = |from: u16, at: u16, to: u16| {
            // NoC 1 runs in the opposite direction, so the corners are swapped.
            let (from, to) = if self.noc == 0 { (from, to) } else { (to, from) };
            if from <= to { (from..=to).contains(&at) } else { at >= from || at <= to }
        };
        let targets: Vec<TileCoord> = self
            .chip
            .plan
            .cores()
            .iter()
            .filter(|place| place.kind == wire::CoreKind::Tensix)
            .map(|place| place.coord)
            .filter(|tile| includes_own || *tile != self.own.coord)
            .filter(|tile| is_within(start.x, tile.x, end.x) && is_within(start.y, tile.y, end.y))
            .collect();
        if targets.is_empty() {
            return Err(format!("the rectangle {start} to {end} holds no tile to write to"));
        }
        Ok(targets)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

fn misaligned(what: &str, from: u64, to: u64, align: u64) -> String {
    format!("a {what} from {from:#x} to {to:#x}, which differ modulo {align}")
}

fn split(coordinates: u32) -> (u16, u16) {
    let [x, y] =
        [coordinates, coordinates >> 6].map(|bits| u16::try_from(bits & 0x3F).unwrap_or(0));
    (x, y)
}

const TARG_ADDR: usize = 0x00;
const RET_ADDR: usize = 0x0C;
const PACKET_TAG: usize = 0x18;
const CTRL: usize = 0x1C;
const AT_LEN_BE: usize = 0x20;

const CTRL_TYPE: u32 = 3;
const CTRL_READ: u32 = 0;
const CTRL_ATOMIC: u32 = 1;
const CTRL_WRITE: u32 = 2;
const CTRL_BYTE_ENABLE: u32 = 1 << 2;
const CTRL_INLINE: u32 = 1 << 3;
const CTRL_RESPONSE: u32 = 1 << 4;
const CTRL_BROADCAST: u32 = 1 << 5;
const CTRL_LINKED: u32 = 1 << 6;
const CTRL_STATIC_CHANNEL: u32 = 1 << 7;
const CTRL_CHANNEL_SHIFT: u32 = 13;
const CTRL_SOURCE_INCLUDED: u32 = 1 << 17;
const ATOMIC_INCREMENT: u32 = 1;

/// First address of a tile's registers.
pub(crate) const FIRST_REGISTER: u64 = 0xFFB0_0000;
