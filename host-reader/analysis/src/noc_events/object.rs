//! One object of a `noc_trace_*.json`.

use crate::noc_events::payload::RawCoord;
use serde::{Deserialize, Serialize};

/// One object of a `noc_trace_*.json`: the start or end of a zone, or an event.
///
/// Fields are named and ordered as in the file. Early versions of the format also contain `run_id`,
/// `dst_device_id` and `kernel_start_delta`, and call the phases of a zone `begin` and `end`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceObject {
    /// Targets of a fabric packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst: Option<Vec<Destination>>,
    /// Address of the target within its tile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst_addr: Option<u32>,
    /// Chip of the target; only in early versions of the format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst_device_id: Option<u32>,
    /// Column of the target on NoC 0. If the event has no target, early versions of the format
    /// contain -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dx: Option<i32>,
    /// Row of the target on NoC 0. If the event has no target, early versions of the format contain
    /// -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dy: Option<i32>,
    /// Route of a fabric packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric_send: Option<FabricSend>,
    /// Cycles since the kernel's start; only in early versions of the format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_start_delta: Option<i64>,
    /// NoC 0 column of the corner at which a multicast rectangle ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcast_end_x: Option<i32>,
    /// NoC 0 row of the corner at which a multicast rectangle ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcast_end_y: Option<i32>,
    /// NoC 0 column of the corner at which a multicast rectangle starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcast_start_x: Option<i32>,
    /// NoC 0 row of the corner at which a multicast rectangle starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcast_start_y: Option<i32>,
    /// Network: `NOC_0`, `NOC_1` or `UNDEF`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noc: Option<String>,
    /// Value of the NoC's transfer counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noc_status_counter: Option<u16>,
    /// Payload in bytes, rounded up to a multiple of 32.
    ///
    /// An event can record at most 131,040 bytes, or 8,160 bytes before TT-Metal 0.81.1. If this is
    /// the maximum, the real payload may be larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_bytes: Option<u64>,
    /// Name of the op.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_name: Option<String>,
    /// Always `null` in events with addresses; TT-Metal never sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub posted: Option<serde_json::Value>,
    /// Label of the RISC that recorded the object.
    pub proc: String,
    /// Id of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_host_id: Option<u32>,
    /// Number of the run; only in early versions of the format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<u32>,
    /// Address of the source within its tile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_addr: Option<u32>,
    /// Chip that recorded the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_device_id: Option<u32>,
    /// Column of the core that recorded the event.
    pub sx: u16,
    /// Row of the core that recorded the event.
    pub sy: u16,
    /// Time in cycles of the chip's clock.
    pub timestamp: u64,
    /// Kind of the event, such as `WRITE_`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// Coordinates that the kernel used for the target, if the target's tile is unknown. Not part
    /// of the file.
    #[serde(skip)]
    pub unplaced_target: Option<RawCoord>,
    /// Virtual channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vc: Option<i8>,
    /// Name of the zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Phase of the zone: `ZONE_START` or `ZONE_END`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_phase: Option<String>,
}

impl TraceObject {
    /// Returns true if the object is the start of a kernel.
    #[must_use]
    pub fn is_kernel_start(&self) -> bool {
        let is_start = matches!(self.zone_phase.as_deref(), Some("ZONE_START" | "begin"));
        is_start && self.zone.as_deref().is_some_and(|zone| zone.ends_with("-KERNEL"))
    }
}

/// One target of a fabric packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// Column on the receiving chip.
    pub dx: u16,
    /// Row on the receiving chip.
    pub dy: u16,
    /// Network on the receiving chip.
    pub noc: String,
    /// Bytes for this target; negative if the other targets' sizes add up to more than the packet's
    /// size.
    pub num_bytes: i64,
}

/// Route of a fabric packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FabricSend {
    /// Number of hops east. Used only for routes on a mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub e_hops: Option<u8>,
    /// Ethernet channel through which the packet leaves the chip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eth_chan: Option<u16>,
    /// Core that forwards packets to the router.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric_mux: Option<FabricMux>,
    /// True if all chips on the route receive the packet. Used only for routes on a mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_mcast: Option<bool>,
    /// Number of hops north or south. Used only for routes on a mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_hops: Option<u8>,
    /// Number of chips that receive the packet. Used only for routes along a line of chips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<u32>,
    /// Number of hops to the first chip that receives the packet. Used only for routes along a line
    /// of chips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_distance: Option<u32>,
    /// Number of hops west. Used only for routes on a mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub w_hops: Option<u8>,
}

/// Core that forwards fabric packets to a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FabricMux {
    /// Network over which the core writes to the router.
    pub noc: String,
    /// NoC 0 column of the core.
    pub x: u16,
    /// NoC 0 row of the core.
    pub y: u16,
}
