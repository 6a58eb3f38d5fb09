//! A core for tests: five RISCs on one control vector, with a NoC that is as late as it may
//! be, and a decoder that shares no code with the runtime.

pub(crate) mod oracle;
pub(crate) mod rig;

pub(crate) use oracle::{Kept, Run};
pub(crate) use rig::{Rig, TestPort};
