//! Export formats that write a single file, and their selection by label or file name.

use super::{OnLanes, Trace, chrome, folded, html, perfetto, speedscope, tracy};
use causes::Explanation;
use recording::Recording;
use std::{fmt, io, io::Write, path::Path, str::FromStr};

reader::labelled! {
    /// Export format with one file per trace.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum ExportFormat {
        /// Perfetto's protobuf format, for <https://ui.perfetto.dev> and its trace processor.
        Perfetto = "perfetto",
        /// Chrome's JSON format, for `chrome://tracing` and many other viewers.
        Chrome = "chrome",
        /// speedscope's JSON format, for <https://www.speedscope.app>.
        Speedscope = "speedscope",
        /// Folded stacks with the self cycles of each stack's innermost zone, for flame graphs.
        Folded = "folded",
        /// Folded stacks of each RISC, summed over all cores of a chip.
        FoldedChip = "folded-chip",
        /// Tracy's file format, for all versions of its viewer and for Tenstorrent's fork.
        Tracy = "tracy",
        /// HTML page for any browser, without network access: tables, core grid, timeline.
        Html = "html",
    }
}

impl ExportFormat {
    /// Returns the file name extensions, the default first.
    #[must_use]
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Perfetto => &[".pftrace", ".perfetto-trace", ".perfetto"],
            Self::Chrome => &[".trace.json", ".chrome.json", ".json"],
            Self::Speedscope => &[".speedscope.json", ".speedscope"],
            Self::Folded => &[".folded", ".collapsed", ".folded.txt"],
            Self::FoldedChip => &[".chip.folded"],
            Self::Tracy => &[".tracy"],
            Self::Html => &[".html", ".htm"],
        }
    }

    /// Returns the format that matches a file name's extension.
    ///
    /// ```
    /// use export::ExportFormat;
    /// use std::path::Path;
    /// let format = |name| ExportFormat::from_path(Path::new(name));
    /// assert_eq!(format("out/matmul.pftrace"), Some(ExportFormat::Perfetto));
    /// assert_eq!(format("matmul.speedscope.json"), Some(ExportFormat::Speedscope));
    /// assert_eq!(format("matmul.json"), Some(ExportFormat::Chrome));
    /// assert_eq!(format("matmul.csv"), None);
    /// ```
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let with_endings = Self::ALL
            .into_iter()
            .flat_map(|format| format.endings().iter().map(move |end| (end, format)));
        let fitting = with_endings.filter(|(end, _)| name.ends_with(**end));
        fitting.max_by_key(|(end, _)| end.len()).map(|(_, format)| format)
    }

    /// Adds the causes of slowness to a recording's trace, if this format shows them.
    pub fn add_causes(self, trace: &mut Trace<'_>, recording: &Recording) {
        if matches!(self, Self::Html | Self::Perfetto) {
            trace.explanation = Some(Explanation::from_recording(recording));
        }
    }

    /// Writes a trace. Calls `on_lanes` with the number of lanes written so far.
    ///
    /// Lanes are encoded in parallel but written in order, so the same trace always gives the same
    /// bytes.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(
        self,
        trace: &Trace<'_>,
        out: &mut dyn Write,
        on_lanes: OnLanes<'_>,
    ) -> io::Result<()> {
        match self {
            Self::Perfetto => perfetto::write(trace, out, on_lanes),
            Self::Chrome => chrome::write(trace, out, on_lanes),
            Self::Speedscope => speedscope::write(trace, out, on_lanes),
            Self::Folded => folded::write(trace, out, on_lanes),
            Self::FoldedChip => folded::write_chips(trace, out, on_lanes),
            Self::Tracy => {
                tracy::write_tracy_file(trace, &tracy::TracyOptions::default(), out)?;
                on_lanes(trace.lane_count());
                Ok(())
            }
            Self::Html => html::write(trace, out, on_lanes),
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

/// Error for an unknown format label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no format `{found}`; choose from perfetto, chrome, speedscope, folded, folded-chip, \
     tracy, html"
)]
pub struct UnknownFormat {
    found: String,
}

impl FromStr for ExportFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let named = Self::ALL.into_iter().find(|format| format.label() == text);
        named.ok_or_else(|| UnknownFormat { found: text.to_owned() })
    }
}
