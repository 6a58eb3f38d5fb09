//! Session with one viewer of a whole trace: sends everything and answers requests in between.

use super::{
    connection::{Connection, Names},
    items::GpuZone,
};
use crate::{
    ZoneEdge,
    time_order::TimeOrder,
    tracy::{
        scene::{Context, Scene, Thread, tracy_ns},
        spans::{self, Span},
    },
};
use std::io;

/// Names of a scene's threads, plots and frames.
impl Names for Scene<'_> {
    fn thread(&self, id: u64) -> &str {
        let position = self.threads.binary_search_by_key(&id, |known| known.id.into());
        position.map_or("", |position| &self.threads[position].name)
    }

    fn plot(&self, key: u64) -> &str {
        let position = key.checked_sub(1).and_then(|key| usize::try_from(key).ok());
        position.and_then(|position| self.plots.get(position)).map_or("", |plot| &plot.name)
    }

    fn frame_set(&self, key: u64) -> &str {
        let position = key.checked_sub(self.first_frame_key());
        let position = position.and_then(|position| usize::try_from(position).ok());
        position.and_then(|position| self.frames.get(position)).map_or("Frame", |set| set.name)
    }
}

/// Connection to one viewer, with the trace to send.
pub(super) struct Session<'a> {
    scene: &'a Scene<'a>,
    connection: Connection,
}

impl<'a> Session<'a> {
    pub(super) const fn new(scene: &'a Scene<'a>, connection: Connection) -> Self {
        Self { scene, connection }
    }

    pub(super) const fn sent_bytes(&self) -> u64 {
        self.connection.sent_bytes()
    }

    /// Sends everything. An error means that the viewer left, or received nothing for too long,
    /// before it had received everything.
    pub(super) fn run(&mut self) -> io::Result<()> {
        let scene = self.scene;
        // Viewers disconnect without waiting for the names of frames, but wait for the names of
        // threads. Frames are sent first, so that requests for their names are answered first.
        self.send_frames()?;
        for (number, context) in (0..=u16::MAX).zip(&scene.contexts) {
            self.connection.items.new_context(number, &context.name);
            self.send_if_large()?;
        }
        for thread in &scene.threads {
            self.connection.items.thread_exists(thread.id);
            self.send_if_large()?;
        }
        for (number, context) in (0..=u16::MAX).zip(&scene.contexts) {
            self.send_context(number, context)?;
        }
        for thread in &scene.threads {
            self.send_spans(thread)?;
        }
        self.send_messages()?;
        self.send_plots()?;
        self.connection.finish(scene)
    }

    fn send_if_large(&mut self) -> io::Result<()> {
        self.connection.send_if_large(self.scene)
    }

    fn send_context(&mut self, number: u16, context: &Context<'_>) -> io::Result<()> {
        // The number is free again when the zone's time has been sent, which happens immediately.
        let mut query = 0_u16;
        // If a time is much earlier than the previous time, a viewer assumes that the counter has
        // restarted. So the lanes of a context are sent as a single sequence in time order.
        let lanes = context.lanes.iter().map(|lane| lane.zones.timed_edges());
        for (time_ns, lane, edge) in TimeOrder::new(lanes) {
            let lane = &context.lanes[lane];
            let zone = GpuZone { context: number, thread_id: lane.thread_id, query };
            query = query.wrapping_add(1);
            let time_ns = tracy_ns(time_ns);
            match edge {
                ZoneEdge::Begin(index) => {
                    let place = &self.scene.places[usize::from(lane.places[index])];
                    self.connection.items.gpu_zone_begin(zone, time_ns, place);
                }
                ZoneEdge::End(_) => self.connection.items.gpu_zone_end(zone, time_ns),
            }
            self.send_if_large()?;
        }
        Ok(())
    }

    fn send_spans(&mut self, thread: &Thread<'_>) -> io::Result<()> {
        if thread.spans.is_empty() {
            return Ok(());
        }
        self.connection.items.thread_context(thread.id);
        for edge in spans::edges(&thread.spans) {
            match edge {
                ZoneEdge::Begin(index) => self.begin_span(&thread.spans[index]),
                ZoneEdge::End(index) => {
                    self.connection.items.zone_end(tracy_ns(thread.spans[index].end_ns));
                }
            }
            self.send_if_large()?;
        }
        Ok(())
    }

    fn begin_span(&mut self, span: &Span<'_>) {
        let place = &self.scene.places[usize::from(span.place)];
        let items = &mut self.connection.items;
        items.zone_begin(tracy_ns(span.start_ns), place);
        if !span.name.is_empty() {
            items.zone_name(&span.name);
        }
        if !span.text.is_empty() {
            items.zone_text(&span.text);
        }
    }

    fn send_messages(&mut self) -> io::Result<()> {
        let mut thread_id = None;
        for message in &self.scene.messages {
            let items = &mut self.connection.items;
            if thread_id.replace(message.thread_id) != Some(message.thread_id) {
                items.thread_context(message.thread_id);
            }
            items.message(tracy_ns(message.time_ns), message.rgb, &message.text);
            self.send_if_large()?;
        }
        Ok(())
    }

    fn send_plots(&mut self) -> io::Result<()> {
        let Some(thread) = self.scene.threads.first() else { return Ok(()) };
        for (key, plot) in (1_u64..).zip(&self.scene.plots) {
            self.connection.items.plot_config(key, plot.is_stepped);
            self.connection.items.thread_context(thread.id);
            for &(time_ns, value) in &plot.points {
                self.connection.items.plot_value(key, tracy_ns(time_ns), value);
                self.send_if_large()?;
            }
        }
        Ok(())
    }

    fn send_frames(&mut self) -> io::Result<()> {
        for (key, frames) in (self.scene.first_frame_key()..).zip(&self.scene.frames) {
            for &time_ns in &frames.times_ns {
                self.connection.items.frame_mark(tracy_ns(time_ns), key);
                self.send_if_large()?;
            }
        }
        Ok(())
    }
}
