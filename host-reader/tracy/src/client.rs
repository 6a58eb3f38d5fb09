//! Connection to a client: greeting, welcome, frames and requests.

use crate::{
    error::TracyError,
    fields::{Fields, padded_text},
    frames::Frames,
    protocol::{COMPRESSED_FRAME_BYTES, GREETING, Handshake, Program, Query, TracyProtocol},
    queries::query_bytes,
    recording::{RecordingEnd, TracyRecording},
    session::Session,
    times::ClientClock,
};
use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::{self, Builder},
    time::{Duration, Instant},
};

/// Time limit for the connection and for each part of the greeting.
const GREETING_TIME: Duration = Duration::from_secs(10);
/// Maximum time to wait for answers after a stop request. After the answers have arrived, the
/// client has the same time to end the connection.
///
/// Clients answer at once, except for requests for functions of call stacks. Clients discard such
/// requests after a stop request.
const STOP_TIME: Duration = Duration::from_secs(2);
/// Maximum time to wait for a block before checking again for a stop request.
const POLL_TIME: Duration = Duration::from_millis(50);
/// Maximum number of blocks that are read ahead: about ten megabytes of a program's data.
const MOST_BLOCKS: usize = 256;
/// Upper limit of the protocol numbers that are tried (exclusive). The protocol number increases by
/// about five a year.
const FIRST_UNLIKELY_NUMBER: u32 = 256;
/// Size in bytes of two fields that only on-demand programs send after the welcome: a count of
/// frames, and the time at which the server connected.
const ON_DEMAND_BYTES: usize = 16;
/// Flag of on-demand programs, which are recorded only while a server is connected.
const IS_ON_DEMAND: u8 = 1;

/// Options of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// Program to assume if Tracy and Tenstorrent's fork share a protocol number and the received
    /// data fits both of them.
    pub expected: Program,
    /// Maximum number of zones, messages and plot points to keep. Further events are only counted.
    pub most_events: usize,
    /// Time without data after which the recording ends. Clients send a keep-alive item every five
    /// seconds.
    pub silence: Duration,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self { expected: Program::Fork, most_events: 1 << 28, silence: Duration::from_secs(60) }
    }
}

/// Content of the welcome that a client sends.
#[derive(Clone, Debug)]
pub(crate) struct Welcome {
    pub(crate) clock: ClientClock,
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) process_id: u64,
    pub(crate) started_s: u64,
}

/// A connection to a program's Tracy client. The client has already sent its welcome.
#[derive(Debug)]
pub struct TracyClient {
    stream: TcpStream,
    protocol: &'static TracyProtocol,
    welcome: Welcome,
}

impl TracyClient {
    /// Connects to a client and determines the client's protocol version.
    ///
    /// A client that rejects a server's version does not send its own version, but listens again.
    /// All known versions are therefore tried, likely versions first. If the client uses an unknown
    /// version, the connection is closed at once. Some clients exit only after a server has
    /// connected; closing the connection lets them exit.
    ///
    /// # Errors
    /// If nothing listens at the address, the peer is not a Tracy client, the client uses an
    /// unknown version, or another server was connected before.
    pub fn connect(address: SocketAddr) -> Result<Self, TracyError> {
        let numbers = numbers_by_likelihood();
        match Self::connect_with(address, &numbers) {
            Err(TracyError::UnknownProtocol { lowest, highest, .. }) => {
                let others = (0..FIRST_UNLIKELY_NUMBER).rev();
                let mut others = others.filter(|number| !numbers.contains(number));
                let found = others.find(|number| is_welcome(address, *number));
                Err(TracyError::UnknownProtocol { address, lowest, highest, found })
            }
            result => result,
        }
    }

