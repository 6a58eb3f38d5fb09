//! One launch on a machine: the dispatcher's part, and the turns of the harts.

use super::{
    ExecutionFailure, FailureReason, HartState, Machine, TURN_CYCLES,
    bus::{Devices, Signals, TileBus},
    mailbox::{self, signal},
};
use crate::{
    native::{
        firmware::{Go, LaunchReport},
        stage::Stage,
    },
    program::{Emission, Launch},
    riscv::{Pause, Trap},
    tile::{Tile, l1::L1},
    truth::{KernelTimes, LaunchTruth},
};
use wire::Risc;

/// Runs one launch on the core that is on the stage.
pub(crate) fn run_launch(
    machine: &mut Machine,
    stage: &mut Stage,
    launch: &Launch,
    go: &Go,
) -> (LaunchReport, Vec<ExecutionFailure>) {
    let budget_end = go.arrival_cycle.saturating_add(stage.chip.cycle_budget);
    let mut run = Run { machine, stage, launch, budget_end, failures: Vec::new() };
    if run.machine.processors.is_empty() {
        run.refuse(go.arrival_cycle);
    } else {
        run.boot(go.arrival_cycle);
        run.give_message(go.arrival_cycle);
        run.take_turns();
        run.release_late();
    }
    let report = run.report(go);
    let failures = run.failures;
    if !failures.is_empty() {
        // What is left of a core that failed is not a state to go on from.
        machine.has_booted = false;
    }
    (report, failures)
}

struct Run<'a> {
    machine: &'a mut Machine,
    stage: &'a mut Stage,
    launch: &'a Launch,
    budget_end: u64,
    failures: Vec<ExecutionFailure>,
}

