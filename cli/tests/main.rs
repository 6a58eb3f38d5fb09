//! Tests of the program as a user runs it.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[cfg(unix)]
mod attach;
mod capture;
mod chip;
#[path = "../../chip/tests/support/mod.rs"]
mod chips;
mod claims;
mod cli;
mod counted;
mod debug_dump;
mod diff;
mod doubtful_counters;
mod explain;
mod explain_folder;
mod explain_recordings;
mod export;
#[cfg(target_os = "linux")]
mod export_failures;
mod file_kinds;
mod filter;
mod first_steps;
#[path = "../../host-reader/causes/tests/generated/mod.rs"]
mod generated;
mod hang_outputs;
mod hangs;
#[path = "../../host-reader/causes/tests/honest/mod.rs"]
mod honest;
mod kept;
mod lines;
mod losses_alike;
mod mcp;
mod memory;
#[cfg(feature = "parquet")]
mod merge;
mod noc;
mod op_memory;
mod ops;
#[cfg(feature = "parquet")]
mod outputs;
mod own_kernels;
mod package;
#[cfg(feature = "parquet")]
mod parquet;
mod perf;
mod perfetto;
mod program;
mod programs;
mod readme;
#[cfg(target_os = "linux")]
mod record;
mod streaming;
mod terminal;
mod trace_ids;
mod tracy;
mod tracy_live;
mod ttsim;
mod unknown_files;
mod variables;
mod what_if;
