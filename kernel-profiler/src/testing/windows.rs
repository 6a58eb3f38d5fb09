//! Windows of time: an individual wait or signal is recorded only if it overlaps a window, and the
//! record of a wait contains the length and the period of the windows.

use super::Rig;
use crate::wait::WaitIds;
use std::vec::Vec;
use wire::{
    ZoneId,
    wait::{BlockedWait, SyncWindows, WaitKind},
};

/// Returns true if a window is open. Windows last 8 of every 64 cycles.
fn is_open(cycle: u64) -> bool {
    cycle % 64 < 8
}

#[test]
fn single_waits_and_signals_outside_of_windows_leave_no_record() {
    let mut rig = Rig::new(2048);
    rig.riscs[0].port.sync_windows = SyncWindows::new(3, 6);
    rig.launch_brisc(1, |risc| {
        let ids = WaitIds { blocked: ZoneId(0x11), total: ZoneId(0x22) };
        let mut expected: Vec<u32> = Vec::new();
        let (mut waits, mut signals) = (0, 0);
        for step in 0..45_u32 {
            let cycles = 11 * step % 90;
            let now = |ahead: u64| {
                let mut core = risc.port.core.borrow_mut();
                core.clock += ahead;
                // The probe's own reading of the clock comes one cycle later.
                core.clock + 1
            };
            let ended = now(u64::from(step * 5 % 37));
            let wait = BlockedWait { kind: WaitKind::CB_RESERVE, key: 5, cycles };
            risc.state.add_wait(&mut risc.port, ids, wait);
            if (ended - u64::from(cycles)..=ended).any(is_open) {
                let windows = (ended % 64) as u32 | 3 << 20 | 6 << 25;
                expected.extend([0xD001_1001, ended as u32, 2, 5, windows, cycles]);
                waits += 1;
            }
            let given = risc.port.core.borrow().clock + 1;
            risc.state.record_signal(&mut risc.port, ZoneId(0x33), 0x7_0000_0009);
            if is_open(given) {
                expected.extend([0xB003_3001, given as u32, 7, 9]);
                signals += 1;
            }
        }
        assert!(waits > 10 && waits < 40 && signals > 3 && signals < 20, "{waits} {signals}");
        let core = risc.port.core.borrow();
        assert_eq!(core.vectors[0][12..][..expected.len()], expected);
        assert_eq!(core.vectors[0][12 + expected.len()], 0xDEAD_BEEF, "nothing behind them");
        assert_eq!(core.control[34], 0);
    });
}
