//! The kernels of the dispatch cores: what the simulator's `dispatch::kernels` does natively.
//!
//! The launch brings the commands, and as its only argument the low word of the tile's clock when
//! the queue was opened, from which the times of the commands count.

use crate::{
    body::Environment,
    risc::{Launch, wall_clock_low},
};
use kernel_profiler::{device_timestamped_data, device_zone_scoped};

/// Words before the first command: how many there are, and the cycles that each one takes.
const HEAD_WORDS: u32 = 2;
/// Words of a command: its number, the sort of its further data and that data, in 8, 8 and 16
/// bits; when it arrives; when it can be done at the earliest.
const COMMAND_WORDS: u32 = 3;

/// A command with its times.
struct Due {
    head: u32,
    arrives_at: u32,
    done_at: u32,
}

impl Due {
    const fn id(&self) -> u64 {
        (self.head & 0xFF) as u64
    }

    const fn sort(&self) -> u32 {
        self.head >> 8 & 0xFF
    }

    const fn data(&self) -> u64 {
        (self.head >> 16) as u64
    }
}

/// The clock's low word when the queue was opened.
#[derive(Clone, Copy)]
struct Opened(u32);

impl Opened {
    #[inline(always)]
    fn wait_until(self, cycle: u32) {
        while wall_clock_low().wrapping_sub(self.0) < cycle {}
    }
}

/// Does something for each command that the launch has brought.
#[inline(always)]
fn for_each(launch: &mut Launch, action: impl Fn(Opened, &Due)) {
    let opened = Opened(launch.arg(0));
    let cycles = launch.data(1);
    for number in 0..launch.data(0) {
        let first = HEAD_WORDS + COMMAND_WORDS * number;
        let [head, arrives_at, done_at] = [0, 1, 2].map(|word| launch.data(first + word));
        action(opened, &Due { head, arrives_at, done_at });
        launch.spin(cycles);
    }
}

pub(crate) fn dispatch_prefetch(launch: &mut Launch) {
    for_each(launch, |opened, due| {
        device_zone_scoped!("CQ-PREFETCH");
        opened.wait_until(due.arrives_at);
    });
}

pub(crate) fn dispatch_commands(launch: &mut Launch) {
    for_each(launch, |opened, due| {
        opened.wait_until(due.arrives_at);
        device_zone_scoped!("CQ-DISPATCH");
        device_timestamped_data!("process_cmd_d_dispatch", due.id());
        match due.sort() {
            1 => device_timestamped_data!("runtime_host_id_dispatch", due.data()),
            2 => device_timestamped_data!("packed_data_dispatch", due.data()),
            3 => device_timestamped_data!("packed_large_data_dispatch", due.data()),
            _ => {}
        }
    });
}

pub(crate) fn dispatch_announce(launch: &mut Launch) {
    for_each(launch, |opened, due| {
        device_zone_scoped!("CQ-DISPATCH-SUBORDINATE");
        opened.wait_until(due.arrives_at);
        device_timestamped_data!("process_cmd_d_dispatch_subordinate", due.id());
        opened.wait_until(due.done_at);
    });
}
