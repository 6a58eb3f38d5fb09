//! A visit to a producer: selects the cells to read, and assembles a frame from them.

use super::{Gatherer, Outlet, RelayPort, Request, id_of};
use crate::port::whole_time;
use wire::{
    control::{ControlLayout, ext},
    frame::{
        ALIGN_BYTES, CONTROL_WORDS, CellSpan, FIRST_CELL_WORD, HEADER_WORDS, SUMMED, crc_step,
        header,
    },
    relay::{CRC_OFFSET, State, setup},
    risc::RISCS_PER_CORE,
    stream::{CELL_WORDS, Policy, RING_CELLS, words},
    vector::VECTOR_WORDS,
};

/// A gatherer's visit to a producer. A visit begins with the request of the producer's control
/// vector. The visit's slot determines the transaction id of its requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// L1 address of the visit's frame.
    pub(super) frame: u32,
    /// L1 address of the producer's entry in the list of producers; for an empty visit, an address
    /// after the list.
    pub(super) producer: u32,
    /// Size of the frame in bytes; 0 if the visit has no frame.
    pub(super) frame_bytes: u32,
    /// Sum of those words that the gatherer itself has written into the frame.
    sum: u32,
    /// Number of bytes that the frame and a filler before it take up in the ring; 0 until they are
    /// pushed.
    pub(super) ring_bytes: u32,
}

impl Visit {
    pub(super) const NONE: Self =
        Self { frame: 0, producer: 0, frame_bytes: 0, sum: 0, ring_bytes: 0 };
}

