//! Begin and end of a launch whose records are streamed.
//!
//! Each RISC announces the launch's program in its own lane. The first RISC announces the program
//! when it gets the program id. The other RISCs announce it later, when their firmware's zones
//! begin. The end of a launch publishes the cells that have been written. Nothing is pushed, and no
//! RISC waits for another.

use super::{
    CELL_BYTES, CHUNK_BYTES, total_head,
    turn::{
        CHUNK, CLOSED_AS_IDLE, CLOSED_WITH_LOSS, First, Launch, OPEN, is_full, may_be_torn, own,
        place_of, publish, set_own, write_first_cells, write_launch,
    },
    write_cell,
};
use crate::{
    lane,
    port::Port,
    state::{State, offset},
};
use wire::{
    ZoneId,
    control::ext,
    dram::SUM_COUNT,
    loss::LossKind,
    stream::{
        Code, cells_to_next_chunk,
        words::{
            IDLE_LAUNCHES, LAUNCHES, PROGRAM, READ, SIGNATURE_VALUE, TOLD, TOLD_ENDED, TRACE_COUNT,
            WRITTEN,
        },
    },
};

impl State {
    /// Begins a launch; the first RISC only prepares for it, because it does not know the program
    /// yet.
    pub(crate) fn begin_stream<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.risc_index() == 0 {
            self.set_next(self.next() & CLOSED_WITH_LOSS);
        } else {
            port.forget_cached();
            let launch = Launch::read(port);
            self.open_lane(port, launch);
        }
    }

    /// On the first RISC, announces the launch to the other RISCs and begins it.
    pub(crate) fn begin_streamed_launch<P: Port + ?Sized>(&mut self, port: &mut P, program: u32) {
        if port.risc_index() != 0 || self.next() & CLOSED_AS_IDLE != 0 {
            return;
        }
        port.forget_cached();
        let words = port.control_place(0);
        let number = port.load(words + offset(LAUNCHES)).wrapping_add(1);
        let replays = self.trace_count();
        port.store(words + offset(ext::SIGNATURE), SIGNATURE_VALUE);
        // A reader that drains the rings relies on this order of the stores.
        port.store(words + offset(LAUNCHES), number);
        port.store(words + offset(PROGRAM), program);
        port.store(words + offset(TRACE_COUNT), replays);
        self.open_lane(port, Launch { number, program, replays });
    }

    /// Begins a launch in this RISC's lane.
    fn open_lane<P: Port + ?Sized>(&mut self, port: &mut P, launch: Launch) {
        let (written, read) = (own(port, WRITTEN), own(port, READ));
        let time = port.now();
        let rest = cells_to_next_chunk(written);
        let has_room = if rest == 0 { !is_full(written, read) } else { rest >= 3 };
        if self.next() != 0 || !has_room || may_be_torn(time) {
            return self.open_lane_with_care(port, written, time.low);
        }
        let place = place_of(port, written);
        self.set_next(write_launch(port, place, launch, time));
        let cells = if rest == 0 { CHUNK } else { rest };
        self.set_limit(place + cells * CELL_BYTES);
    }

    #[cold]
    #[inline(never)]
    fn open_lane_with_care<P: Port + ?Sized>(&mut self, port: &mut P, written: u32, time: u32) {
        let has_lost = self.next() & CLOSED_WITH_LOSS != 0;
        let first = if has_lost { First::LostBefore } else { First::Nothing };
        let place = place_of(port, written);
        let rest = cells_to_next_chunk(written);
        // Launch cells never end at the end of a chunk: such a chunk would be published before the
        // RISC notices that it is full.
        if rest >= if has_lost { 4 } else { 3 } {
            self.set_limit(place + rest * CELL_BYTES);
            self.set_next(write_first_cells(port, place, first, time));
            return;
        }
        if rest != 0 {
            port.store(place, super::head(Code::PADDING, 0));
            set_own(port, WRITTEN, written.wrapping_add(rest));
        }
        let _ = self.begin_chunk(port, 0, first, time);
    }

    /// Ends a launch: writes the totals of its sums, and publishes the cells that have been
    /// written.
    pub(crate) fn finish_stream<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.sums_enabled() {
            self.write_streamed_totals(port);
        }
        self.close_lane(port);
    }

    /// Publishes the cells that have been written, and records nothing until the next launch.
    fn close_lane<P: Port + ?Sized>(&mut self, port: &mut P) {
        let (place, limit) = (self.next(), self.limit());
        if place < OPEN {
            return;
        }
        if limit != 0 {
            publish(port, place);
        }
        let told = own(port, TOLD);
        if told != 0 {
            set_own(port, TOLD, told | TOLD_ENDED);
        }
        self.set_limit(0);
        self.set_next(if limit == 0 { CLOSED_WITH_LOSS } else { 0 });
    }

    /// Writes and clears the totals of the accumulators that were used.
    fn write_streamed_totals<P: Port + ?Sized>(&mut self, port: &mut P) {
        for accumulator in 0..SUM_COUNT {
            let head = self.sum_header(accumulator);
            if head == 0 {
                continue;
            }
            let time = port.now_low();
            if let Some(place) = self.take_cells(port, 1, LossKind::Zone, time) {
                write_cell(port, place, head, self.sum(accumulator));
            }
            self.set_sum_header(accumulator, 0);
            self.set_sum(accumulator, 0);
        }
    }

    /// Marks the launch as one that runs no kernel on this core. From now on, the launch records
    /// nothing.
    pub(crate) fn leave_streamed_launch<P: Port + ?Sized>(&mut self, port: &mut P) {
        self.close_lane(port);
        self.set_next(self.next() | CLOSED_AS_IDLE);
        if port.risc_index() == 0 {
            let words = port.control_place(0);
            // The signature is written here, too, because the core may never run another launch.
            port.store(words + offset(ext::SIGNATURE), SIGNATURE_VALUE);
            lane::add(port, words + offset(IDLE_LAUNCHES), 1);
        }
    }

    /// Returns true if this RISC's launch is marked as one that runs no kernel on this core.
    pub(crate) fn is_launch_idle(&self) -> bool {
        self.next() < OPEN && self.next() & CLOSED_AS_IDLE != 0
    }

    /// Stores the zone name under which the total of an accumulator will be recorded.
    pub(crate) fn name_streamed_sum(&mut self, accumulator: usize, id: ZoneId) {
        self.set_sum_header(accumulator, total_head(id));
    }
}

const _: () = assert!(CHUNK_BYTES == CHUNK * CELL_BYTES);
