//! Errors for users: one sentence and exit code 2.

use std::{path::Path, process::ExitCode};

/// Prints a line to standard error. If that fails, for example because of a closed pipe, the error
/// is ignored: it must not change the exit code.
macro_rules! note {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($argument)*);
    }};
}
pub(crate) use note;

/// Makes a failure from one sentence. The arguments are those of `format!`.
macro_rules! failure {
    ($($argument:tt)*) => { $crate::failure::Failure::Sentence(format!($($argument)*)) };
}
pub(crate) use failure;

/// Extension of `Result` for errors that end the command.
pub(crate) trait OrFail<T> {
    /// Converts an error and its sources into one sentence.
    fn or_fail(self) -> Result<T, Failure>;

    /// Converts an error into one sentence that names the file `path`.
    fn or_fail_at(self, path: &Path) -> Result<T, Failure>;
}

impl<T, E: std::error::Error> OrFail<T> for Result<T, E> {
    fn or_fail(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::from_error(&error))
    }

    fn or_fail_at(self, path: &Path) -> Result<T, Failure> {
        self.map_err(|error| Failure::from_file(path, &error))
    }
}

/// Creates a folder and its parents.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let file = folder.ancestors().find(|path| path.exists() && !path.is_dir());
        Failure::Sentence(match file {
            Some(file) => format!(
                "cannot make the folder {}: expected a folder, found the file {}",
                folder.display(),
                file.display()
            ),
            None => format!("cannot make the folder {}: {error}", folder.display()),
        })
    })
}

/// Refuses an output file that would replace one of the inputs.
pub(crate) fn refuse_input_as_output(
    inputs: impl IntoIterator<Item = impl AsRef<Path>>,
    output: &Path,
) -> Result<(), Failure> {
    if inputs.into_iter().all(|input| !same_file(input.as_ref(), output)) {
        return Ok(());
    }
    Err(Failure::Sentence(format!(
        "expected an output file that is not the input, found the input {}; name another file",
        output.display()
    )))
}

/// Returns true if two paths refer to the same file.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(|path| path.canonicalize().ok());
    one.is_some() && one == other
}

/// Failure of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The process that reads the output has closed the pipe, which is not an error.
    #[error("output closed")]
    OutputClosed,
    /// Any other failure, as a sentence.
    #[error("{0}")]
    Sentence(String),
}

impl Failure {
    /// Converts an error and its causes to one sentence.
    pub(crate) fn from_error(error: &dyn std::error::Error) -> Self {
        Self::Sentence(host_reader::sentence::from_error(error))
    }

    /// Converts an error about a file, and adds the file's name if the error lacks it.
    pub(crate) fn from_file(path: &Path, error: &dyn std::error::Error) -> Self {
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
                note!("kprof: {sentence}");
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
