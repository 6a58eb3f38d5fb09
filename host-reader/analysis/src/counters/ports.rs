//! Ports of a core's L1, grouped by use. Each list contains the names for all architectures; a core
//! reports only the names of its own architecture.

pub(crate) const RING_0: &[&str] = &[
    "L1_0_NOC_RING0_OUTGOING_0",
    "L1_0_NOC_RING0_OUTGOING_1",
    "L1_0_NOC_RING0_INCOMING_0",
    "L1_0_NOC_RING0_INCOMING_1",
    "L1_2_NOC_RING0_OUTGOING_2",
    "L1_2_NOC_RING0_OUTGOING_3",
    "L1_2_NOC_RING0_INCOMING_2",
    "L1_2_NOC_RING0_INCOMING_3",
];
pub(crate) const RING_1: &[&str] = &[
    "L1_1_NOC_RING1_OUTGOING_0",
    "L1_1_NOC_RING1_OUTGOING_1",
    "L1_1_NOC_RING1_INCOMING_0",
    "L1_1_NOC_RING1_INCOMING_1",
    "L1_3_NOC_RING1_OUTGOING_2",
    "L1_3_NOC_RING1_OUTGOING_3",
    "L1_3_NOC_RING1_INCOMING_2",
    "L1_3_NOC_RING1_INCOMING_3",
];
/// Outgoing ports of NoC ring 0. Every architecture with L1 counters has these ports.
pub(crate) const RING_0_OUTGOING: &[&str] =
    &["L1_0_NOC_RING0_OUTGOING_0", "L1_0_NOC_RING0_OUTGOING_1"];
pub(crate) const RING_0_INCOMING: &[&str] =
    &["L1_0_NOC_RING0_INCOMING_0", "L1_0_NOC_RING0_INCOMING_1"];
pub(crate) const RING_1_OUTGOING: &[&str] =
    &["L1_1_NOC_RING1_OUTGOING_0", "L1_1_NOC_RING1_OUTGOING_1"];
pub(crate) const RING_1_INCOMING: &[&str] =
    &["L1_1_NOC_RING1_INCOMING_0", "L1_1_NOC_RING1_INCOMING_1"];
pub(crate) const UNPACKER: &[&str] = &["L1_0_UNPACKER_0"];
/// Port 1. On Wormhole, the packer uses it; on Blackhole, the second unpacker uses it.
pub(crate) const PORT_1: &[&str] = &["L1_0_UNPACKER_1_ECC_PACK1", "L1_0_UNPACKER_1_ECC"];
/// Counters of granted requests at port 1, in the order of [`PORT_1`].
pub(crate) const PORT_1_GRANTS: [&str; 2] = ["L1_0_PORT1_GRANT", "L1_0_UNPACKER_1_ECC_GRANT"];
pub(crate) const PORT_2: &[&str] = &["L1_0_TDMA_BUNDLE_0_RISC"];
pub(crate) const PORT_8: &[&str] = &["L1_1_TDMA_PACKER_2", "L1_1_PACKER_IF_0"];
pub(crate) const BUNDLES: &[&str] = &["L1_0_TDMA_BUNDLE_0_RISC", "L1_0_TDMA_BUNDLE_1_TRISC"];
pub(crate) const UNPACKER_1_EXTENDED: &[&str] = &[
    "L1_1_EXT_UNPACKER_1",
    "L1_1_EXT_UNPACKER_2",
    "L1_1_EXT_UNPACKER_3",
    "L1_1_UNPACKER1_EXT_IF_1",
    "L1_1_UNPACKER1_EXT_IF_2",
    "L1_1_UNPACKER1_EXT_IF_3",
    "L1_2_UNPACKER1_EXT_IF_4",
    "L1_2_UNPACKER1_EXT_IF_5",
    "L1_2_UNPACKER1_EXT_IF_6",
    "L1_2_UNPACKER1_EXT_IF_7",
];
pub(crate) const UNPACKER_0_EXTENDED: &[&str] = &[
    "L1_4_UNPACKER0_EXT_IF_1",
    "L1_4_UNPACKER0_EXT_IF_2",
    "L1_4_UNPACKER0_EXT_IF_3",
    "L1_4_UNPACKER0_EXT_IF_4",
    "L1_4_UNPACKER0_EXT_IF_5",
    "L1_5_UNPACKER0_EXT_IF_6",
    "L1_5_UNPACKER0_EXT_IF_7",
];
pub(crate) const PACKERS: &[&str] = &[
    "L1_3_EXT_PACKER_2",
    "L1_3_EXT_PACKER_3",
    "L1_3_EXT_PACKER_4",
    "L1_3_EXT_PACKER_5",
    "L1_4_EXT_PACKER_6",
    "L1_4_EXT_PACKER_7",
    "L1_4_PACKER_IF_1_TAG_SEARCH",
];
/// All ports, without repetition.
pub(crate) const ALL: [&[&str]; 9] = [
    RING_0,
    RING_1,
    UNPACKER,
    PORT_1,
    PORT_8,
    UNPACKER_1_EXTENDED,
    UNPACKER_0_EXTENDED,
    PACKERS,
    BUNDLES,
];

/// Returns the name of the counter for a port's granted requests.
pub(crate) fn grant_of(port: &str) -> String {
    format!("{port}_GRANT")
}
