//! Offsets between the clocks of hosts, as read from a file.

use crate::command::dataset::machine_clock::{HostOffset, KnownClock};
use crate::failure::{Failure, OrFail, failure};
use host_reader::export::CommonTime;
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

/// Clock offsets by host name.
#[derive(Debug, Default)]
pub(super) struct HostOffsets(BTreeMap<String, HostOffset>);

/// One row of the file with offsets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    host: String,
    offset_ns: i64,
    error_ns: u64,
}

impl HostOffsets {
    /// Reads the columns `host`, `offset_ns` and `error_ns`.
    ///
    /// # Errors
    /// If the file cannot be read, has other columns, has text in a column of numbers, or contains
    /// a host twice.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let mut reader = csv::ReaderBuilder::new();
        let reader = reader.comment(Some(b'#')).trim(csv::Trim::All);
        let mut lines = reader.from_path(path).or_fail_at(path)?;
        let mut offsets = BTreeMap::new();
        for line in lines.deserialize() {
            let Line { host, offset_ns, error_ns } = line.map_err(|error| {
                failure!(
                    "{}: expected the columns host,offset_ns,error_ns with whole numbers: {error}",
                    path.display()
                )
            })?;
            let offset = HostOffset { offset_ns, error_ns };
            if offsets.insert(host.clone(), offset).is_some() {
                return Err(failure!(
                    "{}: expected one offset for each host, found `{host}` twice",
                    path.display()
                ));
            }
        }
        Ok(Self(offsets))
    }

    pub(super) fn host_offset(&self, host: &str) -> Option<HostOffset> {
        self.0.get(host).copied()
    }

    /// Returns the names of the hosts that have an offset.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Relation of a recording's clock to the common clock of the hosts: the offset, and the
/// recording's start on the common clock. `Err` has the reason why the clocks are unrelated.
pub(super) type Relation = Result<(HostOffset, CommonTime), &'static str>;

/// Relates a recording's clock to the common clock by the offset at the recording's origin. This
/// requires that the recording's chips are related to the host's clock.
pub(super) fn relation(
    origin_host_ns: Option<i64>,
    clock: &KnownClock,
    offset: impl FnOnce(i64) -> Result<HostOffset, &'static str>,
) -> Relation {
    if let KnownClock::Unknown(reason) = clock {
        return Err(reason);
    }
    let origin_ns = origin_host_ns.ok_or("its chips were not synchronised with the host")?;
    let offset = offset(origin_ns)?;
    let time = CommonTime::new(origin_host_ns, offset.offset_ns, offset.error_ns);
    Ok((offset, time.ok_or("its offset puts it before the common clock's start")?))
}

/// Returns the offset and its error bound as table cells, which are empty if the clock is not
/// related.
pub(super) fn offset_cells(relation: Relation) -> [String; 2] {
    relation.map_or_else(
        |_| Default::default(),
        |(offset, _)| [offset.offset_ns.to_string(), offset.error_ns.to_string()],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<HostOffsets, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        HostOffsets::read(file.path()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn offsets_are_read_by_the_names_of_their_columns() {
        let text = "# from chrony\nerror_ns,host,offset_ns\n 40, rank1, -9000000000\n0,rank 2,7\n";
        let offsets = read(text).unwrap();
        let rank1 = HostOffset { offset_ns: -9_000_000_000, error_ns: 40 };
        assert_eq!(offsets.host_offset("rank1"), Some(rank1));
        let rank2 = HostOffset { offset_ns: 7, error_ns: 0 };
        assert_eq!(offsets.host_offset("rank 2"), Some(rank2));
        assert_eq!(offsets.host_offset("rank3"), None);
    }

    #[test]
    fn a_file_that_means_something_else_is_refused() {
        let head = "host,offset_ns,error_ns\n";
        for (text, part) in [
            ("host,offset,error\na,1,2\n".to_owned(), "host,offset_ns,error_ns"),
            (format!("{head}a,1\n"), "line: 2"),
            (format!("{head}a,1,-2\n"), "line: 2"),
            (format!("{head}a,1.5,2\n"), "line: 2"),
            (format!("{head}a,1,2\na,1,3\n"), "found `a` twice"),
            (format!("{head}a,9223372036854775808,3\n"), "line: 2"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(part) && error.lines().count() == 1, "{error}");
        }
    }
}
