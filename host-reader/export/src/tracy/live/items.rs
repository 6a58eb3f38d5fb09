//! Items sent to a viewer, encoded in the viewer's version of the protocol.
//!
//! # Compatibility
//! Tracy's `public/common/TracyQueue.hpp`: the fields of each item, without padding.

use crate::tracy::{file::cut, lanes::Rgb, places::SourcePlace};
use tracy::protocol::{FAR_NS, ItemKind, NEAR_NS, TracyProtocol};

/// Maximum length of a text, in bytes, that always fits into an item together with the item's other
/// fields.
const TEXT_BYTES: usize = 20_000;

/// Items not sent yet.
pub(super) struct Items {
    protocol: &'static TracyProtocol,
    bytes: Vec<u8>,
    /// Latest time that was sent for a zone of a context. The next time is sent as the difference
    /// from this time.
    gpu_ns: i64,
    /// Latest time that was sent for a zone of the current thread.
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

    /// Appends the code of an item's kind. Every protocol version has a code for each kind that is
    /// sent without a request.
    fn put_kind(&mut self, kind: ItemKind) {
        self.bytes.extend(self.protocol.code(kind));
    }

    /// Appends an item and its fields.
    fn item(&mut self, kind: ItemKind, fields: &[&[u8]]) {
        self.put_kind(kind);
        fields.iter().for_each(|field| self.put(field));
    }

    /// Appends the number of a context: two bytes for Tenstorrent's fork of Tracy, one byte
    /// otherwise.
    fn put_context(&mut self, context: u16) {
        let bytes = context.to_le_bytes();
        self.put(bytes.get(..self.protocol.context_bytes()).unwrap_or(&bytes));
    }

    /// Sends the text that the next item refers to.
    fn single_string(&mut self, text: &str) {
        let text = cut(text, TEXT_BYTES);
        let has_short = self.protocol.has_short_texts();
        match u8::try_from(text.len()) {
            Ok(size) if has_short => {
                self.item(ItemKind::SingleStringData8, &[&[size]]);
            }
            _ => {
                // The longer form encodes the length minus 256 if a shorter form encodes the
                // lengths below 256.
                let first = if has_short { 256 } else { 0 };
                let size = u16::try_from(text.len() - first).unwrap_or(0);
                self.item(ItemKind::SingleStringData, &[&size.to_le_bytes()]);
            }
        }
        self.put(text.as_bytes());
    }

    pub(super) fn new_context(&mut self, context: u16, name: &str) {
        // Host time 0 is device time 0. The context belongs to no single thread.
        let [host_ns, device_ns] = [[0; 8]; 2];
        let ns_per_tick = 1.0_f32.to_le_bytes();
        self.item(ItemKind::GpuNewContext, &[&host_ns, &device_ns, &[0; 4], &ns_per_tick]);
        self.put_context(context);
        self.put(&[0, self.protocol.context_type]); // not calibrated
        self.single_string(name);
        self.put_kind(ItemKind::GpuContextName);
        self.put_context(context);
    }

