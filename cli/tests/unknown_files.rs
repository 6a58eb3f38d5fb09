//! Tests that no message contains the content of a file that is not a recording.

use crate::program::kprof;

const SECRET: &str = "CANARY";

/// Contents that readers may mistake for the beginning of another format.
const CONTENTS: [(&str, &str); 7] = [
    ("line.txt", "CANARY=1,CANARY\nCANARY\n"),
    ("words.csv", "CANARY,OP CODES,CANARY\n1,CANARY,2\n"),
    ("short.env", "CANARY"),
    ("object.json", "{\"CANARY\": \"CANARY\", \"traceEvents\": \"CANARY\"}"),
    (
        "list.json",
        "[{\"proc\": \"CANARY\", \"run_host_id\": \"CANARY\", \"timestamp\": \"CANARY\"}]",
    ),
    ("table.parquet", "PAR1CANARYCANARYCANARYPAR1"),
    ("settings.yaml", "CANARY: [CANARY\n  - CANARY\n"),
];

#[test]
fn no_command_quotes_a_file_that_it_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in CONTENTS {
        std::fs::write(folder.path().join(name), content).unwrap();
        let commands: [&[&str]; 17] = [
            &["report", name],
            &["report", name, "--json"],
            &["info", name],
            &["check", name],
            &["explain", name],
            &["noc", name],
            &["ops", name],
            &["perf", name],
            &["diff", name, name],
            &["export", name, "-o", "a.html"],
            &["export", name, "-o", "a.json"],
            &["export", name, "-f", "parquet", "-o", "tables"],
            &["merge", name, "-o", "merged"],
            &["serve", "--tracy", name],
            &["run", "--layout", name],
            &["run", "--kernel", name],
            &["attach", name],
        ];
        for args in commands {
            let output = kprof(folder.path(), args);
            assert!(!output.status.success(), "{args:?}");
            let shown = [output.stdout, output.stderr].concat();
            let shown = String::from_utf8_lossy(&shown);
            assert!(!shown.contains(SECRET), "{args:?}: {shown}");
            let is_built = !shown.contains("built without Parquet");
            assert_eq!(is_built, cfg!(feature = "parquet") || !writes_datasets(args), "{args:?}");
            let is_told = shown.contains("expected") || shown.contains("error: ");
            assert!(is_told || !is_built, "{args:?}: {shown}");
        }
    }
}

/// Returns true if a command needs the feature `parquet`.
fn writes_datasets(args: &[&str]) -> bool {
    args[0] == "merge" || args.contains(&"parquet")
}
