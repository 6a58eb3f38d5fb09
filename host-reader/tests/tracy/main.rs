//! Compares exports to Tracy with the recorded events.
//!
//! Files are read back by a strict reader. Live exports are received by a strict viewer in every
//! version of the protocol, and by a package's capture tool if it is installed.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod container;
mod cursor;
mod feed;
mod file;
mod host;
mod items;
mod live;
mod reader;
mod recorded;
mod taken;
mod versions;
mod viewer;
