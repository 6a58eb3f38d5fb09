//! The kernels of the dispatch cores.
//!
//! The commands are the launch's data. The launch has one argument: the low word that the tile's
//! clock had when the command queue was opened. The commands' times count from that value.

use crate::{
    body::Environment,
    dispatch_words::{
        DATA_SHIFT, HAS_DONE, HAS_LONG_ARRIVAL, HAS_LONG_DONE, LONG_CYCLES, NUMBER_MASK, SORT_MASK,
        SORT_SHIFT,
    },
    risc::{Launch, wall_clock_low},
};
use kernel_profiler::{device_timestamped_data, device_zone_scoped};

/// The commands of a queue, read word by word.
struct Commands<'a> {
    launch: &'a Launch,
    next: u32,
    /// Low word of the clock value from which the commands' times count.
    since: u32,
    head: u32,
}

impl Commands<'_> {
    #[inline(always)]
    fn word(&mut self) -> u32 {
        let word = self.launch.data(self.next);
        self.next += 1;
        word
    }

    const fn number(&self) -> u64 {
        (self.head & NUMBER_MASK) as u64
    }

    const fn data(&self) -> u64 {
        (self.head >> DATA_SHIFT) as u64
    }

    /// Waits until the time in the next word. If `is_long`, two words give the time: the number of
    /// `LONG_CYCLES` intervals to wait first, and the cycles after these intervals.
    #[inline(always)]
    fn wait(&mut self, is_long: bool) {
        if is_long {
            return self.wait_long();
        }
        let (since, cycle) = (self.since, self.word());
        while wall_clock_low().wrapping_sub(since) < cycle {}
    }

    #[inline(always)]
    fn wait_long(&mut self) {
        for _ in 0..self.word() {
            wait_from(self.since, LONG_CYCLES);
            self.since = self.since.wrapping_add(LONG_CYCLES);
        }
        let cycle = self.word();
        wait_from(self.since, cycle);
    }

    /// Waits until the arrival time of the current command.
    #[inline(always)]
    fn await_arrival(&mut self) {
        self.wait(self.head & HAS_LONG_ARRIVAL != 0);
    }

    /// Waits until the current command's earliest completion time.
    #[inline(always)]
    fn await_done(&mut self) {
        if self.head & HAS_DONE != 0 {
            self.wait(self.head & HAS_LONG_DONE != 0);
        }
    }
}

/// Waits until `cycles` cycles after the clock value `since`. The function is not inlined, so that
/// its loop consists only of the instructions that the simulator skips.
#[inline(never)]
fn wait_from(since: u32, cycles: u32) {
    while wall_clock_low().wrapping_sub(since) < cycles {}
}

/// Calls a function for each command of the launch.
#[inline(always)]
fn for_each(launch: &Launch, action: impl Fn(&mut Commands<'_>)) {
    let mut commands = Commands { launch, next: 0, since: launch.arg(0), head: 0 };
    for _ in 0..commands.word() {
        commands.head = commands.word();
        action(&mut commands);
    }
}

pub(crate) fn dispatch_prefetch(launch: &mut Launch) {
    for_each(launch, |commands| {
        device_zone_scoped!("CQ-PREFETCH");
        commands.await_arrival();
    });
}

pub(crate) fn dispatch_commands(launch: &mut Launch) {
    for_each(launch, |commands| {
        commands.await_arrival();
        device_zone_scoped!("CQ-DISPATCH");
        device_timestamped_data!("process_cmd_d_dispatch", commands.number());
        match commands.head >> SORT_SHIFT & SORT_MASK {
            1 => device_timestamped_data!("runtime_host_id_dispatch", commands.data()),
            2 => device_timestamped_data!("packed_data_dispatch", commands.data()),
            3 => device_timestamped_data!("packed_large_data_dispatch", commands.data()),
            _ => {}
        }
    });
}

pub(crate) fn dispatch_announce(launch: &mut Launch) {
    for_each(launch, |commands| {
        device_zone_scoped!("CQ-DISPATCH-SUBORDINATE");
        commands.await_arrival();
        device_timestamped_data!("process_cmd_d_dispatch_subordinate", commands.number());
        commands.await_done();
    });
}
