//! Tests that `kprof read` and `kprof attach` fail with one helpful sentence if there is no chip.

use crate::program::refusal;

#[cfg(not(feature = "chip"))]
#[test]
fn a_build_without_chips_says_how_to_get_one() {
    for args in [&["read"][..], &["attach", "1"], &["attach", "--elf", "brisc.elf"]] {
        let sentence = refusal(args);
        assert!(sentence.contains("`cargo build -p kprof --features chip`"), "{sentence}");
    }
}

#[cfg(feature = "chip")]
mod with_chips {
    use super::refusal;
    use std::{env, fs, path::Path};

    #[test]
    fn no_chip_is_one_sentence() {
        if Path::new("/dev/tenstorrent").exists() {
            eprintln!("skipped: this machine may have chips, which a test leaves alone");
            return;
        }
        let sentence = refusal(&["read"]);
        assert!(sentence.starts_with("kprof: found no Tenstorrent chip"), "{sentence}");
        let Some(package) = env::var_os("KPROF_TTNN") else { return };
        let sets = fs::read_dir(Path::new(&package).join("tt_metal/pre-compiled")).unwrap();
        let set = sets.map(|set| set.unwrap().path()).next().unwrap();
        let sentence = refusal(&["attach", "--elf", set.to_str().unwrap()]);
        assert!(sentence.starts_with("kprof: found no Tenstorrent chip"), "{sentence}");
    }

    #[test]
    fn a_process_without_firmware_tells_what_was_looked_for() {
        let this = std::process::id().to_string();
        let sentence = refusal(&["attach", &this]);
        for part in ["files it has open (none)", "its cache of builds (none)", "with --elf"] {
            assert!(sentence.contains(part), "{sentence}");
        }
        let sentence = refusal(&["attach", "4000000000"]);
        assert!(sentence.contains("cannot look into /proc/4000000000"), "{sentence}");
        let sentence = refusal(&["attach", "--elf", "/no/brisc.elf"]);
        assert!(sentence.contains("cannot read /no/brisc.elf"), "{sentence}");
    }
}