impl<P: RelayPort + ?Sized> Gatherer<'_, P> {
    /// Begins a visit in a slot, by requesting the producer's control vector.
    #[inline(always)]
    pub(super) fn request_control(&mut self, slot: u32, producer: u32) -> Result<(), State> {
        let (list_end, remote) = (self.list_end, self.producer_control);
        let visit = self.slot(slot);
        (visit.producer, visit.frame_bytes, visit.ring_bytes) = (producer, 0, 0);
        let local = control_in(visit.frame);
        if producer >= list_end {
            return Ok(());
        }
        let tile = self.port.load(producer);
        let byte_count = bytes(CONTROL_WORDS);
        self.fetch(&Request { tile, remote, local, byte_count, id: id_of(slot) })
    }

    #[inline(always)]
    fn fetch(&mut self, request: &Request) -> Result<(), State> {
        if self.port.fetch(request) { Ok(()) } else { Err(State::NocSilent) }
    }

    /// Selects the cells to read from the producer, and requests them.
    #[inline(always)]
    pub(super) fn plan(&mut self, slot: u32) -> Result<(), State> {
        let Visit { frame, producer, .. } = *self.slot(slot);
        let control = control_in(frame);
        if producer >= self.list_end {
            return Ok(());
        }
        let is_known = self.port.load(producer.wrapping_add(bytes(setup::IS_KNOWN)));
        let tile = self.port.load(producer);
        if !self.is_to_be_read(control) {
            return Ok(());
        }
        if is_known == 0 {
            self.know(producer, control);
        }
        let cells = frame.wrapping_add(bytes(FIRST_CELL_WORD));
        let (mut end, mut is_due, mut sum) = (cells, false, 0_u32);
        let mut ring = self.producer_control.wrapping_add(CONTROL_BYTES);
        let (mut next_word, mut words) = (producer.wrapping_add(bytes(setup::NEXT)), control);
        for _ in 0..RISCS_PER_CORE {
            let mut first = self.port.load(next_word);
            let written = self.port.load(words.wrapping_add(bytes(words::WRITTEN)));
            let mut count = written.wrapping_sub(first);
            if count > RING {
                (first, is_due) = (self.found_again(words, written), true);
                count = written.wrapping_sub(first);
                self.port.store(next_word, written);
            }
            if count != 0 {
                let [(place, count), (_, rest)] = CellSpan { first, count }.parts();
                let remote = ring.wrapping_add(place * CELL_BYTES);
                let byte_count = count * CELL_BYTES;
                self.fetch(&Request { tile, remote, local: end, byte_count, id: id_of(slot) })?;
                self.port.store(next_word, written);
                end = end.wrapping_add(byte_count);
                if rest != 0 {
                    let byte_count = rest * CELL_BYTES;
                    let request =
                        Request { tile, remote: ring, local: end, byte_count, id: id_of(slot) };
                    self.fetch(&request)?;
                    end = end.wrapping_add(byte_count);
                }
            }
            self.port.store(words.wrapping_add(bytes(words::READ)), first);
            sum = sum.wrapping_add(first);
            (next_word, words) = (next_word.wrapping_add(4), words.wrapping_add(4));
            ring = ring.wrapping_add(RING_BYTES);
        }
        if is_due || end != cells {
            let frame_bytes = end.wrapping_sub(frame).wrapping_add(4);
            let sum = sum.wrapping_add(self.describe(frame, producer));
            let visit = self.slot(slot);
            (visit.frame_bytes, visit.sum) = (frame_bytes.next_multiple_of(ALIGN_BYTES), sum);
        }
        Ok(())
    }

    /// Returns true if the relay is to read the cells of the core whose control vector is at the
    /// address `control`.
    #[inline(always)]
    fn is_to_be_read(&mut self, control: u32) -> bool {
        const KIND_MASK: u32 = (1 << Policy::KIND_BITS) - 1;
        const OVERWRITE: u32 = Policy::OverwriteOldest.to_word();
        let signature = self.port.load(control.wrapping_add(bytes(ext::SIGNATURE)));
        let policies: [u32; RISCS_PER_CORE] = core::array::from_fn(|risc| {
            self.port.load(control.wrapping_add(bytes(words::POLICY + risc)))
        });
        // In most cores, no policy has a bit of `OVERWRITE`, so a closer check is seldom needed.
        let any = policies.into_iter().fold(0, |any, policy| any | policy);
        let overwrites = any & OVERWRITE != 0
            && policies.into_iter().any(|policy| policy & KIND_MASK == OVERWRITE);
        signature == words::SIGNATURE_VALUE && !overwrites
    }

    /// Sets the gatherer's read positions in a producer's rings to the positions in the producer's
    /// control vector, at which an earlier reader has stopped.
    #[cold]
    #[inline(never)]
    fn know(&mut self, producer: u32, control: u32) {
        self.port.store(producer.wrapping_add(bytes(setup::IS_KNOWN)), 1);
        for risc in 0..RISCS_PER_CORE {
            let read = self.port.load(control.wrapping_add(bytes(words::READ + risc)));
            self.port.store(producer.wrapping_add(bytes(setup::NEXT + risc)), read);
        }
    }

    /// Returns the number of the cell to read next if the gatherer's own read position is invalid,
    /// because a host has zeroed the producer's control vector.
    ///
    /// `words` is the address of the control vector in the frame, plus four times the RISC's index.
    #[cold]
    #[inline(never)]
    fn found_again(&mut self, words: u32, written: u32) -> u32 {
        let read = self.port.load(words.wrapping_add(bytes(words::READ)));
        if written.wrapping_sub(read) <= RING { read } else { written }
    }

    /// Writes the producer's label and the current time into a frame; returns the sum of these
    /// words.
    #[inline(always)]
    fn describe(&mut self, frame: u32, producer: u32) -> u32 {
        let label = self.port.load(producer.wrapping_add(bytes(setup::LABEL)));
        let time = whole_time(self.port);
        let words = [label, time.low, time.high];
        for (word, value) in (frame.wrapping_add(bytes(header::PRODUCER))..).step_by(4).zip(words) {
            self.port.store(word, value);
        }
        words.into_iter().fold(0, u32::wrapping_add)
    }

    /// Writes the last word of a visit's frame, and completes the frame's header.
    #[inline(always)]
    pub(super) fn write_header(&mut self, slot: u32) {
        let Visit { frame, frame_bytes, mut sum, .. } = *self.slot(slot);
        let last = frame.wrapping_add(frame_bytes).wrapping_sub(4);
        self.port.store(last, self.sequence.wrapping_add(1));
        let control = control_in(frame);
        // The third range is already part of the sum: the gatherer added those words when it wrote
        // them.
        let [told, launches, _] = SUMMED;
        sum = sum.wrapping_add(self.port.load(control.wrapping_add(bytes(launches.start))));
        let (mut word, end) =
            (control.wrapping_add(bytes(told.start)), control.wrapping_add(bytes(told.end)));
        while word != end {
            // Loads are made in groups, because a RISC stalls if it uses a load's result at once.
            let group: [u32; GROUP] =
                core::array::from_fn(|index| self.port.load(word.wrapping_add(bytes(index))));
            sum = group.into_iter().fold(sum, u32::wrapping_add);
            word = word.wrapping_add(bytes(GROUP));
        }
        self.seal(frame, frame_bytes, sum);
    }

    /// Writes a frame's sequence number, its length, and its header's sum and checksum.
    #[inline(always)]
    pub(super) fn seal(&mut self, frame: u32, frame_bytes: u32, sum: u32) {
        self.sequence = self.sequence.wrapping_add(1);
        let table = self.buffers.wrapping_add(CRC_OFFSET);
        let mut crc = u32::MAX;
        for (index, word) in
            [(header::SEQUENCE, self.sequence), (header::BYTES, frame_bytes), (header::SUM, sum)]
        {
            self.port.store(frame.wrapping_add(bytes(index)), word);
            crc = crc_step(crc, word, |entry| self.port.load(table.wrapping_add(bytes(entry))));
        }
        let checksum = frame.wrapping_add(bytes(header::CRC));
        self.port.store(checksum, !crc);
        self.port.settle(checksum);
    }

    /// Reports to a producer how far its rings have been read. The next visit to the producer
    /// begins only after this report.
    #[inline(always)]
    pub(super) fn tell_producer(&mut self, slot: u32, producer: u32) -> Result<(), State> {
        let tile = self.port.load(producer);
        let request = Request {
            tile,
            remote: self.producer_control.wrapping_add(bytes(words::READ)),
            local: producer.wrapping_add(bytes(setup::NEXT)),
            byte_count: bytes(RISCS_PER_CORE),
            id: id_of(slot),
        };
        if self.port.send(Outlet::Progress, &request) { Ok(()) } else { Err(State::NocSilent) }
    }
}

/// Returns the L1 address of the producer's control vector in a frame.
#[inline(always)]
const fn control_in(frame: u32) -> u32 {
    frame.wrapping_add(bytes(HEADER_WORDS))
}

/// Converts a number of words to bytes.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a core's memory has less than 4 GiB")]
pub(super) const fn bytes(words: usize) -> u32 {
    words as u32 * 4
}

/// Number of loads that are issued together, before the first of their results is used.
const GROUP: usize = 8;
/// Number of cells in a ring.
const RING: u32 = bytes(RING_CELLS) / 4;
const CELL_BYTES: u32 = bytes(CELL_WORDS);
const RING_BYTES: u32 = bytes(VECTOR_WORDS);
const CONTROL_BYTES: u32 = bytes(ControlLayout::WORDS64.word_count);

const _: () = assert!(setup::TILE == 0);
const _: () = assert!(SUMMED[0].end.wrapping_sub(SUMMED[0].start).is_multiple_of(GROUP));
const _: () = assert!(SUMMED[1].end == SUMMED[1].start + 1 && SUMMED[2].start == words::READ);
const _: () = assert!(header::TIME_LOW == header::PRODUCER + 1);
const _: () = assert!(header::TIME_HIGH == header::PRODUCER + 2);
