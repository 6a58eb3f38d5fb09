//! Constants of NoC events and of locks of memory.

use crate::{first_bit, source::Source};
use wire::{
    noc_event::{
        FabricRoute, LocalNocEvent, NocCounter, NocEventKind, NocTarget, NocTrailer, pack_fabric,
        pack_fabric_line, pack_fabric_scatter,
    },
    scoped_lock::{self, LockEvent, LockEventKind},
};

/// Returns the constants of NoC events and locks.
pub(crate) fn constants() -> Source {
    let mut source = Source::new(&[
        "NoC events and locks of memory, under the names of tt-metal's `event_metadata.hpp` and",
        "`noc_debugging_metadata.hpp`, for builds outside of tt-metal.",
    ]);
    source.open_namespace("kernel_profiler");
    add_types(&mut source);
    source.open_namespace("detail");
    add_sets(&mut source);
    add_address(&mut source);
    add_fields(&mut source);
    add_trailer(&mut source);
    add_fabric(&mut source);
    add_locks(&mut source);
    source.close_namespace("detail");
    source.close_namespace("kernel_profiler");
    source
}

fn add_types(source: &mut Source) {
    source.comment("Type of a NoC event.");
    let mut types = vec![("UNDEF", 0)];
    types.extend(KINDS.map(|(kind, name)| (name, kind.number().into())));
    source.enumeration("enum class NocEventType : uint8_t", &types);
    source.comment("Form of a fabric packet's route.");
    source.enumeration(
        "enum class FabricPacketType : uint8_t",
        &[
            ("REGULAR", FabricRoute::Regular as u32),
            ("LOW_LATENCY", FabricRoute::LowLatency as u32),
            ("LOW_LATENCY_MESH", FabricRoute::LowLatencyMesh as u32),
            ("DYNAMIC_MESH", FabricRoute::DynamicMesh as u32),
        ],
    );
    source.comment("Type of a lock's event.");
    let types = LockEventKind::ALL.map(|kind| (kind.label(), kind as u32));
    source.enumeration("enum class NocDebugEventType : uint8_t", &types);
}

fn add_sets(source: &mut Source) {
    let counted = |counter| move |kind: NocEventKind| kind.counter(false) == Some(counter);
    source.comment(
        "Sets of NoC event types, one bit per type: recorded on request only, of several tiles, and",
    );
    source.line("/// with a counter of writes or of reads.");
    source.set("NOC_DEBUG_ONLY_EVENTS", numbers(NocEventKind::is_debug_only));
    source.set("NOC_MULTICAST_EVENTS", numbers(NocEventKind::is_multicast));
    source.set("NOC_WRITE_EVENTS", numbers(counted(NocCounter::WritesSent)));
    source.set("NOC_READ_EVENTS", numbers(counted(NocCounter::ReadResponses)));
    source.comment("Counters of a NoC, as indices of their registers.");
    source.constants(&[
        ("NOC_READ_RESPONSES", NocCounter::ReadResponses as u32),
        ("NOC_WRITES_SENT", NocCounter::WritesSent as u32),
        ("NOC_POSTED_WRITES_SENT", NocCounter::PostedWritesSent as u32),
    ]);
}

fn numbers(is_in: impl Fn(NocEventKind) -> bool) -> impl Iterator<Item = u8> {
    KINDS.into_iter().filter(move |(kind, _)| is_in(*kind)).map(|(kind, _)| kind.number())
}

/// Adds the positions of a tile's coordinates in a NoC address.
fn add_address(source: &mut Source) {
    let bit_of =
        |axis: usize| (0..64_u32).find(|bit| NocTarget::tile(1 << bit).first[axis] == 1).unwrap();
    source.comment(
        "Coordinates in a NoC address: first bit of x, and width of each coordinate in bits.",
    );
    source.constants(&[
        ("NOC_ADDRESS_BITS", bit_of(0)),
        ("NOC_COORDINATE_BITS", bit_of(1) - bit_of(0)),
    ]);
}

const PLAIN: LocalNocEvent = LocalNocEvent {
    kind: NocEventKind::Write,
    target: NocTarget { first: [0, 0], last: [0, 0] },
    byte_count: 0,
    virtual_channel: 0,
    is_posted: false,
    noc: 0,
};

