//! Tests that the objects and images built by `build.rs` follow the link rules for firmware and
//! kernels.

use super::object_rules::{broken_rules, file_name, is_loaded, kept_files};
use object::{File, Object, ObjectSection};
use std::fs;

/// Folder of the build script.
const OUT: &str = env!("OUT_DIR");
/// Variants of firmware and kernels: two chips, each plain, with sums, and in ten modes.
const VARIANT_COUNT: usize = 2 * (2 + 10);

#[test]
fn objects_of_kernels_and_firmware_keep_the_rules() {
    let found = broken_rules(OUT, |_| true);
    assert_eq!(found.broken, [""; 0]);
    let in_cpp = if cfg!(cpp_code) { 4 } else { 0 };
    // The build compiles firmware and kernels of each variant, with objects of the runtime. The
    // shipped images come without such objects.
    let in_rust = if cfg!(compiled_object_code) { VARIANT_COUNT * 2 } else { 0 };
    assert!(found.object_count >= in_rust + in_cpp, "{}", found.object_count);
}

#[test]
fn images_of_kernels_have_neither_constants_nor_variables_nor_texts_in_memory() {
    let images = kept_files(OUT, ".elf").into_iter();
    let kernels = images.filter(|path| file_name(path).contains("kernels"));
    let mut count = 0;
    for path in kernels {
        let bytes = fs::read(&path).unwrap();
        let file = File::parse(&*bytes).unwrap();
        let loaded = file.sections().filter(|section| is_loaded(section) && section.size() > 0);
        let names: Vec<String> = loaded.map(|section| section.name().unwrap().to_owned()).collect();
        assert_eq!(names, [".text"], "{}", path.display());
        let texts = file.section_by_name(kernel_profiler::names::SECTION);
        let is_relay = path.to_string_lossy().contains("-relay/");
        let has_texts = texts.as_ref().is_some_and(|texts| texts.size() > 0);
        assert_ne!(has_texts, is_relay, "{}", path.display());
        assert!(!texts.is_some_and(|texts| is_loaded(&texts)), "{}", path.display());
        count += 1;
    }
    assert!(count >= VARIANT_COUNT * 7, "kernels of seven processors: {count}");
}

/// Checks the size of constants. A few words that code compares values with are allowed, although
/// they occupy local RAM.
#[test]
fn images_of_firmware_have_next_to_no_constants() {
    let mut count = 0;
    for path in kept_files(OUT, ".elf") {
        if file_name(&path).starts_with("firmware") {
            let bytes = fs::read(&path).unwrap();
            let file = File::parse(&*bytes).unwrap();
            let constants = file.section_by_name(".rodata").map_or(0, |section| section.size());
            assert!(constants <= 64, "{}: {constants} bytes", path.display());
            count += 1;
        }
    }
    assert_eq!(count, VARIANT_COUNT * 7);
}

/// Checks that an object that includes the header calls no function in other objects.
///
/// Users link no library for the header. A call into the firmware would fail, because the loader
/// moves a kernel without adjusting the distance of the call.
#[cfg(cpp_code)]
#[test]
fn what_includes_the_header_calls_nothing_elsewhere() {
    let found = super::object_rules::calls_elsewhere(OUT, |_| true);
    assert_eq!((found.object_count, found.broken), (4, Vec::new()));
}
