//! One launch on a core: the dispatcher's writes, and the turns of the harts.

use super::{
    ExecutionFailure, FailureReason, Machine, TURN_CYCLES,
    core_code::{RiscCode, Write},
    devices,
    devices::{SUBORDINATE_RESET_BITS, Signals},
    look::Look,
    mailbox,
    polling::PollRules,
    riscs::{HartState, byte},
    stage::Stage,
    symbol_at,
};
use crate::{
    lines::{CountedLaunch, Meaning, RiscLines, is_counted, loaded_code},
    noc,
    program::{CoreUse, Emission, KernelContext},
    random::Stream,
    riscv::{INSTRUCTION_RAM_BASE, Image},
    truth::{KernelTimes, LaunchTruth},
    unfinished::UnfinishedLaunch,
};
use wire::{Risc, risc::RISCS_PER_CORE};

/// Progress of a launch on a core.
#[derive(Debug)]
pub(crate) struct Progress {
    phase: Phase,
    /// Cycle at which the core receives the GO message.
    arrival_cycle: u64,
    limit_end: u64,
    failures: Vec<ExecutionFailure>,
    /// What is known about each hart that is near the cycle limit.
    looks: [Look; RISCS_PER_CORE],
}

/// Report on a launch from one core.
pub(crate) struct LaunchReport {
    /// Cycle at which the dispatcher received the core's done signal.
    pub(crate) done_cycle: u64,
    /// Cycle at which every RISC of the core was idle again.
    pub(crate) free_cycle: u64,
    /// True if no kernel ran on this core.
    pub(crate) is_idle: bool,
    pub(crate) launches: Vec<(Risc, LaunchTruth)>,
    /// What each RISC has executed, if it is counted.
    pub(crate) lines: Vec<RiscLines>,
    /// Where the RISCs stand, if the launch has not ended.
    pub(crate) unfinished: Option<UnfinishedLaunch>,
}

/// Phase of a launch on a core; a phase ends when none of the core's harts can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Start,
    /// The firmware boots.
    Boot,
    /// The launch runs.
    Launch,
    /// Every hart waits for a request from another tile.
    Suspended,
    Done,
}

impl Progress {
    /// Returns the initial progress of a launch whose GO message leaves the dispatcher at `go_cycle`.
    pub(crate) fn new(stage: &Stage, go_cycle: u64) -> Self {
        let arrival_cycle = arrival_cycle(stage.context(), go_cycle);
        Self {
            phase: Phase::Start,
            arrival_cycle,
            // Dispatch kernels run as long as their queue is open; relays run until a host stops
            // them.
            limit_end: match stage.launch.core_use {
                CoreUse::Dispatch | CoreUse::Relay => u64::MAX,
                CoreUse::Programs | CoreUse::Spare => {
                    arrival_cycle.saturating_add(stage.chip.modes.cycle_limit)
                }
            },
            failures: Vec::new(),
            looks: Default::default(),
        }
    }

    /// Returns the initial state of a run without firmware. The code runs until it stops, but at
    /// most until the cycle `limit_end`.
    #[cfg(test)]
    pub(crate) fn bare(limit_end: u64) -> Self {
        let (failures, looks) = Default::default();
        Self { phase: Phase::Done, arrival_cycle: 0, limit_end, failures, looks }
    }

    /// Returns the failures that have occurred so far.
    #[cfg(test)]
    pub(crate) fn failures(&self) -> &[ExecutionFailure] {
        &self.failures
    }

    /// Returns the cycle at which the core executes its next instruction or starts the launch;
    /// `None` if no hart can continue.
    pub(crate) fn next_cycle(&self, machine: &Machine) -> Option<u64> {
        let running = machine.riscs.harts.iter().filter(|risc| risc.state == HartState::Running);
        let next = running.map(|risc| risc.hart.cycle()).min();
        let goes_on = !matches!(self.phase, Phase::Suspended | Phase::Done);
        next.or_else(|| goes_on.then_some(self.arrival_cycle))
    }

