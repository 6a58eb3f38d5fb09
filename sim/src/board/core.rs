//! One tile with RISCs: its harts, and accesses to it from other tiles and the host.

use super::{
    ethernet::base_firmware,
    launches::CoreLaunches,
    lines::CoreLines,
    memory::CoreMemory,
    noc::Flights,
    samples::CoreSamples,
    standing::{Looked, Looks},
    truth::{StampedStore, StoreWatch},
};
use crate::{
    arch::{Arch, SOFT_RESET, TileCoord, floorplan::CorePlace},
    chip::facts::ChipFacts,
    launch_memory::LaunchMemory,
    lines::RiscLines,
    machine::{
        Devices, Effect, FIRST_REGISTER, FailureReason, HartState, Payload, PollRules, Request,
        Riscs, Station, Turn, message::Content, next_access,
    },
    samples::{RiscSamples, SamplingCounts, SamplingPlan},
    tile::Tile,
    tt_metal::firmware::FirmwareSet,
    unfinished::UnfinishedLaunch,
};
use std::{mem, ops::Range, sync::Arc};
use wire::{CoreKind, risc::RISCS_PER_CORE};

/// Number of consecutive windows without an effect after which a hart is checked for a polling
/// loop. A window has an effect if the hart stores to L1 or to a register in it.
const QUIET_WINDOWS: u32 = 2;
/// Maximum number of cycles that a hart may be ahead of the other harts before it is checked for
/// polling. What comes in the meantime, it sees late.
const AHEAD_CYCLES_MAX: u64 = 16;
/// Number of windows after which a hart is checked for polling again, if the previous check failed.
const PATIENCE_WINDOWS: u32 = 16;
const POLLS: PollRules =
    PollRules { instructions_max: 96, words_max: 16, cycles_max: 64, is_l1_only: false };

/// Number of bytes that a masked write may change.
const MASKED_BYTES: u64 = 32;

/// A tile with RISCs.
pub(super) struct BoardCore {
    tile: Tile,
    riscs: Riscs,
    /// True if memory of this tile was written since its harts last ran.
    is_touched: bool,
    watch: StoreWatch,
    /// The launches, if the layout of their messages is known.
    launches: Option<Box<CoreLaunches>>,
    /// Counts of instructions, if they are wanted.
    lines: Option<Box<CoreLines>>,
    /// Samples of program counters, if they are wanted.
    samples: Option<Box<CoreSamples>>,
    memory: Option<Box<CoreMemory>>,
    /// What the harts do, while they are looked at.
    looks: Option<Box<Looks>>,
    /// Why harts have stopped.
    stops: [Option<String>; RISCS_PER_CORE],
}

/// The part of a tile's state that its harts can access while they run.
struct BoardStation<'a> {
    chip: &'a ChipFacts,
    tile: &'a mut Tile,
    flights: &'a mut Flights,
    watch: &'a mut StoreWatch,
    launches: Option<&'a mut CoreLaunches>,
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

    fn issue(&mut self, _: &mut Devices, _: usize, cycle: u64, request: &Request) {
        self.flights.send(self.tile, cycle, request);
    }

    fn note_store(&mut self, risc_index: usize, address: u64, value: u32, cycle: u64) {
        self.watch.note(self.tile, risc_index, (address, value), cycle);
        if let Some(launches) = &mut self.launches {
            launches.stored(self.tile, risc_index, (address, value));
        }
    }
}

