//! Macros that record NoC events and memory locks.

/// Records a NoC event that has no target, such as a wait.
///
/// The kind is the bare name of a variant of [`NocEventKind`](crate::NocEventKind).
///
/// ```
/// use kernel_profiler::record_noc_event;
/// record_noc_event!(ReadBarrierStart, false, 0);
/// // ... wait for reads ...
/// record_noc_event!(ReadBarrierEnd, false, 0);
/// ```
///
/// # Cost
/// 4 words of L1; no cost without the feature `noc-events`.
///
/// # Compatibility
/// `RECORD_NOC_EVENT`.
#[macro_export]
macro_rules! record_noc_event {
    ($kind:ident, $posted:expr, $noc:expr $(,)?) => {
        $crate::__private::record_local_noc_event::<false>($crate::NocEventKind::$kind, || {
            let kind = $crate::NocEventKind::$kind;
            let event = $crate::__private::LocalNocEvent::without_address(kind, $posted, $noc);
            (event, [0, 0])
        })
    };
}

/// Records a transfer to or from a NoC address.
///
/// Bits 36 to 47 of the address are the tile's coordinates. For a multicast, bits 36 to 59 are the
/// coordinates of two corners of a rectangle of tiles.
///
/// ```
/// use kernel_profiler::record_noc_event_with_addr;
/// let (source, target) = (0x2_0000_u32, 0x3_0000_u64 | 18 << 36 | 25 << 42);
/// record_noc_event_with_addr!(Write, source, target, 2048, 1, false, 0);
/// ```
///
/// The addresses within the tiles are recorded only with the feature `noc-addresses`, or by
/// [`record_noc_event_with_addresses!`](crate::record_noc_event_with_addresses).
///
/// # Cost
/// The cost of [`record_noc_event!`].
///
/// # Compatibility
/// `RECORD_NOC_EVENT_WITH_ADDR`.
#[macro_export]
macro_rules! record_noc_event_with_addr {
    ($kind:ident, $local:expr, $address:expr, $bytes:expr, $vc:expr, $posted:expr, $noc:expr $(,)?) => {
        $crate::__noc_transfer!(false, $kind, $local, $address, $bytes, $vc, $posted, $noc)
    };
}

/// Records a transfer like [`record_noc_event_with_addr!`], and in addition both addresses and the
/// NoC's counter of transfers of this kind.
///
/// The counter has 12 bits. Of each address, 24 bits are recorded.
///
/// ```
/// use kernel_profiler::record_noc_event_with_addresses;
/// let (source, target) = (0x2_0000_u32, 0x3_0000_u64 | 18 << 36 | 25 << 42);
/// record_noc_event_with_addresses!(Write, source, target, 2048, 1, false, 0);
/// ```
///
/// # Cost
/// 6 words of L1 and, for a transfer, a read of a NoC register; no cost without the feature
/// `noc-events`.
///
/// # Compatibility
/// `RECORD_NOC_EVENT_WITH_ADDR` in a build with `DEVICE_DEBUG_DUMP`.
#[macro_export]
macro_rules! record_noc_event_with_addresses {
    ($kind:ident, $local:expr, $address:expr, $bytes:expr, $vc:expr, $posted:expr, $noc:expr $(,)?) => {
        $crate::__noc_transfer!(true, $kind, $local, $address, $bytes, $vc, $posted, $noc)
    };
}

/// Records a transfer, with addresses if the arguments or the features request them.
#[doc(hidden)]
#[macro_export]
macro_rules! __noc_transfer {
    (
        $has_addresses:literal, $kind:ident, $local:expr, $address:expr, $bytes:expr, $vc:expr,
        $posted:expr, $noc:expr
    ) => {
        $crate::__private::record_local_noc_event::<$has_addresses>(
            $crate::NocEventKind::$kind,
            || {
                let kind = $crate::NocEventKind::$kind;
                let (local, address): (u32, u64) = ($local, $address);
                let event = $crate::__private::LocalNocEvent {
                    kind,
                    target: $crate::NocTarget::new(kind, address),
                    byte_count: $bytes,
                    virtual_channel: $vc,
                    is_posted: $posted,
                    noc: $noc,
                };
                (event, [local, $crate::__private::low_word(address)])
            },
        )
    };
}

