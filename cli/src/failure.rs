//! Errors as a person meets them: one sentence and exit code 2.

use std::{path::Path, process::ExitCode};

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The reader of the output went away; that is no error.
    #[error("output closed")]
    OutputClosed,
    /// Anything else, already a sentence.
    #[error("{0}")]
    Sentence(String),
}

impl Failure {
    /// Any error as a failure, with its causes in one sentence.
    pub(crate) fn from_error(error: &dyn std::error::Error) -> Self {
        Self::Sentence(host_reader::sentence::of_error(error))
    }

    /// An error about a file, which is named if the error does not do so.
    pub(crate) fn of_file(path: &Path, error: &dyn std::error::Error) -> Self {
        let path = path.display().to_string();
        match Self::from_error(error) {
            Self::Sentence(sentence) if !sentence.contains(&path) => {
                Self::Sentence(format!("{path}: {sentence}"))
            }
            failure => failure,
        }
    }

    /// Prints the failure and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::OutputClosed => ExitCode::SUCCESS,
            Self::Sentence(sentence) => {
                eprintln!("kprof: {sentence}");
                ExitCode::from(2)
            }
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::OutputClosed;
        }
        Self::Sentence(format!("cannot write the output: {error}"))
    }
}
