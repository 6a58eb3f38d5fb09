//! Connection to one viewer: sends items in frames, and answers the viewer's requests in between.

use super::{
    items::{Answer, Items},
    questions::{Question, QuestionKind, listen},
};
use crate::tracy::file::compressed;
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

/// Names that a viewer asks for, by the key that its items contain.
pub(super) trait Names {
    /// Returns the name of a thread; empty if unknown.
    fn thread(&self, id: u64) -> &str;
    /// Returns the name of a plot; empty if unknown.
    fn plot(&self, key: u64) -> &str;
    /// Returns the name of a set of frames.
    fn frame_set(&self, key: u64) -> &str;
}

/// Connection to one viewer, with the items that have not been sent yet.
pub(super) struct Connection {
    stream: TcpStream,
    pub(super) items: Items,
    questions: Receiver<Question>,
    /// Maximum time in which a viewer may neither receive nor request anything.
    patience: Duration,
    sent_bytes: u64,
}

impl Connection {
    pub(super) fn new(
        stream: TcpStream,
        protocol: &'static TracyProtocol,
        patience: Duration,
    ) -> io::Result<Self> {
        stream.set_write_timeout(Some(patience))?;
        let questions = listen(stream.try_clone()?);
        let items = Items::new(protocol);
        Ok(Self { stream, items, questions, patience, sent_bytes: 0 })
    }

    pub(super) const fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Sends the buffered items if there are enough for a frame, and answers requests.
    pub(super) fn send_if_large(&mut self, names: &impl Names) -> io::Result<()> {
        if self.items.bytes().len() < FRAME_BYTES {
            return Ok(());
        }
        self.send()?;
        self.answer_waiting(names)
    }

    /// Sends the buffered items as one frame.
    pub(super) fn send(&mut self) -> io::Result<()> {
        if self.items.bytes().is_empty() {
            return Ok(());
        }
        let frame = compressed(self.items.bytes())?;
        self.items.clear();
        self.sent_bytes = self.sent_bytes.saturating_add(frame.len() as u64);
        self.stream.write_all(&frame)
    }

    /// Answers the requests that have arrived. An error means that the viewer has left.
    pub(super) fn answer_waiting(&mut self, names: &impl Names) -> io::Result<()> {
        loop {
            match self.questions.try_recv() {
                Ok(question) if question.kind == QuestionKind::End => return Err(left()),
                Ok(question) => self.answer(question, names),
                Err(TryRecvError::Empty) => return self.send(),
                Err(TryRecvError::Disconnected) => return Err(left()),
            }
        }
    }

    /// Announces the end, and answers requests until the viewer ends the session. A viewer does so
    /// when it has received everything.
    pub(super) fn finish(&mut self, names: &impl Names) -> io::Result<()> {
        self.items.terminate();
        self.send()?;
        loop {
            let question = match self.questions.recv_timeout(self.patience) {
                Ok(question) => question,
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Err(left()),
            };
            if question.kind == QuestionKind::End {
                return Ok(());
            }
            self.answer(question, names);
            self.send()?;
        }
    }

    fn answer(&mut self, Question { kind, key }: Question, names: &impl Names) {
        let items = &mut self.items;
        match kind {
            QuestionKind::Text => items.answer(Answer::Text, key, ""),
            QuestionKind::ThreadName => items.answer(Answer::ThreadName, key, names.thread(key)),
            QuestionKind::PlotName => items.answer(Answer::PlotName, key, names.plot(key)),
            QuestionKind::FrameName => items.answer(Answer::FrameName, key, names.frame_set(key)),
            QuestionKind::SymbolCode => items.answer_no_symbol_code(),
            QuestionKind::SourceCode => {
                items.answer_no_source_code(u32::try_from(key).unwrap_or(u32::MAX));
            }
            QuestionKind::End | QuestionKind::Other => items.answer_done(),
        }
    }
}

impl Drop for Connection {
    /// Closes the connection, which ends the thread that reads requests.
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn left() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the viewer has left")
}