/// Records that a kernel begins or stops using memory of its tile.
///
/// The arguments are a variant of [`LockEventKind`](crate::LockEventKind), the first address and
/// the number of bytes.
///
/// ```
/// use kernel_profiler::record_scoped_lock_event;
/// record_scoped_lock_event!(MemLock, 0x2_0000, 2048);
/// // ... nothing else may touch these bytes ...
/// record_scoped_lock_event!(MemUnlock, 0x2_0000, 2048);
/// ```
///
/// # Cost
/// 4 words of L1; no cost without the feature `scoped-locks`, and on RISCs that do not move data.
///
/// # Compatibility
/// `RECORD_SCOPED_LOCK_EVENT`; `RECORD_DFB_REGION_CLEAR` is the kind `DfbRegionClear` with 0 as
/// address and number of bytes.
#[macro_export]
macro_rules! record_scoped_lock_event {
    ($kind:ident, $address:expr, $bytes:expr $(,)?) => {
        $crate::__private::record_lock_event(|| $crate::__private::LockEvent {
            kind: $crate::LockEventKind::$kind,
            address: $address,
            byte_count: $bytes,
        })
    };
}

/// Records a transfer like [`record_noc_event_with_addr!`]. The address is the result of the method
/// `get_noc_addr(id, offset, noc)`, called on the fourth argument.
///
/// # Compatibility
/// `RECORD_NOC_EVENT_WITH_ID`.
#[macro_export]
macro_rules! record_noc_event_with_id {
    (
        $kind:ident, $local:expr, $id:expr, $pages:expr, $offset:expr, $bytes:expr, $vc:expr,
        $posted:expr, $noc:expr $(,)?
    ) => {
        $crate::record_noc_event_with_addr!(
            $kind,
            $local,
            $pages.get_noc_addr($id, $offset, $noc),
            $bytes,
            $vc,
            $posted,
            $noc
        )
    };
}

/// Pushes if a linked transaction is about to begin on a command buffer, because no push is
/// possible during such a transaction. Does nothing if NoC events are not recorded.
///
/// # Compatibility
/// `NOC_TRACE_QUICK_PUSH_IF_LINKED`.
#[macro_export]
macro_rules! noc_trace_quick_push_if_linked {
    ($command_buffer:expr, $linked:expr $(,)?) => {
        $crate::__private::quick_push_if_linked_for_noc_events(|| ($command_buffer, $linked))
    };
}

/// Records a fabric packet to the tile of a NoC address, or to a rectangle of tiles given by two
/// corners. The packet's route must be recorded next, as a separate event.
///
/// ```
/// use kernel_profiler::{FabricRoute, record_fabric_event, record_fabric_route};
/// let address = 0x3_0000_u64 | 18 << 36 | 25 << 42;
/// record_fabric_event!(FabricUnicastWrite, FabricRoute::LowLatency, address, 0);
/// record_fabric_route!(line 0b10);
/// record_fabric_event!(FabricMulticastWrite, FabricRoute::LowLatency, [1, 2], [4, 5], 0);
/// record_fabric_route!(line 0b0101);
/// ```
///
/// # Compatibility
/// `recordFabricNocEvent` and `recordFabricNocEventMulticast`.
#[macro_export]
macro_rules! record_fabric_event {
    ($kind:ident, $route:expr, $address:expr, $noc:expr $(,)?) => {
        $crate::record_fabric_event!(
            $kind,
            $route,
            $crate::NocTarget::tile($address).first,
            [-1, -1],
            $noc
        )
    };
    ($kind:ident, $route:expr, $first:expr, $last:expr, $noc:expr $(,)?) => {
        $crate::__private::record_noc_event($crate::NocEventKind::$kind, || {
            let kind = $crate::NocEventKind::$kind;
            $crate::__private::pack_fabric(kind, $route, $first, $last, $noc)
        })
    };
}

/// Records one target of a fabric packet that writes to several addresses.
///
/// The arguments include the number of bytes for this target (0 for the last target) and the number
/// of targets.
///
/// # Compatibility
/// `recordFabricScatterEvent`.
#[macro_export]
macro_rules! record_fabric_scatter_event {
    ($route:expr, $address:expr, $bytes:expr, $parts:expr, $noc:expr $(,)?) => {
        $crate::__private::record_noc_event($crate::NocEventKind::FabricUnicastScatterWrite, || {
            let target = $crate::NocTarget::tile($address).first;
            $crate::__private::pack_fabric_scatter($route, target, $bytes, $parts, $noc)
        })
    };
}

/// Records the route of the fabric packet recorded before: `line` with the route's word, or
/// `unavailable` on a mesh.
///
/// # Compatibility
/// `recordRoutingFields1D` and `recordRoutingMetadataUnavailable2D`.
#[macro_export]
macro_rules! record_fabric_route {
    (line $value:expr) => {
        $crate::__private::record_noc_event($crate::NocEventKind::FabricRoutingFields1d, || {
            $crate::__private::pack_fabric_line($value)
        })
    };
    (unavailable) => {
        $crate::__private::record_noc_event($crate::NocEventKind::FabricRoutingFields2d, || {
            $crate::__private::FABRIC_ROUTE_UNAVAILABLE
        })
    };
}
