//! Points of plots, and marks of frames.

use super::Session;
use crate::{
    item::Item,
    protocol::{ItemKind, Query},
};

impl Session {
    pub(super) fn take_plot_item(&mut self, item: Item<'_>) -> Option<()> {
        let mut fields = item.fields;
        if item.kind == ItemKind::SysTimeReport {
            let time_ns = self.clock.ns(fields.i64()?);
            let percent = fields.f32()?.into();
            let has_room = self.has_room();
            let plot = self.plots.with_key(0, Query::PlotName, &mut self.queries)?;
            if has_room {
                plot.points.push((time_ns, percent, 0));
                self.point_count = self.point_count.saturating_add(1);
            }
            return Some(());
        }
        let key = fields.u64()?;
        if item.kind == ItemKind::PlotConfig {
            // The unit of a plot is not kept.
            self.plots.with_key(key, Query::PlotName, &mut self.queries)?;
            return Some(());
        }
        let time_ns = self.clock.ns(self.thread_time.advance(fields.i64()?));
        #[expect(clippy::cast_precision_loss, reason = "plots are of floats, as Tracy's are")]
        let value = match item.kind {
            ItemKind::PlotDataInt => fields.i64()? as f64,
            ItemKind::PlotDataFloat => fields.f32()?.into(),
            _ => fields.f64()?,
        };
        let has_room = self.has_room();
        let thread = self.threads.current(&mut self.queries);
        let plot = self.plots.with_key(key, Query::PlotName, &mut self.queries)?;
        if has_room {
            plot.points.push((time_ns, value, thread));
            self.point_count = self.point_count.saturating_add(1);
        }
        Some(())
    }

    pub(super) fn take_frame_mark(&mut self, item: Item<'_>) -> Option<()> {
        let mut fields = item.fields;
        let time_ns = self.clock.ns(fields.i64()?);
        let key = fields.u64()?;
        let has_room = self.has_room();
        let series = self.frames.with_key(key, Query::FrameName, &mut self.queries)?;
        match item.kind {
            ItemKind::FrameMarkMsgEnd => {
                series.frames.last_mut().filter(|frame| frame.1.is_none())?.1 = Some(time_ns);
            }
            _ if has_room => {
                series.frames.push((time_ns, None));
                self.point_count = self.point_count.saturating_add(1);
            }
            _ => {}
        }
        Some(())
    }
}
