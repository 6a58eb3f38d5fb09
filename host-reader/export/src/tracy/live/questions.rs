//! Requests of a viewer for the texts to which items refer only by number.

use std::{
    io::Read,
    net::TcpStream,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

/// Request: its kind, and the key of the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) kind: QuestionKind,
    pub(super) key: u64,
}

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuestionKind {
    /// End of the connection.
    End,
    Text,
    ThreadName,
    PlotName,
    FrameName,
    SymbolCode,
    SourceCode,
    /// Any request that a device trace never causes.
    Other,
}

impl QuestionKind {
    const fn from_code(code: u8) -> Self {
        match code {
            0 | 9 => Self::End,
            1 => Self::Text,
            2 => Self::ThreadName,
            4 => Self::PlotName,
            5 => Self::FrameName,
            12 => Self::SymbolCode,
            13 => Self::SourceCode,
            _ => Self::Other,
        }
    }
}

/// Maximum number of queued requests. A viewer never has more open requests.
const WAITING_LIMIT: usize = 8 * 1024;

/// Reads requests on a separate thread until the viewer disconnects.
pub(super) fn listen(stream: TcpStream) -> Receiver<Question> {
    let (sender, questions) = sync_channel(WAITING_LIMIT);
    thread::spawn(move || forward(stream, &sender));
    questions
}

fn forward(mut stream: TcpStream, sender: &SyncSender<Question>) {
    let mut packet = [0; 13];
    while stream.read_exact(&mut packet).is_ok() {
        let [code, key @ .., _, _, _, _] = packet;
        let question =
            Question { kind: QuestionKind::from_code(code), key: u64::from_le_bytes(key) };
        if sender.send(question).is_err() {
            return;
        }
    }
}
