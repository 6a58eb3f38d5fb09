//! Times of a client, in nanoseconds since the client's start.

/// Clock of a client: converts processor ticks to nanoseconds since the client's start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientClock {
    /// Tick count at which the client's start-up began.
    pub(crate) start_ticks: i64,
    /// Nanoseconds per tick.
    pub(crate) ns_per_tick: f64,
}

impl ClientClock {
    /// Converts ticks to nanoseconds since the client's start. The result is truncated to an
    /// integer, as in Tracy's server.
    #[expect(clippy::cast_precision_loss, reason = "Tracy's server rounds as well")]
    #[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    pub(crate) fn ns(&self, ticks: i64) -> i64 {
        (ticks.wrapping_sub(self.start_ticks) as f64 * self.ns_per_tick) as i64
    }
}

/// Time of the latest item. The next item contains the difference from this time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reference(i64);

impl Reference {
    /// Adds a difference and returns the new time.
    pub(crate) const fn advance(&mut self, distance: i64) -> i64 {
        self.0 = self.0.wrapping_add(distance);
        self.0
    }

    pub(crate) const fn reset(&mut self) {
        self.0 = 0;
    }
}