    /// Returns false if every hart that runs is at cycle `until`, or waits for an answer whose time is
    /// not known.
    pub(crate) fn can_advance(&self, machine: &Machine, stage: &Stage, until: u64) -> bool {
        let limit = until.min(stage.answer_due().unwrap_or(u64::MAX));
        let running = machine.riscs.harts.iter().filter(|risc| risc.state == HartState::Running);
        let next = running.map(|risc| risc.hart.cycle()).min();
        stage.dies_at.is_some() || next.is_none_or(|next| next < limit)
    }

    /// Runs the core up to cycle `until`. Neither the host nor a relay accesses the core before
    /// `pause`.
    pub(crate) fn advance(
        &mut self,
        (machine, stage): (&mut Machine, &mut Stage),
        (until, pause): (u64, u64),
    ) {
        if machine.riscs.harts.is_empty() {
            if std::mem::replace(&mut self.phase, Phase::Done) == Phase::Start {
                self.refuse(machine, stage);
            }
            return;
        }
        if stage.dies_at.is_some_and(|dies_at| dies_at < until) {
            self.phase = Phase::Done;
            machine.riscs.stop();
            return;
        }
        let mut run = Run { machine, stage, until, pause, progress: self };
        while run.take_turns() {
            match run.progress.phase {
                Phase::Start => run.boot(),
                Phase::Boot => run.give_message(),
                Phase::Launch | Phase::Suspended if run.is_unfinished() => {
                    run.progress.phase = Phase::Suspended;
                    return;
                }
                Phase::Launch | Phase::Suspended => run.progress.phase = Phase::Done,
                Phase::Done => return,
            }
        }
    }

    /// Finishes the launch and returns its report and failures.
    pub(crate) fn finish(
        mut self,
        (machine, stage): (&mut Machine, &mut Stage),
    ) -> (LaunchReport, Vec<ExecutionFailure>) {
        let (until, pause) = (u64::MAX, u64::MAX);
        let mut run = Run { machine, stage, until, pause, progress: &mut self };
        if run.progress.phase == Phase::Suspended {
            run.fail(0, FailureReason::Deadlock);
        }
        run.hand_waits_over();
        let unfinished = run.unfinished();
        let lines = run.take_lines();
        let report = LaunchReport { lines, unfinished, ..run.report() };
        if !self.failures.is_empty() {
            // A failed core's state is unusable; it must boot again.
            machine.has_booted = false;
        }
        (report, self.failures)
    }

    /// Records a `NotLaunched` failure, because there is no code for the core.
    fn refuse(&mut self, machine: &Machine, stage: &Stage) {
        let reason = if machine.code.firmware_set().is_some() {
            "the given firmware has no object code for Ethernet cores"
        } else {
            "kernels in C++ were not compiled; install riscv64-unknown-elf-g++ and build this \
             program again"
        };
        let reason = reason.to_owned();
        let context = stage.context();
        self.failures.push(ExecutionFailure {
            chip_id: context.chip_id,
            core: context.place.coord,
            risc: context.risc,
            launch_index: context.launch_index,
            chip_cycle: self.arrival_cycle,
            pc: 0,
            symbol: None,
            reason: FailureReason::NotLaunched { reason },
        });
    }
}

pub(super) struct Run<'a> {
    pub(super) machine: &'a mut Machine,
    pub(super) stage: &'a mut Stage,
    /// Cycle at which the harts stop, until the other tiles have also reached this cycle.
    until: u64,
    /// Earliest cycle at which the host or a relay may next access the core.
    pub(super) pause: u64,
    progress: &'a mut Progress,
}

