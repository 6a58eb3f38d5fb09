//! Names of the zones that firmware and kernels from a build of TT-Metal record.
//!
//! Such a build prints the names as messages of the compiler, which TT-Metal copies to its logs. The
//! ELF files do not contain them.

use crate::{
    args::WorkloadArgs,
    failure::{Failure, OrFail, failure, note},
    folders::measurements,
    numbers::counted,
};
use host_reader::{
    names::ZoneTable,
    zone_names::{NameAge, ZoneNames},
};
use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

/// Maximum length of a line of messages that is read.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// Returns the names for a run with another firmware; no names for kprof's own firmware, whose names
/// are in its files.
pub(super) fn read(args: &WorkloadArgs) -> Result<ZoneTable, Failure> {
    let own = &args.own;
    if own.firmware.is_none() {
        return Ok(ZoneTable::new());
    }
    let default = measurements().join(".logs");
    let path = match &own.names {
        Some(path) => path.as_path(),
        None if default.is_dir() => &default,
        None => return Ok(ZoneTable::new()),
    };
    let mut names = ZoneNames::new();
    let count = if path.is_dir() {
        names.add_log_folder(path).or_fail_at(path)?
    } else {
        add_messages(&mut names, path)?
    };
    if count == 0 && own.names.is_some() {
        return Err(failure!(
            "--names {}: expected names of zones, as in TT-Metal's zone_src_locations.log or the \
             compiler's lines `#pragma message: NAME,FILE,LINE,KERNEL_PROFILER`, found none",
            path.display()
        ));
    }
    let (table, anomalies) = names.finish();
    if anomalies.anomaly_count() > 0 {
        let problems = counted(anomalies.anomaly_count(), "problem", "problems");
        note!("kprof: names of zones in {}: {problems}; the rest is used", path.display());
    }
    Ok(table)
}

/// Adds the names in a file of messages. Other lines of the compiler are left out.
fn add_messages(names: &mut ZoneNames, path: &Path) -> Result<usize, Failure> {
    let mut file = BufReader::new(File::open(path).or_fail_at(path)?);
    let origin = path.display().to_string();
    let (mut count, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let read = file.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if read.or_fail_at(path)? == 0 {
            return Ok(count);
        }
        if String::from_utf8_lossy(&line).contains("#pragma message: ") {
            count += names.add_log(&origin, NameAge::AnyBuild, &*line).or_fail_at(path)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_reader::lane::ZoneIndex;
    use std::fs;
    use wire::ZoneId;

    #[test]
    fn names_are_found_among_the_other_messages_of_a_compiler() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("messages.txt");
        let texts = ["BRISC-FW,/fw/brisc.cc,438,KERNEL_PROFILER", "COPY,k.cpp,7,KERNEL_PROFILER"];
        let [first, second] = texts.map(|text| format!("note: '#pragma message: {text}'\n"));
        let lines = format!("In file included from k.cpp:1:\n{first}   7 | #pragma\n{second}");
        fs::write(&file, lines).unwrap();
        let mut names = ZoneNames::new();
        assert_eq!(add_messages(&mut names, &file).ok(), Some(2));
        let (table, anomalies) = names.finish();
        assert_eq!(anomalies.anomaly_count(), 0);
        for (text, name) in texts.into_iter().zip(["BRISC-FW", "COPY"]) {
            assert_eq!(table.name(ZoneIndex(ZoneId::from_text(text).0.into())), name);
        }
        let absent = folder.path().join("absent");
        assert!(add_messages(&mut ZoneNames::new(), &absent).is_err());
    }
}
