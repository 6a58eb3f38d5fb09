//! Fits a chip's clock to the host's clock from two-way pings, with a guaranteed bound.

use reader::clock::{ClockError, CorridorFit, Resolution, TwoWayPing};

/// Returns the fitted frequency in GHz.
fn frequency_ghz(pings: &[TwoWayPing]) -> Result<f64, ClockError> {
    let fit = CorridorFit::fit(pings, Resolution::HOST_NANOSECONDS)?;
    // The slope is in nanoseconds per cycle.
    Ok(1.0 / fit.line().line().slope())
}

/// Returns pings of a chip at 1.35 GHz, a tenth of a second apart; each round trip takes 800 ns.
fn pings() -> Vec<TwoWayPing> {
    let ping = |index: i64| {
        let host_send_ns = index * 100_000_000;
        let device_cycles = u64::try_from(host_send_ns + 400).unwrap_or(0) * 135 / 100;
        TwoWayPing { host_send_ns, device_cycles, host_receive_ns: host_send_ns + 800 }
    };
    (0..11).map(ping).collect()
}

fn main() -> Result<(), ClockError> {
    println!("{:.6} GHz", frequency_ghz(&pings())?);
    Ok(())
}

#[test]
fn the_frequency_is_found() {
    let error = frequency_ghz(&pings()).unwrap() / 1.35 - 1.0;
    assert!(error.abs() < 1e-6, "{error}");
}
