//! One visit of a producer: which cells are taken, and the frame of them.

use super::{Relay, RelayPort, Request};
use crate::port::whole_time;
use wire::{
    control::{ControlLayout, ext},
    frame::{
        ALIGN_BYTES, CONTROL_WORDS, CellSpan, FIRST_CELL_WORD, HEADER_WORDS, MAGIC, SUMMED,
        crc_step, header,
    },
    relay::{BUFFER_ENDS_BYTES, CRC_OFFSET, State, setup},
    risc::RISCS_PER_CORE,
    stream::{CELL_WORDS, Policy, RING_CELLS, words},
    vector::VECTOR_WORDS,
};

/// A visit, from the request of the control vector on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// L1 address of its buffer.
    buffer: u32,
    /// Transaction id of its requests.
    pub(super) id: u32,
    /// Index of the producer.
    pub(super) producer: u32,
    /// Bytes of its frame; 0 if there is none.
    pub(super) frame_bytes: u32,
    /// Bytes that it takes in the ring once it is pushed.
    pub(super) ring_bytes: u32,
}

impl Visit {
    pub(super) const NONE: Self =
        Self { buffer: 0, id: 0, producer: u32::MAX - 1, frame_bytes: 0, ring_bytes: 0 };

    pub(super) const fn new(buffer: u32, id: u32, producer: u32) -> Self {
        Self { buffer, id, producer, ..Self::NONE }
    }

    /// L1 address of the frame.
    #[inline(always)]
    pub(super) const fn frame(&self) -> u32 {
        self.buffer.wrapping_add(BUFFER_ENDS_BYTES)
    }

    /// L1 address of the producer's control vector in the frame.
    #[inline(always)]
    const fn control(&self) -> u32 {
        self.frame().wrapping_add(bytes(HEADER_WORDS))
    }

    /// L1 address of how far the cells go: five words, as far from a multiple of 16 as in the control
    /// vector that they are sent to.
    #[inline(always)]
    const fn ends(&self) -> u32 {
        self.buffer.wrapping_add(bytes(words::READ % 4))
    }
}