impl Run<'_> {
    /// Releases the core from reset early enough for its firmware to be waiting when GO arrives.
    fn boot(&mut self) {
        self.progress.phase = Phase::Boot;
        if std::mem::replace(&mut self.machine.has_booted, true) {
            return;
        }
        self.machine.riscs.invalidate(0..u32::MAX);
        self.machine.riscs.stop();
        let Machine { code, riscs, .. } = &mut *self.machine;
        let Stage { chip, tile, .. } = &mut *self.stage;
        riscs.devices = devices(code, chip, tile.place);
        riscs.devices.soft_reset = SUBORDINATE_RESET_BITS;
        tile.l1.keep(riscs.devices.code.end.into());
        for (address, words) in code.boot_writes() {
            tile.l1.write_words(address.into(), &words);
        }
        let cycle = self.progress.arrival_cycle.saturating_sub(BOOT_CYCLES);
        self.machine.riscs.harts[0].start(0, cycle);
    }

    /// Writes the launch message and GO.
    fn give_message(&mut self) {
        let cycle = self.progress.arrival_cycle;
        self.progress.phase = Phase::Launch;
        for risc in &mut self.machine.processors {
            risc.rest.skipped_cycles = 0;
        }
        if self.has_failed() {
            return;
        }
        let writes = match self.launch_writes(cycle) {
            Ok(writes) => writes,
            Err(reason) => return self.fail(0, FailureReason::NotLaunched { reason }),
        };
        for (address, words) in writes {
            self.write_words(address, &words, cycle);
        }
        if self.counts_lines() {
            let harts = self.machine.riscs.harts.iter_mut();
            harts.for_each(|risc| risc.hart.begin_counts(cycle));
        }
        self.stage.place_stops(cycle);
        self.machine.riscs.devices.signals = Signals::default();
        self.machine.riscs.devices.forget_writers();
        let (address, value) = self.machine.code.go();
        self.write_byte(address, value, cycle);
        self.wake(cycle);
    }

    /// Writes words to L1 as a host does; the words may be code.
    pub(super) fn write_words(&mut self, address: u32, words: &[u32], cycle: u64) {
        let end = u64::from(address) + 4 * words.len() as u64;
        self.stage.tile.l1.keep(end);
        for (at, &word) in (u64::from(address)..).step_by(4).zip(words) {
            self.stage.tile.store(at, word, cycle);
        }
        self.machine.riscs.invalidate(address..u32::try_from(end).unwrap_or(u32::MAX));
    }

    /// Returns the writes that the host makes for a launch before it sends the go signal.
    fn launch_writes(&mut self, cycle: u64) -> Result<Vec<Write>, String> {
        let Self { machine: Machine { code, .. }, stage, .. } = self;
        let mut writes = code.launch_writes(&stage.launch, stage.context())?;
        if code.firmware_set().is_none() {
            let kind = stage.context().place.kind;
            let has_kernel = |index| {
                kind.risc(index).is_some_and(|risc| stage.launch.program.kernel(risc).is_some())
            };
            let subordinates: Vec<usize> =
                (1..kind.risc_count()).filter(|&index| has_kernel(index)).collect();
            let late =
                subordinates.into_iter().map(|index| (index, stage.late_cycles(index, cycle)));
            let late: Vec<_> = late.filter(|&(_, cycles)| cycles > 0).collect();
            writes.extend(code.late_writes(&late));
        }
        Ok(writes)
    }

    pub(super) fn riscs(&self) -> Vec<(usize, Risc)> {
        let kind = self.stage.context().place.kind;
        (0..kind.risc_count()).filter_map(|index| Some((index, kind.risc(index)?))).collect()
    }

    /// Runs the harts in turns; returns true if no hart can continue.
    fn take_turns(&mut self) -> bool {
        while let Some((index, until)) = self.next_turn() {
            self.take_turn(index, until);
        }
        let mut riscs = self.machine.riscs.harts.iter();
        if riscs.any(|risc| risc.state == HartState::Running) {
            return false;
        }
        if !self.has_set() && !matches!(self.progress.phase, Phase::Start | Phase::Done) {
            self.report_deadlock();
        }
        true
    }

    /// Returns the running hart with the earliest cycle, and the cycle up to which this hart may
    /// run.
    fn next_turn(&self) -> Option<(usize, u64)> {
        let mut next: Option<(usize, u64)> = None;
        let mut second: Option<(usize, u64)> = None;
        // An answer from another tile must be delivered before a hart checks for it.
        let limit = self.until.min(self.stage.answer_due().unwrap_or(u64::MAX));
        for (index, risc) in self.machine.riscs.harts.iter().enumerate() {
            if risc.state != HartState::Running {
                continue;
            }
            let cycle = risc.hart.cycle();
            match next {
                Some((_, first)) if cycle >= first => {
                    if second.is_none_or(|(_, second)| cycle < second) {
                        second = Some((index, cycle));
                    }
                }
                _ => {
                    second = next.or(second);
                    next = Some((index, cycle));
                }
            }
        }
        let (index, first) = next.filter(|(_, first)| *first < limit)?;
        let until = match (self.turn_cycles(), second) {
            (Some(turn_cycles), Some((_, second))) => second + turn_cycles,
            (Some(_), None) => u64::MAX,
            (None, Some((other, second))) => second + u64::from(index < other),
            // A store of this hart may wake another hart, which then continues at the store's time.
            (None, None) => first + 1,
        };
        if self.is_near_limit(index) {
            return Some((index, first + 1));
        }
        let stop = self.stage.stops_at[index].as_ref().map_or(u64::MAX, |(cycle, _)| *cycle);
        let stop = stop.max(first + 1);
        Some((index, until.min(first + LONE_TURN_CYCLES).min(limit).min(stop)))
    }

    /// Returns the number of cycles by which a hart may be ahead of the others after a turn; `None`
    /// if harts take turns after every instruction.
    fn turn_cycles(&self) -> Option<u64> {
        match self.machine.riscs.devices.tile_watch {
            _ if self.stage.chip.modes.has_exact_turns => None,
            // Turns are short, because the ground truth states how long harts wait for each other.
            Some(_) => Some(EXACT_TURN_CYCLES),
            None => Some(TURN_CYCLES),
        }
    }

    fn take_turn(&mut self, index: usize, until: u64) {
        if self.is_near_limit(index) {
            self.look(index);
        }
        let turn = self.machine.riscs.take_turn(index, self.stage, until);
        if let Some(reason) = turn.failure {
            self.fail(index, reason);
        }
        self.check_stop(index);
        if self.is_running(index) {
            self.check_limit(index);
            self.park(index);
            self.skip_rest(index);
        }
        if self.is_running(index) {
            self.skip_clock_wait(index);
        }
        self.machine.wake_after_writes(&self.stage.tile);
        if self.has_set() {
            // Harts may poll any word of L1, not only words of the mailbox.
            self.wake(self.machine.riscs.harts[index].hart.cycle());
        }
    }

    fn is_running(&self, index: usize) -> bool {
        self.machine.riscs.harts[index].state == HartState::Running
    }

    /// Returns the cycle at which the launch exceeds its cycle limit.
    pub(super) const fn limit_end(&self) -> u64 {
        self.progress.limit_end
    }

    pub(super) fn failures(&self) -> &[ExecutionFailure] {
        &self.progress.failures
    }

    pub(super) const fn looks(&self) -> &[Look; RISCS_PER_CORE] {
        &self.progress.looks
    }

    pub(super) const fn looks_mut(&mut self) -> &mut [Look; RISCS_PER_CORE] {
        &mut self.progress.looks
    }

    /// Stops a hart if a fault rule says so.
    fn check_stop(&mut self, index: usize) {
        let cycle = self.machine.riscs.harts[index].hart.cycle();
        let is_due = self.stage.stops_at[index].as_ref().is_some_and(|(at, _)| cycle >= *at)
            && !self.stage.stored[index].is_in_record();
        if is_due && self.is_running(index) {
            self.stage.log_stop(index, cycle);
            self.fail(index, FailureReason::Halted);
        }
    }

    fn check_limit(&mut self, index: usize) {
        let cycle = self.machine.riscs.harts[index].hart.cycle();
        if cycle - self.machine.processors[index].rest.skipped_cycles >= self.progress.limit_end {
            let limit_cycles = self.stage.chip.modes.cycle_limit;
            self.fail(index, FailureReason::CycleLimit { limit_cycles });
        }
    }

    /// If a hart waits in this project's firmware for a byte of L1, or polls memory in tt-metal's
    /// firmware, suspends the hart.
    fn park(&mut self, index: usize) {
        if self.has_set() {
            return self.park_if_polling(index);
        }
        let Some(wait) = self.machine.processors[index].wait_loop else { return };
        let risc = &mut self.machine.riscs.harts[index];
        let ahead = risc.hart.pc().wrapping_sub(wait);
        // With exact turns, the instruction at which the hart continues must not depend on where
        // its turn ended.
        let is_polling = if self.stage.chip.modes.has_exact_turns {
            ahead == 0
        } else {
            ahead < WAIT_LOOP_BYTES
        };
        if !is_polling || risc.state != HartState::Running {
            return;
        }
        let address = risc.hart.register(10);
        let value = (risc.hart.register(11) & 0xFF) as u8;
        if byte(&self.stage.tile, address) != value {
            risc.state = HartState::Waiting { address, value };
        }
    }

    /// If a hart polls memory, suspends the hart, because only a change of memory can let it
    /// continue.
    fn park_if_polling(&mut self, index: usize) {
        if !self.is_running(index) {
            return;
        }
        match self.machine.riscs.poll(index, self.stage, &POLLS_OF_FIRMWARE) {
            Ok(watched) => self.machine.riscs.harts[index].state = HartState::Polling(watched),
            Err(turn) => {
                if let Some(reason) = turn.failure {
                    self.fail(index, reason);
                }
            }
        }
    }

    pub(super) fn wake(&mut self, cycle: u64) {
        self.machine.riscs.wake(&self.stage.tile, cycle);
    }

    /// Reports a deadlock, unless the harts wait only for the next launch.
    fn report_deadlock(&mut self) {
        let mailbox = self.machine.riscs.devices.mailbox.address;
        if !self.progress.failures.is_empty() {
            return;
        }
        let leader = &self.machine.riscs.harts[0].state;
        let is_idle_wait = matches!(
            leader, HartState::Waiting { address, .. } if address - mailbox == mailbox::GO
        );
        if !is_idle_wait {
            self.fail(0, FailureReason::Deadlock);
        }
    }

    pub(super) fn fail(&mut self, index: usize, reason: FailureReason) {
        let risc = &mut self.machine.riscs.harts[index];
        risc.state = HartState::Failed;
        let (pc, chip_cycle) = (risc.hart.pc(), risc.hart.cycle());
        let symbol = self.symbol_at(index, pc);
        let context = self.stage.context();
        self.progress.failures.push(ExecutionFailure {
            chip_id: context.chip_id,
            core: context.place.coord,
            risc: context.place.kind.risc(index).unwrap_or(context.risc),
            launch_index: context.launch_index,
            chip_cycle,
            pc,
            symbol,
            reason,
        });
    }

    /// Returns true if tt-metal's firmware runs.
    pub(super) fn has_set(&self) -> bool {
        self.machine.code.firmware_set().is_some()
    }

    /// Returns true if tt-metal's firmware runs, and has not signalled the end of the launch.
    /// Called when none of the core's harts can continue.
    fn is_unfinished(&self) -> bool {
        let is_done = self.machine.riscs.devices.signals.done_cycle.is_some();
        self.has_set() && !self.has_failed() && !is_done
    }

    /// Returns true if this launch has failed.
    pub(super) const fn has_failed(&self) -> bool {
        !self.progress.failures.is_empty()
    }

    /// Returns the name of the function at an address in the code that a processor executes.
    fn symbol_at(&self, index: usize, pc: u32) -> Option<String> {
        let risc = self.stage.context().place.kind.risc(index)?;
        let kernel = self.stage.launch.program.kernel(risc);
        let file = kernel.and_then(|kernel| kernel.object_file()?.image().ok());
        let own = self.machine.code.riscs().get(index);
        let file_symbol = file.and_then(|image| symbol_at(&image, pc));
        file_symbol
            .or_else(|| {
                let RiscCode { firmware, kernels } = own?;
                symbol_at(&kernels.program, pc).or_else(|| symbol_at(&firmware.program, pc))
            })
            .or_else(|| {
                let set = self.machine.code.firmware_set()?;
                let firmware: Image<'_> = set.processors().get(index)?.image()?;
                symbol_at(&firmware, pc)
            })
    }

    fn write_byte(&mut self, address: u32, value: u8, cycle: u64) {
        let shift = 8 * (address & 3);
        let word_address = u64::from(address & !3);
        let word = self.stage.tile.load(word_address);
        let word = word & !(0xFF << shift) | u32::from(value) << shift;
        self.stage.tile.store(word_address, word, cycle);
    }

    /// Moves the waits observed on the bus to the stage, which later adds them to the ground truth.
    fn hand_waits_over(&mut self) {
        let context = self.stage.context().clone();
        if let Some(watch) = &mut self.machine.riscs.devices.tile_watch {
            self.stage.watched = watch.take(&context, &self.stage.tile.clock);
        }
    }

    /// Returns true if the instructions of this launch are counted.
    fn counts_lines(&self) -> bool {
        self.stage.chip.modes.has_lines && is_counted(self.stage.context().place.kind)
    }

    /// Removes and returns the counts of all RISCs that have run since the GO message.
    fn take_lines(&mut self) -> Vec<RiscLines> {
        if !self.counts_lines() {
            return Vec::new();
        }
        let riscs = self.riscs().into_iter();
        riscs.filter_map(|(index, risc)| self.take_risc(index, risc)).collect()
    }

    fn take_risc(&mut self, index: usize, risc: Risc) -> Option<RiscLines> {
        let risc_hart = self.machine.riscs.harts.get_mut(index)?;
        let (counts, end_cycle) = (risc_hart.hart.take_counts(), risc_hart.hart.cycle());
        let begin_cycle = risc_hart.hart.counted_since();
        if counts.is_empty() {
            return None;
        }
        let Self { machine, stage, .. } = &*self;
        let (context, devices, tile) = (stage.context(), &machine.riscs.devices, &stage.tile);
        let word = |pc: u32| match pc.checked_sub(INSTRUCTION_RAM_BASE) {
            Some(offset) => devices.instruction_word(offset),
            None => tile.load(u64::from(pc)),
        };
        Some(RiscLines {
            chip_id: context.chip_id,
            core: context.place.coord,
            risc,
            program_id: context.program_id,
            program: stage.launch.program.name().to_owned(),
            launches: vec![CountedLaunch {
                launch_index: context.launch_index,
                begin_cycle,
                end_cycle,
            }],
            code: loaded_code(&machine.code, &stage.launch, (index, risc), tile),
            counts: self.with_meaning(|meaning| meaning.counts(counts, word)),
        })
    }

    /// Calls a function with the meaning of words on this core.
    pub(super) fn with_meaning<R>(&self, function: impl FnOnce(&Meaning<'_>) -> R) -> R {
        let Self { machine, stage, .. } = self;
        let mailboxes = machine.code.mailbox_place();
        function(&Meaning {
            arch: stage.chip.arch,
            mailboxes: mailboxes.address..mailboxes.address + mailboxes.size_bytes,
            l1_bytes: stage.tile.l1.size_bytes(),
            has_own_layout: !self.has_set(),
            register: &|address| machine.riscs.devices.register_name(address),
        })
    }

    fn report(&self) -> LaunchReport {
        let signals = &self.machine.riscs.devices.signals;
        let cycles = self.machine.riscs.harts.iter().map(|risc| risc.hart.cycle());
        let free_cycle = cycles.max().unwrap_or(0).max(self.progress.arrival_cycle);
        LaunchReport {
            done_cycle: signals.done_cycle.unwrap_or(free_cycle),
            free_cycle,
            is_idle: !self.stage.launch.program.runs_on(self.stage.context().place.kind),
            launches: self.truths(),
            lines: Vec::new(),
            unfinished: None,
        }
    }

    /// Returns the ground truth of this launch for each RISC that has finished without a failure.
    fn truths(&self) -> Vec<(Risc, LaunchTruth)> {
        let mut context = self.stage.context().clone();
        let program = &self.stage.launch.program;
        // The records of tt-metal's firmware are unknown; a relay's firmware records nothing.
        let is_relay = self.stage.launch.core_use == CoreUse::Relay;
        if !program.runs_on(context.place.kind) || self.has_set() || is_relay {
            return Vec::new();
        }
        let has_failed =
            |risc: Risc| self.progress.failures.iter().any(|failure| failure.risc == risc);
        let mut launches = Vec::new();
        for (index, risc) in self.riscs() {
            let kernel = program.kernel(risc);
            if self.stage.chip.modes.has_record_truth {
                let emitted = self.stage.stored[index].emitted();
                let KernelContext { launch_index, program_id, .. } = context;
                let kernel = kernel.and_then(|_| self.kernel_times(index));
                if emitted != Emission::NONE {
                    launches
                        .push((risc, LaunchTruth { launch_index, program_id, emitted, kernel }));
                }
                continue;
            }
            let is_foreign = kernel.is_some_and(|kernel| kernel.object_file().is_some());
            if is_foreign || has_failed(risc) || (index > 0 && kernel.is_none()) {
                continue;
            }
            context.risc = risc;
            let mut emitted = Emission::zones(1);
            if let Some(kernel) = kernel {
                emitted += Emission::zones(1) + kernel.emission(&context);
                emitted.data += self.stage.watched[index].record_count;
            }
            let (launch_index, program_id) = (context.launch_index, context.program_id);
            let kernel = kernel.and_then(|_| self.kernel_times(index));
            launches.push((risc, LaunchTruth { launch_index, program_id, emitted, kernel }));
        }
        launches
    }

    fn kernel_times(&self, index: usize) -> Option<KernelTimes> {
        let signals = &self.machine.riscs.devices.signals;
        let clock = &self.stage.tile.clock;
        let start = clock.value(signals.kernel_start[index]?);
        Some(KernelTimes { start, end: clock.value(signals.kernel_end[index]?) })
    }
}

