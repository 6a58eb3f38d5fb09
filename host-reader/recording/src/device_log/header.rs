//! The first two lines of a device log: chip data and column titles.
//!
//! # Compatibility
//! All titles are known that TT-Metal's `profiler.cpp` has written since September 2024, and those
//! of the older sample in TT-Metal's documentation. Titles are matched after trimming, so the
//! doubled blank before `zone name` in older logs does not matter.

use super::text::{parse_number, trimmed};

/// Chip data from the first line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogChip {
    /// Lower-case name of the architecture.
    pub arch: String,
    /// Clock of the tiles in MHz.
    pub aiclk_mhz: u32,
    /// Size of the worker grid, if known.
    pub max_compute_cores: Option<u32>,
    /// True if the size of the worker grid is given as 0; only the streaming profiler writes 0.
    pub(super) has_no_cores: bool,
}

impl LogChip {
    /// Parses `ARCH: x, CHIP_FREQ[MHz]: n[, Max Compute Cores: m]` or `Chip clock is at n MHz`.
    ///
    /// The second form is older; only Grayskull logs contain it.
    pub(super) fn parse(line: &str) -> Option<Self> {
        if let Some((_, clock)) = line.split_once("Chip clock is at ") {
            let digits = clock.split(|c: char| !c.is_ascii_digit()).next()?;
            let aiclk_mhz = digits.parse().unwrap_or(GRAYSKULL_MHZ);
            return Some(Self { arch: "grayskull".into(), aiclk_mhz, ..Self::default() });
        }
        let mut parts = line.split(',').map(value_after_title);
        let arch = parts.next()??.1.to_owned();
        let clock = parts.next()??;
        let cores = parts.next().flatten().and_then(|(_, cores)| cores.parse().ok());
        let is_chip_line = line.trim_start().starts_with("ARCH") && clock.0.contains("FREQ");
        let aiclk_mhz = clock.1.parse().ok()?;
        // The streaming profiler writes 0 if the grid is unknown.
        let max_compute_cores = cores.filter(|&cores| cores > 0);
        let has_no_cores = cores == Some(0);
        is_chip_line.then_some(Self { arch, aiclk_mhz, max_compute_cores, has_no_cores })
    }
}

const GRAYSKULL_MHZ: u32 = 1200;

fn value_after_title(part: &str) -> Option<(&str, &str)> {
    part.rsplit_once(':').map(|(title, value)| (title.trim(), value.trim()))
}

/// A column that this reader uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Chip,
    CoreX,
    CoreY,
    Risc,
    MarkerId,
    Time,
    Data,
    Kind,
    RunId,
    RunHostId,
    TraceId,
    TraceCounter,
    ZoneName,
    SourceLine,
    SourceFile,
    Metadata,
    LogicalX,
    LogicalY,
}

impl Column {
    const COUNT: usize = 18;

    /// All titles of each column in any format. The first title of a column is the current title.
    const TITLES: [(Self, &'static str); 20] = [
        (Self::Chip, "PCIe slot"),
        (Self::CoreX, "core_x"),
        (Self::CoreY, "core_y"),
        (Self::Risc, "RISC processor type"),
        (Self::MarkerId, "timer_id"),
        (Self::Time, "time[cycles since reset]"),
        (Self::Data, "data"),
        (Self::Data, "stat value"),
        (Self::Kind, "type"),
        (Self::Kind, "zone phase"),
        (Self::RunId, "run ID"),
        (Self::RunHostId, "run host ID"),
        (Self::TraceId, "trace id"),
        (Self::TraceCounter, "trace id counter"),
        (Self::ZoneName, "zone name"),
        (Self::SourceLine, "source line"),
        (Self::SourceFile, "source file"),
        (Self::Metadata, "meta data"),
        (Self::LogicalX, "logical_x"),
        (Self::LogicalY, "logical_y"),
    ];

    /// Columns that every log must have.
    const NEEDED: [Self; 8] = [
        Self::Chip,
        Self::CoreX,
        Self::CoreY,
        Self::Risc,
        Self::MarkerId,
        Self::Time,
        Self::Data,
        Self::Kind,
    ];

    /// Returns the column's title in current logs.
    pub(super) fn title(self) -> &'static str {
        Self::TITLES.iter().find(|(column, _)| *column == self).map_or("", |(_, title)| title)
    }

    fn from_title(title: &[u8]) -> Option<Self> {
        let matches = |(_, known): &&(Self, &str)| known.as_bytes().eq_ignore_ascii_case(title);
        Self::TITLES.iter().find(matches).map(|&(column, _)| column)
    }
}

