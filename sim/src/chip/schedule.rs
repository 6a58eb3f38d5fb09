//! The schedule of launches: determines when each launch may begin, and advances and ends launches
//! in progress.
//!
//! Usually a launch is simulated to its end as soon as it begins. The host does not see an effect
//! before the host's time reaches the time of the effect. In the debug dump and streaming modes,
//! kernels may wait for the host. Launches are then simulated only up to the cycle of the host's
//! next access, and a launch begins only when the previous launch has ended and has written all its
//! records.
//!
//! Relays and dispatch kernels run in parallel with the launches of programs; no program waits for
//! them.

use super::{
    Chip, DISPATCH_CYCLES, Queued,
    core::{self, Core, Job},
    traffic,
};
use crate::program::{CoreUse, Launch, SubDevice};
use std::{collections::BTreeMap, sync::Arc};

/// Launches in progress, and the times at which the dispatcher, the chip and its sub-devices become
/// free.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Earliest cycle at which the dispatcher can send the next GO message.
    ready_at: u64,
    /// Cycle by which all launches that use the whole chip (no sub-device) have ended.
    chip_free_at: u64,
    /// Cycle by which all launches of each sub-device have ended, by sub-device id.
    sub_devices_free_at: BTreeMap<u8, u64>,
    under_way: Vec<UnderWay>,
    /// Latest cycle at which the host may already have read the chip's state. Used only in the
    /// debug dump and streaming modes.
    seen_until: u64,
}

/// A launch in progress.
#[derive(Debug)]
struct UnderWay {
    launch: Arc<Launch>,
    launch_index: u64,
    go_cycle: u64,
}

impl UnderWay {
    fn is_program(&self) -> bool {
        self.launch.core_use == CoreUse::Programs
    }
}

impl Schedule {
    /// Returns true if no launch of a program is in progress.
    pub(super) fn is_idle(&self) -> bool {
        !self.under_way.iter().any(UnderWay::is_program)
    }

    /// Returns the first cycle at which a launch may begin, without regard to launches in progress.
    ///
    /// A launch on a sub-device waits for earlier launches on that sub-device and on the whole
    /// chip. A launch on the whole chip waits for all earlier launches.
    pub(super) fn free_at(&self, sub_device: Option<SubDevice>) -> u64 {
        let sub_devices_free_at = match sub_device {
            Some(SubDevice { id, .. }) => self.sub_devices_free_at.get(&id).copied(),
            None => self.sub_devices_free_at.values().copied().max(),
        };
        self.ready_at.max(self.chip_free_at).max(sub_devices_free_at.unwrap_or(0))
    }

    /// Returns the first cycle at which a launch may begin; `None` if a launch in progress blocks
    /// it.
    pub(super) fn begins_at(&self, sub_device: Option<SubDevice>) -> Option<u64> {
        let blocks = |other: &UnderWay| match (sub_device, other.launch.sub_device) {
            (Some(own), Some(other)) => own.id == other.id,
            _ => true,
        };
        let mut programs = self.under_way.iter().filter(|other| other.is_program());
        (!programs.any(blocks)).then(|| self.free_at(sub_device).max(self.seen_until))
    }

    /// Records the cycles at which a launch's GO was sent and at which the launch ended.
    fn note(&mut self, sub_device: Option<SubDevice>, go_cycle: u64, done_cycle: u64) {
        self.ready_at = self.ready_at.max(go_cycle + DISPATCH_CYCLES);
        let free_at = done_cycle + DISPATCH_CYCLES;
        match sub_device {
            Some(SubDevice { id, .. }) => _ = self.sub_devices_free_at.insert(id, free_at),
            None => self.chip_free_at = free_at,
        }
    }
}

impl Chip {
    /// Returns true if launches are simulated only up to the host's next access, because kernels
    /// may wait for the host.
    pub(super) fn keeps_pace(&self) -> bool {
        self.facts.modes.waits_for_host()
    }

    /// Runs the launches that begin by the cycle `until`, calling `on_launch` whenever one ends.
    ///
    /// If kernels may wait for the host, launches are simulated only up to `until`; otherwise to
    /// their end. The host will not access the chip before the cycle `seen_until`.
    pub(super) fn carry_on(&mut self, until: u64, seen_until: u64, on_launch: &mut dyn FnMut()) {
        let keeps_pace = self.keeps_pace();
        let pause = if keeps_pace { until } else { u64::MAX };
        for UnderWay { launch_index, .. } in &self.schedule.under_way {
            let running = self.cores.iter_mut().filter(|core| core.runs(*launch_index));
            running.for_each(|core| core.tile_mut().journal.see_until(seen_until));
        }
        loop {
            while let Some(go_cycle) = self.next_go_cycle().filter(|go_cycle| *go_cycle <= until) {
                self.begin_next(go_cycle, seen_until);
                if !keeps_pace {
                    break;
                }
            }
            if self.schedule.under_way.is_empty() || !self.advance(pause, on_launch) {
                break;
            }
        }
        if keeps_pace && until < u64::MAX {
            self.schedule.seen_until = self.schedule.seen_until.max(until);
        }
    }

    /// Begins the next launch of the queue.
    fn begin_next(&mut self, go_cycle: u64, seen_until: u64) {
        let Some(Queued { launch, .. }) = self.queue.pop_front() else { return };
        if seen_until == u64::MAX && !self.keeps_pace() {
            self.dram.land_until(go_cycle);
        }
        self.announce(&launch, go_cycle);
        self.schedule.note(launch.sub_device, go_cycle, go_cycle);
        let launch_index = self.next_index();
        self.begin(&Arc::new(launch), launch_index, (go_cycle, seen_until));
    }

    /// Begins a launch at the cycle `go_cycle`. The host will not access the chip before the cycle
    /// `seen_until`.
    pub(super) fn begin(
        &mut self,
        launch: &Arc<Launch>,
        launch_index: u64,
        (go_cycle, seen_until): (u64, u64),
    ) {
        self.flights.begin(go_cycle);
        let (chip, rules) = (&self.facts, &self.rules);
        let job = Job { launch, launch_index, go_cycle, seen_until, chip, rules };
        core::begin(&mut self.cores, &job);
        let launch = Arc::clone(launch);
        self.schedule.under_way.push(UnderWay { launch, launch_index, go_cycle });
    }

    /// Runs the cores up to the cycle `pause`. Ends each launch whose cores are all at rest, and
    /// returns true if one of these launches runs a program.
    pub(super) fn advance(&mut self, pause: u64, on_launch: &mut dyn FnMut()) -> bool {
        let parts = (&mut self.cores[..], &mut self.dram, &mut self.flights);
        core::run_windows(parts, &self.facts, pause);
        traffic::issue_host_writes(&mut self.cores, &mut self.host_memory);
        let cores = &self.cores;
        let is_over = |one: &mut UnderWay| {
            let mut running = cores.iter().filter(|core| core.runs(one.launch_index));
            running.all(Core::is_at_rest)
        };
        let mut finished: Vec<_> = self.schedule.under_way.extract_if(.., is_over).collect();
        finished.sort_by_key(UnderWay::is_program);
        let mut has_ended = false;
        for one in finished {
            let outcomes = core::end(&mut self.cores, one.launch_index);
            let done_cycle = self.take(outcomes, one.go_cycle);
            if one.is_program() {
                self.schedule.note(one.launch.sub_device, one.go_cycle, done_cycle);
                on_launch();
                has_ended = true;
            }
        }
        has_ended
    }
}
