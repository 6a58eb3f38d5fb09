//! Contents of an export to Tracy, and changes that Tracy's limits require.

/// Numbers of exported items of each kind in an export to Tracy, and of items that Tracy cannot
/// show as recorded.
///
/// The same figures are in the export, as messages at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TracyNotes {
    /// Number of RISC zones.
    pub zones: u64,
    /// Number of lanes with zones.
    pub lanes: u64,
    /// Number of contexts that contain these lanes.
    pub contexts: u64,
    /// Number of zones of the host's threads.
    pub host_zones: u64,
    /// Number of messages: events, values, sums, losses, messages of the host, and remarks.
    pub messages: u64,
    /// Number of zones that share a source location instead of having their own, because Tracy
    /// supports only 32,767 locations.
    pub vague_zones: u64,
    /// Number of zones that end after Tracy's last nanosecond (39 hours). The end of such a zone is
    /// drawn at that nanosecond.
    pub late_zones: u64,
    /// Number of plot points of the host that are not finite and are left out.
    pub undrawn_plot_points: u64,
    /// Number of zones of a running program that were discarded before they could be sent to the
    /// viewer, because the viewer connected too late or received too slowly.
    pub missed_zones: u64,
    /// Number of messages of a running program that the viewer has missed.
    pub missed_messages: u64,
}

impl TracyNotes {
    /// Returns the name and the number of each kind of item that Tracy shows differently from the
    /// recording; empty if there are none.
    ///
    /// ```
    /// use export::tracy::TracyNotes;
    /// let notes = TracyNotes { zones: 70_000, vague_zones: 12, ..TracyNotes::default() };
    /// assert_eq!(notes.doubts(), [("zones_sharing_a_source_location", 12)]);
    /// ```
    #[must_use]
    pub fn doubts(&self) -> Vec<(&'static str, u64)> {
        let doubts = [
            ("zones_sharing_a_source_location", self.vague_zones),
            ("zones_cut_where_tracys_time_ends", self.late_zones),
            ("plot_points_left_out", self.undrawn_plot_points),
            ("zones_no_longer_kept_for_this_viewer", self.missed_zones),
            ("messages_no_longer_kept_for_this_viewer", self.missed_messages),
        ];
        doubts.into_iter().filter(|&(_, count)| count > 0).collect()
    }
}