/// Maximum number of columns in a line of titles.
pub(super) const MAX_COLUMNS: usize = 32;

/// Positions of the columns in the fields of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    positions: [Option<usize>; Column::COUNT],
    column_count: usize,
    is_streaming: bool,
}

impl Layout {
    /// Finds the columns in a line of titles; the error is the first missing title.
    pub(super) fn parse(line: &[u8]) -> Result<Self, &'static str> {
        let mut positions = [None; Column::COUNT];
        let mut column_count = 0;
        for (position, title) in line.split(|&byte| byte == b',').enumerate() {
            column_count = position.saturating_add(1);
            let title = trimmed(title);
            let title = title.strip_prefix(b"\"").unwrap_or(title);
            let title = title.strip_suffix(b"\"").unwrap_or(title);
            let known =
                Column::from_title(title).and_then(|column| positions.get_mut(column as usize));
            if let Some(known) = known {
                known.get_or_insert(position);
            }
        }
        let layout = Self { positions, column_count, is_streaming: false };
        let missing = Column::NEEDED.into_iter().find(|&column| layout.position(column).is_none());
        match missing {
            Some(column) => Err(column.title()),
            None if column_count > MAX_COLUMNS => Err("at most 32 columns"),
            None => Ok(layout),
        }
    }

    /// Returns the index of the column's field, if the log has the column.
    #[inline]
    pub(super) fn position(&self, column: Column) -> Option<usize> {
        self.positions.get(column as usize).copied().flatten()
    }

    /// Adapts the layout to the chip data of the log's first line.
    ///
    /// # Compatibility
    /// `streaming_profiler_zone_csv.cpp` of TT-Metal 0.81 writes a worker grid of 0 cores, and adds
    /// two columns with logical coordinates after the current columns.
    pub(super) fn for_chip(self, chip: &LogChip) -> Self {
        let last = [Column::Metadata, Column::LogicalX, Column::LogicalY];
        let positions = (0..self.column_count).rev().zip(last.into_iter().rev());
        let mut last = positions.map(|(position, column)| (Some(position), column));
        let is_streaming =
            chip.has_no_cores && last.all(|(position, column)| self.position(column) == position);
        Self { is_streaming, ..self }
    }

    /// Returns true for a log of TT-Metal's streaming profiler.
    ///
    /// In such a log, the run host id is the number of the process that wrote the log, and the
    /// trace id is the id of the program.
    #[inline]
    pub(super) const fn is_streaming(&self) -> bool {
        self.is_streaming
    }

    /// Returns the number of fields that every line must have.
    pub(super) fn column_count(&self) -> usize {
        self.column_count
    }
}

/// Returns true if a line looks like one of the two header lines. Logs that were joined from
/// several logs repeat these lines.
pub(super) fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"ARCH:")
        || (line.starts_with(b"PCIe slot") && parse_number(line).is_none())
        || line.starts_with(b"Chip clock is at ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_first_line_is_read() {
        let parse = |line| {
            let chip = LogChip::parse(line).unwrap();
            (chip.arch, chip.aiclk_mhz, chip.max_compute_cores)
        };
        let current = "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 120";
        assert_eq!(parse(current), ("blackhole".into(), 1350, Some(120)));
        assert_eq!(parse("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000").2, None);
        assert_eq!(parse("Chip clock is at 1202 MHz"), ("grayskull".into(), 1202, None));
        assert_eq!(parse("Chip clock is at full speed").1, 1200);
    }

    #[test]
    fn other_texts_are_no_first_line() {
        for line in ["", "ARCH", "ARCH: x", "ARCH: x, CHIP_FREQ[MHz]: fast", "a,b,c", "a:1,b:2"] {
            assert_eq!(LogChip::parse(line), None, "{line}");
        }
    }

    #[test]
    fn titles_are_found_whatever_the_blanks_around_them() {
        let line = "PCIe slot, core_x,core_y ,RISC processor type, timer_id, \
                    time[cycles since reset], stat value, run ID, run host ID,  zone name, \
                    zone phase, source line, source file";
        let layout = Layout::parse(line.as_bytes()).unwrap();
        assert_eq!(layout.column_count(), 13);
        assert_eq!(layout.position(Column::ZoneName), Some(9));
        assert_eq!(layout.position(Column::Kind), Some(10));
        assert_eq!(layout.position(Column::Data), Some(6));
        assert_eq!(layout.position(Column::Metadata), None);
    }

    #[test]
    fn the_first_missing_title_is_named() {
        assert_eq!(Layout::parse(b"PCIe slot, core_x, core_y"), Err("RISC processor type"));
        assert_eq!(Layout::parse(b""), Err("PCIe slot"));
    }
}
