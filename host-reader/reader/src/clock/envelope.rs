//! A robust fit to one-way stamps: the lowest line with no stamp above it.
//!
//! A chip cannot see a write before the host begins the write, so every stamp satisfies `begin <=
//! f(d)` for the true map `f` from cycles to host time, and delays move stamps only to one side.
//! The best line is the lowest line above all beginnings. This line is the hull edge above the mean
//! counter value; it minimises the sum of the distances to the stamps.
//!
//! One-way stamps give no bound on the other side. The line is early by the latency of the fastest
//! write, some hundred nanoseconds, which one-way stamps do not show. The slope is not affected.

use super::{
    BoundedLine, Bracket, ClockError, ErrorBound, Line, OneWaySession, Resolution,
    hull::{Slope, Walls},
};

/// Envelope of one-way stamps, for captures without better samples.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvelopeFit {
    line: BoundedLine,
    sample_count: usize,
}

impl EnvelopeFit {
    /// Fits the stamps from all sessions of one core together.
    ///
    /// # Errors
    ///
    /// [`ClockError::TooFewSamples`], [`ClockError::NoBaseline`],
    /// [`ClockError::SpanTooWide`] or [`ClockError::NotIncreasing`].
    pub fn fit(sessions: &[OneWaySession]) -> Result<Self, ClockError> {
        let start = sessions.iter().map(|s| s.host_start_ticks).min().unwrap_or(0);
        let begins: Vec<Bracket> = sessions.iter().flat_map(|s| begins(s, start)).collect();
        let exact = Resolution { host_units: 0, device_units: 0 };
        let walls = Walls::new(&begins, exact)?;
        let base = walls.base_cycles;
        let mean = begins
            .iter()
            .map(|bracket| bracket.cycles.wrapping_sub(base).cast_signed() as f64)
            .sum::<f64>()
            / begins.len() as f64;
        let line = edge_over(&walls, mean)?;
        Ok(Self { line: BoundedLine::new(line, ErrorBound::unknown()), sample_count: begins.len() })
    }

    /// Returns the map from device cycles to host ticks since the earliest session's start.
    ///
    /// The unknown latency makes the bound infinite.
    pub fn line(&self) -> &BoundedLine {
        &self.line
    }

    /// Returns the number of stamps in the fit.
    pub fn sample_count(&self) -> usize {
        self.sample_count
    }
}

/// Iterates over the times at which a session's writes began.
fn begins(session: &OneWaySession, start: u64) -> impl Iterator<Item = Bracket> + '_ {
    let since = session.host_start_ticks - start;
    session.unwrapped().map(move |stamp| {
        let ended = since.saturating_add(stamp.host_ticks);
        let began = ended.saturating_sub(u64::from(stamp.write_duration_ticks)).cast_signed();
        Bracket { before: began, cycles: stamp.device_cycles, after: began }
    })
}

fn edge_over(walls: &Walls, mean: f64) -> Result<Line, ClockError> {
    let edges = walls.lower.windows(2);
    let edge = edges
        .clone()
        .find(|edge| mean <= edge[1].x as f64)
        .or(edges.last())
        .ok_or(ClockError::NoBaseline)?;
    let slope = Slope::between(edge[0], edge[1]).value();
    Line::through(
        walls.base_cycles.wrapping_add_signed(edge[0].x),
        walls.base_units.saturating_add(edge[0].y),
        0.0,
        slope,
    )
    .ok_or(ClockError::NotIncreasing { slope })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_stamps_do_not_move_the_line() {
        // The clock has one tick per cycle, and a write takes 50 cycles; every second write is
        // late.
        let stamps =
            [(50, 0, 9), (1900, 1000, 9), (2050, 2000, 9), (3777, 3000, 9), (4050, 4000, 9)];
        let fit = EnvelopeFit::fit(&[OneWaySession::from_stamps(77, 0, &stamps)]).unwrap();
        assert_eq!(fit.sample_count(), 5);
        assert_eq!(fit.line().line().slope(), 1.0);
        assert_eq!(fit.line().line().at(3050), (3000, 0.0));
        assert_eq!(fit.line().bound_at(3050), f64::INFINITY);
    }

    #[test]
    fn one_stamp_is_no_line() {
        assert_eq!(
            EnvelopeFit::fit(&[OneWaySession::from_stamps(77, 0, &[(1, 1, 0)])]),
            Err(ClockError::NoBaseline)
        );
        assert!(matches!(EnvelopeFit::fit(&[]), Err(ClockError::TooFewSamples { .. })));
    }
}
