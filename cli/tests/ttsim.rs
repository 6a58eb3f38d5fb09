//! Tests of `kprof run --backend ttsim`: messages about missing parts, and complete runs.

use crate::program::refusal;

#[test]
fn a_library_without_its_backend_is_refused() {
    let sentence = refusal(&["run", "--ttsim-library", "x.so"]);
    assert!(sentence.contains("add --backend ttsim"), "{sentence}");
}

#[cfg(not(feature = "ttsim"))]
#[test]
fn a_build_without_ttsim_says_how_to_get_one() {
    let sentence = refusal(&["run", "--backend", "ttsim", "--ttsim-library", "x.so"]);
    assert!(sentence.contains("`cargo build -p kprof --features ttsim`"), "{sentence}");
}

#[cfg(feature = "ttsim")]
mod with_ttsim {
    use crate::program::{program, refusal};
    use std::{env, process::Output};

    fn kprof(args: &[&str]) -> Output {
        let folder = tempfile::tempdir().unwrap();
        program().arg("run").args(args).current_dir(folder.path()).output().unwrap()
    }

    #[test]
    fn what_stands_against_a_run_is_one_sentence() {
        let sentence = refusal(&["run", "--backend", "ttsim"]);
        assert!(sentence.contains("name its file with --ttsim-library"), "{sentence}");
        let ttsim = |more: &[&str]| {
            refusal(
                &[&["run", "--backend", "ttsim", "--ttsim-library", "/no/such.so"], more].concat(),
            )
        };
        assert!(ttsim(&[]).starts_with("kprof: cannot use /no/such.so as libttsim: "));
        assert!(ttsim(&["--cores", "64"]).contains("choose --cores 80"));
        assert!(ttsim(&["--devices", "2"]).contains("choose --devices 1"));
        assert!(ttsim(&["--workload", "two-hour"]).contains("only our simulator"));
    }

    #[test]
    fn the_child_alone_says_what_it_is_missing() {
        let output = program()
            .args(["ttsim-child", "/no/such.so"])
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
    }

    /// Returns the run's tables as JSON, for each chip whose library is installed.
    fn runs(options: &[&str]) -> Vec<(&'static str, serde_json::Value)> {
        let chips = [("wormhole_b0", "KPROF_TTSIM_WH"), ("blackhole", "KPROF_TTSIM_BH")];
        let run = |(arch, variable)| {
            let Ok(library) = env::var(variable) else {
                eprintln!("skipped on ttsim's {arch}: {variable} names no libttsim");
                return None;
            };
            let backend = ["--arch", arch, "--backend", "ttsim", "--ttsim-library", &library];
            let output = kprof(&[&backend[..], &["--json"], options].concat());
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{errors}");
            Some((arch, serde_json::from_slice(&output.stdout).unwrap()))
        };
        chips.into_iter().filter_map(run).collect()
    }

    #[test]
    fn a_workload_runs_and_loses_exactly_what_does_not_fit() {
        for (arch, document) in runs(&["--workload", "full-buffer", "--ops", "1"]) {
            let lanes = 5 * document["worker_cores"].as_u64().unwrap();
            // Each RISC records 150 user zones. 125 of them fit, together with the zones of
            // firmware and kernel.
            assert_eq!(document["kept"]["zones"], lanes * 127, "{arch}");
            assert_eq!(document["lost"]["l1_full"], lanes * 25, "{arch}");
        }
    }

    #[test]
    fn kernels_that_stream_lose_nothing_whoever_drains_their_rings() {
        let workload = ["--workload", "full-buffer", "--ops", "1", "--stream=block=1048576"];
        for (drain, relays) in [(["--read-every", "50us"], 0), (["--relays", "2"], 2)] {
            for (arch, document) in runs(&[&workload[..], &drain].concat()) {
                let cores = document["worker_cores"].as_u64().unwrap() - relays;
                let zones = document["zones"].as_array().unwrap().iter();
                let stalls = zones.filter(|zone| zone["name"] == "PROFILER-DRAM-STALL");
                let stalls: u64 = stalls.map(|zone| zone["count"].as_u64().unwrap()).sum();
                // Each lane records 150 zones, which is more than a vector holds, the zones of
                // firmware and kernel, and waits for the draining side.
                let kept = document["kept"]["zones"].as_u64().unwrap() - stalls;
                assert_eq!(kept, 5 * cores * 152, "{arch} {drain:?}");
                let lost = document["lost"].as_object().unwrap();
                let lost: u64 = lost.values().filter_map(serde_json::Value::as_u64).sum();
                assert_eq!((lost, &document["anomalies"]), (0, &0.into()), "{arch} {drain:?}");
            }
        }
    }

    #[test]
    fn a_pipeline_records_its_waits() {
        let shape = "barrier=0,compute=4000,tiles=16";
        let options = ["--workload", "pipeline", "--pipeline", shape, "--waits", "events"];
        for (arch, document) in runs(&[&options[..], &["--ops", "3"]].concat()) {
            let cores = document["worker_cores"].as_u64().unwrap();
            let lost = document["lost"].as_object().unwrap();
            let total: u64 = lost.values().filter_map(serde_json::Value::as_u64).sum();
            assert_eq!(total, 0, "{arch}: {lost:?}");
            let count = |risc: &str, what: &str| {
                let mut rows = document["data"].as_array().unwrap().iter();
                let row = rows.find(|row| row["risc"] == risc && row["name"] == what);
                row.and_then(|row| row["count"].as_u64()).unwrap_or(0)
            };
            for (risc, signal) in [("NCRISC", "SYNC-CB-PUSH"), ("BRISC", "SYNC-CB-POP")] {
                assert_eq!(count(risc, signal), 3 * 16 * cores, "{arch} {risc}: {document}");
            }
            // Each tile arrives after the writer has finished the previous tile.
            assert_eq!(count("BRISC", "SYNC-CB-WAIT"), 3 * 16 * cores, "{arch}");
        }
    }
}
