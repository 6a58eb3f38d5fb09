//! Tests that the firmware and the Inspector's folder of a program are found. Test folders take the
//! place of `/proc/PID`.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use chip::process::{Process, ProcessError};
use reader::architecture::Arch;
use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Returns firmware of a Wormhole and of a Blackhole from the `ttnn` package.
fn sets() -> Option<[PathBuf; 2]> {
    let Some(package) = env::var_os("KPROF_TTNN") else {
        assert!(env::var_os("CI").is_none(), "KPROF_TTNN must name the package in CI");
        return None;
    };
    let sets = fs::read_dir(Path::new(&package).join("tt_metal/pre-compiled")).unwrap();
    let mut sets: Vec<_> = sets.map(|set| set.unwrap().path()).collect();
    sets.sort();
    let is_blackhole = |set: &&PathBuf| set.join("drisc").is_dir();
    let wormhole = sets.iter().find(|set| !is_blackhole(set)).cloned();
    Some([wormhole.unwrap(), sets.iter().find(is_blackhole).cloned().unwrap()])
}

/// A test folder that looks like `/proc/PID` of a program without open files.
struct Program {
    folder: TempDir,
}

impl Program {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("proc/fd")).unwrap();
        fs::create_dir_all(folder.path().join("work")).unwrap();
        symlink(folder.path().join("work"), folder.path().join("proc/cwd")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn process(&self) -> Process {
        Process::at(self.path("proc"))
    }

    fn has_open(&self, file: &Path) {
        let count = fs::read_dir(self.path("proc/fd")).unwrap().count();
        symlink(file, self.path("proc/fd").join(count.to_string())).unwrap();
    }

    fn has_mapped(&self, file: &Path) {
        let line = format!("7f0000-7f1000 r-xp 00000000 08:01 1234    {}\n", file.display());
        fs::write(self.path("proc/maps"), line).unwrap();
    }

    fn has_environment(&self, variables: &[(&str, &Path)]) {
        let lines = variables.iter().map(|(name, value)| format!("{name}={}\0", value.display()));
        fs::write(self.path("proc/environ"), lines.collect::<String>()).unwrap();
    }

    /// Puts a set of firmware into a folder.
    fn has_set(&self, folder: &str, set: &Path) {
        let folder = self.path(folder);
        fs::create_dir_all(folder.parent().unwrap()).unwrap();
        symlink(set, folder).unwrap();
    }
}

#[test]
fn open_firmware_is_what_counts() {
    let Some([wormhole, blackhole]) = sets() else { return };
    let program = Program::new();
    program.has_open(&wormhole.join("brisc/brisc.elf"));
    program.has_set("cache/1/2/firmware", &blackhole);
    program.has_environment(&[("TT_METAL_CACHE", &program.path("cache"))]);
    let firmware = program.process().firmware().unwrap();
    assert_eq!(firmware.layouts.keys().collect::<Vec<_>>(), [&Arch::WormholeB0]);
    assert_eq!(firmware.layouts[&Arch::WormholeB0].0, wormhole);
    assert_eq!(firmware.found_in, "files it has open");
}

#[test]
fn the_inspectors_last_kernel_leads_to_the_firmware_of_its_build() {
    let Some([wormhole, blackhole]) = sets() else { return };
    let program = Program::new();
    program.has_set("cache/0a1b/111/firmware", &wormhole);
    program.has_set("cache/0a1b/222/firmware", &blackhole);
    let inspector = program.path("logs/inspector");
    fs::create_dir_all(&inspector).unwrap();
    let kernel = |build: &str| program.path("cache/0a1b").join(build).join("kernels/reader/77/");
    let line =
        |build| format!("- kernel:\n    name: reader\n    path: {}\n", kernel(build).display());
    fs::write(inspector.join("kernels.yaml"), [line("222"), line("111")].concat()).unwrap();
    program.has_open(&inspector.join("kernels.yaml"));
    let firmware = program.process().firmware().unwrap();
    assert_eq!(firmware.layouts.keys().collect::<Vec<_>>(), [&Arch::WormholeB0]);
    assert_eq!(program.process().inspector(), Some(inspector));
}

