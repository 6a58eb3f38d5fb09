//! Checks for the tools that compile the RISCs' code, and installs the compiler target with rustup.

use crate::objects::{Build, TARGET, announce};
use std::{
    env,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Maximum time that a build waits for the installation of the target. The download is a few
/// megabytes; if the network does not respond, the build continues without the target.
const PATIENCE: Duration = Duration::from_secs(120);

/// Reason why the object code cannot be compiled.
pub(super) struct Hindrance {
    pub(super) cause: String,
    /// How the user can resolve the problem; `None` in a package, which has no sources of object
    /// code.
    pub(super) remedy: Option<String>,
}

impl Build {
    /// Returns the reason why the RISCs' code cannot be compiled, if any. If the target is missing,
    /// first asks rustup to install it.
    pub(super) fn hindrance(&self) -> Option<Hindrance> {
        if !self.objects.join("Cargo.toml").is_file() {
            let cause = "a package holds no sources of object code".to_owned();
            return Some(Hindrance { cause, remedy: None });
        }
        println!("cargo:rerun-if-env-changed=CARGO_NET_OFFLINE");
        let Some(missing) = self.missing_tool() else {
            self.announce_tools();
            return None;
        };
        let answer = self.ask_rustup();
        if self.missing_tool().is_none() {
            // The target's folder is not announced now: cargo reruns a script if an announced file
            // has changed during the run.
            println!("cargo:warning=`rustup target add {TARGET}` was run, for the simulated RISCs");
            return None;
        }
        self.announce_tools();
        let cause = match answer {
            Err(refusal) => format!("{missing} ({refusal})"),
            Ok(()) => missing,
        };
        Some(Hindrance { cause, remedy: Some(format!("run `rustup target add {TARGET}`")) })
    }

    fn missing_tool(&self) -> Option<String> {
        if !self.libraries().join(TARGET).is_dir() {
            return Some(format!("the target {TARGET} is not installed"));
        }
        let linker = self.linker();
        (!linker.is_file()).then(|| format!("there is no {}", linker.display()))
    }

    /// Asks rustup to install the target in the toolchain of this build.
    fn ask_rustup(&self) -> Result<(), String> {
        if env::var("CARGO_NET_OFFLINE").is_ok_and(|offline| offline == "true") {
            return Err("cargo is offline".to_owned());
        }
        // This file exists only in toolchains installed by rustup.
        let is_rustups = self.libraries().join("multirust-channel-manifest.toml").is_file();
        let toolchain = self.sysroot.file_name().filter(|_| is_rustups);
        let toolchain = toolchain.ok_or("the compiler is not one of rustup's")?;
        let rustup = Command::new("rustup")
            .args(["target", "add", "--toolchain"])
            .arg(toolchain)
            .arg(TARGET)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        wait(&mut rustup.map_err(|error| format!("rustup: {error}"))?)
    }

    /// Makes cargo rerun this script if the installed targets change.
    fn announce_tools(&self) {
        let target = self.libraries().join(TARGET);
        let components = self.libraries().join("components");
        for path in [target, components] {
            announce(&path);
        }
    }

    fn libraries(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib")
    }
}

/// Waits for rustup to end, up to a time limit.
fn wait(rustup: &mut Child) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match rustup.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => return Err("rustup could not install it".to_owned()),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(100)),
            Ok(None) => {
                // The build continues without the target, whether or not rustup has ended.
                let _ = rustup.kill();
                let _ = rustup.wait();
                return Err(format!("rustup took longer than {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("rustup: {error}")),
        }
    }
}
