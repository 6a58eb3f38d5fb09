//! Our C++ header in tt-metal's own tree, compared with upstream's header in the same run.
//!
//! | question | module |
//! |---|---|
//! | where are the package and the compiler | [`package`] |
//! | which command lines does tt-metal use | [`toolchain`] |
//! | what does a linked program take | [`program`] |
//! | does firmware fit | [`firmware`] |
//! | do kernels compile and link | [`kernels`] |
//! | does clang take the header | [`clang`] |
//! | which functions do the tests call | [`probes`], `probes.cpp` |
//! | what do they run on | [`core`], [`noc`] |
//! | what do whole launches run on: our simulator, and Tenstorrent's | [`machine`] |
//! | what does each thing cost | [`cost`]; at every level of optimisation [`cost_matrix`] |
//! | do the pages say so | [`readme`] |
//! | what may a kernel do | [`script`] |
//! | do several launches share a push and lose nothing | [`accumulate`] |
//! | do launches under tt-metal's firmware leave what they leave under ours | [`launches`] |
//! | do both headers leave the same records | [`records`] |
//! | are NoC events the same, and what the NoC did | [`noc_events`] |
//! | do hardware counters say what the coprocessor did | [`counters`], `counters.cpp` |
//! | do files of NoC traces hold what upstream's tests count in them | [`traces`], `traces.cpp` |
//! | is every loss counted | [`losses`] |
//! | what if upstream's list of constants changes | [`changed_lists`] |
//! | how many launches do lanes hold that were made for fewer | [`overflow`], `empty.cpp` |
//! | does a RISC wait for the host in the debug dump, and not forever | [`stalls`] |
//! | who reads a core of the tests with our reader | [`reading_host`] |
//! | does our reader hand over the two buffers of upstream's debug dump | [`two_buffers`] |
//! | do waits say how long they were, and cost nothing if they find what they wait for | [`waits`], `waits.cpp` |
//! | do waits at buffers and semaphores come from whole launches as they were | [`pipeline`], `pipeline.cpp` |
//! | which single waits do windows of time leave | [`wait_windows`] |
//! | what do streamed records cost beside upstream's | [`stream_cost`], `streams.cpp` |
//! | does every streamed record arrive, or is it counted | [`streams`]; by a drain, [`stream_drain`], of scripts, [`stream_script`], in cells, [`stream_layout`] |
//! | does a push end whatever the kernel did to the NoC | [`hazards`] |

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod accumulate;
mod changed_lists;
mod clang;
mod core;
mod cost;
mod cost_matrix;
mod counters;
mod dispatch;
mod firmware;
mod hazards;
mod kernels;
mod launches;
mod losses;
mod machine;
mod memory_functions;
mod noc;
mod noc_events;
mod overflow;
mod package;
mod pipeline;
mod probes;
mod program;
mod reading_host;
mod readme;
mod records;
mod script;
mod stalls;
mod stream_cost;
mod stream_drain;
mod stream_layout;
mod stream_script;
mod streams;
mod toolchain;
mod traces;
mod turns;
mod two_buffers;
mod wait_windows;
mod waits;

/// Leaves a table for people beside what the tests build.
fn publish(name: &str, table: &str) {
    std::fs::write(toolchain::folder("tables").join(name), table).unwrap();
}
