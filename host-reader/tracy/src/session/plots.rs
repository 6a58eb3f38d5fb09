//! Points of plots, and frame marks.

use super::Session;
use crate::{
    item::Item,
    protocol::{ItemKind, Query},
    recording::TracyPlot,
    texts::TextRef,
};

/// Name of the client's plot of processor load.
const PROCESSOR_LOAD: &str = "CPU usage";
/// Name for the program's main frames, because the client sends no name for them.
const MAIN_FRAMES: &str = "Frame";

impl Session {
    pub(super) fn take_plot_item(&mut self, item: Item<'_>) -> Option<()> {
        let mut fields = item.fields;
        if item.kind == ItemKind::SysTimeReport {
            let time_ns = self.clock.ns(fields.i64()?);
            let percent = fields.f32()?.into();
            let has_room = self.has_room();
            let plot = self.plot(0)?;
            if has_room {
                plot.points.push((time_ns, percent, 0));
                self.point_count = self.point_count.saturating_add(1);
            }
            return Some(());
        }
        let key = fields.u64()?;
        if item.kind == ItemKind::PlotConfig {
            // The unit of a plot is not kept.
            self.plot(key)?;
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
        let plot = self.plot(key)?;
        if has_room {
            plot.points.push((time_ns, value, thread));
            self.point_count = self.point_count.saturating_add(1);
        }
        Some(())
    }

    fn plot(&mut self, key: u64) -> Option<&mut TracyPlot> {
        let Self { plots, texts, queries, .. } = self;
        plots.with_key(key, || match key {
            0 => TextRef::Here(PROCESSOR_LOAD.into()),
            _ => texts.ask(Query::PlotName, key, queries),
        })
    }

    pub(super) fn take_frame_mark(&mut self, item: Item<'_>) -> Option<()> {
        let mut fields = item.fields;
        let time_ns = self.clock.ns(fields.i64()?);
        let key = fields.u64()?;
        let has_room = self.has_room();
        let Self { frames, texts, queries, .. } = self;
        let series = frames.with_key(key, || match key {
            0 => TextRef::Here(MAIN_FRAMES.into()),
            _ => texts.ask(Query::FrameName, key, queries),
        })?;
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