#[test]
fn caches_count_if_their_builds_agree() {
    let Some([wormhole, blackhole]) = sets() else { return };
    let program = Program::new();
    program.has_environment(&[("HOME", &program.path("home"))]);
    for (build, set) in [("1/10", &wormhole), ("1/11", &blackhole), ("2/12", &wormhole)] {
        program.has_set(&format!("home/.cache/tt-metal-cache/{build}/firmware"), set);
    }
    let firmware = program.process().firmware().unwrap();
    assert_eq!(firmware.layouts.keys().collect::<Vec<_>>(), [&Arch::WormholeB0, &Arch::Blackhole]);
    assert_eq!(firmware.found_in, "its cache of builds");

    // A build of another release, with other addresses on Ethernet cores.
    let other = program.path("home/.cache/tt-metal-cache/3/13/firmware");
    for processor in ["brisc", "idle_erisc"] {
        fs::create_dir_all(other.join(processor)).unwrap();
        let file = wormhole.join("brisc/brisc.elf");
        let source = if processor == "brisc" { file } else { wormhole.join("erisc/erisc.elf") };
        fs::copy(source, other.join(processor).join(format!("{processor}.elf"))).unwrap();
    }
    let error = program.process().firmware().unwrap_err().to_string();
    assert!(error.contains("its cache of builds (") && error.contains("disagree"), "{error}");
}

#[test]
fn firmware_that_came_with_the_mapped_library_is_found_last() {
    let Some([wormhole, _]) = sets() else { return };
    let program = Program::new();
    let package = wormhole.ancestors().nth(3).unwrap();
    program.has_mapped(&package.join("build/lib/libtt_metal.so"));
    let firmware = program.process().firmware().unwrap();
    assert_eq!(firmware.layouts.keys().collect::<Vec<_>>(), [&Arch::WormholeB0, &Arch::Blackhole]);
    assert_eq!(firmware.found_in, "what its copy of tt-metal came with");
}

#[test]
fn paths_of_a_container_are_looked_up_in_its_root() {
    let Some([wormhole, _]) = sets() else { return };
    let program = Program::new();
    program.has_set("proc/root/cache/1/firmware", &wormhole);
    program.has_environment(&[("TT_METAL_CACHE", Path::new("/cache"))]);
    let firmware = program.process().firmware().unwrap();
    assert_eq!(firmware.layouts[&Arch::WormholeB0].0, program.path("proc/root/cache/1/firmware"));
}

#[test]
fn a_program_without_firmware_tells_all_that_was_looked_for() {
    let program = Program::new();
    let error = program.process().firmware().unwrap_err();
    assert_eq!(
        error.to_string(),
        "found no firmware of the program: files it has open (none), the build that its Inspector \
         names (none), its cache of builds (none), what its copy of tt-metal came with (none); \
         name its brisc.elf, or the folder with brisc/brisc.elf in it, with --elf"
    );
    let error = Process::at(program.path("nowhere")).firmware().unwrap_err();
    assert!(matches!(error, ProcessError::NoProcess { .. }), "{error}");
    assert!(error.to_string().contains("--elf FILE"), "{error}");
}

#[test]
fn a_damaged_file_is_named() {
    let program = Program::new();
    let set = program.path("cache/firmware/brisc");
    fs::create_dir_all(&set).unwrap();
    fs::write(set.join("brisc.elf"), b"\x7fELF and nothing more").unwrap();
    program.has_open(&set.join("brisc.elf"));
    let error = program.process().firmware().unwrap_err().to_string();
    assert!(error.contains("cache/firmware/brisc/brisc.elf"), "{error}");
}

/// A child process, which is ended with the test.
struct Child(std::process::Child);

impl Child {
    fn sleeping(variable: (&str, &str)) -> Self {
        let mut command = std::process::Command::new("sleep");
        Self(command.arg("1000").env(variable.0, variable.1).spawn().unwrap())
    }

    fn process(&self) -> Process {
        Process::new(self.0.id())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_execution_has_ended_once_the_program_is_a_zombie_or_gone() {
    let mut child = Child::sleeping(("A", "B"));
    let execution = child.process().execution().unwrap();
    assert!(!execution.has_ended());
    child.0.kill().unwrap();
    let begun = std::time::Instant::now();
    while !execution.has_ended() {
        assert!(begun.elapsed().as_secs() < 60, "a program that was killed has ended");
    }
    assert!(child.process().execution().is_none(), "a zombie is no program");
    child.0.wait().unwrap();
    assert!(execution.has_ended() && child.process().execution().is_none());
}

#[test]
fn the_socket_of_a_simulated_chip_has_the_programs_own_number() {
    let child = Child::sleeping(("KPROF_CHIP_SOCKET", "/tmp/chip-{pid}.socket"));
    // The variable can be read only after the child process has executed its program.
    let begun = std::time::Instant::now();
    let socket = loop {
        assert!(begun.elapsed().as_secs() < 60, "the child must start");
        if let Some(socket) = child.process().chip_socket() {
            break socket;
        }
    };
    assert_eq!(socket, PathBuf::from(format!("/tmp/chip-{}.socket", child.0.id())));
    assert_eq!(Process::new(std::process::id()).chip_socket(), None);
}
