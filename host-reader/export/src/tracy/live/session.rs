//! Session with one viewer of a complete trace: sends all items, and answers the viewer's requests
//! between them.

use super::{
    connection::{Connection, FIRST_PLOT, Names},
    items::GpuZone,
};
use crate::{
    ZoneEdge,
    time_order::TimeOrder,
    tracy::{
        messages::Message,
        places::SourcePlace,
        scene::{Context, Scene, Thread, tracy_ns},
        spans::{self, Span},
    },
};
use std::io;

impl Names {
    /// Returns the names of a scene's threads, plots and frames.
    fn from_scene(scene: &Scene<'_>) -> Self {
        let threads = scene.threads.iter();
        Self {
            threads: threads
                .map(|thread| (thread.id.into(), thread.name.as_str().into()))
                .collect(),
            plots: scene.plots.iter().map(|plot| plot.name.clone()).collect(),
            frames: scene.frames.iter().map(|frames| frames.name.to_owned()).collect(),
        }
    }
}

impl Connection {
    /// Sends the whole scene. An error means that the viewer did not receive all of it, because it
    /// left or received nothing for too long.
    pub(super) fn send_scene(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        self.names = Names::from_scene(scene);
        // Viewers disconnect without waiting for the names of frames, but wait for the names of
        // threads. Frames are sent first, so that requests for their names are answered first.
        self.send_frames(scene)?;
        for (number, context) in (0..=u16::MAX).zip(&scene.contexts) {
            self.items.new_context(number, &context.name);
            self.send_if_large()?;
        }
        for thread in &scene.threads {
            self.items.thread_exists(thread.id);
            self.send_if_large()?;
        }
        for (number, context) in (0..=u16::MAX).zip(&scene.contexts) {
            self.send_context(number, context, &scene.places)?;
        }
        for thread in &scene.threads {
            self.send_spans(thread, &scene.places)?;
        }
        self.send_messages(&scene.messages)?;
        self.send_plots(scene)?;
        self.finish()
    }

    fn send_context(
        &mut self,
        number: u16,
        context: &Context<'_>,
        places: &[SourcePlace<'_>],
    ) -> io::Result<()> {
        // No other zone in progress uses this number, because the item with the zone's time follows
        // immediately.
        let mut query = 0_u16;
        // If a time is much earlier than the previous time, a viewer assumes that the counter has
        // restarted. The lanes of a context are therefore sent as a single sequence in time order.
        let lanes = context.lanes.iter().map(|lane| lane.zones.timed_edges());
        for (time_ns, lane, edge) in TimeOrder::new(lanes) {
            let lane = &context.lanes[lane];
            let zone = GpuZone { context: number, thread_id: lane.thread_id, query };
            query = query.wrapping_add(1);
            let time_ns = tracy_ns(time_ns);
            match edge {
                ZoneEdge::Begin(index) => {
                    let place = &places[usize::from(lane.places[index])];
                    self.items.gpu_zone_begin(zone, time_ns, place);
                }
                ZoneEdge::End(_) => self.items.gpu_zone_end(zone, time_ns),
            }
            self.send_if_large()?;
        }
        Ok(())
    }

    fn send_spans(&mut self, thread: &Thread<'_>, places: &[SourcePlace<'_>]) -> io::Result<()> {
        if thread.spans.is_empty() {
            return Ok(());
        }
        self.items.thread_context(thread.id);
        for edge in spans::edges(&thread.spans) {
            match edge {
                ZoneEdge::Begin(index) => self.begin_span(&thread.spans[index], places),
                ZoneEdge::End(index) => {
                    self.items.zone_end(tracy_ns(thread.spans[index].end_ns));
                }
            }
            self.send_if_large()?;
        }
        Ok(())
    }

    fn begin_span(&mut self, span: &Span<'_>, places: &[SourcePlace<'_>]) {
        let place = &places[usize::from(span.place)];
        let items = &mut self.items;
        items.zone_begin(tracy_ns(span.start_ns), place);
        if !span.name.is_empty() {
            items.zone_name(&span.name);
        }
        if !span.text.is_empty() {
            items.zone_text(&span.text);
        }
    }

    fn send_messages(&mut self, messages: &[Message]) -> io::Result<()> {
        let mut thread_id = None;
        for message in messages {
            let items = &mut self.items;
            if thread_id.replace(message.thread_id) != Some(message.thread_id) {
                items.thread_context(message.thread_id);
            }
            items.message(tracy_ns(message.time_ns), message.rgb, &message.text);
            self.send_if_large()?;
        }
        Ok(())
    }

    fn send_plots(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        let Some(thread) = scene.threads.first() else { return Ok(()) };
        for (key, plot) in (FIRST_PLOT..).zip(&scene.plots) {
            self.items.plot_config(key, plot.is_stepped);
            self.items.thread_context(thread.id);
            for &(time_ns, value) in &plot.points {
                self.items.plot_value(key, tracy_ns(time_ns), value);
                self.send_if_large()?;
            }
        }
        Ok(())
    }

    fn send_frames(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        for (key, frames) in (scene.first_frame_key()..).zip(&scene.frames) {
            for &time_ns in &frames.times_ns {
                self.items.frame_mark(tracy_ns(time_ns), key);
                self.send_if_large()?;
            }
        }
        Ok(())
    }
}