fn add_fields(source: &mut Source) {
    let plain = PLAIN.pack();
    let bit = |event: LocalNocEvent| first_bit(plain, event.pack());
    let target = |first, last| LocalNocEvent { target: NocTarget { first, last }, ..PLAIN };
    let chunk_shift = bit(LocalNocEvent { byte_count: 1, ..PLAIN });
    let chunks = |byte_count| (LocalNocEvent { byte_count, ..PLAIN }.pack() ^ plain) >> chunk_shift;
    // Networks are numbered from 1.
    let network_shift = first_bit(0, plain & !0xFF_FFFF_FFFF);
    source.comment("First bits of the fields in an event, and the mask of its channel.");
    source.constants(&[
        ("NOC_X_SHIFT", bit(target([1, 0], [0, 0]))),
        ("NOC_Y_SHIFT", bit(target([0, 1], [0, 0]))),
        ("NOC_LAST_X_SHIFT", bit(target([0, 0], [1, 0]))),
        ("NOC_LAST_Y_SHIFT", bit(target([0, 0], [0, 1]))),
        ("NOC_NETWORK_SHIFT", network_shift),
        ("NOC_CHANNEL_SHIFT", bit(LocalNocEvent { virtual_channel: 1, ..PLAIN })),
        ("NOC_CHUNKS_SHIFT", chunk_shift),
        ("NOC_POSTED_SHIFT", bit(LocalNocEvent { is_posted: true, ..PLAIN })),
    ]);
    let channels = LocalNocEvent { virtual_channel: -1, ..PLAIN }.pack() ^ plain;
    source.masks(&[("NOC_CHANNEL_MASK", (1 << channels.count_ones()) - 1)]);
    source.comment(
        "Unit in which an event states its payload, in bytes, and maximum number of units.",
    );
    source.constants(&[
        ("NOC_CHUNK_BYTES", (1..).find(|bytes| chunks(bytes + 1) == 2).unwrap()),
        ("NOC_CHUNKS_MAX", u32::try_from(chunks(u32::MAX)).unwrap()),
    ]);
}

fn add_trailer(source: &mut Source) {
    let remote = |remote_address| NocTrailer { remote_address, ..NocTrailer::default() }.pack();
    let local = NocTrailer { local_address: 4, ..NocTrailer::default() }.pack();
    let counter = |noc_counter| NocTrailer { noc_counter, ..NocTrailer::default() }.pack();
    source.comment(
        "First bits and masks of fields in an event's second value. The two lowest bits of an",
    );
    source.line("/// address are in a field of their own above the others.");
    source.constants(&[
        ("NOC_TRAILER_LOCAL_SHIFT", first_bit(0, local)),
        ("NOC_TRAILER_COUNTER_SHIFT", first_bit(0, counter(1))),
        ("NOC_TRAILER_LOW_BITS_SHIFT", first_bit(0, remote(1))),
    ]);
    source.masks(&[
        ("NOC_TRAILER_ADDRESS_MASK", u32::try_from(remote(!3)).unwrap()),
        ("NOC_TRAILER_COUNTER_MASK", (1 << counter(u32::MAX).count_ones()) - 1),
    ]);
}

fn add_fabric(source: &mut Source) {
    let kind = NocEventKind::FabricUnicastWrite;
    let unicast = |route| pack_fabric(kind, route, [0, 0], [0, 0], 0);
    let scatter = |route, bytes, parts| pack_fabric_scatter(route, [0, 0], bytes, parts, 0);
    let [regular, other] = [FabricRoute::Regular, FabricRoute::LowLatency];
    source.comment(
        "First bits of fields in fabric packets, parts of a scatter and routes along a line.",
    );
    source.constants(&[
        ("FABRIC_ROUTE_SHIFT", first_bit(unicast(regular), unicast(other))),
        ("SCATTER_BYTES_SHIFT", first_bit(scatter(regular, 0, 0), scatter(regular, 1, 0))),
        ("SCATTER_PARTS_SHIFT", first_bit(scatter(regular, 0, 0), scatter(regular, 0, 1))),
        ("SCATTER_NETWORK_SHIFT", first_bit(0, scatter(regular, 0, 0) >> 8 << 8)),
        ("SCATTER_ROUTE_SHIFT", first_bit(scatter(regular, 0, 0), scatter(other, 0, 0))),
        ("FABRIC_LINE_SHIFT", first_bit(pack_fabric_line(0), pack_fabric_line(1))),
    ]);
}

