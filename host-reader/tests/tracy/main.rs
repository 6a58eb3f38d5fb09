//! Tracy's files, held against what was recorded by a strict reader.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod container;
mod cursor;
mod file;
mod reader;
mod recorded;
