//! The files of the C++ header, for hosts that compile C++ kernels.

/// Expands to a list of files: paths below the folder `include`, each with the file's text.
macro_rules! files {
    ($($path:literal,)*) => {
        [$(($path, include_str!(concat!("../include/", $path))),)*]
    };
}

/// Each file of the header: its path below an include folder, and its text.
///
/// ```
/// let (path, text) = kernel_profiler::cpp_header::FILES[0];
/// assert_eq!(path, "api/debug/kernel_profiler.hpp");
/// assert!(text.contains("#pragma once"));
/// ```
pub const FILES: [(&str, &str); 37] = files![
    "api/debug/kernel_profiler.hpp",
    "kernel_profiler.hpp",
    "kernel_profiler/absent_names.hpp",
    "kernel_profiler/accumulate.hpp",
    "kernel_profiler/barriers.hpp",
    "kernel_profiler/choice.hpp",
    "kernel_profiler/constants.hpp",
    "kernel_profiler/control_words.hpp",
    "kernel_profiler/counters.hpp",
    "kernel_profiler/fixed_zones.hpp",
    "kernel_profiler/header.hpp",
    "kernel_profiler/inner_names.hpp",
    "kernel_profiler/lanes.hpp",
    "kernel_profiler/launch.hpp",
    "kernel_profiler/mode.hpp",
    "kernel_profiler/no_stall.hpp",
    "kernel_profiler/noc_constants.hpp",
    "kernel_profiler/noc_events.hpp",
    "kernel_profiler/off.hpp",
    "kernel_profiler/own_waits.hpp",
    "kernel_profiler/plain.hpp",
    "kernel_profiler/polls.hpp",
    "kernel_profiler/profiler_common.hpp",
    "kernel_profiler/push.hpp",
    "kernel_profiler/quick_push.hpp",
    "kernel_profiler/registers.hpp",
    "kernel_profiler/ring.hpp",
    "kernel_profiler/stall.hpp",
    "kernel_profiler/standalone.hpp",
    "kernel_profiler/state.hpp",
    "kernel_profiler/stream.hpp",
    "kernel_profiler/stream_constants.hpp",
    "kernel_profiler/stream_launch.hpp",
    "kernel_profiler/tt_metal.hpp",
    "kernel_profiler/turn.hpp",
    "kernel_profiler/waits.hpp",
    "tools/profiler/kernel_profiler.hpp",
];