impl Run<'_> {
    /// Takes the core out of reset, early enough for it to wait when GO arrives.
    fn boot(&mut self, arrival_cycle: u64) {
        if std::mem::replace(&mut self.machine.has_booted, true) {
            return;
        }
        let place = self.stage.context().place;
        let chip = std::sync::Arc::clone(&self.stage.chip);
        self.machine.load(&mut self.stage.tile.l1, &chip, place);
        self.machine.front.invalidate(0..u32::MAX);
        self.machine.devices.soft_reset = !0;
        self.machine.devices.signals = Signals::default();
        for risc in &mut self.machine.processors {
            risc.state = HartState::InReset;
        }
        self.write_byte(mailbox::GO, signal::DONE, 0);
        let cycle = arrival_cycle.saturating_sub(BOOT_CYCLES);
        let leader = &mut self.machine.processors[0];
        leader.hart.advance_to(cycle);
        leader.hart.reset(0);
        leader.state = HartState::Running;
        self.take_turns();
    }

    /// Says that there is nothing to run.
    fn refuse(&mut self, chip_cycle: u64) {
        let reason = "this build has none, since its target was not installed".to_owned();
        let context = self.stage.context();
        self.failures.push(ExecutionFailure {
            chip_id: context.chip_id,
            core: context.place.coord,
            risc: context.risc,
            launch_index: context.launch_index,
            chip_cycle,
            pc: 0,
            symbol: None,
            reason: FailureReason::NotLaunched { reason },
        });
    }

    /// Writes the launch message and GO.
    fn give_message(&mut self, cycle: u64) {
        let mailbox = self.machine.devices.mailbox;
        let message = match self.message(cycle) {
            Ok(message) => message,
            Err(reason) => return self.fail(0, FailureReason::NotLaunched { reason }),
        };
        for (offset, word) in message {
            self.stage.tile.store(u64::from(mailbox + offset), word, cycle);
        }
        self.machine.devices.signals = Signals::default();
        self.write_byte(mailbox::GO, signal::GO, cycle);
        self.wake(cycle);
    }

    fn message(&mut self, cycle: u64) -> Result<Vec<(u32, u32)>, String> {
        let mut data = KernelData::behind(&self.machine.devices, &self.stage.tile.l1);
        let context = self.stage.context().clone();
        let arg_count = u32::try_from(context.args.len()).unwrap_or(u32::MAX);
        if arg_count > mailbox::ARG_COUNT_MAX {
            let most = mailbox::ARG_COUNT_MAX;
            return Err(format!("{arg_count} arguments, a launch message holds {most}"));
        }
        let seed = context.random().next_u64();
        let mut message = vec![
            (mailbox::PROGRAM_ID, context.program_id),
            (mailbox::BEGINS_REPLAY, u32::from(self.launch.begins_trace_replay)),
            (mailbox::LAUNCH_INDEX, (context.launch_index & 0xFFFF_FFFF) as u32),
            (mailbox::SEED, (seed & 0xFFFF_FFFF) as u32),
            (mailbox::SEED + 4, (seed >> 32) as u32),
            (mailbox::ARG_COUNT, arg_count),
        ];
        message.extend((mailbox::ARGS..).step_by(4).zip(context.args.iter().copied()));
        let (mut enables, mut late) = (0, 0);
        for (offset, (index, risc)) in (mailbox::ENTRIES..).step_by(4).zip(self.riscs()) {
            if let Some(kernel) = self.launch.program.kernel(risc) {
                let name = kernel.object_name().ok_or_else(|| {
                    format!("the kernel of {risc} in {} is native only", self.launch.program.name())
                })?;
                let symbol = self.machine.processors[index].kernels.symbol(name);
                let entry = symbol.ok_or_else(|| format!("{risc} has no kernel `{name}`"))?;
                message.push((offset, entry.address));
                let data = data.bring(risc, kernel.object_data(), &mut self.stage.tile, cycle)?;
                message.push((offset - mailbox::ENTRIES + mailbox::DATA, data));
                enables |= 1 << index;
                late |= u32::from(index > 0 && self.stage.is_late(index)) << index;
            }
        }
        message.push((mailbox::ENABLES, enables));
        message.push((mailbox::LATE, late));
        Ok(message)
    }

    fn riscs(&self) -> Vec<(usize, Risc)> {
        let kind = self.stage.context().place.kind;
        (0..kind.risc_count()).filter_map(|index| Some((index, kind.risc(index)?))).collect()
    }

    /// Lets the harts run by turns until none can.
    fn take_turns(&mut self) {
        while let Some((index, until)) = self.next_turn() {
            self.take_turn(index, until);
        }
        self.report_deadlock();
    }

    /// The hart that is furthest behind, and until when it runs.
    fn next_turn(&self) -> Option<(usize, u64)> {
        let mut next: Option<(usize, u64)> = None;
        let mut second = u64::MAX;
        for (index, risc) in self.machine.processors.iter().enumerate() {
            if risc.state != HartState::Running {
                continue;
            }
            let cycle = risc.hart.cycle();
            match next {
                Some((_, first)) if cycle >= first => second = second.min(cycle),
                _ => {
                    second = next.map_or(second, |(_, first)| first);
                    next = Some((index, cycle));
                }
            }
        }
        let (index, first) = next?;
        let until =
            if second == u64::MAX { first + LONE_TURN_CYCLES } else { second + TURN_CYCLES };
        Some((index, until.min(first + LONE_TURN_CYCLES)))
    }

    fn take_turn(&mut self, index: usize, until: u64) {
        let result = self.execute(index, until);
        match result {
            Ok(Pause::Cycle) => {}
            Ok(Pause::Blocked { .. }) => self.wait_for_clock(index),
            Ok(Pause::Yielded) => self.follow_resets(index),
            Ok(Pause::Breakpoint | Pause::EnvironmentCall) => {
                self.fail(index, FailureReason::Stopped);
            }
            Err(trap) => self.fail_by(index, trap),
        }
        if self.machine.processors[index].state == HartState::Running {
            self.check_budget(index);
            self.park(index);
        }
        if let Some(cycle) = self.machine.devices.signals.written_at.take() {
            self.wake(cycle);
        }
    }

    fn execute(&mut self, index: usize, until: u64) -> Result<Pause, Trap> {
        let Machine { processors, devices, front, .. } = &mut *self.machine;
        let risc = &mut processors[index];
        let local_ram = &mut risc.local_ram;
        let mut bus = TileBus { stage: self.stage, devices, local_ram, risc_index: index };
        risc.hart.run_until(&mut bus, front, until)
    }

    /// Lets a hart wait as long as a fault holds its read of the clock back.
    fn wait_for_clock(&mut self, index: usize) {
        let hart = &mut self.machine.processors[index].hart;
        let held_until = self.machine.devices.clock_held_until(index);
        hart.advance_to(held_until.unwrap_or(0).max(hart.cycle() + 1));
    }

    /// Starts the harts whose reset has just ended.
    fn follow_resets(&mut self, writer: usize) {
        let cycle = self.machine.processors[writer].hart.cycle();
        for (index, risc) in self.machine.processors.iter_mut().enumerate().skip(1) {
            if risc.state == HartState::InReset && !self.machine.devices.is_in_reset(index) {
                risc.hart.advance_to(cycle);
                risc.hart.reset(self.machine.devices.reset_pc[index]);
                risc.state = HartState::Running;
            }
        }
    }

    fn check_budget(&mut self, index: usize) {
        if self.machine.processors[index].hart.cycle() >= self.budget_end {
            let budget_cycles = self.stage.chip.cycle_budget;
            self.fail(index, FailureReason::CycleBudget { budget_cycles });
        }
    }

    /// Puts a hart aside that waits for a byte.
    fn park(&mut self, index: usize) {
        let risc = &mut self.machine.processors[index];
        let Some(wait) = risc.firmware.symbol("__wait_for_byte") else { return };
        let is_polling = risc.hart.pc().wrapping_sub(wait.address) < WAIT_LOOP_BYTES;
        if !is_polling || risc.state != HartState::Running {
            return;
        }
        let address = risc.hart.register(10);
        let value = (risc.hart.register(11) & 0xFF) as u8;
        if byte(self.stage, address) != value {
            risc.state = HartState::Waiting { address, value };
        }
    }

    /// Lets harts go on whose byte has got its value.
    fn wake(&mut self, cycle: u64) {
        for risc in &mut self.machine.processors {
            if let HartState::Waiting { address, value } = risc.state
                && byte(self.stage, address) == value
            {
                risc.hart.advance_to(cycle);
                risc.state = HartState::Running;
            }
        }
    }

    /// Lets late subordinates close their main zone, now that BRISC has pushed.
    fn release_late(&mut self) {
        let cycle = self.machine.processors[0].hart.cycle();
        let mailbox = self.machine.devices.mailbox;
        let states = self.machine.processors.iter().map(|risc| risc.state);
        let offsets: Vec<u32> = states
            .filter_map(|state| match state {
                HartState::Waiting { address, .. } => Some(address - mailbox),
                _ => None,
            })
            .filter(|offset| (mailbox::RELEASE..mailbox::PROGRAM_ID).contains(offset))
            .collect();
        for &offset in &offsets {
            self.write_byte(offset, signal::GO, cycle);
        }
        self.wake(cycle);
        self.take_turns();
        for &offset in &offsets {
            self.write_byte(offset, signal::DONE, cycle);
        }
    }

    /// With every hart waiting, those of a launch that is over wait for the next one.
    fn report_deadlock(&mut self) {
        let mailbox = self.machine.devices.mailbox;
        let is_idle_wait = |address: u32| {
            let offset = address - mailbox;
            offset == mailbox::GO || (mailbox::RELEASE..mailbox::PROGRAM_ID).contains(&offset)
        };
        if !self.failures.is_empty() {
            return;
        }
        if let HartState::Waiting { address, .. } = self.machine.processors[0].state
            && !is_idle_wait(address)
        {
            self.fail(0, FailureReason::Deadlock);
        }
    }

    fn fail_by(&mut self, index: usize, trap: Trap) {
        let reason = match self.machine.devices.noc_refusal.take() {
            Some(reason) => FailureReason::Noc { reason },
            None => FailureReason::Trap(trap),
        };
        self.fail(index, reason);
    }

    fn fail(&mut self, index: usize, reason: FailureReason) {
        let risc = &mut self.machine.processors[index];
        risc.state = HartState::Failed;
        let pc = risc.hart.pc();
        let context = self.stage.context();
        self.failures.push(ExecutionFailure {
            chip_id: context.chip_id,
            core: context.place.coord,
            risc: context.place.kind.risc(index).unwrap_or(context.risc),
            launch_index: context.launch_index,
            chip_cycle: risc.hart.cycle(),
            pc,
            symbol: risc.symbol_at(pc),
            reason,
        });
    }

    fn write_byte(&mut self, offset: u32, value: u8, cycle: u64) {
        let address = self.machine.devices.mailbox + offset;
        let shift = 8 * (address & 3);
        let word_address = u64::from(address & !3);
        let word = self.stage.tile.load(word_address);
        let word = word & !(0xFF << shift) | u32::from(value) << shift;
        self.stage.tile.store(word_address, word, cycle);
    }

    fn report(&self, go: &Go) -> LaunchReport {
        let signals = &self.machine.devices.signals;
        let cycles = self.machine.processors.iter().map(|risc| risc.hart.cycle());
        let free_cycle = cycles.max().unwrap_or(0).max(go.arrival_cycle);
        LaunchReport {
            done_cycle: signals.done_cycle.unwrap_or(free_cycle),
            free_cycle,
            is_idle: !self.launch.program.runs_on(self.stage.context().place.kind),
            launches: self.truths(),
        }
    }

    /// What each RISC did that finished its part.
    fn truths(&self) -> Vec<(Risc, LaunchTruth)> {
        let mut context = self.stage.context().clone();
        let program = &self.launch.program;
        if !program.runs_on(context.place.kind) {
            return Vec::new();
        }
        let has_failed = |risc: Risc| self.failures.iter().any(|failure| failure.risc == risc);
        let mut launches = Vec::new();
        for (index, risc) in self.riscs() {
            let kernel = program.kernel(risc);
            if has_failed(risc) || (index > 0 && kernel.is_none()) {
                continue;
            }
            context.risc = risc;
            let mut emitted = Emission::zones(1);
            if let Some(kernel) = kernel {
                emitted += Emission::zones(1) + kernel.emission(&context);
            }
            let (launch_index, program_id) = (context.launch_index, context.program_id);
            let kernel = kernel.and_then(|_| self.kernel_times(index));
            launches.push((risc, LaunchTruth { launch_index, program_id, emitted, kernel }));
        }
        launches
    }

    fn kernel_times(&self, index: usize) -> Option<KernelTimes> {
        let signals = &self.machine.devices.signals;
        let clock = &self.stage.tile.clock;
        let start = clock.value(signals.kernel_start[index]?);
        Some(KernelTimes { start, end: clock.value(signals.kernel_end[index]?) })
    }
}

