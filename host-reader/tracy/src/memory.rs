//! Allocations in named pools, converted to plots of the bytes allocated in each pool.
//!
//! # Compatibility
//! Tracy's `TracyQueue.hpp` and `TracyProfiler.cpp` define the items. The name of a pool precedes
//! each allocation and each free. Each item of the serial queue contains the difference between its
//! time and the time of the queue's previous item. TT-Metal's pools are the kinds of memory of a
//! chip, such as `Device 0 L1` (`buffer.cpp`).

use crate::{
    fields::Fields,
    named::Named,
    protocol::ItemKind,
    queries::Queries,
    recording::{Damage, TracyPlot},
    texts::{TextRef, Texts},
};
use std::collections::HashMap;

/// Pools, which are identified by the address of their name.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    met: Named<Pool>,
    /// Address of the name of the pool to which the next item belongs.
    next_name: Option<u64>,
}

/// One pool.
#[derive(Debug, Default)]
struct Pool {
    /// Size of each allocation in bytes, by address.
    sizes: HashMap<u64, u64>,
    /// Total size of all allocations, in bytes.
    total: u64,
    /// Time in ns, total size in bytes, and thread index of each point.
    points: Vec<(i64, f64, usize)>,
    /// Address that was allocated or freed at each point; `None` if all allocations were discarded
    /// at this point.
    addresses: Vec<Option<u64>>,
}

/// One item about a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolItem {
    /// Time since the previous item of the serial queue, in ticks.
    pub(crate) distance: i64,
    /// Id of the thread.
    pub(crate) thread: u32,
    address: u64,
    size: u64,
}

impl PoolItem {
    /// Reads the fields of an item. For kinds without a size, the size is 0.
    pub(crate) fn take(kind: ItemKind, mut fields: Fields<'_>) -> Option<Self> {
        let (distance, thread, address) = (fields.i64()?, fields.u32()?, fields.u64()?);
        let size = if is_allocation(kind) {
            let [a, b, c, d, e, f] = fields.array()?;
            u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
        } else {
            0
        };
        Some(Self { distance, thread, address, size })
    }
}

const fn is_allocation(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::MemAllocNamed | ItemKind::MemAllocCallstackNamed)
}

impl Pools {
    /// Stores the address of the name of the pool to which the next item belongs.
    pub(crate) const fn set_name(&mut self, name: u64) {
        self.next_name = Some(name);
    }

    /// Processes an allocation, a free, or a discard of all allocations.
    ///
    /// Returns true if a point was kept, and `None` if the item's pool is unknown.
    ///
    /// If there is no room for a point, the allocation is not stored either. A program therefore
    /// cannot exhaust the recorder's memory.
    pub(crate) fn take(
        &mut self,
        kind: ItemKind,
        item: PoolItem,
        (time_ns, thread, has_room): (i64, usize, bool),
        (texts, queries): (&mut Texts, &mut Queries),
        damage: &mut Damage,
    ) -> Option<bool> {
        let is_of_all = matches!(kind, ItemKind::MemDiscard | ItemKind::MemDiscardCallstack);
        // If all allocations are discarded, the item contains the address of the pool's name.
        let name = if is_of_all { item.address } else { self.next_name.take()? };
        if !has_room {
            return Some(false);
        }
        let is_free = !is_of_all && !is_allocation(kind);
        let freed = if is_free { self.free(name, item.address) } else { Some(0) };
        let Some(freed) = freed else {
            damage.unmatched_frees = damage.unmatched_frees.saturating_add(1);
            return Some(false);
        };
        let pool = self.met.with_key(name, || texts.at(name, queries))?;
        if is_of_all {
            pool.sizes.clear();
            pool.total = 0;
        } else if is_allocation(kind) {
            let before = pool.sizes.insert(item.address, item.size).unwrap_or(0);
            pool.total = pool.total.saturating_sub(before).saturating_add(item.size);
        } else {
            pool.total = pool.total.saturating_sub(freed);
        }
        #[expect(clippy::cast_precision_loss, reason = "plots are of floats, as Tracy's are")]
        pool.points.push((time_ns, pool.total as f64, thread));
        pool.addresses.push((!is_of_all).then_some(item.address));
        Some(true)
    }

    /// Removes an allocation and returns its size.
    ///
    /// An unknown pool is not added. If it were added, a program could add any number of pools,
    /// because frees of unknown allocations do not count towards the limit on events.
    fn free(&mut self, name: u64, address: u64) -> Option<u64> {
        self.met.get_mut(name)?.sizes.remove(&address)
    }