impl BoardCore {
    pub(super) fn new(chip: &ChipFacts, place: CorePlace) -> Self {
        let is_blackhole_ethernet = chip.arch == Arch::Blackhole && place.kind != CoreKind::Tensix;
        let count = if is_blackhole_ethernet { 2 } else { place.kind.risc_count() };
        let facts = chip.arch.facts();
        let mut tile = Tile::new(facts, place, 0, chip.seed, chip.chip_id);
        tile.l1.keep(facts.l1_bytes(place.kind));
        // The host always reads the tile's current state, so the journal need not keep old values.
        tile.journal.see_until(u64::MAX);
        if place.kind != CoreKind::Tensix {
            for &(address, word) in base_firmware(chip.arch) {
                tile.l1.replace_word(address.into(), word);
            }
        }
        let riscs = Riscs::new(chip, place, count);
        Self {
            tile,
            riscs,
            is_touched: false,
            watch: StoreWatch::default(),
            launches: None,
            lines: None,
            samples: None,
            memory: None,
            looks: None,
            stops: Default::default(),
        }
    }

    pub(super) const fn coord(&self) -> TileCoord {
        self.tile.place.coord
    }

    /// Returns true if no hart runs until a message arrives or a NoC counter changes.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_touched && !self.riscs.harts.iter().any(|hart| hart.state == HartState::Running)
    }

    /// Returns the cycle at which a NoC counter, or what the coprocessor writes, changes next; `None`
    /// if no suspended hart polls a register.
    pub(super) fn next_change(&self) -> Option<u64> {
        let devices = &self.riscs.devices;
        let changes = devices.noc.next_change().into_iter().chain(devices.coprocessor.next_event());
        changes.min().filter(|_| self.polls_registers())
    }

    fn polls_registers(&self) -> bool {
        let polls = |state: &HartState| matches!(state, HartState::Polling(watched) if watched.has_registers());
        self.riscs.harts.iter().any(|hart| polls(&hart.state))
    }

    /// Returns one line for each hart that has left reset.
    pub(super) fn states(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, risc) in self.riscs.harts.iter().enumerate() {
            let state = match &risc.state {
                HartState::InReset => continue,
                HartState::Running => "runs".to_owned(),
                HartState::Waiting { address, .. } => format!("waits for a byte at {address:#x}"),
                HartState::Polling(watched) => format!("waits, {watched:x?}"),
                HartState::Failed => "has stopped".to_owned(),
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

    /// Starts following launches, if this is a worker.
    pub(super) fn follow_launches(&mut self, firmware: &Arc<FirmwareSet>) {
        if self.tile.place.kind == CoreKind::Tensix && self.launches.is_none() {
            self.launches = Some(Box::new(CoreLaunches::new(Arc::clone(firmware))));
        }
    }

    /// Starts counting instructions of launches, if this is a worker.
    pub(super) fn count_lines(&mut self, firmware: &Arc<FirmwareSet>) {
        self.follow_launches(firmware);
        if self.launches.is_some() {
            self.lines = Some(Box::new(CoreLines::new(Arc::clone(firmware))));
        }
    }

    /// Starts sampling launches, if this is a worker. `core` is its number.
    pub(super) fn sample(&mut self, firmware: &Arc<FirmwareSet>, plan: SamplingPlan, core: usize) {
        self.follow_launches(firmware);
        if self.launches.is_some() {
            self.keep_rounds();
            let samples = CoreSamples::new(Arc::clone(firmware), plan, core);
            self.samples = Some(Box::new(samples));
        }
    }

    /// Keeps what the pipelines of harts do in a round of a polling loop, so that showing a hart that polls
    /// changes nothing.
    pub(super) const fn keep_rounds(&mut self) {
        self.riscs.keep_rounds();
    }

    /// Removes and returns all samples, also those of a launch that has not ended, their counts, and
    /// why the tile has refused to be sampled.
    pub(super) fn take_samples(
        &mut self,
        chip: &ChipFacts,
        now: u64,
    ) -> (Vec<RiscSamples>, SamplingCounts, Option<String>) {
        if self.samples.is_some() {
            self.end_launch(chip, now);
        }
        self.samples.as_mut().map(|samples| samples.take()).unwrap_or_default()
    }

    /// Removes and returns all counts, also those of a launch that has not ended.
    pub(super) fn take_lines(&mut self, chip: &ChipFacts, now: u64) -> Vec<RiscLines> {
        if self.lines.is_some() {
            self.end_launch(chip, now);
        }
        self.lines.as_mut().map(|lines| lines.take()).unwrap_or_default()
    }

    /// Ends the counts and samples of the launch that has begun.
    fn end_launch(&mut self, chip: &ChipFacts, now: u64) {
        let Self { tile, riscs, launches, lines, samples, .. } = self;
        let Some((launch, is_done)) = launches.as_mut().and_then(|launches| launches.take()) else {
            return;
        };
        if let Some(samples) = samples {
            samples.end(&launch, is_done, (chip, &mut *tile, &mut *riscs), now);
        }
        if let Some(lines) = lines {
            riscs.poll_until(now);
            lines.end(&launch, is_done, (tile, riscs));
        }
    }

    /// Returns the host's id of the program whose launch is open.
    pub(super) fn open_program(&self) -> Option<u32> {
        Some(self.launches.as_ref()?.open()?.message.run_host_id)
    }

    /// Begins to follow the instructions of the harts, if a launch is open. Harts that poll execute
    /// their loops again.
    pub(super) fn begin_look(&mut self, now: u64) {
        let is_open = self.launches.as_ref().is_some_and(|launches| launches.open().is_some());
        self.looks = is_open.then(Box::default);
        if is_open {
            self.riscs.wake_all(now);
        }
    }

    /// Ends the look; returns where the RISCs stand, if the launch is still open.
    pub(super) fn end_look(&mut self, chip: &ChipFacts) -> Option<UnfinishedLaunch> {
        let looks = self.looks.take()?;
        let Self { tile, riscs, launches, stops, .. } = self;
        let looked = Looked { chip, tile, riscs, looks: &looks, failures: stops };
        looked.unfinished(launches.as_ref()?)
    }

    /// Starts recording the memory of launches, if this is a worker.
    pub(super) fn record_memory(&mut self, firmware: &Arc<FirmwareSet>) {
        if self.tile.place.kind == CoreKind::Tensix {
            self.memory = Some(Box::new(CoreMemory::new(Arc::clone(firmware))));
        }
    }

    pub(super) fn take_memory(&mut self) -> Vec<LaunchMemory> {
        let Self { tile, memory, .. } = self;
        memory.as_mut().map(|memory| memory.take(tile)).unwrap_or_default()
    }

    /// Tells the observers of launches of a write to these addresses.
    fn count_write(&mut self, chip: &ChipFacts, (first, length): (u64, u64), cycle: u64) {
        let range = first..first.saturating_add(length);
        if let Some(memory) = &mut self.memory {
            memory.written(&self.tile, &range);
        }
        if !self.launches.as_ref().is_some_and(|launches| launches.is_go(&self.tile, &range)) {
            return;
        }
        self.end_launch(chip, cycle);
        let Self { tile, riscs, launches, lines, samples, .. } = self;
        if launches.as_mut().is_some_and(|launches| launches.begin(tile)) {
            riscs.devices.forget_writers();
            if lines.is_some() {
                riscs.harts.iter_mut().for_each(|risc| risc.hart.begin_counts(cycle));
            }
            let open = launches.as_ref().and_then(|launches| launches.open());
            if let Some((samples, launch)) = samples.as_mut().zip(open) {
                samples.begin(launch, (chip, tile, riscs), cycle);
            }
        }
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
        self.follow_daisychain(from);
        self.wake(from, until);
        if let Some(reason) = self.riscs.devices.remote_refusal.take() {
            failures.push(format!("core {}: {reason}", self.coord()));
        }
        let Self { tile, riscs, is_touched, watch, launches, looks, stops, .. } = self;
        let launches = launches.as_deref_mut();
        let station = BoardStation { chip, tile, flights, watch, launches };
        let looks = looks.as_deref_mut();
        let mut window = Window { riscs, station, is_touched, failures, looks, stops, until };
        for index in 0..window.riscs.harts.len() {
            if window.is_running(index) {
                window.run_hart(index);
            }
        }
        self.follow_daisychain(until);
        if self.launches.as_ref().is_some_and(|launches| launches.is_done()) {
            self.end_launch(chip, until);
        } else if let Some(samples) = &mut self.samples
            && let Some(launch) = self.launches.as_ref().and_then(|launches| launches.open())
        {
            samples.follow(launch, (chip, &mut self.tile, &mut self.riscs), until);
        }
    }

    /// Writes the samples of the debug daisychain that are due before a cycle.
    fn follow_daisychain(&mut self, now: u64) {
        if self.riscs.devices.daisychain_is_on() {
            self.riscs.follow_daisychain(&mut self.tile, now);
        }
    }

    /// Wakes suspended harts whose polled values have changed, or change before the end of the window.
    fn wake(&mut self, now: u64, until: u64) {
        let devices = &mut self.riscs.devices;
        let changes = [
            (Effect::Counter, devices.noc.next_change()),
            (Effect::Semaphore, devices.coprocessor.next_event()),
        ];
        devices.noc.settle(now);
        let has_changed = devices.advance_coprocessor(now);
        if mem::take(&mut self.is_touched) || has_changed {
            self.riscs.follow_writes();
            self.riscs.wake(&self.tile, now);
        }
        for (effect, cycle) in changes {
            if let Some(cycle) = cycle.filter(|cycle| *cycle < until) {
                self.riscs.wake_pollers(effect, cycle.max(now));
            }
        }
    }

    /// Carries out the request in a message from another tile or from the host, or stores the
    /// answer; returns the bytes that a read request reads.
    pub(super) fn receive(&mut self, chip: &ChipFacts, content: &Content, cycle: u64) -> Vec<u8> {
        let found = content.arrive((&mut self.tile, &mut self.riscs.devices), chip, cycle);
        match content {
            Content::Request { payload: Payload::Read { .. }, .. } => return found,
            Content::Request {
                payload: Payload::Bytes { address, .. } | Payload::Masked { address, .. },
                ..
            } if *address == u64::from(SOFT_RESET) => self.riscs.follow_resets(cycle),
            _ => {}
        }
        self.is_touched = true;
        match content {
            Content::Request { payload: Payload::Bytes { address, bytes }, .. } => {
                self.count_write(chip, (*address, bytes.len() as u64), cycle);
            }
            Content::Request { payload: Payload::Masked { address, .. }, .. } => {
                self.count_write(chip, (*address, MASKED_BYTES), cycle);
            }
            _ => {}
        }
        found
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
        self.follow_daisychain(now);
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
            let found = self.receive(
                chip,
                &Content::Request { payload, answer: None, acknowledgement: None },
                now,
            );
            self.check_refusal()?;
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
        self.follow_daisychain(now);
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
            self.riscs.invalidate(first & !3..first.saturating_add(length).saturating_add(3));
            self.is_touched = true;
            self.count_write(chip, (address, bytes.len() as u64), now);
            return Ok(());
        }
        for (address, word) in (address..).step_by(4).zip(bytes.chunks(4)) {
            self.expect_register(address, word.len(), true)?;
            let payload = Payload::Bytes { address, bytes: word.to_vec() };
            self.receive(
                chip,
                &Content::Request { payload, answer: None, acknowledgement: None },
                now,
            );
            self.check_refusal()?;
            self.follow_daisychain(now);
        }
        Ok(())
    }

    /// Returns an error if a device has refused the latest access from outside.
    fn check_refusal(&mut self) -> Result<(), String> {
        let coord = self.coord();
        match self.riscs.devices.remote_refusal.take() {
            Some(reason) => Err(format!("{coord}: {reason}")),
            None => Ok(()),
        }
    }

    /// Returns an error if the host may not read (or, if `is_store`, write) `length` bytes at this
    /// register address.
    fn expect_register(&self, address: u64, length: usize, is_store: bool) -> Result<(), String> {
        let coord = self.coord();
        if length != 4 || !address.is_multiple_of(4) {
            return Err(format!("{coord}: {length} bytes at {address:#x} are no whole register"));
        }
        let word =
            u32::try_from(address).map_err(|_| format!("{coord} has nothing at {address:#x}"))?;
        let found = self.riscs.devices.find_from_outside(word, is_store);
        found.map(|_| ()).map_err(|reason| format!("{coord}: {reason}"))
    }

    /// Returns true if a compute kernel has run.
    pub(super) const fn has_computed(&self) -> bool {
        self.riscs.devices.coprocessor.has_computed()
    }
}

