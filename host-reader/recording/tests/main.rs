//! Tests of recordings that are loaded from captures, logs and folders.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod device_log_captures;
mod harvesting;
mod ops_of_folders;
mod whole_file_unfinished;
