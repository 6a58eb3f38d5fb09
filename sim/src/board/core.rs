//! One tile with RISCs: its harts, and accesses to it from other tiles and the host.

use super::{
    ethernet::base_firmware,
    noc::Flights,
    truth::{StampedStore, StoreWatch},
};
use crate::{
    arch::{Arch, TileCoord, floorplan::CorePlace},
    chip::facts::ChipFacts,
    machine::{
        Answer, ClockReads, Devices, Payload, Request, Station, TileBus, Watched, carry_out,
        local_ram_bytes, next_access,
    },
    riscv::{self, Hart, L1Front, L1Port, Pause},
    tile::Tile,
};
use std::{mem, ops::Range};
use wire::CoreKind;

/// First address of a tile's registers.
pub(super) const FIRST_REGISTER: u64 = 0xFFB0_0000;
/// Number of consecutive windows without an effect (see `has_effect`) before a hart is checked for
/// a polling loop.
const QUIET_WINDOWS: u32 = 2;
/// Maximum number of cycles that a hart may run ahead of the other harts while it is checked for
/// polling.
const AHEAD_CYCLES_MAX: u64 = 256;
/// Number of windows before a hart that was found to do more than poll is checked again.
const PATIENCE_WINDOWS: u32 = 16;

/// Maximum number of instructions in a polling loop.
const INSTRUCTIONS_MAX: usize = 96;
/// Maximum number of words that a loop polls.
const WORDS_MAX: usize = 16;

/// A tile with RISCs.
pub(super) struct BoardCore {
    arch: Arch,
    tile: Tile,
    devices: Devices,
    clock_reads: ClockReads,
    front: L1Front,
    harts: Vec<BoardHart>,
    /// Set if memory was written in this tile since its harts last ran.
    is_touched: bool,
    watch: StoreWatch,
}

struct BoardHart {
    hart: Hart,
    local_ram: Vec<u8>,
    state: State,
    quiet_windows: u32,
}

enum State {
    InReset,
    Running,
    /// Polls memory, and is not executed until a polled word changes.
    Asleep(Watched),
    Failed,
}

/// A tile's state that its running harts can access.
pub(super) struct BoardStation<'a> {
    pub(super) chip: &'a ChipFacts,
    pub(super) tile: &'a mut Tile,
    pub(super) flights: &'a mut Flights,
    watch: &'a mut StoreWatch,
    risc_index: usize,
    /// Set once the running hart has stored to L1 or sent a request.
    pub(super) has_effect: bool,
}

impl Station for BoardStation<'_> {
    fn chip(&self) -> &ChipFacts {
        self.chip
    }

    #[inline]
    fn tile(&self) -> &Tile {
        self.tile
    }

    #[inline]
    fn tile_mut(&mut self) -> &mut Tile {
        self.tile
    }

    fn issue(&mut self, devices: &mut Devices, _: usize, cycle: u64, request: &Request) {
        self.has_effect = true;
        self.flights.send(self.chip, self.tile, devices, cycle, request);
    }

    fn note_store(&mut self, address: u64, value: u32, cycle: u64) {
        self.has_effect = true;
        self.watch.note(self.tile, self.risc_index, (address, value), cycle);
    }

    fn clock_stall_at(&mut self, _: usize, _: u64) -> u64 {
        0
    }

    fn note_clock_pair(&mut self, _: usize, _: u64, _: u64) {}
}

impl BoardCore {
    pub(super) fn new(chip: &ChipFacts, place: CorePlace) -> Self {
        let is_blackhole_ethernet = chip.arch == Arch::Blackhole && place.kind != CoreKind::Tensix;
        let count = if is_blackhole_ethernet { 2 } else { place.kind.risc_count() };
        let harts = (0..count).map(|index| BoardHart {
            hart: Hart::new(chip.arch, if index < 3 { L1Port::Port2 } else { L1Port::Port3 }),
            local_ram: vec![0; local_ram_bytes(chip.arch, index)],
            state: State::InReset,
            quiet_windows: 0,
        });
        let facts = chip.arch.facts();
        let mut tile = Tile::new(facts, place, 0, chip.seed, chip.chip_id);
        tile.l1.keep(facts.l1_bytes(place.kind));
        if place.kind != CoreKind::Tensix {
            for &(address, word) in base_firmware(chip.arch) {
                tile.l1.replace_word(address.into(), word);
            }
        }
        Self {
            arch: chip.arch,
            tile,
            devices: Devices::new(chip, place),
            clock_reads: ClockReads::default(),
            front: L1Front::new(),
            harts: harts.collect(),
            is_touched: false,
            watch: StoreWatch::default(),
        }
    }