/// One window of time, in which the harts of a tile run one after another.
struct Window<'a> {
    riscs: &'a mut Riscs,
    station: BoardStation<'a>,
    is_touched: &'a mut bool,
    failures: &'a mut Vec<String>,
    looks: Option<&'a mut Looks>,
    stops: &'a mut [Option<String>; RISCS_PER_CORE],
    /// End of the window.
    until: u64,
}

impl Window<'_> {
    fn is_running(&self, index: usize) -> bool {
        self.riscs.harts[index].state == HartState::Running
    }

    fn run_hart(&mut self, index: usize) {
        let mut has_effect = false;
        while self.riscs.harts[index].hart.cycle() < self.until && self.is_running(index) {
            let turn = self.take_turn(index);
            has_effect |= turn.has_effect;
            self.report(index, turn.failure);
        }
        if has_effect {
            *self.is_touched = true;
            self.riscs.harts[index].quiet_windows = 0;
        } else if self.looks.is_none() {
            self.rest(index);
        }
    }

    /// Runs a hart to the end of the window; while it is looked at, only for one instruction.
    fn take_turn(&mut self, index: usize) -> Turn {
        let mut until = self.until;
        if let Some(look) = self.looks.as_mut().and_then(|looks| looks.get_mut(index)) {
            let hart = &self.riscs.harts[index].hart;
            let code = &self.riscs.devices.instruction_ram;
            look.note((hart.pc(), *hart.registers()), next_access(hart, self.station.tile, code));
            until = until.min(hart.cycle() + 1);
        }
        self.riscs.take_turn(index, &mut self.station, until)
    }

    /// Suspends a hart if it has done nothing but poll memory for several windows.
    fn rest(&mut self, index: usize) {
        let risc = &mut self.riscs.harts[index];
        // What is ahead now is checked in the next window.
        if risc.hart.cycle() > self.until + AHEAD_CYCLES_MAX || risc.state != HartState::Running {
            return;
        }
        risc.quiet_windows += 1;
        let windows = risc.quiet_windows;
        if windows < QUIET_WINDOWS || !(windows - QUIET_WINDOWS).is_multiple_of(PATIENCE_WINDOWS) {
            return;
        }
        match self.riscs.poll(index, &mut self.station, &POLLS) {
            Ok(watched) => self.riscs.harts[index].state = HartState::Polling(watched),
            Err(turn) => {
                *self.is_touched |= turn.has_effect || turn.is_interrupted;
                self.report(index, turn.failure);
            }
        }
    }

    /// Adds a message to the list of failures if the hart has failed.
    fn report(&mut self, index: usize, failure: Option<FailureReason>) {
        let reason = match failure {
            None => return,
            Some(FailureReason::Stopped) => "it stopped at a breakpoint".to_owned(),
            Some(FailureReason::Refused { reason, .. }) => reason,
            Some(other) => other.to_string(),
        };
        let place = self.station.tile.place;
        let hart = &self.riscs.harts[index].hart;
        let (pc, cycle) = (hart.pc(), hart.cycle());
        let name = place.kind.risc(index).map_or("a RISC", |risc| risc.label());
        if let Some(stop) = self.stops.get_mut(index) {
            *stop = Some(reason.clone());
        }
        self.failures.push(format!(
            "{name} of core {} stopped at pc {pc:#x}, cycle {cycle}: {reason}",
            place.coord
        ));
    }
}
