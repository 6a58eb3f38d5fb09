//! Program that runs ttsim's library in a child process, for hosts that cannot start their own
//! executable as the child process.

#![deny(unsafe_code)]

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let Some(library) = std::env::args_os().nth(1) else {
        eprintln!("ttsim-child: expected the path of a libttsim; programs start this, not people");
        return ExitCode::from(2);
    };
    match ttsim::child::serve(Path::new(&library)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ttsim-child: {error}");
            ExitCode::from(2)
        }
    }
}
