//! What `include/kernel_profiler.hpp` calls, and what it knows of this crate's memory.
//!
//! The header has the hot paths; all else is here, under names that begin with `__kprof_`.
//! The interface is narrow on purpose: the first two words of [`State`], the firmware's
//! symbols ([`crate::tensix`]) and these functions. Where the header's figures are not
//! those of this crate, the crate does not compile.
//!
//! Each function has a module of its own, so that the compiler can put it into an object of
//! its own, of which a kernel gets only those that it calls.

#![allow(unsafe_code, reason = "exported functions and the count of losses")]

use crate::{
    buffer::{DISPATCH_HEADROOM_WORDS, DISPATCH_METADATA_HEADROOM_WORDS},
    state::State,
    tensix::{LOST_OFFSET, STATE_BYTES, STATE_OFFSET, Tile},
};
use core::mem::offset_of;

/// Exports functions that C++ calls like any other.
macro_rules! exported {
    ($($name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {
        $(
            mod $name {
                #[unsafe(no_mangle)]
                extern "C" fn $name($($argument: $kind),*) $body
            }
        )*
    };
}

exported! {
    __kprof_init() { crate::probe::init(); }
    __kprof_finish() { crate::probe::finish(); }
    __kprof_validate(is_valid: u32) { crate::probe::validate(|| is_valid != 0); }
    __kprof_set_counter(program_id: u32) { crate::probe::set_counter(|| program_id); }
    __kprof_init_profiler() { crate::probe::init_profiler(); }
    __kprof_increment_trace_count() { crate::probe::increment_trace_count(); }
    __kprof_init_trace_only() { crate::probe::init_trace_only(); }
    __kprof_quick_push() { crate::probe::quick_push(); }
    __kprof_quick_push_if_linked(command_buffer: u32, is_to_be_linked: u32) {
        crate::probe::quick_push_if_linked(command_buffer, is_to_be_linked != 0);
    }
}

// Functions that a mode needs exist in that mode only, so that a header of another mode does
// not link.

#[cfg(feature = "sums")]
exported! {
    __kprof_add_to_sum(accumulator: u32, id: u32, cycles: u64) {
        let accumulator = accumulator as usize;
        crate::tensix::with(|state, _| state.add_to_sum(accumulator, super::zone_id(id), cycles));
    }
}

#[cfg(not(feature = "trace-only"))]
exported! {
    __kprof_open_scope(is_child: u32, id: u32) { super::open_scope(is_child, id); }
    __kprof_close_scope(is_child: u32, id: u32) { super::close_scope(is_child, id); }
}

#[cfg(feature = "trace-only")]
exported! {
    __kprof_open_scope_trace_only(is_child: u32, id: u32) { super::open_scope(is_child, id); }
    __kprof_close_scope_trace_only(is_child: u32, id: u32) { super::close_scope(is_child, id); }
}

#[inline(always)]
fn open_scope(is_child: u32, id: u32) {
    crate::tensix::with(|state, port| state.open_scope(port, scope(is_child), zone_id(id)));
}

#[inline(always)]
fn close_scope(is_child: u32, id: u32) {
    crate::tensix::with(|state, port| state.close_scope(port, scope(is_child), zone_id(id)));
}

#[inline(always)]
const fn scope(is_child: u32) -> crate::launch::Scope {
    if is_child != 0 { crate::launch::Scope::MainChild } else { crate::launch::Scope::Main }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the header passes sixteen bits")]
const fn zone_id(id: u32) -> wire::ZoneId {
    wire::ZoneId(id as u16)
}

/// Exports functions that count a loss, as [`State::lose`] does, up to what a trailer can hold.
///
/// A hot path calls them with `call t0, name`; they change `t1` and `t2` and nothing else,
/// so that the path needs no stack and saves no registers.
macro_rules! counting {
    ($($name:ident $kind:literal)*) => {
        $(
            mod $name {
                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                extern "C" fn $name() {
                    core::arch::naked_asm!(
                        "lui t1, %hi(__kprof_state + {offset})",
                        "lw t2, %lo(__kprof_state + {offset})(t1)",
                        "addi t2, t2, 1",
                        "srli t1, t2, 27",
                        "bnez t1, 2f",
                        "lui t1, %hi(__kprof_state + {offset})",
                        "sw t2, %lo(__kprof_state + {offset})(t1)",
                        "2: jr t0",
                        offset = const super::LOST_OFFSET + 4 * $kind,
                    )
                }
            }
        )*
    };
}

counting! {
    __kprof_lose_zone 0
    __kprof_lose_data 1
    __kprof_lose_event 2
}

/// The part of the header whose figures must be those of this crate.
const HEADER: &str = include_str!("../include/kernel_profiler/record.hpp");

const _: () = {
    assert!(figure("uint32_t STATE_CURSOR_OFFSET = ") == STATE_OFFSET + offset_of!(State, cursor));
    assert!(figure("uint32_t STATE_ROOM_OFFSET = ") == STATE_OFFSET + offset_of!(State, room));
    assert!(
        figure("uint32_t STATE_BYTES = ") == STATE_BYTES,
        "the header's STATE_BYTES is another"
    );
    assert!(figure("uint32_t TILE_BYTES = ") == size_of::<Tile>());
    assert!(figure("uint32_t VECTOR_WORDS = ") == wire::vector::VECTOR_WORDS);
    assert!(figure("int32_t MARKER_BYTES = ") == 4 * wire::marker::MARKER_WORDS);
    assert!(figure("DoingDispatch::DISPATCH        ? ") == 4 * DISPATCH_HEADROOM_WORDS);
    assert!(figure("DoingDispatch::DISPATCH_META ? ") == 4 * DISPATCH_METADATA_HEADROOM_WORDS);
};

/// The number behind a piece of the header's text.
///
/// # Panics
/// While compiling, if the header has no such piece.
const fn figure(label: &str) -> usize {
    let (header, label) = (HEADER.as_bytes(), label.as_bytes());
    let mut at = 0;
    while !begins_with(header, at, label) {
        at += 1;
    }
    at += label.len();
    let mut figure = 0;
    while header[at].is_ascii_digit() {
        figure = 10 * figure + (header[at] - b'0') as usize;
        at += 1;
    }
    figure
}

const fn begins_with(text: &[u8], at: usize, label: &[u8]) -> bool {
    assert!(at + label.len() <= text.len(), "the header has no such figure");
    let mut offset = 0;
    while offset < label.len() {
        if text[at + offset] != label[offset] {
            return false;
        }
        offset += 1;
    }
    true
}
