//! Tests of `kprof programs` on a report whose builds are known.

use crate::program::kprof;
use std::{fs, path::Path, process::Output};

/// Writes `builds.csv`, in which one op is built three times at one line, and another one once.
pub(crate) fn write_builds(folder: &Path) {
    let row = |id: u32, op: &str, alpha: u32, times: &str, hit: &str, line: u32| {
        format!(
            "{op},tt_dnn_device,{},0,{{'alpha': {alpha}}},{times},700,{hit},a.py:{line}\n",
            id << 10
        )
    };
    let text = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST DURATION [ns],\
                CompileProgram_TT_HOST_FUNC [ns],DEVICE KERNEL DURATION [ns],PROGRAM CACHE HIT,CALL LOCATION\n"
        .to_owned()
        + &row(1, "Add", 1, "9000,5000", "False", 7)
        + &row(2, "Add", 2, "8000,4000", "False", 7)
        + &row(3, "Add", 2, "100,", "True", 7)
        + &row(4, "Add", 1, "7000,", "False", 7)
        + &row(5, "Copy", 1, ",", "False", 9)
        + &row(6, "Copy", 1, "50,", "", 10);
    std::fs::write(folder.join("builds.csv"), text).unwrap();
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn places_and_reasons_of_builds_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    write_builds(folder.path());
    let output = kprof(folder.path(), &["programs", "builds.csv"]);
    assert_eq!(output.status.code(), Some(0));
    let expected = "\
6 calls: 1 found their program in the cache, 4 built one, 2 of them again, 1 unknown
Calls that built programs took 0.024 of the host's 0.024 ms in calls, of which 0.009 ms for kernels; no host time: \
1 call; no time for kernels: 2 calls

Places whose calls built programs

 op    where   calls  built  again  host ms  making ms  compiling ms
 Add   a.py:7      4      3      2    0.024          -         0.009
 Copy  a.py:9      1      1      0        -          -             -

Built again

  Add at a.py:7
    row 3, against row 2: alpha: 1 -> 2
  Add at a.py:7
    row 5, against row 2: no recorded argument differs; what differs was not recorded
";
    assert_eq!(shown(&output), expected);
}

#[test]
fn a_gate_fails_on_rebuilds_and_on_what_it_cannot_know() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_builds(folder);
    let gate = |file: &str| kprof(folder, &["programs", file, "--fail-on-rebuild"]);
    assert_eq!(gate("builds.csv").status.code(), Some(1));
    let text = fs::read_to_string(folder.join("builds.csv")).unwrap();
    let lines = |kept: &dyn Fn(usize) -> bool| {
        let lines = text.lines().enumerate().filter(|(at, _)| kept(*at));
        lines.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    // One build, and a hit; then also the call that does not say.
    fs::write(folder.join("once.csv"), lines(&|at| [0, 2, 3].contains(&at))).unwrap();
    assert_eq!(gate("once.csv").status.code(), Some(0));
    fs::write(folder.join("unknown.csv"), lines(&|at| [0, 2, 3, 6].contains(&at))).unwrap();
    let output = gate("unknown.csv");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("whether a program was built again is unknown: 1 call does not say"),
        "{said}"
    );
    fs::write(folder.join("none.csv"), lines(&|at| [0, 6].contains(&at))).unwrap();
    let output = gate("none.csv");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("(PROGRAM CACHE HIT), found none among 1 call;"), "{said}");
}

#[test]
fn without_places_new_arguments_may_be_of_another_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("builds.csv");
    write_builds(folder.path());
    let text = fs::read_to_string(&path).unwrap();
    let without = text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n");
    fs::write(&path, without.collect::<String>()).unwrap();
    let told = shown(&kprof(folder.path(), &["programs", "builds.csv"]));
    assert!(
        told.contains(
            "The places of calls are unknown, so whether 1 call with new arguments built again is unknown\n"
        ),
        "{told}"
    );
    assert!(told.contains("\n Add   -          4      3      1 "), "{told}");
}
