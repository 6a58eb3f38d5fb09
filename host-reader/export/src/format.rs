//! Export formats that write a single file, and their selection by name or file name.

use super::{OnLanes, Trace, TraceItems};
use causes::{Explanation, Scope};
use recording::Recording;
use std::{fmt, io, io::Write, path::Path, str::FromStr};

/// What a format is called, and how it is written. Each format's module defines its own.
pub(super) struct Sink {
    pub(super) name: &'static str,
    /// File name extensions, the default first.
    pub(super) endings: &'static [&'static str],
    /// What the format is for, in a few words.
    pub(super) help: &'static str,
    /// True if the file is not text.
    pub(super) is_binary: bool,
    /// True if the format shows the causes of slowness.
    pub(super) shows_causes: bool,
    pub(super) write: SinkWrite,
}

/// How a format is written.
pub(super) enum SinkWrite {
    /// Part of a lane after part of a lane, so packed lanes never need to be in memory together.
    Parts(fn(TraceItems<'_, '_>, &mut dyn Write, OnLanes<'_>) -> io::Result<()>),
    /// All lanes together.
    Whole(fn(&Trace<'_>, &mut dyn Write, OnLanes<'_>) -> io::Result<()>),
}

/// Export format with one file per trace.
#[derive(Clone, Copy)]
pub struct ExportFormat(pub(super) &'static Sink);

impl ExportFormat {
    /// All formats, in the order in which they are offered.
    pub const ALL: &'static [Self] = &[
        Self::PERFETTO,
        Self::CHROME,
        Self::FOLDED,
        Self::FOLDED_CHIP,
        Self::FOLDED_CALLS,
        Self::TRACY,
        Self::HTML,
    ];

    /// Returns the name of the format.
    #[must_use]
    pub const fn label(self) -> &'static str {
        self.0.name
    }

    /// Returns the file name extensions, the default first.
    #[must_use]
    pub const fn endings(self) -> &'static [&'static str] {
        self.0.endings
    }

    /// Returns what the format is for, in a few words that follow its name.
    #[must_use]
    pub const fn help(self) -> &'static str {
        self.0.help
    }

    /// Returns true if a terminal cannot show the format.
    #[must_use]
    pub const fn is_binary(self) -> bool {
        self.0.is_binary
    }

    /// Returns the format that matches a file name's extension.
    ///
    /// ```
    /// use export::ExportFormat;
    /// use std::path::Path;
    /// let format = |name| ExportFormat::from_path(Path::new(name));
    /// assert_eq!(format("out/matmul.pftrace"), Some(ExportFormat::PERFETTO));
    /// assert_eq!(format("matmul.chip.folded"), Some(ExportFormat::FOLDED_CHIP));
    /// assert_eq!(format("matmul.calls.folded"), Some(ExportFormat::FOLDED_CALLS));
    /// assert_eq!(format("matmul.json"), Some(ExportFormat::CHROME));
    /// assert_eq!(format("matmul.csv"), None);
    /// ```
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let with_endings = Self::ALL
            .iter()
            .flat_map(|&format| format.endings().iter().map(move |end| (end, format)));
        let fitting = with_endings.filter(|(end, _)| name.ends_with(**end));
        fitting.max_by_key(|(end, _)| end.len()).map(|(_, format)| format)
    }

    /// Returns true if packed lanes can be written without unpacking all of them together.
    #[must_use]
    pub const fn takes_packed(self) -> bool {
        matches!(self.0.write, SinkWrite::Parts(_))
    }

    /// Returns true if the format shows the causes of slowness.
    #[must_use]
    pub const fn shows_causes(self) -> bool {
        self.0.shows_causes
    }

    /// Adds the causes of slowness to a recording's trace, if this format shows them; also those in what
    /// memory held, if the trace has it.
    pub fn add_causes(self, trace: &mut Trace<'_>, recording: &Recording) {
        if self.0.shows_causes {
            let mut explanation = Explanation::from_recording_window(recording, Scope::BY_MODULE);
            if let Some(memory) = &trace.memory {
                explanation.add_memory(&memory.usage);
            }
            trace.explanation = Some(explanation);
        }
    }

    /// Writes a trace. Calls `on_lanes` with the number of lanes written so far.
    ///
    /// Lanes are encoded in parallel but written in order, so the same trace always gives the same
    /// bytes.
    ///
    /// # Errors
    /// If `out` fails, if packed items cannot be read from the temporary file, or if the items are
    /// packed and the format needs all of them: see [`Self::takes_packed`].
    pub fn write<'t, 'a: 't>(
        self,
        items: impl Into<TraceItems<'t, 'a>>,
        out: &mut dyn Write,
        on_lanes: OnLanes<'_>,
    ) -> io::Result<()> {
        let items = items.into();
        match (&self.0.write, items) {
            (SinkWrite::Parts(write), _) => write(items, out, on_lanes),
            (SinkWrite::Whole(write), TraceItems::InMemory(trace)) => write(trace, out, on_lanes),
            (SinkWrite::Whole(_), TraceItems::Packed(_)) => Err(io::Error::other(format!(
                "the format {self} needs all lanes in memory, found packed lanes"
            ))),
        }
    }
}

impl PartialEq for ExportFormat {
    fn eq(&self, other: &Self) -> bool {
        self.label() == other.label()
    }
}

impl Eq for ExportFormat {}

impl fmt::Debug for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExportFormat").field(&self.label()).finish()
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

/// Error for an unknown format name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no format `{found}`; choose from {}", labels())]
pub struct UnknownFormat {
    found: String,
}

/// Returns the names of all formats in one line.
fn labels() -> String {
    ExportFormat::ALL.iter().map(|format| format.label()).collect::<Vec<_>>().join(", ")
}

impl FromStr for ExportFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let named = Self::ALL.iter().find(|format| format.label() == text);
        named.copied().ok_or_else(|| UnknownFormat { found: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_formats_share_a_name_or_an_ending() {
        let names: Vec<_> = ExportFormat::ALL.iter().map(|format| format.label()).collect();
        let endings: Vec<_> =
            ExportFormat::ALL.iter().flat_map(|format| format.endings()).copied().collect();
        for all in [names, endings] {
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
        }
        for format in ExportFormat::ALL {
            assert_eq!(format.label().parse(), Ok(*format));
            for ending in format.endings() {
                let path = format!("folder/Name{ending}");
                assert_eq!(ExportFormat::from_path(Path::new(&path)), Some(*format), "{path}");
            }
        }
    }
}