    /// Connects to a client with one of the given protocol numbers.
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect). Versions that are not in `numbers` count as
    /// unknown.
    pub fn connect_with(address: SocketAddr, numbers: &[u32]) -> Result<Self, TracyError> {
        for number in numbers {
            if let Some(client) = Self::try_version(address, *number)? {
                return Ok(client);
            }
        }
        let lowest = numbers.iter().copied().min().unwrap_or_default();
        let highest = numbers.iter().copied().max().unwrap_or_default();
        Err(TracyError::UnknownProtocol { address, lowest, highest, found: None })
    }

    /// Tries to connect with one version; returns `None` if the client uses another version.
    fn try_version(address: SocketAddr, number: u32) -> Result<Option<Self>, TracyError> {
        let failed = |source| TracyError::Connection { address, source };
        let (mut stream, answer) = greet(address, number).map_err(failed)?;
        let not_a_client = |found| TracyError::NotAClient { address, found };
        match Handshake::from_byte(answer) {
            Some(Handshake::ProtocolMismatch) => return Ok(None),
            Some(Handshake::NotAvailable) => return Err(TracyError::NotAvailable { address }),
            Some(Handshake::Welcome) => {}
            None => return Err(not_a_client(format!("a first byte of {answer}"))),
        }
        let Some(protocol) = TracyProtocol::with_number(number, Program::Stock) else {
            return Ok(None);
        };
        let mut bytes = vec![0; protocol.welcome_bytes()];
        read_exactly(&mut stream, &mut bytes).map_err(failed)?;
        let (welcome, flags) = welcome(protocol, &bytes)
            .ok_or_else(|| not_a_client("a welcome whose clock does not run".to_owned()))?;
        if flags & IS_ON_DEMAND != 0 {
            read_exactly(&mut stream, &mut [0; ON_DEMAND_BYTES]).map_err(failed)?;
        }
        Ok(Some(Self { stream, protocol, welcome }))
    }

    /// Returns the process id.
    #[must_use]
    pub const fn process_id(&self) -> u64 {
        self.welcome.process_id
    }

    /// Returns the name of the program.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.welcome.name
    }

    /// Returns the program's protocol version.
    ///
    /// If Tracy and Tenstorrent's fork share the protocol number, returns Tracy's version.
    #[must_use]
    pub const fn protocol(&self) -> &'static TracyProtocol {
        self.protocol
    }

    /// Records until the program exits, is killed or stops sending data.
    ///
    /// Once `stop` is true, the recording ends as soon as the program has answered all requests for
    /// names and other texts, or after a time limit.
    #[must_use]
    pub fn record(self, options: &RecordOptions, stop: &AtomicBool) -> TracyRecording {
        let Self { stream, protocol, welcome } = self;
        let session = Session::new(protocol, welcome, options.expected, options.most_events);
        let mut recorder = Recorder {
            stream,
            session,
            frames: Frames::new(),
            silence: options.silence,
            stop,
            stop_wanted: None,
            has_asked_to_stop: false,
        };
        let end = recorder.run();
        recorder.session.finish(end)
    }
}

/// Connects to a client and sends a protocol number. Returns the connection and the client's
/// answer, which is a single byte.
fn greet(address: SocketAddr, number: u32) -> io::Result<(TcpStream, u8)> {
    let mut stream = TcpStream::connect_timeout(&address, GREETING_TIME)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GREETING_TIME))?;
    let mut greeting = GREETING.to_vec();
    greeting.extend(number.to_le_bytes());
    stream.write_all(&greeting)?;
    let mut answer = [0];
    read_exactly(&mut stream, &mut answer)?;
    let [answer] = answer;
    Ok((stream, answer))
}

/// Returns true if the client accepts this protocol number.
fn is_welcome(address: SocketAddr, number: u32) -> bool {
    greet(address, number).is_ok_and(|(_, answer)| answer == Handshake::Welcome.byte())
}

/// Returns the numbers of all versions. Versions of releases and of Tenstorrent's fork come first.
/// The other versions follow, newest first.
fn numbers_by_likelihood() -> Vec<u32> {
    /// Versions of Tracy's releases and of Tenstorrent's fork.
    const LIKELY: [u32; 8] = [82, 76, 66, 83, 79, 74, 69, 72];
    let mut numbers = LIKELY.to_vec();
    for known in TracyProtocol::all().iter().rev() {
        if !numbers.contains(&known.number) {
            numbers.push(known.number);
        }
    }
    numbers
}

/// Returns the fields of a welcome, and its flags; `None` if the client's clock is invalid.
fn welcome(protocol: &'static TracyProtocol, bytes: &[u8]) -> Option<(Welcome, u8)> {
    let mut fields = Fields::new(protocol, bytes);
    let ns_per_tick = fields.f64()?;
    let start_ticks = fields.i64()?;
    fields.i64()?; // end of the start-up
    if protocol.welcome_has_delay() {
        fields.u64()?;
    }
    fields.u64()?; // resolution
    let started_s = fields.u64()?;
    fields.u64()?; // time of the executable
    let process_id = fields.u64()?;
    fields.i64()?; // sampling period
    let flags = fields.u8()?;
    fields.u8()?; // kind of processor
    fields.bytes(12)?; // vendor of the processor
    fields.u32()?; // model of the processor
    let name = padded_text(fields.bytes(64)?);
    let host = padded_text(fields.bytes(1024)?);
    let clock = ClientClock { start_ticks, ns_per_tick };
    let runs = ns_per_tick.is_finite() && ns_per_tick > 0.0;
    runs.then_some((Welcome { clock, name, host, process_id, started_s }, flags))
}

fn read_exactly(stream: &mut TcpStream, bytes: &mut [u8]) -> io::Result<()> {
    stream.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::other("the connection ended"),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::other(format!("no answer within {} seconds", GREETING_TIME.as_secs()))
        }
        _ => error,
    })
}

/// A recording in progress.
struct Recorder<'stop> {
    stream: TcpStream,
    session: Session,
    frames: Frames,
    silence: Duration,
    stop: &'stop AtomicBool,
    /// Time at which the stop request was detected.
    stop_wanted: Option<Instant>,
    has_asked_to_stop: bool,
}

