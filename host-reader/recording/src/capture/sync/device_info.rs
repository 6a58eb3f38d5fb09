//! Export of a mesh's clock samples in the format of TT-Metal's synchronisation file.

use super::samples::MeshSamples;
use reader::clock::{HostStamp, Regression, TwoWayPing};
use std::io::{self, Write};

/// Maximum length of a session, both in cycles and in nanoseconds. A session is a group of
/// successive pings.
///
/// TT-Metal's sessions are shorter, because their timestamps have 32 bits.
const LONGEST_SESSION: u64 = 1 << 31;

/// Number of low clock bits in the first timestamp of a session. TT-Metal's markers also have 44
/// bits.
const CLOCK_BITS: u32 = 44;

/// The header line, as TT-Metal prints it, with the space before `core_y`.
const HEADER: &str = "device id,core_x, core_y,device,host_tracy,host_real,write_overhead,\
    host_start,delay,frequency,tracy_ratio,tracy_base_time,device_frequency_ratio,device_shift";

/// Writes `sync_device_info.csv` and returns the number of rows.
///
/// The file contains the pings of each chip's reference tile. Each row of a session contains the
/// parameters of a fit of all pings from the first session to the end of this session. TT-Metal's
/// format has one host time per ping: the middle between the two host times of the ping. The
/// duration of the ping is written to the column `write_overhead`. One tick of a host time is one
/// nanosecond. The file does not relate the clocks of different chips. Chips without a fit are
/// omitted.
///
/// # Errors
/// If `out` returns an error.
///
/// ```
/// use recording::capture::sync::{write_sync_info, MeshSamples};
/// use reader::clock::{PingBurst, Tile, TwoWayPing};
/// let ping = |at: u32| TwoWayPing {
///     host_send_ns: (1_000 * at).into(),
///     device_cycles: (2_000 * at).into(),
///     host_receive_ns: (1_000 * at + 10).into(),
/// };
/// let mut samples = MeshSamples::default();
/// samples.add_burst(PingBurst { tile: Tile::new(3, 1, 2), pings: vec![ping(1), ping(2)] });
/// let mut csv = Vec::new();
/// assert_eq!(write_sync_info(&samples, &mut csv)?, 2);
/// let csv = String::from_utf8(csv)?;
/// assert!(csv.starts_with("device id,core_x, core_y,device,"));
/// assert!(csv.lines().nth(2).unwrap().contains("   2.000000000000000,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Compatibility
/// The format is that of `tt_metal/impl/profiler/tt_metal_profiler.cpp`, including the constants at
/// the end of a row.
pub fn write_sync_info(samples: &MeshSamples, mut out: impl Write) -> io::Result<u64> {
    writeln!(out, "{HEADER}")?;
    let mut row_count = 0_u64;
    for chip in samples.chips() {
        let Some(tile) = samples.reference(chip) else { continue };
        let pings = samples.tiles_of(chip).find(|(other, _)| *other == tile);
        let sessions = sessions_of(pings.map_or(&[], |(_, pings)| pings));
        for (index, session) in sessions.iter().enumerate() {
            let until_here = sessions.get(..=index).unwrap_or(&sessions);
            let start_ns = until_here.iter().filter_map(|session| session.first()).map(host_ns);
            let start_ns = start_ns.min().unwrap_or(0);
            let stamps: Vec<_> =
                until_here.iter().flat_map(|session| stamps(session, start_ns)).collect();
            let Ok(fit) = Regression::fit(&stamps) else { continue };
            for (ping, stamp) in session.iter().zip(self::stamps(session, start_ns)) {
                let HostStamp { device_cycles, host_ns } = stamp;
                let (delay, frequency) = (fit.delay_cycles, fit.frequency_ghz);
                writeln!(
                    out,
                    "{:5},{:5},{:5},{device_cycles:20},{host_ns:20},{:20.2},{:20},{start_ns:20},\
                     {delay:20.2},{frequency:20.15},{:20.15},{:20},1.0,0",
                    tile.chip,
                    tile.x,
                    tile.y,
                    host_ns as f64,
                    duration_ns(ping),
                    1.0,
                    0,
                )?;
                row_count = row_count.saturating_add(1);
            }
        }
    }
    out.flush()?;
    Ok(row_count)
}

