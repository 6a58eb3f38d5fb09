//! Exports to Tracy, as a file and live, compared with the recorded events: read back by a strict
//! reader, taken by a strict viewer of every version of the protocol, and by the capture tool of a
//! package where one is installed.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod container;
mod cursor;
mod file;
mod host;
mod items;
mod live;
mod reader;
mod recorded;
mod taken;
mod versions;
mod viewer;
