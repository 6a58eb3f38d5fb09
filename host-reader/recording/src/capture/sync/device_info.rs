//! Export of a mesh's clock samples in the format of TT-Metal's synchronisation file.

use super::samples::MeshSamples;
use reader::clock::{OneWaySession, OneWayStamp, Regression, SyncCsv, Tile, TwoWayPing};
use std::io::{self, Write};

/// Maximum length of a session, in cycles and in nanoseconds: in a longer session, the 32 bits of a
/// stamp might wrap around.
const LONGEST_SESSION: u64 = 1 << 31;

/// Writes `sync_device_info.csv` and returns the number of rows.
///
/// The file contains the pings of each chip's reference tile. The rows of a session contain the fit
/// of all pings up to the end of the session. A ping is written as a stamp at the middle between
/// its two host times. The duration of the ping is written as the duration of the write. Ticks are
/// nanoseconds. Chips are not related to each other. Chips without a fit are omitted.
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
pub fn write_sync_info(samples: &MeshSamples, out: impl Write) -> io::Result<u64> {
    let mut csv = SyncCsv::new(out);
    csv.write_header()?;
    let mut row_count = 0_u64;
    for chip in samples.chips() {
        let Some(tile) = samples.reference(chip) else { continue };
        let pings = samples.tiles_of(chip).find(|(other, _)| *other == tile);
        let sessions = sessions_of(tile, pings.map_or(&[], |(_, pings)| pings));
        for (index, session) in sessions.iter().enumerate() {
            let until_here = sessions.get(..=index).unwrap_or(&sessions);
            if let Ok(fit) = Regression::fit(until_here, 1.0) {
                csv.write_host_rows(&fit, session, 0)?;
                row_count = row_count.saturating_add(session.stamps.len() as u64);
            }
        }
    }
    csv.into_inner().flush()?;
    Ok(row_count)
}

/// Splits pings into sessions that are short enough for the 32 bits of a stamp.
fn sessions_of(tile: Tile, pings: &[TwoWayPing]) -> Vec<OneWaySession> {
    let mut sessions = Vec::new();
    let mut rest = pings;
    while let Some(first) = rest.first() {
        let near = rest.iter().take_while(|ping| {
            ping.device_cycles.abs_diff(first.device_cycles) < LONGEST_SESSION
                && host_ns(ping).abs_diff(host_ns(first)) < LONGEST_SESSION
        });
        let (session, later) = rest.split_at(near.count().max(1));
        sessions.push(session_of(tile, first, session));
        rest = later;
    }
    sessions
}

fn host_ns(ping: &TwoWayPing) -> u64 {
    u64::try_from(i64::midpoint(ping.host_send_ns, ping.host_receive_ns)).unwrap_or(0)
}

/// Returns the low 32 bits.
fn low(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn session_of(tile: Tile, first: &TwoWayPing, pings: &[TwoWayPing]) -> OneWaySession {
    let start = host_ns(first);
    OneWaySession {
        tile,
        host_start_ticks: start,
        device_high: low(first.device_cycles >> 32) & OneWaySession::DEVICE_HIGH_MASK,
        device_low_cycles: low(first.device_cycles),
        stamps: pings
            .iter()
            .map(|ping| OneWayStamp {
                device_low_cycles: low(ping.device_cycles),
                host_ticks: low(host_ns(ping).saturating_sub(start)),
                write_duration_ticks: low(ping.host_receive_ns.abs_diff(ping.host_send_ns)),
            })
            .collect(),
    }
}
