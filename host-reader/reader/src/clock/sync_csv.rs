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
/// let text = String::from_utf8(csv.into_inner())?;
/// assert_eq!(text.lines().count(), 3);
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

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.writer
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
        let text = String::from_utf8(csv.into_inner()).unwrap();
        let expected = [
            "device id,core_x, core_y,device,host_tracy,host_real,write_overhead,host_start,delay,frequency,tracy_ratio,tracy_base_time,device_frequency_ratio,device_shift",
            "    3,    1,   11,          4294968296,                1000,              500.00,                 100,             1000000,       4294967296.00,   2.000000000000000,   0.500000000000000,              123456,1.0,0",
            "    3,    1,   11,          4294970296,                3000,             1500.00,                  50,             1000000,       4294967296.00,   2.000000000000000,   0.500000000000000,              123456,1.0,0",
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
}