impl<P: RelayPort + ?Sized> Relay<'_, P> {
    #[inline(always)]
    pub(super) fn request_control(&mut self, visit: &Visit) -> Result<(), State> {
        let tile = self.port.load(self.producer(visit.producer));
        let request = Request {
            tile,
            remote: self.producer_control,
            local: visit.control(),
            byte_count: bytes(CONTROL_WORDS),
            id: visit.id,
        };
        if self.port.fetch(&request) { Ok(()) } else { Err(State::NocSilent) }
    }

    /// Decides which cells to take, and requests them.
    #[inline(always)]
    pub(super) fn plan(&mut self, visit: &mut Visit) -> Result<(), State> {
        let control = visit.control();
        if !self.is_to_be_read(control) {
            return Ok(());
        }
        let producer = self.producer(visit.producer);
        self.know(producer, control);
        let tile = self.port.load(producer.wrapping_add(bytes(setup::TILE)));
        let rings = self.producer_control.wrapping_add(CONTROL_BYTES);
        let mut end = visit.frame().wrapping_add(bytes(FIRST_CELL_WORD));
        let mut is_due = false;
        let next: [u32; RISCS_PER_CORE] = core::array::from_fn(|risc| {
            self.port.load(producer.wrapping_add(bytes(setup::NEXT + risc)))
        });
        let written: [u32; RISCS_PER_CORE] = core::array::from_fn(|risc| {
            self.port.load(control.wrapping_add(bytes(words::WRITTEN + risc)))
        });
        for (risc, (next, written)) in next.into_iter().zip(written).enumerate() {
            let (span, is_lost) = self.span(control, risc, (next, written));
            self.port.store(producer.wrapping_add(bytes(setup::NEXT + risc)), written);
            is_due |= is_lost || span.count != 0;
            self.port.store(control.wrapping_add(bytes(words::READ + risc)), span.first);
            let after = span.first.wrapping_add(span.count);
            self.port.store(visit.ends().wrapping_add(bytes(risc)), after);
            let ring = rings.wrapping_add(bytes(risc * VECTOR_WORDS));
            for (place, count) in span.parts() {
                if count == 0 {
                    continue;
                }
                let request = Request {
                    tile,
                    remote: ring.wrapping_add(place * CELL_BYTES),
                    local: end,
                    byte_count: count * CELL_BYTES,
                    id: visit.id,
                };
                if !self.port.fetch(&request) {
                    return Err(State::NocSilent);
                }
                end = end.wrapping_add(count * CELL_BYTES);
            }
        }
        if is_due {
            let frame_bytes = end.wrapping_sub(visit.frame()).wrapping_add(4);
            visit.frame_bytes = frame_bytes.next_multiple_of(ALIGN_BYTES);
            self.note_time(visit);
        }
        Ok(())
    }

    /// Returns true if a control vector is that of a core whose cells the relay takes.
    #[inline(always)]
    fn is_to_be_read(&mut self, control: u32) -> bool {
        const KIND_MASK: u32 = (1 << Policy::KIND_BITS) - 1;
        const OVERWRITE: u32 = Policy::OverwriteOldest.to_word();
        let signature = self.port.load(control.wrapping_add(bytes(ext::SIGNATURE)));
        let policies: [u32; RISCS_PER_CORE] = core::array::from_fn(|risc| {
            self.port.load(control.wrapping_add(bytes(words::POLICY + risc)))
        });
        let overwrites = policies.into_iter().any(|policy| policy & KIND_MASK == OVERWRITE);
        signature == words::SIGNATURE_VALUE && !overwrites
    }

    /// Begins where a drain before this one has ended.
    #[inline(always)]
    fn know(&mut self, producer: u32, control: u32) {
        let known = producer.wrapping_add(bytes(setup::IS_KNOWN));
        if self.port.load(known) != 0 {
            return;
        }
        self.port.store(known, 1);
        for risc in 0..RISCS_PER_CORE {
            let read = self.port.load(control.wrapping_add(bytes(words::READ + risc)));
            self.port.store(producer.wrapping_add(bytes(setup::NEXT + risc)), read);
        }
    }

    /// Returns the cells to take from a RISC, and whether the relay has lost its place before them: a
    /// host has zeroed the control vector.
    #[inline(always)]
    fn span(&mut self, control: u32, risc: usize, (next, written): (u32, u32)) -> (CellSpan, bool) {
        let mut first = next;
        let is_lost = written.wrapping_sub(first) > RING;
        if is_lost {
            let read = self.port.load(control.wrapping_add(bytes(words::READ + risc)));
            let is_possible = written.wrapping_sub(read) <= RING;
            first = if is_possible { read } else { written };
        }
        (CellSpan { first, count: written.wrapping_sub(first) }, is_lost)
    }

    #[inline(always)]
    fn note_time(&mut self, visit: &Visit) {
        let time = whole_time(self.port);
        self.port.store(visit.frame().wrapping_add(bytes(header::TIME_LOW)), time.low);
        self.port.store(visit.frame().wrapping_add(bytes(header::TIME_HIGH)), time.high);
    }

    /// Writes what a frame begins and ends with.
    #[inline(always)]
    pub(super) fn write_header(&mut self, visit: &Visit) {
        let frame = visit.frame();
        let sum = self.sum(visit.control());
        let producer = self.producer(visit.producer);
        let label = self.port.load(producer.wrapping_add(bytes(setup::LABEL)));
        let [time_low, time_high] = [header::TIME_LOW, header::TIME_HIGH]
            .map(|word| self.port.load(frame.wrapping_add(bytes(word))));
        let last = frame.wrapping_add(visit.frame_bytes).wrapping_sub(4);
        self.port.store(last, self.sequence.wrapping_add(1));
        self.seal(frame, visit.frame_bytes, [label, time_low, time_high, sum]);
    }

    /// Returns the sum of the control words that a header covers.
    ///
    /// Loads come in groups: a RISC waits for a load that is used at once.
    #[inline(always)]
    fn sum(&mut self, control: u32) -> u32 {
        let mut sum = 0_u32;
        for range in SUMMED {
            let mut index = range.start;
            while index + GROUP <= range.end {
                let group: [u32; GROUP] = core::array::from_fn(|of_group| {
                    self.port.load(control.wrapping_add(bytes(index + of_group)))
                });
                sum = group.into_iter().fold(sum, u32::wrapping_add);
                index += GROUP;
            }
            for index in index..range.end {
                sum = sum.wrapping_add(self.port.load(control.wrapping_add(bytes(index))));
            }
        }
        sum
    }

    /// Numbers a frame and writes its header, given the words from the producer to the sum.
    #[inline(always)]
    pub(super) fn seal(&mut self, frame: u32, frame_bytes: u32, rest: [u32; 4]) {
        self.sequence = self.sequence.wrapping_add(1);
        let [producer, time_low, time_high, sum] = rest;
        let words = [MAGIC, self.sequence, frame_bytes, producer, time_low, time_high, sum];
        let table = self.buffers.wrapping_add(CRC_OFFSET);
        let mut crc = u32::MAX;
        for (index, word) in (frame..).step_by(4).zip(words) {
            self.port.store(index, word);
            crc = crc_step(crc, word, |entry| self.port.load(table.wrapping_add(bytes(entry))));
        }
        let checksum = frame.wrapping_add(bytes(header::CRC));
        self.port.store(checksum, !crc);
        self.port.settle(checksum);
    }

    /// Tells a producer how far its cells were read.
    #[inline(always)]
    pub(super) fn tell_producer(&mut self, visit: &Visit) -> Result<(), State> {
        let tile = self.port.load(self.producer(visit.producer));
        let request = Request {
            tile,
            remote: self.producer_control.wrapping_add(bytes(words::READ)),
            local: visit.ends(),
            byte_count: bytes(RISCS_PER_CORE),
            id: visit.id,
        };
        if self.port.send(&request) { Ok(()) } else { Err(State::NocSilent) }
    }
}

/// Bytes of words.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a core's memory has less than 4 GiB")]
pub(super) const fn bytes(words: usize) -> u32 {
    words as u32 * 4
}

/// Cells of a ring.
const RING: u32 = bytes(RING_CELLS) / 4;
/// Loads that are under way at a time.
const GROUP: usize = 4;
const CELL_BYTES: u32 = bytes(CELL_WORDS);
const CONTROL_BYTES: u32 = bytes(ControlLayout::WORDS64.word_count);

const _: () = assert!(setup::TILE == 0);
const _: () = assert!(header::SUM == header::PRODUCER + 3 && header::CRC == header::SUM + 1);
