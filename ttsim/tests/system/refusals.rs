//! Invalid libraries, and operations that ttsim does not let a chip perform.

use crate::support::{child, config, libraries};
use sim::arch::Arch;
use std::{fs, path::PathBuf};
use ttsim::{Simulator, Tile, TtsimError, TtsimMesh};

#[test]
fn a_file_that_is_no_library_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "not a library").unwrap();
    let error = Simulator::start(child(), file.path()).unwrap_err();
    assert!(matches!(error, TtsimError::NotALibrary { .. }), "{error:?}");
    let start = format!("cannot use {} as libttsim: ", file.path().display());
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[test]
fn a_library_of_something_else_lacks_the_entry_points() {
    // The C library of this process serves as a library that exists but is not libttsim.
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    let Some(libc) = paths.map(PathBuf::from).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libc.so"))
    }) else {
        eprintln!("skipped: this process has no C library of its own");
        return;
    };
    let error = Simulator::start(child(), &libc).unwrap_err().to_string();
    assert!(error.contains("as libttsim: it exports no libttsim_init;"), "{error}");
}

#[test]
fn a_library_of_the_other_chip_is_named_with_what_to_do() {
    for (arch, library) in libraries() {
        let other = Arch::ALL.into_iter().find(|&other| other != arch).unwrap();
        let error = TtsimMesh::start(&config(other, 0), child(), &library).unwrap_err().to_string();
        let expected =
            format!("simulates {arch}, but the run is for {other}; choose --arch {arch}");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn what_the_chip_lacks_is_told_in_one_sentence_and_again_for_whatever_comes_after() {
    for (arch, library) in libraries() {
        let mut simulator = Simulator::start(child(), &library).unwrap();
        let tile = Tile { x: 1, y: 2 };
        simulator.advance(7).unwrap();
        // There is no register at the end of the debug registers.
        let error = simulator.write_words(tile, 0xFFB1_2FFC, &[1]).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("ttsim refused what the chip was told, at clock 7: "), "{text}");
        assert!(!text.contains('\n'), "{arch}: {text}");
        assert_eq!(simulator.read_words(tile, 0, &mut [0]), Err(error.clone()));
        assert_eq!(simulator.failure(), Some(&error));
    }
}

#[test]
fn memory_keeps_what_is_written_across_windows() {
    for (_, library) in libraries() {
        let mut simulator = Simulator::start(child(), &library).unwrap();
        let words: Vec<u32> = (0..300_000_u32).map(|word| word.wrapping_mul(0x9E37_79B9)).collect();
        let (one, other) = (Tile { x: 1, y: 2 }, Tile { x: 2, y: 3 });
        simulator.write_words(one, 0x40, &words).unwrap();
        simulator.write_words(other, 0x40, &words[1..]).unwrap();
        let mut found = vec![0; words.len()];
        simulator.read_words(one, 0x40, &mut found).unwrap();
        assert_eq!(found, words);
        let mut clock = [0];
        simulator.advance(12_345).unwrap();
        simulator.read_words(one, 0xFFB1_21F0, &mut clock).unwrap();
        assert_eq!((clock, simulator.clock()), ([12_345], 12_345));
    }
}

#[test]
fn meshes_that_ttsim_does_not_have_are_refused_before_it_is_started() {
    let two = config(Arch::Blackhole, 0).with_chip(TtsimMesh::chip(Arch::Blackhole));
    let harvested = sim::config::MeshConfig::wormhole(0);
    for (config, expected) in [(two, "--devices 1"), (harvested, "--cores 80")] {
        let error = TtsimMesh::start(&config, child(), "none".as_ref()).unwrap_err().to_string();
        assert!(error.starts_with("cannot run this on ttsim: "), "{error}");
        assert!(error.ends_with(expected), "{error}");
    }
}
