//! Blocked waits: total cycles per object that the kernel waited for and, on request, a record of
//! each wait.
//!
//! A wait polls. If the first poll is not successful, the clock is read, and read again after the
//! successful poll, so a wait that does not block costs nothing. The cycles are added up in the
//! RISC's local RAM by kind and key ([`wire::wait`]); a kind and a key identify an object. At the
//! end of the kernel's zone, one record per object is written, with the time of that end, and the
//! totals are cleared. The totals are variables of the firmware, which zeroes them at boot, because
//! a kernel's own variables are not cleared.
//!
//! Individual waits and signals may be recorded only in windows of time ([`Port::sync_windows`]).
//! Waits and signals outside of a window do not count as lost, and the totals still include such
//! waits.
//!
//! The totals have room for [`OBJECTS_MAX`] objects. If a kernel waits for more objects, each wait
//! for one of the additional objects counts as a lost data record. A total for which L1 has no room
//! also counts as a lost data record.

pub use crate::port::WaitRecords;
use crate::{
    accumulate,
    launch::Scope,
    port::{ClockWords, Port},
    state::State,
};
use wire::{
    Header, PacketKind, ZoneId,
    loss::LossKind,
    wait::{BlockedWait, WaitKind, WaitTotal, WindowedWait},
};

/// Maximum number of objects for which one kernel's waits can be added up.
pub const OBJECTS_MAX: usize = 16;

/// Ids of the records that a wait makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitIds {
    /// Id of the record of an individual blocked wait.
    pub blocked: ZoneId,
    /// Id of the record with the total of the object.
    pub total: ZoneId,
}

/// Totals of a kernel's waits so far, by object.
// Firmware and kernels are built separately, and share this variable under its symbol.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct WaitTotals {
    objects: [WaitTotal; OBJECTS_MAX],
    count: usize,
    id: ZoneId,
}

impl WaitTotals {
    /// Creates empty totals.
    #[must_use]
    pub const fn new() -> Self {
        const NONE: WaitTotal = WaitTotal { kind: WaitKind(0), key: 0, cycles: 0, waits: 0 };
        Self { objects: [NONE; OBJECTS_MAX], count: 0, id: ZoneId(0) }
    }

    /// Adds a wait to the total of its object. Returns false if the object has no total yet and
    /// there is no room for one.
    #[must_use]
    fn add(&mut self, id: ZoneId, wait: BlockedWait) -> bool {
        self.id = id;
        let known = self.objects.iter_mut().take(self.count);
        for object in known {
            if object.key == wait.key && object.kind == wait.kind {
                object.cycles = object.cycles.saturating_add(wait.cycles);
                object.waits = object.waits.saturating_add(1);
                return true;
            }
        }
        let Some(object) = self.objects.get_mut(self.count) else { return false };
        let BlockedWait { kind, key, cycles } = wait;
        *object = WaitTotal { kind, key, cycles, waits: 1 };
        self.count += 1;
        true
    }
}

impl Default for WaitTotals {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    /// Adds a blocked wait to the total of its object, and also records the wait itself if the port
    /// records individual waits.
    pub fn add_wait<P: Port + ?Sized>(&mut self, port: &mut P, ids: WaitIds, wait: BlockedWait) {
        // The record is made first, because its time is the wait's end.
        if port.wait_records() == WaitRecords::Events {
            self.record_wait(port, ids.blocked, wait);
        }
        if !self.waits().add(ids.total, wait) {
            port.count_loss(LossKind::Data);
        }
    }

    /// Records an individual wait. If the port has windows, a wait outside of all windows is
    /// skipped.
    fn record_wait<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId, wait: BlockedWait) {
        let Some(windows) = port.sync_windows() else {
            return self.record_data_16b(port, id, wait.to_data());
        };
        let ended = port.now();
        if windows.has_wait(ended.low.wrapping_sub(wait.cycles), ended.low) {
            let wait = WindowedWait { wait, windows, phase: windows.phase(ended.low) };
            self.record_data_16b_at(port, id, wait.to_data(), ended);
        }
    }

    /// Records a signal. If the port has windows, a signal outside of all windows is skipped.
    #[inline(always)]
    pub fn record_signal<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId, data: u64) {
        let Some(windows) = port.sync_windows() else { return self.record_data(port, id, data) };
        let now = port.now();
        if windows.is_open(now.low) {
            self.record_data_at(port, id, data, now);
        }
    }

    /// Writes and clears the totals of a kernel's waits.
    pub(crate) fn write_wait_totals<P: Port + ?Sized>(&mut self, port: &mut P) {
        let WaitTotals { count, id, .. } = *self.waits();
        for index in 0..count {
            let object = self.waits().objects.get(index).copied();
            if let Some(total) = object {
                let ended = kernels_end(port);
                self.record_data_16b_at(port, id, total.to_data(), ended);
            }
        }
        self.waits().count = 0;
    }
}

/// Returns the time at which the kernel ended, or the current time if no kernel has ended.
///
/// The host decodes the marker of the kernel's end after all other records of the kernel, including
/// the totals. If the totals had the current time, they would be later than this marker, and the
/// host would report that time steps backwards.
fn kernels_end<P: Port + ?Sized>(port: &mut P) -> ClockWords {
    const END: u32 = Header::prefix(PacketKind::ZoneEnd, ZoneId(0));
    const KIND_MASK: u32 = 0xF000_0000;
    if port.is_streaming() {
        return port.now();
    }
    let end = accumulate::own_run(port) + Scope::MainChild.end();
    let (high, low) = (port.load(end), port.load(end + 4));
    if high & KIND_MASK == END { ClockWords { high, low } } else { port.now() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(kind: u8, key: u32, cycles: u32) -> BlockedWait {
        BlockedWait { kind: WaitKind(kind), key, cycles }
    }

    #[test]
    fn waits_add_up_by_kind_and_key() {
        let mut totals = WaitTotals::new();
        for (kind, key, cycles) in [(1, 0, 10), (2, 0, 100), (1, 1, 1_000), (1, 0, 7)] {
            assert!(totals.add(ZoneId(9), wait(kind, key, cycles)));
        }
        let expected = [(1, 0, 17, 2), (2, 0, 100, 1), (1, 1, 1_000, 1)];
        let found = totals.objects[..totals.count].iter();
        let found: std::vec::Vec<_> =
            found.map(|total| (total.kind.0, total.key, total.cycles, total.waits)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sums_saturate_and_one_object_too_many_is_refused() {
        let mut totals = WaitTotals::new();
        for key in 0..16 {
            assert!(totals.add(ZoneId(9), wait(3, key, u32::MAX)));
        }
        assert!(!totals.add(ZoneId(9), wait(3, 16, 1)));
        assert!(totals.add(ZoneId(9), wait(3, 15, 1)));
        assert_eq!((totals.objects[15].cycles, totals.objects[15].waits), (u32::MAX, 2));
    }
}
