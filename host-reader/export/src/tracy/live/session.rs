//! Session with one viewer: sends everything and answers requests in between.

use super::{
    items::{Answer, GpuZone, Items},
    order::in_order,
    questions::{Question, QuestionKind, listen},
};
use crate::{
    ZoneEdge,
    tracy::{
        file::compressed,
        scene::{Context, Scene, Thread, tracy_ns},
        spans::{self, Span},
    },
};
use std::{
    io::{self, Write},
    net::{Shutdown, TcpStream},
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    time::Duration,
};
use tracy::protocol::TracyProtocol;

/// Number of bytes after which items are sent. Viewers accept 256 KiB at once; the largest item is
/// less than half as long.
const FRAME_BYTES: usize = 128 * 1024;

/// Connection to one viewer, with the trace to send.
pub(super) struct Session<'a> {
    scene: &'a Scene<'a>,
    stream: TcpStream,
    items: Items,
    questions: Receiver<Question>,
    /// Maximum time in which a viewer may neither receive nor request anything.
    patience: Duration,
    sent_bytes: u64,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        scene: &'a Scene<'a>,
        stream: TcpStream,
        protocol: &'static TracyProtocol,
        patience: Duration,
    ) -> io::Result<Self> {
        stream.set_write_timeout(Some(patience))?;
        let questions = listen(stream.try_clone()?);
        let items = Items::new(protocol);
        Ok(Self { scene, stream, items, questions, patience, sent_bytes: 0 })
    }

    pub(super) const fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Sends everything. An error means that the viewer left, or received nothing for too long,
    /// before it had everything.
    pub(super) fn run(&mut self) -> io::Result<()> {
        let scene = self.scene;
        // Viewers disconnect without waiting for the names of frames, but wait for the names of
        // threads. Frames are sent first, so that requests for their names are answered first.
        self.send_frames()?;
        for (number, context) in (0..=u16::MAX).zip(&scene.contexts) {
            self.items.new_context(number, &context.name);
            self.send_if_large()?;
        }
        for thread in &scene.threads {
            self.items.thread_exists(thread.id);
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
        self.items.terminate();
        self.send()?;
        self.answer_until_end()
    }

    fn send_context(&mut self, number: u16, context: &Context<'_>) -> io::Result<()> {
        // Each number can be reused at once, since the zone's time follows immediately.
        let mut query = 0_u16;
        for step in in_order(&context.lanes) {
            let lane = &context.lanes[step.lane];
            let zone = GpuZone { context: number, thread_id: lane.thread_id, query };
            query = query.wrapping_add(1);
            let time_ns = tracy_ns(step.time_ns);
            match step.edge {
                ZoneEdge::Begin(index) => {
                    let place = &self.scene.places[usize::from(lane.places[index])];
                    self.items.gpu_zone_begin(zone, time_ns, place);
                }
                ZoneEdge::End(_) => self.items.gpu_zone_end(zone, time_ns),
            }
            self.send_if_large()?;
        }
        Ok(())
    }

    fn send_spans(&mut self, thread: &Thread<'_>) -> io::Result<()> {
        if thread.spans.is_empty() {
            return Ok(());
        }
        self.items.thread_context(thread.id);
        for edge in spans::edges(&thread.spans) {
            match edge {
                ZoneEdge::Begin(index) => self.begin_span(&thread.spans[index]),
                ZoneEdge::End(index) => {
                    self.items.zone_end(tracy_ns(thread.spans[index].end_ns));
                }
            }
            self.send_if_large()?;
        }
        Ok(())
    }

    fn begin_span(&mut self, span: &Span<'_>) {
        let place = &self.scene.places[usize::from(span.place)];
        self.items.zone_begin(tracy_ns(span.start_ns), place);
        if !span.name.is_empty() {
            self.items.zone_name(&span.name);
        }
        if !span.text.is_empty() {
            self.items.zone_text(&span.text);
        }
    }

    fn send_messages(&mut self) -> io::Result<()> {
        let mut thread_id = None;
        for message in &self.scene.messages {
            if thread_id.replace(message.thread_id) != Some(message.thread_id) {
                self.items.thread_context(message.thread_id);
            }
            self.items.message(tracy_ns(message.time_ns), message.rgb, &message.text);
            self.send_if_large()?;
        }
        Ok(())
    }

    fn send_plots(&mut self) -> io::Result<()> {
        let Some(thread) = self.scene.threads.first() else { return Ok(()) };
        for (key, plot) in (1_u64..).zip(&self.scene.plots) {
            self.items.plot_config(key, plot.is_stepped);
            self.items.thread_context(thread.id);
            for &(time_ns, value) in &plot.points {
                self.items.plot_value(key, tracy_ns(time_ns), value);
                self.send_if_large()?;
            }
        }
        Ok(())
    }

    fn send_frames(&mut self) -> io::Result<()> {
        for (key, frames) in (self.scene.first_frame_key()..).zip(&self.scene.frames) {
            for &time_ns in &frames.times_ns {
                self.items.frame_mark(tracy_ns(time_ns), key);
                self.send_if_large()?;
            }
        }
        Ok(())
    }

    fn send_if_large(&mut self) -> io::Result<()> {
        if self.items.bytes().len() < FRAME_BYTES {
            return Ok(());
        }
        self.send()?;
        self.answer_waiting()
    }

    /// Sends the buffered items as one frame.
    fn send(&mut self) -> io::Result<()> {
        if self.items.bytes().is_empty() {
            return Ok(());
        }
        let frame = compressed(self.items.bytes())?;
        self.items.clear();
        self.sent_bytes += frame.len() as u64;
        self.stream.write_all(&frame)
    }

    fn answer_waiting(&mut self) -> io::Result<()> {
        loop {
            match self.questions.try_recv() {
                Ok(question) if question.kind == QuestionKind::End => return Err(left()),
                Ok(question) => self.answer(question),
                Err(TryRecvError::Empty) => return self.send(),
                Err(TryRecvError::Disconnected) => return Err(left()),
            }
        }
    }

    /// Answers requests until the viewer ends the session, which it does once it has everything.
    fn answer_until_end(&mut self) -> io::Result<()> {
        loop {
            let question = match self.questions.recv_timeout(self.patience) {
                Ok(question) => question,
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Err(left()),
            };
            if question.kind == QuestionKind::End {
                return Ok(());
            }
            self.answer(question);
            self.send()?;
        }
    }

    fn answer(&mut self, Question { kind, key }: Question) {
        let scene = self.scene;
        match kind {
            QuestionKind::Text => self.items.answer(Answer::Text, key, ""),
            QuestionKind::ThreadName => {
                let position = scene.threads.binary_search_by_key(&key, |known| known.id.into());
                let name = position.map_or("", |position| &scene.threads[position].name);
                self.items.answer(Answer::ThreadName, key, name);
            }
            QuestionKind::PlotName => {
                let position = key.checked_sub(1).and_then(|key| usize::try_from(key).ok());
                let plot = position.and_then(|position| scene.plots.get(position));
                self.items.answer(Answer::PlotName, key, plot.map_or("", |plot| &plot.name));
            }
            QuestionKind::FrameName => {
                let position = key.checked_sub(scene.first_frame_key());
                let position = position.and_then(|position| usize::try_from(position).ok());
                let frames = position.and_then(|position| scene.frames.get(position));
                let name = frames.map_or("Frame", |frames| frames.name);
                self.items.answer(Answer::FrameName, key, name);
            }
            QuestionKind::SymbolCode => self.items.answer_no_symbol_code(),
            QuestionKind::SourceCode => {
                self.items.answer_no_source_code(u32::try_from(key).unwrap_or(u32::MAX));
            }
            QuestionKind::End | QuestionKind::Other => self.items.answer_done(),
        }
    }
}

impl Drop for Session<'_> {
    /// Closes the connection, which ends the thread that reads requests.
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn left() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the viewer has left")
}
