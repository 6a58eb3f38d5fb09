//! Fill level of the fullest lane, as text and JSON.

use crate::numbers::{counted, grouped};
use host_reader::{
    read::{LaneWatermark, Watermarks},
    tables::Object,
};
use std::io::Write;

/// Returns the lane that was fullest when it was read; `None` for logs, which do not record fill
/// levels.
pub(crate) fn fullest_lane(watermarks: &Watermarks) -> Option<Object<LaneWatermark>> {
    Some(Object::new(
        *watermarks.fullest()?,
        [
            ("chip_id", |mark| mark.lane.chip_id.into()),
            ("core_x", |mark| mark.lane.core.x.into()),
            ("core_y", |mark| mark.lane.core.y.into()),
            ("risc", |mark| mark.lane.risc.label().into()),
            ("used_words", |mark| mark.used_words.into()),
            ("lane_words", |mark| mark.lane_words.into()),
            ("words_per_launch", |mark| mark.words_per_launch.into()),
            ("launches_left", |mark| mark.launches_left().into()),
            ("lost_launches", |mark| mark.lost_launches.into()),
        ],
    ))
}

/// Writes a line about the fullest lane if the lane was more than half full, or if records of
/// launches did not fit into the lane.
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