/// Returns the cycle at which a core receives the GO message that leaves the dispatcher at `cycle`.
fn arrival_cycle(context: &KernelContext, cycle: u64) -> u64 {
    let coord = context.place.coord;
    let path = [
        GO_STREAM,
        u64::from(context.chip_id),
        u64::from(coord.x),
        u64::from(coord.y),
        context.launch_index,
    ];
    let mut random = Stream::new(context.seed, &path);
    cycle + u64::from(coord.x + coord.y) * noc::HOP_CYCLES + random.below(GO_JITTER_CYCLES)
}

const GO_STREAM: u64 = 0xF1;
const GO_JITTER_CYCLES: u64 = 60;
/// Cycles from the end of a core's reset to GO, for the first launch on the core.
const BOOT_CYCLES: u64 = 20_000;
/// Length of a turn in cycles if waits are recorded. A turn is then shorter than the time between
/// two loads of a polling loop.
const EXACT_TURN_CYCLES: u64 = 4;
/// Length of a turn in cycles while all other harts wait.
const LONE_TURN_CYCLES: u64 = 256;
/// Rules that recognise the polling loops of tt-metal's firmware. They exclude code outside L1,
/// because such code belongs to a kernel, and a kernel does not wait forever.
const POLLS_OF_FIRMWARE: PollRules =
    PollRules { instructions_max: 64, words_max: 8, cycles_max: u64::MAX, is_l1_only: true };
/// Size in bytes of the loop in `__wait_for_byte`: two instructions.
const WAIT_LOOP_BYTES: u32 = 8;