/// The part of L1 where launches put what their kernels bring along.
struct KernelData {
    next: u32,
    end: u32,
}

impl KernelData {
    /// Behind all code, up to what lies there.
    fn behind(devices: &Devices, l1: &L1) -> Self {
        let next = devices.code.end.next_multiple_of(16);
        let l1_end = u32::try_from(l1.size_bytes()).unwrap_or(u32::MAX);
        let end = if devices.mailbox > next { devices.mailbox } else { l1_end };
        Self { next, end }
    }

    /// Writes the data of one kernel; returns where it lies.
    fn bring(
        &mut self,
        risc: Risc,
        words: &[u32],
        tile: &mut Tile,
        cycle: u64,
    ) -> Result<u32, String> {
        let address = self.next;
        let room_bytes = self.end - address;
        let size_bytes = u32::try_from(words.len() * 4).ok().filter(|size| *size <= room_bytes);
        let size_bytes = size_bytes.ok_or_else(|| {
            format!("{risc} brings {} words of data, L1 has {room_bytes} bytes left", words.len())
        })?;
        self.next += size_bytes;
        for (at, &word) in (u64::from(address)..).step_by(4).zip(words) {
            tile.store(at, word, cycle);
        }
        Ok(if words.is_empty() { 0 } else { address })
    }
}

fn byte(stage: &Stage, address: u32) -> u8 {
    (stage.tile.load(u64::from(address & !3)) >> (8 * (address & 3)) & 0xFF) as u8
}

/// Cycles before GO at which the core comes out of reset, if it has not yet.
const BOOT_CYCLES: u64 = 20_000;
/// Cycles that a hart runs while all others wait.
const LONE_TURN_CYCLES: u64 = 256;
/// The two instructions of the loop in `__wait_for_byte`.
const WAIT_LOOP_BYTES: u32 = 8;
