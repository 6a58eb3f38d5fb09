//! Launches that run in step with the host: in the debug dump and in streaming, where kernels may
//! wait for the host.
//!
//! Other launches are simulated to their end at once, and effects in the host's future are hidden
//! from the host. The launches here run only up to the cycle at which the host next reads or writes
//! the chip, and then continue. A launch begins when the previous launch has ended, including its
//! pushes and its waits for the host.

use super::{
    Chip, Queued,
    core::{self, Job},
    traffic,
};
use crate::program::SubDevice;
use std::sync::Arc;

/// Launches in progress.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    under_way: Vec<UnderWay>,
    /// Cycle up to which the host may have read the chip's state.
    seen_until: u64,
}

#[derive(Debug)]
struct UnderWay {
    sub_device: Option<SubDevice>,
    launch_index: u64,
    go_cycle: u64,
}

impl Pacing {
    /// Returns true if no launch is in progress.
    pub(super) const fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Returns the first cycle at which a launch may begin; `None` if a launch in progress blocks
    /// it.
    ///
    /// A launch on a sub-device waits for launches on that sub-device and on the whole chip. A
    /// launch on the whole chip waits for all launches.
    pub(super) fn free_at(&self, sub_device: Option<SubDevice>) -> Option<u64> {
        let id = |sub_device: Option<SubDevice>| sub_device.map(|SubDevice { id, .. }| id);
        let is_awaited = |other: &UnderWay| match (id(sub_device), id(other.sub_device)) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        (!self.under_way.iter().any(is_awaited)).then_some(self.seen_until)
    }
}

impl Chip {
    /// Returns true if launches run in step with the host.
    pub(super) fn keeps_pace(&self) -> bool {
        self.facts.modes.waits_for_host()
    }

    /// Runs launches up to the cycle `until`, calling `on_launch` whenever one ends. The host will
    /// not access the chip before the cycle `seen_until`.
    pub(super) fn carry_on(&mut self, until: u64, seen_until: u64, on_launch: &mut dyn FnMut()) {
        for UnderWay { launch_index, .. } in &self.pacing.under_way {
            let running = self.cores.iter_mut().filter(|core| core.runs(*launch_index));
            running.for_each(|core| core.tile_mut().journal.see_until(seen_until));
        }
        self.see_relays_until(seen_until);
        loop {
            while let Some(go_cycle) = self.next_go_cycle().filter(|go_cycle| *go_cycle <= until) {
                self.begin_next(go_cycle, seen_until);
            }
            core::run_windows((&mut self.cores, &mut self.dram), &self.facts, until);
            traffic::issue_landings(&mut self.cores, &mut self.dram);
            traffic::issue_host_writes(&mut self.cores, &mut self.host_memory);
            self.end_relays();
            if !self.end_finished(on_launch) {
                break;
            }
        }
        if until < u64::MAX {
            self.pacing.seen_until = self.pacing.seen_until.max(until);
        }
    }

    fn begin_next(&mut self, go_cycle: u64, seen_until: u64) {
        let Some(Queued { launch, .. }) = self.queue.pop_front() else { return };
        self.announce(&launch, go_cycle);
        let sub_device = launch.sub_device;
        let launch_index = self.launch_count;
        self.launch_count += 1;
        let job = Job {
            launch: &Arc::new(launch),
            launch_index,
            go_cycle,
            seen_until,
            chip: &self.facts,
            rules: &self.rules,
        };
        core::begin(&mut self.cores, &job);
        self.dispatch.note(sub_device, go_cycle, go_cycle);
        self.pacing.under_way.push(UnderWay { sub_device, launch_index, go_cycle });
    }

    /// Ends launches whose cores have all come to rest; returns false if there are none.
    fn end_finished(&mut self, on_launch: &mut dyn FnMut()) -> bool {
        let cores = &self.cores;
        let is_over = |one: &mut UnderWay| {
            let mut running = cores.iter().filter(|core| core.runs(one.launch_index));
            running.all(core::Core::is_at_rest)
        };
        let finished: Vec<_> = self.pacing.under_way.extract_if(.., is_over).collect();
        for &UnderWay { sub_device, launch_index, go_cycle } in &finished {
            let outcomes = core::end(&mut self.cores, launch_index);
            let done_cycle = self.take(outcomes, go_cycle);
            self.dispatch.note(sub_device, go_cycle, done_cycle);
            on_launch();
        }
        !finished.is_empty()
    }
}
