//! Tests that C++ kernels and their Rust counterparts write the same words to L1 and DRAM, except
//! for clock values.

use super::*;
use crate::program::Emission;
use wire::{marker::MARKER_WORDS, vector::VECTOR_WORDS};

/// The words of each RISC, by core and RISC index.
type Words = BTreeMap<(TileCoord, usize), Vec<u32>>;

/// Number of RISCs that run each kernel in both languages.
const LANES: usize = 12;

/// Returns words with all clock-dependent bits cleared.
fn without_clock(words: &[u32]) -> Vec<u32> {
    let mut words = words.to_vec();
    let mut index = 0;
    while index < words.len() {
        let header = Header(words[index]);
        let Some(kind) = header.kind().filter(|_| header.is_marker()) else {
            index += 1;
            continue;
        };
        // The second word of an empty marker slot is a count of lost records, not a time.
        if !header.is_empty() {
            words[index] &= !wire::marker::TIME_HIGH_MASK;
            words[index + 1] = 0;
        }
        index += if header.is_empty() { MARKER_WORDS } else { kind.record_words() };
    }
    words
}

/// Returns the words of every RISC's record buffer in L1 after a launch.
fn vectors(mesh: &SimulatedMesh, at: &[TileCoord]) -> Words {
    let chip = mesh.chip(0).unwrap();
    let arch = chip.facts().arch.facts();
    let mut vectors = BTreeMap::new();
    for place in chip.plan().cores().iter().filter(|place| at.contains(&place.coord)) {
        let tile = chip.tile(place.coord).unwrap();
        let first = arch.control_address(place.kind) + 256;
        for risc in 0..place.kind.risc_count() {
            let start = first + 4 * (risc * VECTOR_WORDS) as u64;
            let words = (0..VECTOR_WORDS).map(|word| tile.load(start + 4 * word as u64)).collect();
            vectors.insert((place.coord, risc), words);
        }
    }
    vectors
}

/// Returns all words without clock values.
fn timeless_words(words: Words) -> Words {
    words.into_iter().map(|(key, words)| (key, without_clock(&words))).collect()
}

/// Runs the Rust and the C++ kernel twice each on a few cores of each architecture, and compares
/// their words. Returns the records of the two C++ launches on one architecture.
fn compare_words(name: &str, args: &[u32], sums: bool) -> Emission {
    let mut emitted = Emission::NONE;
    for arch in Arch::ALL {
        let run_as = |kind| {
            let mesh = mesh_of_kind(arch, kind, sums);
            let mut at = cores(&mesh, CoreKind::Tensix, 2);
            at.extend(cores(&mesh, CoreKind::IdleEth, 1));
            at.extend(cores(&mesh, CoreKind::ActiveEth, 1));
            let program = Arc::new(on_all(name));
            let launch =
                |id| Launch::new(&program, id).on(CoreSelection::At(at.clone())).with_args(args);
            let mesh = run(mesh, &[launch(1), launch(2)]);
            assert_eq!(mesh.execution_failures().count(), 0, "{kind:?} {arch} {name}");
            let vectors = vectors(&mesh, &at);
            (timeless_words(lanes(&mesh, sums)), timeless_words(vectors), mesh.truth().emitted())
        };
        let (rust, cpp) = (run_as(KernelKind::Riscv), run_as(KernelKind::Cpp));
        assert_eq!(rust.0.len(), LANES, "five RISCs of two cores, one of each of two");
        assert!(rust.0 == cpp.0, "{arch} {name}: {}", first_difference(&rust.0, &cpp.0));
        assert!(rust.1 == cpp.1, "{arch} {name} in L1: {}", first_difference(&rust.1, &cpp.1));
        assert_eq!(rust.2, cpp.2);
        emitted = cpp.2.values().fold(Emission::NONE, |sum, &emission| sum + emission);
    }
    emitted
}

fn first_difference(rust: &Words, cpp: &Words) -> String {
    for (key, rust) in rust {
        let cpp = &cpp[key];
        if let Some(at) = rust.iter().zip(cpp).position(|(rust, cpp)| rust != cpp) {
            return format!("{key:?} word {at}: Rust {:08x}, C++ {:08x}", rust[at], cpp[at]);
        }
        if rust.len() != cpp.len() {
            return format!("{key:?}: Rust {} words, C++ {}", rust.len(), cpp.len());
        }
    }
    "none".to_owned()
}

#[test]
fn an_empty_kernel_leaves_the_same_words() {
    compare_words("empty", &[], false);
}

#[test]
fn a_full_buffer_leaves_the_same_words_and_losses() {
    let emitted = compare_words("full_buffer", &[], false);
    assert!(emitted.zones > 2 * LANES as u64 * 125, "more than fit");
}

#[test]
fn events_and_data_leave_the_same_words_and_losses() {
    let emitted = compare_words("timestamped_events", &[], false);
    assert_eq!(emitted.events, 2 * LANES as u64 * 150);
}

#[test]
fn wide_data_leaves_the_same_words_and_losses() {
    compare_words("wide_data", &[30], false);
    compare_words("wide_data", &[100], false);
}

#[test]
fn sums_leave_the_same_words_and_vanish_alike() {
    compare_words("sums", &[5, 40], true);
    compare_words("sums", &[5, 40], false);
}

#[test]
fn nested_zones_leave_the_same_words() {
    compare_words("matmul_math", &[4, 4, 4], true);
    compare_words("matmul_math", &[90, 4, 4], false);
}

/// Checks that the comparison ignores only clock values.
#[test]
fn only_the_clock_is_set_aside() {
    let zone = [0x8FC0_D001, 0x1000, 0xB988_E001, 0x1380, 0x1122_3344, 0x8000_0001];
    let padding = [0x8000_0000, 0x1000_0007, 0x400];
    assert_eq!(without_clock(&zone), [0x8FC0_D000, 0, 0xB988_E000, 0, 0x1122_3344, 0x8000_0001]);
    assert_eq!(without_clock(&padding), padding);
}
