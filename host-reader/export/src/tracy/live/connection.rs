//! Connection to one viewer: sends items in compressed blocks, and answers the viewer's requests
//! between two blocks.

use super::items::Items;
use crate::tracy::file::compressed;
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel},
    },
    thread,
    time::Duration,
};
use tracy::protocol::{ItemKind, QUERY_BYTES, Query, TracyProtocol};

/// Number of bytes after which items are sent. Viewers accept 256 KiB at once, and each item is
/// shorter than 128 KiB.
const FRAME_BYTES: usize = 128 * 1024;

/// Maximum number of queued requests. A viewer never waits for more answers than this at a time.
const WAITING_LIMIT: usize = 8 * 1024;

/// Names that a viewer asks for. The viewer identifies a name by a key that it has received in an
/// item.
#[derive(Default)]
pub(super) struct Names {
    pub(super) threads: BTreeMap<u64, Arc<str>>,
    /// Names of plots. The keys of plots begin at [`FIRST_PLOT`].
    pub(super) plots: Vec<String>,
    /// Names of sets of frames. The keys of these sets follow the keys of plots.
    pub(super) frames: Vec<String>,
}

/// Key of the first plot.
pub(super) const FIRST_PLOT: u64 = 1;

impl Names {
    /// Returns the name of a plot or a set of frames.
    fn keyed(&self, key: u64) -> Option<&str> {
        let index = usize::try_from(key.checked_sub(FIRST_PLOT)?).ok()?;
        self.plots.iter().chain(&self.frames).nth(index).map(String::as_str)
    }
}

/// A viewer's request: its kind (`None` if unknown), and the key of the requested item.
type Question = (Option<Query>, u64);

/// Connection to one viewer, with the items that have not been sent yet.
pub(super) struct Connection {
    stream: TcpStream,
    pub(super) protocol: &'static TracyProtocol,
    pub(super) items: Items,
    pub(super) names: Names,
    questions: Receiver<Question>,
    /// Maximum time for which a viewer may receive nothing and request nothing before it is
    /// disconnected.
    patience: Duration,
    pub(super) sent_bytes: u64,
}

impl Connection {
    pub(super) fn new(
        stream: TcpStream,
        protocol: &'static TracyProtocol,
        patience: Duration,
    ) -> io::Result<Self> {
        stream.set_write_timeout(Some(patience))?;
        let questions = listen(stream.try_clone()?);
        let (items, names) = (Items::new(protocol), Names::default());
        Ok(Self { stream, protocol, items, names, questions, patience, sent_bytes: 0 })
    }

    /// Sends the buffered items if there are enough for a frame. Returns true if they were sent.
    pub(super) fn send_full_frame(&mut self) -> io::Result<bool> {
        let is_full = self.items.bytes().len() >= FRAME_BYTES;
        if is_full {
            self.send()?;
        }
        Ok(is_full)
    }

    /// Sends the buffered items if there are enough for a frame, and then answers requests.
    pub(super) fn send_if_large(&mut self) -> io::Result<()> {
        if self.send_full_frame()? { self.answer_waiting() } else { Ok(()) }
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
    ///
    /// If a viewer asks to end the session, it first receives the names of the items that were sent
    /// to it.
    pub(super) fn answer_waiting(&mut self) -> io::Result<()> {
        loop {
            match self.questions.try_recv() {
                Ok((Some(Query::Disconnect), _)) => return self.finish().and(Err(left())),
                Ok((Some(Query::Terminate), _)) => return Err(left()),
                Ok(question) => self.answer(question),
                Err(TryRecvError::Empty) => return self.send(),
                Err(TryRecvError::Disconnected) => return Err(left()),
            }
        }
    }

    /// Tells the viewer that no more items follow, and answers requests until the viewer ends the
    /// session. A viewer ends the session when it has received everything that it requested.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.items.terminate();
        self.send()?;
        loop {
            let question = match self.questions.recv_timeout(self.patience) {
                Ok(question) => question,
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Err(left()),
            };
            match question {
                (Some(Query::Terminate), _) => return Ok(()),
                // The end that the viewer asks for was announced above.
                (Some(Query::Disconnect), _) => {}
                _ => {
                    self.answer(question);
                    self.send()?;
                }
            }
        }
    }

    fn answer(&mut self, (query, key): Question) {
        let Self { items, names, .. } = self;
        match query {
            Some(Query::Text) => items.answer(ItemKind::StringData, key, ""),
            Some(Query::ThreadName) => {
                let name = names.threads.get(&key).map_or("", |name| name);
                items.answer(ItemKind::ThreadName, key, name);
            }
            Some(Query::PlotName) => {
                items.answer(ItemKind::PlotName, key, names.keyed(key).unwrap_or(""));
            }
            Some(Query::FrameName) => {
                items.answer(ItemKind::FrameName, key, names.keyed(key).unwrap_or("Frame"));
            }
            Some(Query::SymbolCode) => items.answer_no_symbol_code(),
            Some(Query::SourceCode) => {
                items.answer_no_source_code(u32::try_from(key).unwrap_or(u32::MAX));
            }
            _ => items.answer_done(),
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

/// Reads requests on a separate thread until the viewer disconnects.
fn listen(stream: TcpStream) -> Receiver<Question> {
    let (sender, questions) = sync_channel(WAITING_LIMIT);
    thread::spawn(move || forward(stream, &sender));
    questions
}

fn forward(mut stream: TcpStream, sender: &SyncSender<Question>) {
    let mut packet = [0; QUERY_BYTES];
    while stream.read_exact(&mut packet).is_ok() {
        let [code, key @ .., _, _, _, _] = packet;
        if sender.send((Query::from_byte(code), u64::from_le_bytes(key))).is_err() {
            return;
        }
    }
}
