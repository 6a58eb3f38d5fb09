//! Times of a client, in nanoseconds since its start.

use crate::protocol::{FAR_NS, NEAR_NS, TracyProtocol};

/// Clock of a client: ticks of its processor since its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientClock {
    /// Ticks when the client began to start.
    pub(crate) start_ticks: i64,
    /// Nanoseconds per tick.
    pub(crate) ns_per_tick: f64,
}

impl ClientClock {
    /// Nanoseconds from the client's start to a time in ticks, cut to whole ones as Tracy's
    /// server does.
    #[expect(clippy::cast_precision_loss, reason = "Tracy's server rounds as well")]
    #[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    pub(crate) fn ns(&self, ticks: i64) -> i64 {
        (ticks.wrapping_sub(self.start_ticks) as f64 * self.ns_per_tick) as i64
    }
}

/// A time that each item gives as a distance from the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reference(i64);

impl Reference {
    /// The time at this distance, which the next distance begins at.
    pub(crate) const fn advance(&mut self, distance: i64) -> i64 {
        self.0 = self.0.wrapping_add(distance);
        self.0
    }

    pub(crate) const fn reset(&mut self) {
        self.0 = 0;
    }
}

/// Distance of a zone's edge with 64 bits.
pub(crate) const fn far_distance(protocol: &TracyProtocol, field: i64) -> i64 {
    if protocol.has_short_times() && field >= 0 { field.wrapping_add(FAR_NS) } else { field }
}

/// Distance of a zone's edge with 32 bits.
pub(crate) fn near_distance(field: u32) -> i64 {
    i64::from(field).wrapping_add(NEAR_NS)
}