impl Recorder<'_> {
    /// Processes blocks as they arrive.
    ///
    /// A separate thread reads blocks ahead, because the program waits while nobody reads its
    /// blocks.
    fn run(&mut self) -> RecordingEnd {
        let Ok(stream) = self.stream.try_clone() else { return RecordingEnd::Cut };
        if stream.set_read_timeout(None).is_err() {
            return RecordingEnd::Cut;
        }
        let (sender, blocks) = sync_channel(MOST_BLOCKS);
        thread::scope(|scope| {
            let reading = Builder::new().name("kprof-tracy".to_owned());
            if reading.spawn_scoped(scope, move || read_blocks(stream, &sender)).is_err() {
                return RecordingEnd::Cut;
            }
            let end = self.take_blocks(blocks);
            // Shutting the stream down ends the reading thread, which may be waiting for a block.
            let _ = self.stream.shutdown(Shutdown::Both);
            end
        })
    }

    fn take_blocks(&mut self, blocks: Receiver<Result<Vec<u8>, Ending>>) -> RecordingEnd {
        loop {
            let block = match self.next_block(&blocks) {
                Ok(block) => block,
                Err(end) => return end,
            };
            let frame = match self.frames.decompress(&block) {
                Ok(frame) => frame,
                Err(error) => {
                    self.session.count_unread(block.len());
                    return self.session.unreadable(format!("a block that is no LZ4: {error}"));
                }
            };
            if let Err(bad) = self.session.take_frame(frame) {
                return self.session.unreadable(bad.to_string());
            }
            let questions = self.session.queries.take_bytes();
            self.send(&questions);
            if self.session.is_done() {
                self.send(&query_bytes(Query::Terminate, 0));
                return match self.stop_wanted {
                    Some(_) => RecordingEnd::Stopped,
                    None => RecordingEnd::Complete,
                };
            }
        }
    }

    /// Returns the next compressed frame.
    fn next_block(
        &mut self,
        blocks: &Receiver<Result<Vec<u8>, Ending>>,
    ) -> Result<Vec<u8>, RecordingEnd> {
        let begun = Instant::now();
        loop {
            self.heed_stop();
            match blocks.recv_timeout(POLL_TIME) {
                Ok(Ok(block)) => return Ok(block),
                Ok(Err(Ending::TooLong(bytes))) => {
                    self.session.count_unread(SIZE_BYTES);
                    return Err(self.session.unreadable(format!(
                        "a frame of {bytes} bytes, where none has more than \
                         {COMPRESSED_FRAME_BYTES}"
                    )));
                }
                Ok(Err(Ending::Cut)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(RecordingEnd::Cut);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let (patience, end) = self.patience();
                    if begun.elapsed() >= patience {
                        return Err(end);
                    }
                }
            }
        }
    }

    /// Sends a request.
    ///
    /// Errors are ignored. If the program has exited, the data that it sent is still read; reading
    /// then fails and ends the recording.
    fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Asks the client to end the connection, unless this has been done before.
    ///
    /// The client is asked after a stop request, as soon as all other requests are answered or
    /// `STOP_TIME` has passed.
    fn heed_stop(&mut self) {
        if self.has_asked_to_stop || !self.stop.load(Ordering::Relaxed) {
            return;
        }
        let wanted = *self.stop_wanted.get_or_insert_with(Instant::now);
        if self.session.queries.is_done() || wanted.elapsed() > STOP_TIME {
            self.has_asked_to_stop = true;
            self.send(&query_bytes(Query::Disconnect, 0));
        }
    }

    /// Returns the maximum time without data, and the reason for the end of the recording if this
    /// time is exceeded.
    const fn patience(&self) -> (Duration, RecordingEnd) {
        if self.has_asked_to_stop {
            (STOP_TIME, RecordingEnd::Stopped)
        } else {
            (self.silence, RecordingEnd::Silent)
        }
    }
}

/// Reason why there are no more blocks.
enum Ending {
    /// The connection ended.
    Cut,
    /// The length of a block is larger than any valid length.
    TooLong(usize),
}

/// Length of the size field before each block, in bytes.
const SIZE_BYTES: usize = 4;

/// Reads compressed frames until the connection ends or nobody receives from `blocks`.
fn read_blocks(mut stream: TcpStream, blocks: &SyncSender<Result<Vec<u8>, Ending>>) {
    loop {
        let block = read_block(&mut stream);
        let is_last = block.is_err();
        if blocks.send(block).is_err() || is_last {
            return;
        }
    }
}

fn read_block(stream: &mut TcpStream) -> Result<Vec<u8>, Ending> {
    let mut size = [0; SIZE_BYTES];
    stream.read_exact(&mut size).map_err(|_| Ending::Cut)?;
    let bytes = usize::try_from(u32::from_le_bytes(size)).unwrap_or(usize::MAX);
    if bytes > COMPRESSED_FRAME_BYTES {
        return Err(Ending::TooLong(bytes));
    }
    let mut block = vec![0; bytes];
    stream.read_exact(&mut block).map_err(|_| Ending::Cut)?;
    Ok(block)
}
