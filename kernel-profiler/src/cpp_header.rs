//! The files of the C++ header, for hosts that compile kernels with it.

/// Each file of the header: its path below an include folder, and its text.
///
/// ```
/// let (path, text) = kernel_profiler::cpp_header::FILES[0];
/// assert_eq!(path, "api/debug/kernel_profiler.hpp");
/// assert!(text.contains("#pragma once"));
/// ```
pub const FILES: [(&str, &str); 17] = [
    ("api/debug/kernel_profiler.hpp", include_str!("../include/api/debug/kernel_profiler.hpp")),
    ("kernel_profiler.hpp", include_str!("../include/kernel_profiler.hpp")),
    ("kernel_profiler/accumulate.hpp", include_str!("../include/kernel_profiler/accumulate.hpp")),
    ("kernel_profiler/barriers.hpp", include_str!("../include/kernel_profiler/barriers.hpp")),
    ("kernel_profiler/choice.hpp", include_str!("../include/kernel_profiler/choice.hpp")),
    ("kernel_profiler/counters.hpp", include_str!("../include/kernel_profiler/counters.hpp")),
    ("kernel_profiler/header.hpp", include_str!("../include/kernel_profiler/header.hpp")),
    ("kernel_profiler/launch.hpp", include_str!("../include/kernel_profiler/launch.hpp")),
    ("kernel_profiler/noc_events.hpp", include_str!("../include/kernel_profiler/noc_events.hpp")),
    ("kernel_profiler/off.hpp", include_str!("../include/kernel_profiler/off.hpp")),
    ("kernel_profiler/registers.hpp", include_str!("../include/kernel_profiler/registers.hpp")),
    ("kernel_profiler/ring.hpp", include_str!("../include/kernel_profiler/ring.hpp")),
    ("kernel_profiler/stall.hpp", include_str!("../include/kernel_profiler/stall.hpp")),
    ("kernel_profiler/standalone.hpp", include_str!("../include/kernel_profiler/standalone.hpp")),
    ("kernel_profiler/tt_metal.hpp", include_str!("../include/kernel_profiler/tt_metal.hpp")),
    ("kernel_profiler/waits.hpp", include_str!("../include/kernel_profiler/waits.hpp")),
    (
        "tools/profiler/kernel_profiler.hpp",
        include_str!("../include/tools/profiler/kernel_profiler.hpp"),
    ),
];

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let files =
            paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] });
        files.collect()
    }

    #[test]
    fn no_file_of_the_header_is_missing() {
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
        let mut found: Vec<_> = files_below(&include)
            .iter()
            .map(|path| path.strip_prefix(&include).unwrap().to_str().unwrap().to_owned())
            .collect();
        found.sort();
        assert_eq!(found, super::FILES.map(|(path, _)| path.to_owned()));
    }
}
