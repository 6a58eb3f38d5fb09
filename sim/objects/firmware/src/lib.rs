//! The firmware of the RISCs of a core.
//!
//! ```text
//! BRISC / ERISC                         NCRISC, TRISCs
//! -------------                         --------------
//! boots, releases the others ---------> boot
//! waits for GO                          wait for GO
//! main zone opens
//! validates, sets the program id
//! starts them ------------------------> main zone opens
//! kernel in its zone                    kernel in its zone
//! waits until all are done <----------- main zone closes, done
//! done: the dispatcher continues
//! main zone closes: push
//! ```
//!
//! One library contains the code of every processor. A linker script and an entry point turn it
//! into the firmware of one processor.
//!
//! # Compatibility
//! The order of steps is from `brisc.cc`, `ncrisc.cc`, `trisc.cc` and `active_erisc.cc`, except
//! that here a subordinate closes its main zone before it signals that it is done.

#![no_std]

mod hardware;
#[path = "../../../src/machine/mailbox.rs"]
#[allow(dead_code, reason = "some words are for the simulator only")]
mod mailbox;

use hardware::{
    boot, call_kernel, empty_instruction_caches, release_subordinates, set_byte, spin,
    wait_for_byte, word,
};
use kernel_profiler::{
    device_increment_trace_count, device_profiler_init, device_trace_only_profiler_init,
    device_validate_profiler, device_zone_scoped_main, device_zone_scoped_main_child,
    device_zone_set_counter, read_perf_counters, start_perf_counters, stop_perf_counters,
};
use mailbox::{
    COUNTER_GROUPS, ENABLES, GO, LATE, LATE_CYCLES, PROGRAM_ID, REPLAYS_BEGUN, RISC_COUNT, STAGE,
    SYNC, signal, stage,
};

/// Firmware of BRISC, which leads a Tensix core.
fn brisc() -> ! {
    boot(0);
    device_profiler_init!();
    for risc in 1..word(RISC_COUNT) {
        set_byte(SYNC + risc, signal::INIT);
    }
    release_subordinates();
    for risc in 1..word(RISC_COUNT) {
        wait_for_byte(SYNC + risc, signal::DONE);
    }
    loop {
        wait_for_launch();
        device_zone_scoped_main!("BRISC-FW");
        let enables = begin_launch();
        empty_instruction_caches();
        start_subordinates(enables);
        run_kernel(0, enables, || {
            device_zone_scoped_main_child!("BRISC-KERNEL");
            call_kernel(0);
        });
        for risc in subordinates(enables) {
            wait_for_byte(SYNC + risc, signal::DONE);
        }
        if cfg!(feature = "perf-counters") {
            read_counters(enables);
        }
        set_byte(GO, signal::DONE);
    }
}

/// Reads the hardware counters if TRISC 1, which starts them, has a kernel in this launch. If not,
/// the counters still hold the counts of an earlier launch.
#[inline(always)]
fn read_counters(enables: u32) {
    let groups = word(COUNTER_GROUPS);
    stop_perf_counters!(groups);
    if enables >> COUNTING_RISC & 1 != 0 {
        read_perf_counters!(groups);
    }
}

/// Firmware of NCRISC, a subordinate of BRISC.
fn ncrisc() -> ! {
    boot(1);
    set_byte(SYNC + 1, signal::DONE);
    loop {
        wait_for_byte(SYNC + 1, signal::GO);
        {
            device_zone_scoped_main!("NCRISC-FW");
            run_kernel(1, word(ENABLES), || {
                device_zone_scoped_main_child!("NCRISC-KERNEL");
                call_kernel(1);
            });
            wait_if_late(1);
        }
        set_byte(SYNC + 1, signal::DONE);
    }
}

/// Firmware of a TRISC, a subordinate of BRISC.
#[inline(always)]
fn trisc(risc: u32) -> ! {
    boot(risc);
    set_byte(SYNC + risc, signal::DONE);
    loop {
        wait_for_byte(SYNC + risc, signal::GO);
        {
            device_zone_scoped_main!("TRISC-FW");
            run_kernel(risc, word(ENABLES), || {
                if cfg!(feature = "perf-counters") && risc == COUNTING_RISC {
                    start_perf_counters!(word(COUNTER_GROUPS));
                }
                device_zone_scoped_main_child!("TRISC-KERNEL");
                call_kernel(risc);
            });
            wait_if_late(risc);
        }
        set_byte(SYNC + risc, signal::DONE);
    }
}

/// The RISC that starts the hardware counters: TRISC 1.
const COUNTING_RISC: u32 = 3;

/// Runs the firmware of an Ethernet core with a connected link. The core has only one RISC.
fn erisc() -> ! {
    boot(0);
    device_profiler_init!();
    loop {
        wait_for_launch();
        device_zone_scoped_main!("ERISC-FW");
        lead_alone();
    }
}

/// Runs the firmware of an Ethernet core without a connected link. The core has only one RISC.
fn idle_erisc() -> ! {
    boot(0);
    device_profiler_init!();
    loop {
        wait_for_launch();
        device_zone_scoped_main!("ERISC-IDLE-FW");
        lead_alone();
    }
}

#[inline(always)]
fn lead_alone() {
    let enables = begin_launch();
    run_kernel(0, enables, || {
        device_zone_scoped_main_child!("ERISC-KERNEL");
        call_kernel(0);
    });
    set_byte(GO, signal::DONE);
}

#[inline(always)]
fn wait_for_launch() {
    wait_for_byte(GO, signal::GO);
    for _ in 0..word(REPLAYS_BEGUN) {
        if cfg!(feature = "trace-only") {
            device_trace_only_profiler_init!();
        }
        device_increment_trace_count!();
    }
}

/// Announces a launch to the profiler; returns a mask of the RISCs that have a kernel in the
/// launch.
#[inline(always)]
fn begin_launch() -> u32 {
    let enables = word(ENABLES);
    device_validate_profiler!(enables);
    device_zone_set_counter!(word(PROGRAM_ID));
    enables
}

#[inline(always)]
fn start_subordinates(enables: u32) {
    for risc in subordinates(enables) {
        set_byte(SYNC + risc, signal::GO);
    }
}

#[inline(always)]
fn subordinates(enables: u32) -> impl Iterator<Item = u32> {
    (1..word(RISC_COUNT)).filter(move |risc| enables >> risc & 1 != 0)
}

#[inline(always)]
fn run_kernel(risc: u32, enables: u32, run: impl FnOnce()) {
    if enables >> risc & 1 != 0 {
        set_byte(STAGE + risc, stage::BEGINS);
        run();
        set_byte(STAGE + risc, stage::ENDED);
    }
}

/// Simulates a fault that a user can request: the RISC first signals that it is done, and closes
/// its main zone some cycles later.
///
/// # Compatibility
/// In tt-metal, every subordinate closes its main zone after its signal in every launch, but only a
/// few cycles later.
#[inline(always)]
fn wait_if_late(risc: u32) {
    if word(LATE) >> risc & 1 != 0 {
        set_byte(SYNC + risc, signal::DONE);
        spin(word(LATE_CYCLES + 4 * risc));
    }
}
