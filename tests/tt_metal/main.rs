//! Our C++ header in tt-metal's own tree, compared with TT-Metal's header in the same run.
//!
//! | question | module |
//! |---|---|
//! | where are the package and the compiler | [`package`] |
//! | which command lines does tt-metal use | [`toolchain`] |
//! | how large is a linked program | [`program`] |
//! | does firmware fit | [`firmware`] |
//! | do kernels compile and link | [`kernels`] |
//! | what are they linked against | [`weaken`] |
//! | does clang accept the header | [`clang`] |
//! | which functions do the tests call | [`probes`], `probes.cpp` |
//! | on which simulated core do they run | [`core`], [`noc`] |
//! | on which simulators do whole launches run: ours and Tenstorrent's | [`machine`] |
//! | what does each operation cost | [`cost`]; at every level of optimisation [`cost_matrix`] |
//! | do the pages have these figures | [`readme`] |
//! | what may a kernel do | [`script`] |
//! | do several launches share a push and lose nothing | [`accumulate`] |
//! | do launches leave the same records under tt-metal's firmware as under ours | [`launches`] |
//! | do both headers leave the same records | [`records`] |
//! | are markers that a kernel writes itself the same with both headers | [`gated`], `gated.cpp` |
//! | does each name of TT-Metal's header exist, or is it refused in a sentence | [`names`] |
//! | are NoC events the same with both headers, and as the NoC acted | [`noc_events`] |
//! | do hardware counters equal the coprocessor's activity | [`counters`], `counters.cpp` |
//! | do files of NoC traces have as many objects as TT-Metal's tests expect | [`traces`], `traces.cpp` |
//! | where do the RISCs of a hung launch stand | [`hangs`], `hang.cpp` |
//! | is every loss counted | [`losses`] |
//! | what if TT-Metal's list of constants changes | [`changed_lists`] |
//! | how many launches fit into lanes that were made for fewer | [`overflow`], `empty.cpp` |
//! | does a RISC wait for the host in the debug dump, up to a limit | [`stalls`] |
//! | how does our reader read a core of the tests | [`reading_host`] |
//! | does our reader hand over the two buffers of TT-Metal's debug dump | [`two_buffers`] |
//! | do waits have the right length, and no cost if they do not block | [`waits`], `waits.cpp` |
//! | are waits for buffers and semaphores in whole launches recorded correctly | [`pipeline`], `pipeline.cpp` |
//! | which single waits are recorded in windows of time | [`wait_windows`] |
//! | what do streamed records cost compared with TT-Metal's | [`stream_cost`], `streams.cpp` |
//! | does every streamed record arrive, or is it counted | [`streams`]; by a drain, [`stream_drain`], of scripts, [`stream_script`], in cells, [`stream_layout`] |
//! | does a push end after any NoC use of the kernel | [`hazards`] |

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod accumulate;
mod changed_lists;
mod clang;
mod core;
mod cost;
mod cost_matrix;
mod counters;
mod dispatch;
mod drawn;
mod firmware;
mod gated;
mod hangs;
mod hazards;
mod kernels;
mod launches;
mod losses;
mod machine;
mod memory_functions;
mod names;
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
mod weaken;

/// Writes a table for people to the tests' build folder.
fn publish(name: &str, table: &str) {
    std::fs::write(toolchain::folder("tables").join(name), table).unwrap();
}
