//! Writes the files of a recording, with the names that TT-Metal's scripts use.

use crate::{
    failure::{Failure, OrFail, make_folder},
    input::open_run,
};
use host_reader::{
    capture::{CaptureError, CaptureWriter},
    export::{CancelFlag, Destination, ExportFormat, Trace, TraceFilter, write_atomically},
    recording::host_ops::{OP_MESSAGES, OP_TIMES},
    tracy::{TracyRecording, write_op_messages, write_op_times},
};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

const TRACY_FILE: &str = "tracy_profile_log_host.tracy";
const CAPTURE: &str = "tracy_profile_log_host.kprof";
/// Functions whose host time is summed by default in tt-metal's report.
const CHILD_FUNCTIONS: [&str; 2] = ["CompileProgram", "HWCommandQueue_write_buffer"];

/// Creates an empty folder for logs.
///
/// Logs of an earlier run are moved to another folder, whose path is returned.
pub(super) fn make_room(logs: &Path) -> Result<Option<PathBuf>, Failure> {
    let is_empty = match fs::read_dir(logs) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(Failure::from_file(logs, &error)),
    };
    let mut moved = None;
    if !is_empty {
        let mut name = logs.file_name().unwrap_or_default().to_owned();
        name.push(".previous");
        let previous = logs.with_file_name(name);
        match fs::remove_dir_all(&previous) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::from_file(&previous, &error));
            }
            _ => {}
        }
        fs::rename(logs, &previous).or_fail_at(logs)?;
        moved = Some(previous);
    }
    fs::create_dir_all(logs).or_fail_at(logs)?;
    Ok(moved)
}

/// Writes the files of each recording.
///
/// The files of the recording with the most messages about ops go into the folder itself, as
/// TT-Metal's scripts expect. The files of every other recording go into a folder that is named
/// after the recorded process.
pub(super) fn write(
    recordings: &[&TracyRecording],
    logs: &Path,
    child_functions: &[String],
) -> Result<Vec<PathBuf>, Failure> {
    let main = recordings.iter().copied().max_by_key(|recording| {
        recording.messages.iter().filter(|message| message.text.starts_with("`TT_")).count()
    });
    let mut written = Vec::new();
    for &recording in recordings {
        let folder = match main {
            Some(main) if std::ptr::eq(main, recording) => logs.to_owned(),
            _ => logs.join(format!("process-{}", recording.program.process_id)),
        };
        write_one(recording, &folder, child_functions, &mut written)?;
    }
    Ok(written)
}

fn write_one(
    recording: &TracyRecording,
    folder: &Path,
    child_functions: &[String],
    written: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    make_folder(folder)?;
    let children: Vec<&str> =
        CHILD_FUNCTIONS.into_iter().chain(child_functions.iter().map(String::as_str)).collect();
    let mut write = |name: &str, content: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let path = folder.join(name);
        let destination = Destination::File(path.clone());
        let result = write_atomically(&destination, &CancelFlag::default(), |out| content(out));
        written.push(path);
        result.or_fail()
    };
    write(OP_TIMES, &|out| write_op_times(recording, &children, out))?;
    write(OP_MESSAGES, &|out| write_op_messages(recording, out))?;
    let capture = folder.join(CAPTURE);
    write_capture(recording, &capture).or_fail_at(&capture)?;
    let run = open_run(&capture, None)?;
    let trace = Trace::new(&run, &TraceFilter::default());
    write(TRACY_FILE, &|out| ExportFormat::TRACY.write(&trace, out, &mut |_| {}))?;
    written.push(capture);
    Ok(())
}

fn write_capture(recording: &TracyRecording, path: &Path) -> Result<(), CaptureError> {
    let mut writer = CaptureWriter::create(path)?;
    writer.append(&recording.to_host_recording(0))?;
    writer.finish()
}