fn add_locks(source: &mut Source) {
    let lock =
        |address, byte_count| LockEvent { kind: LockEventKind::CbLock, address, byte_count }.pack();
    source
        .comment("First bits of the fields in a lock's event, and the greatest value of a field.");
    source.constants(&[
        ("LOCK_ADDRESS_SHIFT", first_bit(lock(0, 0), lock(1, 0))),
        ("LOCK_BYTES_SHIFT", first_bit(lock(0, 0), lock(0, 1))),
    ]);
    source.masks(&[("LOCK_FIELD_MAX", scoped_lock::FIELD_MAX)]);
}

/// Kinds of NoC events with their names in tt-metal's `event_metadata.hpp`.
const KINDS: [(NocEventKind, &str); 41] = [
    (NocEventKind::Read, "READ"),
    (NocEventKind::ReadSetState, "READ_SET_STATE"),
    (NocEventKind::ReadSetTrid, "READ_SET_TRID"),
    (NocEventKind::ReadWithState, "READ_WITH_STATE"),
    (NocEventKind::ReadWithStateAndTrid, "READ_WITH_STATE_AND_TRID"),
    (NocEventKind::ReadBarrierStart, "READ_BARRIER_START"),
    (NocEventKind::ReadBarrierEnd, "READ_BARRIER_END"),
    (NocEventKind::ReadBarrierWithTrid, "READ_BARRIER_WITH_TRID"),
    (NocEventKind::ReadDramShardedSetState, "READ_DRAM_SHARDED_SET_STATE"),
    (NocEventKind::ReadDramShardedWithState, "READ_DRAM_SHARDED_WITH_STATE"),
    (NocEventKind::Write, "WRITE_"),
    (NocEventKind::WriteSetTrid, "WRITE_SET_TRID"),
    (NocEventKind::WriteWithTrid, "WRITE_WITH_TRID"),
    (NocEventKind::WriteInline, "WRITE_INLINE"),
    (NocEventKind::WriteMulticast, "WRITE_MULTICAST"),
    (NocEventKind::WriteSetState, "WRITE_SET_STATE"),
    (NocEventKind::WriteWithState, "WRITE_WITH_STATE"),
    (NocEventKind::WriteWithTridSetState, "WRITE_WITH_TRID_SET_STATE"),
    (NocEventKind::WriteWithTridWithState, "WRITE_WITH_TRID_WITH_STATE"),
    (NocEventKind::WriteBarrierStart, "WRITE_BARRIER_START"),
    (NocEventKind::WriteBarrierEnd, "WRITE_BARRIER_END"),
    (NocEventKind::WriteBarrierWithTrid, "WRITE_BARRIER_WITH_TRID"),
    (NocEventKind::WriteFlush, "WRITE_FLUSH"),
    (NocEventKind::WriteFlushWithTrid, "WRITE_FLUSH_WITH_TRID"),
    (NocEventKind::FullBarrier, "FULL_BARRIER"),
    (NocEventKind::AtomicBarrier, "ATOMIC_BARRIER"),
    (NocEventKind::SemaphoreInc, "SEMAPHORE_INC"),
    (NocEventKind::SemaphoreWait, "SEMAPHORE_WAIT"),
    (NocEventKind::SemaphoreSet, "SEMAPHORE_SET"),
    (NocEventKind::SemaphoreSetRemote, "SEMAPHORE_SET_REMOTE"),
    (NocEventKind::SemaphoreSetMulticast, "SEMAPHORE_SET_MULTICAST"),
    (NocEventKind::SemaphoreIncMulticast, "SEMAPHORE_INC_MULTICAST"),
    (NocEventKind::FabricUnicastWrite, "FABRIC_UNICAST_WRITE"),
    (NocEventKind::FabricUnicastInlineWrite, "FABRIC_UNICAST_INLINE_WRITE"),
    (NocEventKind::FabricUnicastAtomicInc, "FABRIC_UNICAST_ATOMIC_INC"),
    (NocEventKind::FabricFusedUnicastAtomicInc, "FABRIC_FUSED_UNICAST_ATOMIC_INC"),
    (NocEventKind::FabricMulticastWrite, "FABRIC_MULTICAST_WRITE"),
    (NocEventKind::FabricMulticastAtomicInc, "FABRIC_MULTICAST_ATOMIC_INC"),
    (NocEventKind::FabricUnicastScatterWrite, "FABRIC_UNICAST_SCATTER_WRITE"),
    (NocEventKind::FabricRoutingFields1d, "FABRIC_ROUTING_FIELDS_1D"),
    (NocEventKind::FabricRoutingFields2d, "FABRIC_ROUTING_METADATA_UNAVAILABLE_2D"),
];
