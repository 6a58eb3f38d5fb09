//! Generated constants of the C++ header, compared with this crate.
//!
//! The tests compare the files in the header's folder with the text that they generate from this
//! crate; `BLESS=1` rewrites the files.
//!
//! | file | content |
//! |---|---|
//! | `profiler_common.hpp` | constants of tt-metal's `profiler_common.h`, under its names, for builds outside of tt-metal |
//! | `constants.hpp` | constants that this project adds to the format; waits and hardware counters |
//! | `stream_constants.hpp` | streamed lanes: cells, words of the control vector |
//! | `noc_constants.hpp` | NoC events and locks, for which tt-metal has its own files |

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "cpp_constants/noc_events.rs"]
mod noc_events;
#[path = "cpp_constants/source.rs"]
mod source;
#[path = "cpp_constants/stream.rs"]
mod stream;
#[path = "cpp_constants/words.rs"]
mod words;

use source::Source;
use std::{fs, path::Path};

/// Returns the position of the lowest bit in which two words differ.
fn first_bit(left: u64, right: u64) -> u32 {
    (left ^ right).trailing_zeros()
}

#[track_caller]
fn compare(name: &str, source: &Source) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../kernel-profiler/include/kernel_profiler")
        .join(name);
    let text = source.text();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let remedy = "BLESS=1 cargo test -p kprof-wire --test cpp_constants";
    assert!(found == text, "{name} is not what this crate says; {remedy}");
}

#[test]
fn upstreams_constants_are_those_of_this_crate() {
    compare("profiler_common.hpp", &words::profiler_common());
}

#[test]
fn constants_of_this_project_are_those_of_this_crate() {
    compare("constants.hpp", &words::constants());
}

#[test]
fn constants_of_streams_are_those_of_this_crate() {
    compare("stream_constants.hpp", &stream::constants());
}

#[test]
fn constants_of_noc_events_are_those_of_this_crate() {
    compare("noc_constants.hpp", &noc_events::constants());
}

/// Compares constants with values copied by hand from `profiler_common.h`, `noc_parameters.h` and
/// `docs/wire-extensions.md`.
#[test]
fn values_are_those_of_upstream_and_of_the_documentation() {
    let sources = [
        words::profiler_common(),
        words::constants(),
        noc_events::constants(),
        stream::constants(),
    ];
    let text = sources.map(|source| source.text()).concat();
    for line in [
        "    DRAM_PROFILER_ADDRESS_DEFAULT = 50,",
        "    PROFILER_DISPATCH_CORE = 59,",
        "    DEVICE_BUFFER_END_INDEX_T2 = 28,",
        "    CUSTOM_MARKERS = 12,",
        "    TS_DATA_16B = 5,",
        "    NOC_FULL_BARRIER = 7,",
        "    SEMAPHORE_INC_MULTICAST = 32,",
        "constexpr uint32_t PROFILER_ID_FLAT_SHIFT = 5;",
        "constexpr uint32_t PROFILER_ID_TRACE_SHIFT = 13;",
        "constexpr uint32_t PROFILER_MARKER_VALID = 0x80000000;",
        "constexpr uint32_t PROFILER_TIMER_PACKET_TYPE_SHIFT = 16;",
        "constexpr uint32_t PROFILER_L1_BUFFER_SIZE = 2048;",
        "constexpr uint32_t SIGNATURE_VALUE = 0x4B504000;",
        "constexpr uint32_t LOST_EVENTS = 39;",
        "constexpr uint32_t TURN_SHIFT = 17;",
        "constexpr uint32_t TURNING_LANE_WORDS_MAX = 130047;",
        "constexpr uint32_t GENERATION_SHIFT = 29;",
        "constexpr uint32_t SYNC_PERIOD_SHIFT = 25;",
        "constexpr uint32_t STREAM_SIGNATURE_VALUE = 0x4B531000;",
        "constexpr uint32_t STREAM_READ = 59;",
        "constexpr uint32_t STREAM_CHUNK_CELLS = 8;",
        "    LOST = 0xFFF6,",
        "constexpr uint32_t NOC_CHANNEL_SHIFT = 44;",
        "constexpr uint32_t NOC_POSTED_SHIFT = 60;",
        "constexpr uint32_t NOC_CHUNKS_MAX = 4095;",
        "constexpr uint32_t NOC_TRAILER_COUNTER_SHIFT = 52;",
        "constexpr uint64_t NOC_DEBUG_ONLY_EVENTS = 0x13FF041C0;",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
}
