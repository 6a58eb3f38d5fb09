//! Checks that the README and the documentation pages show the real output of the program.

use crate::program;
use std::path::{Path, PathBuf};

/// `BLESS=1` writes the output into the pages; read the difference afterwards.
#[test]
fn the_output_in_the_pages_is_real() {
    for page in ["README.md", "docs/explain.md", "docs/tables.md"] {
        let path = repository().join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let printed = run_again(&text);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, printed).unwrap();
        } else {
            assert_eq!(printed, text, "{page}");
        }
    }
}

/// Runs the README's recipes on recordings with the names in the README: logs, a capture, reports
/// of two runs and rank folders of `tt-run`.
#[test]
fn the_recipes_in_the_readme_run() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("generated/profiler/.logs");
    std::fs::create_dir_all(&logs).unwrap();
    for args in [
        "capture --ops 3 --grid 4x2 --collect-noc-traces -o run.kprof",
        "capture --ops 3 --grid 4x2 --seed 2 -o other.kprof",
        "export run.kprof -f device-log -o generated/profiler/.logs/profile_log_device.csv",
        "export run.kprof -f device-log -o before.csv",
        "export other.kprof -f device-log -o after.csv",
    ] {
        kprof(args, folder.path());
    }
    for rank in ["rank0", "rank1"] {
        let of_rank = folder.path().join("generated/profiler/ttrun").join(rank).join(".logs");
        std::fs::create_dir_all(&of_rank).unwrap();
        let log = "profile_log_device.csv";
        std::fs::copy(logs.join(log), of_rank.join(log)).unwrap();
    }
    let text = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let (_, recipe) = text.split_once("folder of TT-Metal.**\n\n```sh\n").unwrap();
    let (recipe, _) = recipe.split_once("```").unwrap();
    let commands = recipe.lines().map(|line| line.split("  #").next().unwrap().trim());
    for command in commands {
        let args = command.strip_prefix("kprof ").unwrap();
        if args.starts_with("merge ") && !cfg!(feature = "parquet") {
            println!("not tested without the feature parquet: {command}");
            continue;
        }
        if args.starts_with("perf ") {
            // Kernels of the simulator have no op names, so the report of a model is used instead.
            let model = "tests/captures/tt-perf-report/bh_64_clip_encoder_1.csv";
            let report = folder.path().join("generated/profiler/reports/ops_perf_results.csv");
            std::fs::copy(repository().join(model), report).unwrap();
        }
        let output = program::kprof(folder.path(), &args.split(' ').collect::<Vec<_>>());
        let errors = String::from_utf8_lossy(&output.stderr);
        // Differences and losses are results: exit code 1.
        assert!(output.status.code() < Some(2), "{command}: {errors}");
    }
    for written in ["report.html", "profile_log_device.csv", "traces"] {
        assert!(folder.path().join(written).exists(), "{written}");
    }
    assert_eq!(folder.path().join("merged").exists(), cfg!(feature = "parquet"));
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the page with the current output of its commands, which run in order in one folder.
fn run_again(page: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command_count = 0;
    let mut blocks = page.split("```console\n");
    let mut again = blocks.next().unwrap().to_owned();
    for block in blocks {
        let (shown, after) = block.split_once("\n```").unwrap();
        again.push_str("```console\n");
        again.push_str(&output_of_block(shown, folder.path(), &mut command_count));
        again.push_str("\n```");
        again.push_str(after);
    }
    assert!(command_count > 0, "the page shows no command of the program");
    again
}

/// Returns a command followed by its current output. Commands of other programs are returned
/// unchanged.
fn output_of_block(shown: &str, folder: &Path, command_count: &mut usize) -> String {
    let first = shown.lines().next().unwrap();
    let command = first.strip_prefix("$ ").unwrap();
    let starts = ["cargo run --release -- ", "kprof "];
    let Some(args) = starts.iter().find_map(|start| command.strip_prefix(start)) else {
        return shown.to_owned();
    };
    *command_count += 1;
    let printed = kprof(args, folder);
    if printed.is_empty() { first.to_owned() } else { format!("{first}\n{printed}") }
}

fn kprof(args: &str, folder: &Path) -> String {
    // Pages name the repository's captures relative to the top folder.
    let captures = repository().join("tests/captures");
    let args = args.replace("tests/captures", captures.to_str().unwrap());
    let output = program::kprof(folder, &args.split(' ').collect::<Vec<_>>());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args}: {errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.trim_end().lines().map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}
