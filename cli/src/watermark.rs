//! Maximum fill level of lanes, as text and JSON.

use crate::numbers::{counted, grouped};
use host_reader::read::{LaneWatermark, Watermarks};
use serde::Serialize;
use std::io::Write;

/// The lane with the highest fill level at a read.
#[derive(Serialize)]
pub(crate) struct FullestLane {
    chip_id: u32,
    core_x: u16,
    core_y: u16,
    risc: &'static str,
    used_words: u32,
    lane_words: u32,
    words_per_launch: u32,
    launches_left: Option<u32>,
    lost_launches: u32,
}

impl FullestLane {
    /// Returns the fullest lane of a readout; `None` for logs, which do not record it.
    pub(crate) fn new(watermarks: &Watermarks) -> Option<Self> {
        let mark = watermarks.fullest()?;
        let lane = mark.lane;
        Some(Self {
            chip_id: lane.chip_id,
            core_x: lane.core.x,
            core_y: lane.core.y,
            risc: lane.risc.label(),
            used_words: mark.used_words,
            lane_words: mark.lane_words,
            words_per_launch: mark.words_per_launch,
            launches_left: mark.launches_left(),
            lost_launches: mark.lost_launches,
        })
    }
}

/// Writes a line if a lane was more than half full.
pub(crate) fn write_fullest(watermarks: &Watermarks, out: &mut impl Write) -> std::io::Result<()> {
    let is_worth_a_line =
        |mark: &&LaneWatermark| mark.used_words > mark.lane_words / 2 || mark.lost_launches > 0;
    let Some(mark) = watermarks.fullest().filter(is_worth_a_line) else { return Ok(()) };
    let percent = u64::from(mark.used_words) * 100 / u64::from(mark.lane_words.max(1));
    writeln!(
        out,
        "Fullest lane when it was read: {}, {} of {} words ({percent} %), {}",
        mark.lane,
        grouped(mark.used_words.into()),
        grouped(mark.lane_words.into()),
        room(mark),
    )
}

fn room(mark: &LaneWatermark) -> String {
    match mark.launches_left() {
        _ if mark.lost_launches > 0 => {
            let lost = u64::from(mark.lost_launches);
            format!("overflowed {} ago; read more often", counted(lost, "launch", "launches"))
        }
        Some(0) => "no room for more; read more often".to_owned(),
        Some(left) => format!("room for {} more", counted(left.into(), "launch", "launches")),
        None => "nothing pushed yet".to_owned(),
    }
}
