//! Rows of `sync_device_info.csv`, as TT-Metal prints them.
//!
//! This module only formats text; the exporter opens and truncates the file.

use super::{OneWaySession, Regression};
use std::io::{self, Write};

/// Writer for the header and the rows of `sync_device_info.csv`.
///
/// # Compatibility
///
/// `tt_metal/impl/profiler/tt_metal_profiler.cpp`: the space before `core_y` and the constants
/// `1.0,0` at the end of host rows are copied from TT-Metal.
///
/// # Examples
///
/// ```
/// use reader::clock::{OneWaySession, Regression, SyncCsv, Tile};
/// let words = [0, 5000, 5000, 0, 6000, 1000];
/// let session = OneWaySession::from_words(Tile::new(0, 1, 2), 700, &words, &[0, 20]).unwrap();
/// let fit = Regression::fit(std::slice::from_ref(&session), 1.0)?;
/// let mut csv = SyncCsv::new(Vec::new());
/// csv.write_header()?;
/// csv.write_host_rows(&fit, &session, 900)?;
/// csv.write_device_row(1, 1.000001, -250.5)?;
/// let text = String::from_utf8(csv.into_inner())?;
/// assert_eq!(text.lines().nth(3), Some(concat!(
///     "    1,,,,,,,,,,,,   1.000001000000000,              -250.5",
/// )));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SyncCsv<W> {
    writer: W,
}

impl<W: Write> SyncCsv<W> {
    /// The header line, without a line break.
    pub const HEADER: &'static str = "device id,core_x, core_y,device,host_tracy,host_real,\
        write_overhead,host_start,delay,frequency,tracy_ratio,tracy_base_time,\
        device_frequency_ratio,device_shift";

    /// Creates a formatter for `writer`, which should be buffered.
    pub fn new(writer: W) -> Self {
        Self { writer }
    }

    /// Writes the header line.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn write_header(&mut self) -> io::Result<()> {
        writeln!(self.writer, "{}", Self::HEADER)
    }

    /// Writes one row per stamp of a session, with the fit at the end of that session.
    ///
    /// `fit` covers this session and all earlier sessions of the core, since TT-Metal repeats the
    /// fit after each session. `tracy_base_time` is the host clock at the start of the Tracy
    /// client, in ticks.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn write_host_rows(
        &mut self,
        fit: &Regression,
        session: &OneWaySession,
        tracy_base_time: i64,
    ) -> io::Result<()> {
        let since = session.host_start_ticks.saturating_sub(fit.host_start_ticks());
        for stamp in session.unwrapped() {
            let host_ticks = since.saturating_add(stamp.host_ticks);
            writeln!(
                self.writer,
                "{:5},{:5},{:5},{:20},{:20},{:20.2},{:20},{:20},{:20.2},{:20.15},{:20.15},{:20},1.0,0",
                session.tile.chip,
                session.tile.x,
                session.tile.y,
                stamp.device_cycles,
                host_ticks,
                host_ticks as f64 * fit.ns_per_tick(),
                stamp.write_duration_ticks,
                fit.host_start_ticks(),
                fit.delay_cycles(),
                fit.frequency_ghz(),
                fit.ns_per_tick(),
                tracy_base_time,
            )?;
        }
        Ok(())
    }

    /// Writes the row of a chip that is synchronised with the root chip.
    ///
    /// `root cycles = ratio * chip cycles + shift_cycles`.
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn write_device_row(&mut self, chip: u32, ratio: f64, shift_cycles: f64) -> io::Result<()> {
        let shift = shortest_float(shift_cycles);
        writeln!(self.writer, "{chip:5},,,,,,,,,,,,{ratio:20.15},{shift:>20}")
    }

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

/// Formats a number with the fewest digits that parse to the same number, like `{fmt}`.
///
/// Below 1e-4 and from 1e16 on, the number has an exponent of at least two digits.
pub fn shortest_float(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() || magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{OneWayStamp, Tile};

    #[test]
    fn file_looks_as_upstream_prints_it() {
        let session = OneWaySession {
            tile: Tile::new(3, 1, 11),
            host_start_ticks: 1_000_000,
            device_high: 1,
            device_low_cycles: 0,
            stamps: vec![stamp(1000, 900, 100), stamp(3000, 2950, 50)],
        };
        let fit = Regression::fit(std::slice::from_ref(&session), 0.5).unwrap();
        let mut csv = SyncCsv::new(Vec::new());
        csv.write_header().unwrap();
        csv.write_host_rows(&fit, &session, 123_456).unwrap();
        csv.write_device_row(0, 0.999_999_5, -1.5e17).unwrap();
        let text = String::from_utf8(csv.into_inner()).unwrap();
        let expected = [
            "device id,core_x, core_y,device,host_tracy,host_real,write_overhead,host_start,delay,frequency,tracy_ratio,tracy_base_time,device_frequency_ratio,device_shift",
            "    3,    1,   11,          4294968296,                1000,              500.00,                 100,             1000000,       4294967296.00,   2.000000000000000,   0.500000000000000,              123456,1.0,0",
            "    3,    1,   11,          4294970296,                3000,             1500.00,                  50,             1000000,       4294967296.00,   2.000000000000000,   0.500000000000000,              123456,1.0,0",
            "    0,,,,,,,,,,,,   0.999999500000000,            -1.5e+17",
            "",
        ];
        assert_eq!(text, expected.join("\n"));
    }

    const fn stamp(
        device_low_cycles: u32,
        host_ticks: u32,
        write_duration_ticks: u32,
    ) -> OneWayStamp {
        OneWayStamp { device_low_cycles, host_ticks, write_duration_ticks }
    }

    #[test]
    fn shortest_digits_use_exponents_where_fmt_does() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-250.5, "-250.5"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e16, "1e+16"),
            (1.25e120, "1.25e+120"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
        ];
        for (value, expected) in cases {
            assert_eq!(shortest_float(value), expected);
        }
    }
}
