//! Items sent to a viewer, encoded in its version of the protocol.
//!
//! # Compatibility
//! Tracy's `public/common/TracyQueue.hpp`: the fields of each item, without padding.

use crate::tracy::{file::cut, lanes::Rgb, places::Place};
use tracy::protocol::{FAR_NS, ItemKind, NEAR_NS, Program, TracyProtocol};

/// Maximum length of a text, in bytes, that always fits into an item together with the item's other
/// fields.
const TEXT_BYTES: usize = 20_000;

/// Items not sent yet.
pub(super) struct Items {
    protocol: &'static TracyProtocol,
    bytes: Vec<u8>,
    /// Last time sent for a context's zone; the next time is relative to it.
    gpu_ns: i64,
    /// Last time sent for a zone of the current thread.
    thread_ns: i64,
}

impl Items {
    pub(super) const fn new(protocol: &'static TracyProtocol) -> Self {
        Self { protocol, bytes: Vec::new(), gpu_ns: 0, thread_ns: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Begins an item. Every version has the kinds that are sent without a request.
    fn put_kind(&mut self, kind: ItemKind) {
        self.bytes.extend(self.protocol.code(kind));
    }

    fn put_context(&mut self, context: u16) {
        let [low, high] = context.to_le_bytes();
        match self.protocol.program {
            Program::Stock => self.put(&[low]),
            Program::Fork => self.put(&[low, high]),
        }
    }

    /// Appends the 16-bit length of a text, then the text.
    fn put_text(&mut self, text: &str) {
        let text = cut(text, TEXT_BYTES);
        self.put(&u16::try_from(text.len()).unwrap_or(0).to_le_bytes());
        self.put(text.as_bytes());
    }

    /// Sends the text that the next item refers to.
    fn single_string(&mut self, text: &str) {
        let text = cut(text, TEXT_BYTES);
        let has_short = self.protocol.has_short_texts();
        match u8::try_from(text.len()) {
            Ok(size) if has_short => {
                self.put_kind(ItemKind::SingleStringData8);
                self.put(&[size]);
            }
            _ => {
                // The longer form encodes the length minus 256 if a shorter form encodes the
                // lengths below 256.
                let first = if has_short { 256 } else { 0 };
                let size = u16::try_from(text.len() - first).unwrap_or(0);
                self.put_kind(ItemKind::SingleStringData);
                self.put(&size.to_le_bytes());
            }
        }
        self.put(text.as_bytes());
    }

    pub(super) fn new_context(&mut self, context: u16, name: &str) {
        self.put_kind(ItemKind::GpuNewContext);
        self.put(&0_i64.to_le_bytes()); // host time 0 ...
        self.put(&0_i64.to_le_bytes()); // ... is device time 0
        self.put(&0_u32.to_le_bytes()); // no single thread
        self.put(&1.0_f32.to_le_bytes());
        self.put_context(context);
        self.put(&[0, self.protocol.context_type]); // not calibrated
        self.single_string(name);
        self.put_kind(ItemKind::GpuContextName);
        self.put_context(context);
    }

    /// Sends the source location of the zone that begins next.
    fn place(&mut self, place: &Place<'_>) {
        let texts = [&place.function, &place.file, &place.name].map(|text| cut(text, TEXT_BYTES));
        let size: usize = 4 + 4 + texts.iter().map(|text| text.len()).sum::<usize>() + 2;
        self.put_kind(ItemKind::SourceLocationPayload);
        self.put(&0_u64.to_le_bytes());
        self.put(&u16::try_from(size).unwrap_or(0).to_le_bytes());
        self.put(&place.rgb.to_le_bytes());
        self.put(&place.line.to_le_bytes());
        let [function, file, name] = texts;
        for text in [function, file] {
            self.put_without_nul(text);
            self.put(&[0]);
        }
        self.put_without_nul(name);
    }

    /// Appends a text. Zero bytes, which would end the text, become blanks.
    fn put_without_nul(&mut self, text: &str) {
        self.bytes.extend(text.bytes().map(|byte| if byte == 0 { b' ' } else { byte }));
    }

    /// Repeats that host time 0 is device time 0.
    ///
    /// A viewer assumes that the counter of a context restarted if a time is much earlier than the
    /// previous time. Sending this item before such a time prevents that assumption.
    pub(super) fn gpu_time_sync(&mut self, context: u16) {
        self.put_kind(ItemKind::GpuTimeSync);
        self.put(&0_i64.to_le_bytes());
        self.put(&0_i64.to_le_bytes());
        self.put_context(context);
    }

    pub(super) fn gpu_zone_begin(&mut self, zone: GpuZone, time_ns: i64, place: &Place<'_>) {
        self.place(place);
        self.gpu_edge(ItemKind::GpuZoneBeginAllocSrcLocSerial, zone, time_ns);
    }

    pub(super) fn gpu_zone_end(&mut self, zone: GpuZone, time_ns: i64) {
        self.gpu_edge(ItemKind::GpuZoneEndSerial, zone, time_ns);
    }

    /// Sends the start or end of a zone. Host time and device time use the same clock, so both have
    /// the same difference from the previous time.
    fn gpu_edge(&mut self, kind: ItemKind, zone: GpuZone, time_ns: i64) {
        let since_last_ns = (time_ns - self.gpu_ns).to_le_bytes();
        self.gpu_ns = time_ns;
        self.put_kind(kind);
        self.put(&since_last_ns);
        self.put(&zone.thread_id.to_le_bytes());
        self.put(&zone.query.to_le_bytes());
        self.put_context(zone.context);
        self.put_kind(ItemKind::GpuTime);
        self.put(&since_last_ns);
        self.put(&zone.query.to_le_bytes());
        self.put_context(zone.context);
    }

    /// Selects the thread that the following items refer to.
    pub(super) fn thread_context(&mut self, thread_id: u32) {
        self.put_kind(ItemKind::ThreadContext);
        self.put(&thread_id.to_le_bytes());
        self.thread_ns = 0;
    }

    /// Announces a thread. The viewer then asks for its name.
    pub(super) fn thread_exists(&mut self, thread_id: u32) {
        self.thread_context(thread_id);
        self.put_kind(ItemKind::ZoneValidation);
        self.put(&0_u32.to_le_bytes());
    }

    fn since_last_of_thread(&mut self, time_ns: i64) -> i64 {
        let since_last_ns = time_ns - self.thread_ns;
        self.thread_ns = time_ns;
        since_last_ns
    }

    pub(super) fn zone_begin(&mut self, time_ns: i64, place: &Place<'_>) {
        self.place(place);
        self.put_kind(ItemKind::ZoneBeginAllocSrcLoc);
        let since_last_ns = self.since_last_of_thread(time_ns);
        self.put(&since_last_ns.to_le_bytes());
    }

    pub(super) fn zone_text(&mut self, text: &str) {
        self.single_string(text);
        self.put_kind(ItemKind::ZoneText);
    }

    pub(super) fn zone_name(&mut self, name: &str) {
        self.single_string(name);
        self.put_kind(ItemKind::ZoneName);
    }

    pub(super) fn zone_end(&mut self, time_ns: i64) {
        let distance_ns = self.since_last_of_thread(time_ns);
        if !self.protocol.has_short_times() || distance_ns < 0 {
            self.put_kind(ItemKind::ZoneEnd);
            self.put(&distance_ns.to_le_bytes());
        } else if let Ok(short_ns) = u16::try_from(distance_ns) {
            self.put_kind(ItemKind::ZoneEnd16);
            self.put(&short_ns.to_le_bytes());
        } else if let Ok(near_ns) = u32::try_from(distance_ns - NEAR_NS) {
            self.put_kind(ItemKind::ZoneEnd32);
            self.put(&near_ns.to_le_bytes());
        } else {
            self.put_kind(ItemKind::ZoneEnd);
            self.put(&(distance_ns - FAR_NS).to_le_bytes());
        }
    }

    pub(super) fn message(&mut self, time_ns: i64, rgb: Rgb, text: &str) {
        /// Source and severity: user, information.
        const USER_INFORMATION: u8 = 0x20;
        self.single_string(text);
        self.put_kind(ItemKind::MessageColor);
        self.put(&time_ns.to_le_bytes());
        let [blue, green, red, _] = rgb.to_le_bytes();
        self.put(&[blue, green, red]);
        if self.protocol.message_has_severity() {
            self.put(&[USER_INFORMATION]);
        }
    }

    /// Ends a frame and begins the next frame of the name with this key.
    pub(super) fn frame_mark(&mut self, time_ns: i64, name_key: u64) {
        self.put_kind(ItemKind::FrameMarkMsg);
        self.put(&time_ns.to_le_bytes());
        self.put(&name_key.to_le_bytes());
    }

    pub(super) fn plot_config(&mut self, plot: u64, is_stepped: bool) {
        self.put_kind(ItemKind::PlotConfig);
        self.put(&plot.to_le_bytes());
        self.put(&[0, is_stepped.into(), 1]); // plain numbers, as steps or a line, filled
        self.put(&0_u32.to_le_bytes()); // the viewer's colour
    }

    pub(super) fn plot_value(&mut self, plot: u64, time_ns: i64, value: f64) {
        self.put_kind(ItemKind::PlotDataDouble);
        self.put(&plot.to_le_bytes());
        let since_last_ns = self.since_last_of_thread(time_ns);
        self.put(&since_last_ns.to_le_bytes());
        self.put(&value.to_le_bytes());
    }

    /// Informs the viewer that the program is still running.
    pub(super) fn keep_alive(&mut self) {
        self.put_kind(ItemKind::KeepAlive);
    }

    pub(super) fn terminate(&mut self) {
        self.put_kind(ItemKind::Terminate);
    }

    /// Answers a request with a text. Every version has the kinds of answers with texts.
    pub(super) fn answer(&mut self, kind: ItemKind, key: u64, text: &str) {
        self.put_kind(kind);
        self.put(&key.to_le_bytes());
        self.put_text(text);
    }

    /// Answers a request without a result.
    pub(super) fn answer_done(&mut self) {
        self.put_kind(ItemKind::AckServerQueryNoop);
    }

    pub(super) fn answer_no_source_code(&mut self, id: u32) {
        self.put_kind(ItemKind::AckSourceCodeNotAvailable);
        self.put(&id.to_le_bytes());
    }

    pub(super) fn answer_no_symbol_code(&mut self) {
        self.put_kind(ItemKind::AckSymbolCodeNotAvailable);
    }
}

/// Zone and context that an item refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GpuZone {
    pub(super) context: u16,
    pub(super) thread_id: u32,
    /// Number that links a zone's item to the item with its time. No other zone in progress uses
    /// this number.
    pub(super) query: u16,
}