/// Splits pings into sessions that are shorter than `LONGEST_SESSION`.
fn sessions_of(pings: &[TwoWayPing]) -> Vec<&[TwoWayPing]> {
    let mut sessions = Vec::new();
    let mut rest = pings;
    while let Some(first) = rest.first() {
        let near = rest.iter().take_while(|ping| {
            ping.device_cycles.abs_diff(first.device_cycles) < LONGEST_SESSION
                && host_ns(ping).abs_diff(host_ns(first)) < LONGEST_SESSION
        });
        let (session, later) = rest.split_at(near.count().max(1));
        sessions.push(session);
        rest = later;
    }
    sessions
}

/// Converts each ping of a session to a pair of host time and chip time. The host times are
/// relative to `start_ns`.
fn stamps(session: &[TwoWayPing], start_ns: u64) -> impl Iterator<Item = HostStamp> {
    // High clock bits of the session's first ping; they are subtracted from all stamps.
    let beyond = session.first().map_or(0, |ping| ping.device_cycles >> CLOCK_BITS << CLOCK_BITS);
    session.iter().map(move |ping| HostStamp {
        device_cycles: ping.device_cycles.wrapping_sub(beyond),
        host_ns: host_ns(ping).saturating_sub(start_ns).saturating_add(duration_ns(ping)),
    })
}

fn host_ns(ping: &TwoWayPing) -> u64 {
    u64::try_from(i64::midpoint(ping.host_send_ns, ping.host_receive_ns)).unwrap_or(0)
}

const fn duration_ns(ping: &TwoWayPing) -> u64 {
    ping.host_receive_ns.abs_diff(ping.host_send_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::clock::{PingBurst, Tile};

    fn written(tile: Tile, pings: &[TwoWayPing]) -> Vec<String> {
        let mut samples = MeshSamples::default();
        samples.add_burst(PingBurst { tile, pings: pings.to_vec() });
        let mut csv = Vec::new();
        let row_count = write_sync_info(&samples, &mut csv).unwrap();
        let lines: Vec<String> =
            String::from_utf8(csv).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines.len() as u64, 1 + row_count);
        lines
    }

    const fn ping(host_send_ns: i64, device_cycles: u64, host_receive_ns: i64) -> TwoWayPing {
        TwoWayPing { host_send_ns, device_cycles, host_receive_ns }
    }

    #[test]
    fn file_looks_as_upstream_prints_it() {
        let cycles = (1 << 44) + (1 << 32);
        let pings = [ping(999_950, cycles, 1_000_050), ping(1_001_975, cycles + 2000, 1_002_025)];
        let expected = [
            "device id,core_x, core_y,device,host_tracy,host_real,write_overhead,host_start,delay,frequency,tracy_ratio,tracy_base_time,device_frequency_ratio,device_shift",
            "    3,    1,   11,          4294967296,                 100,              100.00,                 100,             1000000,       4294967193.44,   1.025641025641026,   1.000000000000000,                   0,1.0,0",
            "    3,    1,   11,          4294969296,                2050,             2050.00,                  50,             1000000,       4294967193.44,   1.025641025641026,   1.000000000000000,                   0,1.0,0",
        ];
        assert_eq!(written(Tile::new(3, 1, 11), &pings), expected);
    }

    #[test]
    fn sessions_are_fitted_together_from_the_earliest_start() {
        let late = 5_000_000_000;
        let pings = [ping(0, 0, 0), ping(100, 200, 100), ping(late, 10_000_000_000, late)];
        let rows = written(Tile::new(0, 1, 2), &pings);
        let column = |row: &str, of: usize| row.split(',').nth(of).unwrap().trim().to_owned();
        let host_times: Vec<_> = rows[1..].iter().map(|row| column(row, 4)).collect();
        assert_eq!(host_times, ["0", "100", "5000000000"]);
        assert!(rows[1..].iter().all(|row| column(row, 9) == "2.000000000000000"), "{rows:?}");
    }

    #[test]
    fn a_slow_ping_does_not_delay_the_pings_after_it() {
        let pings = [ping(0, 100, 200), ping(1000, 6000, 11_000), ping(11_010, 11_020, 11_030)];
        let rows = written(Tile::new(0, 1, 2), &pings);
        let host_times: Vec<_> =
            rows[1..].iter().map(|row| row.split(',').nth(4).unwrap().trim().to_owned()).collect();
        assert_eq!(host_times, ["200", "15900", "10940"]);
    }
}