    pub(super) const fn coord(&self) -> TileCoord {
        self.tile.place.coord
    }

    /// Returns true if no hart will run before something changes.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_touched && !self.harts.iter().any(|risc| matches!(risc.state, State::Running))
    }

    /// Returns the cycle of the next NoC counter change that a suspended hart may wait for.
    pub(super) fn next_change(&self) -> Option<u64> {
        self.harts
            .iter()
            .any(|risc| matches!(&risc.state, State::Asleep(watched) if watched.has_registers))
            .then(|| self.devices.noc.next_change())
            .flatten()
    }

    /// Returns one line for each hart that has left reset.
    pub(super) fn states(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, risc) in self.harts.iter().enumerate() {
            let state = match &risc.state {
                State::InReset => continue,
                State::Running => "runs".to_owned(),
                State::Asleep(watched) => format!("waits, {watched:x?}"),
                State::Failed => "has stopped".to_owned(),
            };
            let (pc, cycle) = (risc.hart.pc(), risc.hart.cycle());
            lines.push(format!(
                "core {} RISC {index}: pc {pc:#x}, cycle {cycle}, {state}",
                self.coord()
            ));
        }
        lines
    }

    pub(super) fn watch_stores(&mut self, addresses: Range<u32>) {
        self.watch.begin(addresses);
    }

    pub(super) fn take_stores(&mut self) -> Vec<StampedStore> {
        self.watch.take()
    }

    /// Runs the harts up to a cycle.
    pub(super) fn run(
        &mut self,
        chip: &ChipFacts,
        from: u64,
        until: u64,
        flights: &mut Flights,
        failures: &mut Vec<String>,
    ) {
        self.wake(from);
        for index in 0..self.harts.len() {
            if matches!(self.harts[index].state, State::Running) {
                self.run_hart(index, chip, until, flights, failures);
            }
        }
    }

    /// Wakes suspended harts whose polled values have changed.
    fn wake(&mut self, now: u64) {
        let is_due = self.next_change().is_some_and(|cycle| cycle <= now);
        self.devices.noc.settle(now);
        if !mem::take(&mut self.is_touched) && !is_due {
            return;
        }
        for range in self.devices.overwritten.drain(..) {
            self.front.invalidate(range);
        }
        for risc in &mut self.harts {
            if let State::Asleep(watched) = &risc.state
                && (watched.has_registers || watched.has_changed(&self.tile))
            {
                risc.hart.advance_to(now);
                risc.state = State::Running;
                risc.quiet_windows = 0;
            }
        }
    }

    fn run_hart(
        &mut self,
        index: usize,
        chip: &ChipFacts,
        until: u64,
        flights: &mut Flights,
        failures: &mut Vec<String>,
    ) {
        let stores = self.harts[index].hart.counters().mmio_store_count;
        let mut has_effect = false;
        while self.harts[index].hart.cycle() < until
            && matches!(self.harts[index].state, State::Running)
        {
            let (result, effect) = self.execute(index, chip, until, flights);
            has_effect |= effect;
            self.follow(index, result, failures);
        }
        has_effect |= self.harts[index].hart.counters().mmio_store_count != stores;
        if has_effect {
            self.is_touched = true;
            self.harts[index].quiet_windows = 0;
        } else {
            self.rest(index, chip, until, flights, failures);
        }
    }

    /// Updates a hart's state from the result of its turn.
    fn follow(
        &mut self,
        index: usize,
        result: Result<Pause, riscv::Trap>,
        failures: &mut Vec<String>,
    ) {
        match result {
            Ok(Pause::Cycle) => {}
            Ok(Pause::Blocked { .. }) => {
                let hart = &mut self.harts[index].hart;
                hart.advance_to(hart.cycle() + 1);
            }
            Ok(Pause::Yielded) => self.follow_resets(self.harts[index].hart.cycle()),
            Ok(Pause::Breakpoint | Pause::EnvironmentCall) => {
                self.fail(index, "it stopped at a breakpoint", failures);
            }
            Err(trap) => {
                let reason = self.devices.refusal.take();
                self.fail(index, &reason.unwrap_or_else(|| trap.to_string()), failures);
            }
        }
        for range in self.devices.overwritten.drain(..) {
            self.front.invalidate(range);
        }
    }

    /// Suspends a hart if it has only polled memory for several windows.
    fn rest(
        &mut self,
        index: usize,
        chip: &ChipFacts,
        until: u64,
        flights: &mut Flights,
        failures: &mut Vec<String>,
    ) {
        self.harts[index].quiet_windows += 1;
        let windows = self.harts[index].quiet_windows;
        let is_ahead = self.harts[index].hart.cycle() > until + AHEAD_CYCLES_MAX;
        if windows < QUIET_WINDOWS || is_ahead || !matches!(self.harts[index].state, State::Running)
        {
            return;
        }
        if (windows - QUIET_WINDOWS).is_multiple_of(PATIENCE_WINDOWS)
            && let Some(watched) = self.spin(index, chip, flights, failures)
        {
            self.harts[index].state = State::Asleep(watched);
        }
    }

    /// Executes one round of a polling loop; returns `None` if the hart does anything other than
    /// poll.
    fn spin(
        &mut self,
        index: usize,
        chip: &ChipFacts,
        flights: &mut Flights,
        failures: &mut Vec<String>,
    ) -> Option<Watched> {
        let BoardHart { hart, local_ram, .. } = &self.harts[index];
        let (pc, registers) = (hart.pc(), *hart.registers());
        let ram = local_ram.clone();
        let stores = hart.counters().mmio_store_count;
        let mut watched = Watched::default();
        for _ in 0..INSTRUCTIONS_MAX {
            let hart = &self.harts[index].hart;
            // Stores to private RAM are found by comparing it after the round; other stores are
            // effects.
            let access = next_access(hart, &self.tile, &self.devices.instruction_ram)?;
            watched.note(access, &self.tile, WORDS_MAX)?;
            let until = hart.cycle() + 1;
            let (result, has_effect) = self.execute(index, chip, until, flights);
            let has_ended = !matches!(result, Ok(Pause::Cycle));
            self.follow(index, result, failures);
            if has_effect || has_ended {
                self.is_touched = true;
                return None;
            }
            let BoardHart { hart, local_ram, .. } = &self.harts[index];
            if hart.counters().mmio_store_count != stores {
                self.is_touched = true;
                return None;
            }
            if hart.pc() == pc && *hart.registers() == registers {
                return (*local_ram == ram).then_some(watched);
            }
        }
        None
    }

    fn execute(
        &mut self,
        index: usize,
        chip: &ChipFacts,
        until: u64,
        flights: &mut Flights,
    ) -> (Result<Pause, riscv::Trap>, bool) {
        let risc = &mut self.harts[index];
        let mut station = BoardStation {
            chip,
            tile: &mut self.tile,
            flights,
            watch: &mut self.watch,
            risc_index: index,
            has_effect: false,
        };
        let mut bus = TileBus {
            stage: &mut station,
            devices: &mut self.devices,
            clock_reads: &mut self.clock_reads,
            local_ram: &mut risc.local_ram,
            risc_index: index,
        };
        let result = risc.hart.run_until(&mut bus, &mut self.front, until);
        (result, station.has_effect)
    }

    /// Puts harts into the reset state if they are now held in reset, and starts those released
    /// from it.
    fn follow_resets(&mut self, cycle: u64) {
        let devices = &self.devices;
        let is_ethernet = self.tile.place.kind != CoreKind::Tensix;
        // A Blackhole's Ethernet RISCs would run the base firmware until the host sets their entry
        // points; here they stay in reset until then.
        let has_entries = is_ethernet && self.arch == Arch::Blackhole;
        for (index, risc) in self.harts.iter_mut().enumerate() {
            let (is_in_reset, entry) = if is_ethernet {
                (devices.soft_reset >> (11 + index) & 1 != 0, devices.reset_address(index))
            } else {
                (devices.is_in_reset(index), devices.reset_pc(index))
            };
            let is_held = is_in_reset || (has_entries && entry == 0);
            match risc.state {
                State::InReset if !is_held => {
                    risc.hart.advance_to(cycle);
                    risc.hart.reset(entry);
                    risc.state = State::Running;
                    risc.quiet_windows = 0;
                    self.front.invalidate(0..u32::MAX);
                }
                State::Failed if !is_held => {}
                _ if is_held => risc.state = State::InReset,
                _ => {}
            }
        }
    }

    fn fail(&mut self, index: usize, reason: &str, failures: &mut Vec<String>) {
        let place = self.tile.place;
        let risc = &mut self.harts[index];
        risc.state = State::Failed;
        let (pc, cycle) = (risc.hart.pc(), risc.hart.cycle());
        let name = place.kind.risc(index).map_or("a RISC", |risc| risc.label());
        failures.push(format!(
            "{name} of core {} stopped at pc {pc:#x}, cycle {cycle}: {reason}",
            place.coord
        ));
    }

    /// Carries out another tile's or the host's request to this tile; returns the bytes read.
    pub(super) fn receive(&mut self, chip: &ChipFacts, payload: &Payload, cycle: u64) -> Vec<u8> {
        let is_reset = matches!(payload, Payload::Bytes { address, .. } | Payload::Masked { address, .. }
            if *address == SOFT_RESET);
        self.is_touched |= !matches!(payload, Payload::Read { .. });
        let found = carry_out(payload, (&mut self.tile, &mut self.devices), chip, cycle);
        self.tile.journal = crate::tile::journal::Journal::default();
        if is_reset {
            self.follow_resets(cycle);
        }
        found
    }

    /// Stores data received in answer to this tile's own request.
    pub(super) fn take_answer(&mut self, chip: &ChipFacts, answer: Answer, bytes: &[u8]) {
        answer.receive(bytes, (&mut self.tile, &mut self.devices), chip);
        self.tile.journal = crate::tile::journal::Journal::default();
        self.is_touched = true;
    }

    /// Counts a write acknowledgement that has arrived.
    pub(super) fn acknowledge(&mut self, noc: usize, transaction_id: usize, cycle: u64) {
        crate::chip::traffic::count_ack(&mut self.devices, noc, transaction_id, cycle);
        self.is_touched = true;
    }

    /// Reads memory or registers for the host.
    pub(super) fn host_read(
        &mut self,
        chip: &ChipFacts,
        address: u64,
        bytes: &mut [u8],
        now: u64,
    ) -> Result<(), String> {
        let coord = self.coord();
        if address < FIRST_REGISTER {
            let l1 = self.tile.l1.kept();
            let first = usize::try_from(address).unwrap_or(usize::MAX);
            let found = first.checked_add(bytes.len()).and_then(|end| l1.get(first..end));
            let length = bytes.len();
            bytes.copy_from_slice(
                found.ok_or_else(|| format!("{coord} has no {length} bytes at {address:#x}"))?,
            );
            return Ok(());
        }
        for (address, word) in (address..).step_by(4).zip(bytes.chunks_mut(4)) {
            self.expect_register(address, word.len(), false)?;
            let payload = Payload::Read { address, byte_count: 4 };
            let found = self.receive(chip, &payload, now);
            word.copy_from_slice(found.get(..word.len()).ok_or("a register is read by words")?);
        }
        Ok(())
    }

    /// Writes memory or registers for the host.
    pub(super) fn host_write(
        &mut self,
        chip: &ChipFacts,
        address: u64,
        bytes: &[u8],
        now: u64,
    ) -> Result<(), String> {
        let coord = self.coord();
        if address < FIRST_REGISTER {
            let first = usize::try_from(address).unwrap_or(usize::MAX);
            let l1 = self.tile.l1.kept_mut();
            let target = first.checked_add(bytes.len()).and_then(|end| l1.get_mut(first..end));
            let length = bytes.len();
            target
                .ok_or_else(|| format!("{coord} has no {length} bytes at {address:#x}"))?
                .copy_from_slice(bytes);
            let first = u32::try_from(address).unwrap_or(u32::MAX);
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            self.front.invalidate(first & !3..first.saturating_add(length).saturating_add(3));
            self.is_touched = true;
            return Ok(());
        }
        for (address, word) in (address..).step_by(4).zip(bytes.chunks(4)) {
            self.expect_register(address, word.len(), true)?;
            self.receive(chip, &Payload::Bytes { address, bytes: word.to_vec() }, now);
        }
        Ok(())
    }

    /// Returns an error if the host may not access this register with this length or direction.
    fn expect_register(&self, address: u64, length: usize, is_store: bool) -> Result<(), String> {
        let coord = self.coord();
        if length != 4 || !address.is_multiple_of(4) {
            return Err(format!("{coord}: {length} bytes at {address:#x} are no whole register"));
        }
        let word =
            u32::try_from(address).map_err(|_| format!("{coord} has nothing at {address:#x}"))?;
        let found = self.devices.find_from_outside(word, is_store);
        found.map(|_| ()).map_err(|reason| format!("{coord}: {reason}"))
    }

    /// Returns true if a compute kernel has run.
    pub(super) const fn has_computed(&self) -> bool {
        self.devices.coprocessor.has_computed()
    }
}

/// # Compatibility
/// tt-isa-documentation, `TensixTile/SoftReset.md`.
const SOFT_RESET: u64 = 0xFFB1_21B0;