    /// Sends the source location of the zone that begins next.
    fn place(&mut self, place: &SourcePlace<'_>) {
        let texts = [&place.function, &place.file, &place.name].map(|text| cut(text, TEXT_BYTES));
        let size: usize = 4 + 4 + texts.iter().map(|text| text.len()).sum::<usize>() + 2;
        let size = u16::try_from(size).unwrap_or(0).to_le_bytes();
        let (rgb, line) = (place.rgb.to_le_bytes(), place.line.to_le_bytes());
        self.item(ItemKind::SourceLocationPayload, &[&[0; 8], &size, &rgb, &line]);
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

    /// Sends again the item which states that the host's time 0 and the context's time 0 are the
    /// same.
    ///
    /// A viewer assumes that the counter of a context restarted if a time is much earlier than the
    /// previous time. Sending this item before such a time prevents that assumption.
    pub(super) fn gpu_time_sync(&mut self, context: u16) {
        self.item(ItemKind::GpuTimeSync, &[&[0; 8], &[0; 8]]);
        self.put_context(context);
    }

    pub(super) fn gpu_zone_begin(&mut self, zone: GpuZone, time_ns: i64, place: &SourcePlace<'_>) {
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
        let (thread_id, query) = (zone.thread_id.to_le_bytes(), zone.query.to_le_bytes());
        self.item(kind, &[&since_last_ns, &thread_id, &query]);
        self.put_context(zone.context);
        self.item(ItemKind::GpuTime, &[&since_last_ns, &query]);
        self.put_context(zone.context);
    }

    /// Selects the thread that the following items refer to.
    pub(super) fn thread_context(&mut self, thread_id: u32) {
        self.item(ItemKind::ThreadContext, &[&thread_id.to_le_bytes()]);
        self.thread_ns = 0;
    }

    /// Announces a thread. The viewer then asks for the name of the thread.
    pub(super) fn thread_exists(&mut self, thread_id: u32) {
        self.thread_context(thread_id);
        self.item(ItemKind::ZoneValidation, &[&[0; 4]]);
    }

    fn since_last_of_thread(&mut self, time_ns: i64) -> i64 {
        let since_last_ns = time_ns - self.thread_ns;
        self.thread_ns = time_ns;
        since_last_ns
    }

    pub(super) fn zone_begin(&mut self, time_ns: i64, place: &SourcePlace<'_>) {
        self.place(place);
        let since_last_ns = self.since_last_of_thread(time_ns);
        self.item(ItemKind::ZoneBeginAllocSrcLoc, &[&since_last_ns.to_le_bytes()]);
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
            self.item(ItemKind::ZoneEnd, &[&distance_ns.to_le_bytes()]);
        } else if let Ok(short_ns) = u16::try_from(distance_ns) {
            self.item(ItemKind::ZoneEnd16, &[&short_ns.to_le_bytes()]);
        } else if let Ok(near_ns) = u32::try_from(distance_ns - NEAR_NS) {
            self.item(ItemKind::ZoneEnd32, &[&near_ns.to_le_bytes()]);
        } else {
            self.item(ItemKind::ZoneEnd, &[&(distance_ns - FAR_NS).to_le_bytes()]);
        }
    }

    pub(super) fn message(&mut self, time_ns: i64, rgb: Rgb, text: &str) {
        /// Code of a message's source and severity: sent by the user's program, for information.
        const USER_INFORMATION: u8 = 0x20;
        self.single_string(text);
        let [blue, green, red, _] = rgb.to_le_bytes();
        self.item(ItemKind::MessageColor, &[&time_ns.to_le_bytes(), &[blue, green, red]]);
        if self.protocol.message_has_severity() {
            self.put(&[USER_INFORMATION]);
        }
    }

    /// Ends a frame and begins the next one. `name_key` is the key of the frames' name.
    pub(super) fn frame_mark(&mut self, time_ns: i64, name_key: u64) {
        self.item(ItemKind::FrameMarkMsg, &[&time_ns.to_le_bytes(), &name_key.to_le_bytes()]);
    }

    pub(super) fn plot_config(&mut self, plot: u64, is_stepped: bool) {
        // The plot shows plain numbers, as steps or as a line, filled, in a colour that the viewer
        // chooses.
        let look = [0, is_stepped.into(), 1, 0, 0, 0, 0];
        self.item(ItemKind::PlotConfig, &[&plot.to_le_bytes(), &look]);
    }

    pub(super) fn plot_value(&mut self, plot: u64, time_ns: i64, value: f64) {
        let since_last_ns = self.since_last_of_thread(time_ns).to_le_bytes();
        let fields = [&plot.to_le_bytes(), &since_last_ns, &value.to_le_bytes()];
        self.item(ItemKind::PlotDataDouble, &fields.map(<[u8; 8]>::as_slice));
    }

    /// Informs the viewer that the program is still running.
    pub(super) fn keep_alive(&mut self) {
        self.put_kind(ItemKind::KeepAlive);
    }

    pub(super) fn terminate(&mut self) {
        self.put_kind(ItemKind::Terminate);
    }

    /// Answers a request with a text. Every protocol version contains all kinds of items that
    /// answer requests.
    pub(super) fn answer(&mut self, kind: ItemKind, key: u64, text: &str) {
        let text = cut(text, TEXT_BYTES);
        let byte_count = u16::try_from(text.len()).unwrap_or(0).to_le_bytes();
        self.item(kind, &[&key.to_le_bytes(), &byte_count, text.as_bytes()]);
    }

    /// Answers a request for which there is no result.
    pub(super) fn answer_done(&mut self) {
        self.put_kind(ItemKind::AckServerQueryNoop);
    }

    pub(super) fn answer_no_source_code(&mut self, id: u32) {
        self.item(ItemKind::AckSourceCodeNotAvailable, &[&id.to_le_bytes()]);
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
    /// Number of one time of the zone. The item for a zone's start or end and the item with its
    /// time both contain this number. No other zone in progress uses this number.
    pub(super) query: u16,
}