    /// Returns one plot for each pool; `name` resolves the names of the pools.
    pub(crate) fn finish(self, mut name: impl FnMut(TextRef) -> Box<str>) -> Vec<TracyPlot> {
        self.met
            .items
            .into_iter()
            .map(|(text, pool)| TracyPlot {
                name: name(text),
                points: pool.points,
                addresses: pool.addresses,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        RecordingEnd,
        hostile::session,
        protocol::{Program, TracyProtocol},
    };

    /// Bytes of a frame with items of the serial queue, and the protocol version that encodes the
    /// items.
    struct Frame(Vec<u8>, &'static TracyProtocol);

    impl Frame {
        fn item(&mut self, kind: ItemKind, fields: &[&[u8]]) {
            self.0.push(self.1.code(kind).unwrap());
            fields.iter().for_each(|field| self.0.extend(*field));
        }

        fn name(&mut self, name: u64) {
            self.item(ItemKind::MemNamePayload, &[&name.to_le_bytes()]);
        }

        fn allocate(&mut self, kind: ItemKind, distance: i64, address: u64, size: u64) {
            let [distance, address] = [distance.to_le_bytes(), address.to_le_bytes()];
            let size = &size.to_le_bytes()[..6];
            self.item(kind, &[&distance, &9_u32.to_le_bytes(), &address, size]);
        }

        fn free(&mut self, kind: ItemKind, distance: i64, address: u64) {
            let [distance, address] = [distance.to_le_bytes(), address.to_le_bytes()];
            self.item(kind, &[&distance, &9_u32.to_le_bytes(), &address]);
        }
    }

    const L1: u64 = 0x500;
    const DRAM: u64 = 0x600;

    #[test]
    fn pools_become_plots_of_their_bytes_at_the_times_of_the_serial_queue() {
        use ItemKind as Kind;
        let protocol = TracyProtocol::with_number(76, Program::Stock).unwrap();
        let mut frame = Frame(Vec::new(), protocol);
        // The clock begins at tick 1,000; two ticks are one nanosecond.
        frame.name(L1);
        frame.allocate(Kind::MemAllocNamed, 1_020, 0x40, 4096);
        // A lock item and an allocation without pool only advance the time.
        frame.item(Kind::LockWait, &[&[0; 8], &40_i64.to_le_bytes()]);
        frame.item(Kind::LockRelease, &[&[0; 4], &10_i64.to_le_bytes()]);
        frame.allocate(Kind::MemAlloc, 10, 0x40, 1);
        frame.name(DRAM);
        frame.allocate(Kind::MemAllocNamed, 20, 0x40, 1 << 33);
        frame.name(L1);
        frame.allocate(Kind::MemAllocNamed, 20, 0x2000, 100);
        frame.name(L1);
        frame.free(Kind::MemFreeNamed, 20, 0x40);
        frame.name(L1);
        frame.free(Kind::MemFreeNamed, 20, 0x99);
        frame.free(Kind::MemDiscard, 20, L1);
        for (key, name) in [(L1, "Device 0 L1"), (DRAM, "Device 0 DRAM")] {
            let length = u16::try_from(name.len()).unwrap().to_le_bytes();
            frame.item(Kind::StringData, &[&key.to_le_bytes(), &length, name.as_bytes()]);
        }
        let mut session = session(protocol, 100);
        assert_eq!(session.take_frame(&frame.0), Ok(()));
        let recording = session.finish(RecordingEnd::Complete);
        let plots: Vec<_> =
            recording.plots.iter().map(|plot| (&*plot.name, &plot.points)).collect();
        let l1 = vec![(10, 4096.0, 0), (60, 4196.0, 0), (70, 100.0, 0), (90, 0.0, 0)];
        let dram = vec![(50, f64::from(1_u32 << 31) * 4.0, 0)];
        assert_eq!(plots, [("Device 0 L1", &l1), ("Device 0 DRAM", &dram)]);
        let addresses: Vec<_> = recording.plots.iter().map(|plot| plot.addresses.clone()).collect();
        let of_l1 = vec![Some(0x40), Some(0x2000), Some(0x40), None];
        assert_eq!(addresses, [of_l1, vec![Some(0x40)]]);
        assert_eq!(recording.threads[0].id, 9);
        let damage = Damage { unmatched_frees: 1, ..Damage::default() };
        assert_eq!(recording.damage, damage);
        let left_out = recording.left_out.into_iter().collect::<Vec<_>>();
        assert_eq!(left_out, [(Kind::LockWait, 1), (Kind::LockRelease, 1), (Kind::MemAlloc, 1)]);
    }

    #[test]
    fn pools_take_no_more_memory_than_the_limit_of_events_allows() {
        use ItemKind as Kind;
        let protocol = TracyProtocol::with_number(76, Program::Stock).unwrap();
        let mut frame = Frame(Vec::new(), protocol);
        // Frees in pools that have no allocations.
        for name in [0x700, 0x800] {
            frame.name(name);
            frame.free(Kind::MemFreeNamed, 1_020, 0x40);
        }
        // The second allocation, a third allocation in another pool, and a free are beyond the
        // limit.
        for (name, address) in [(L1, 0x40), (L1, 0x80), (DRAM, 0x40)] {
            frame.name(name);
            frame.allocate(Kind::MemAllocNamed, 20, address, 100);
        }
        frame.name(L1);
        frame.free(Kind::MemFreeNamed, 20, 0x40);
        frame.free(Kind::MemDiscard, 20, 0x900);
        let mut session = session(protocol, 1);
        assert_eq!(session.take_frame(&frame.0), Ok(()));
        let recording = session.finish(RecordingEnd::Complete);
        let points: Vec<_> = recording.plots.iter().map(|plot| plot.points.len()).collect();
        assert_eq!(points, [1]);
        assert_eq!(recording.plots[0].points[0].1, 100.0);
        let Damage { unmatched_frees, beyond_limit, .. } = recording.damage;
        assert_eq!((unmatched_frees, beyond_limit), (2, 4));
    }

    #[test]
    fn an_item_without_the_name_of_its_pool_is_left_out() {
        let protocol = TracyProtocol::with_number(76, Program::Stock).unwrap();
        let mut frame = Frame(Vec::new(), protocol);
        frame.allocate(ItemKind::MemAllocNamed, 1_020, 0x40, 4096);
        let mut session = session(protocol, 100);
        assert_eq!(session.take_frame(&frame.0), Ok(()));
        let recording = session.finish(RecordingEnd::Complete);
        assert!(recording.plots.is_empty());
        assert_eq!(recording.left_out[&ItemKind::MemAllocNamed], 1);
    }
}
