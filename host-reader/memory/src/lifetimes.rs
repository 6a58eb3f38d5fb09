//! Buffers from their allocation to their end.

use crate::{
    buffers::{BufferEvent, OpBuffers},
    place::{CallPlace, CallPlaces},
};
use std::{collections::HashMap, ops::Range};
use tables::MemoryRow;

/// A buffer of a chip, from its allocation until it was freed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Number of the chip.
    pub chip_id: u32,
    /// Kind of memory, such as `L1_SMALL`.
    pub region: String,
    /// First address in each bank.
    pub start: u64,
    /// Size in bytes in each bank.
    pub size_bytes: u64,
    /// Call that allocated it; `None` if no call was seen doing so.
    pub owner: Option<String>,
    /// Place of that call.
    pub place: CallPlace,
    /// Shape, data type and layout of its tensor; `None` if no op had it as a tensor.
    pub content: Option<String>,
    /// True if it is the profiler's own.
    pub is_own: bool,
    /// Index of the first op before whose launch it existed.
    pub first_op: usize,
    /// Index of the first op before whose launch it was freed; `None` if no later op was launched
    /// without it.
    pub end_op: Option<usize>,
    /// Index of the last op that had it as a tensor; `None` if there is none.
    pub last_use: Option<usize>,
    /// Indices of all ops that had it as a tensor, in their order.
    pub uses: Vec<usize>,
}

impl Lifetime {
    /// Returns true if the buffer was there when the op with this index was launched.
    #[must_use]
    pub fn is_live(&self, op: usize) -> bool {
        self.first_op <= op && self.end_op.is_none_or(|end| op < end)
    }

    /// Returns true if the buffer was there when an op was launched, but no op had it as a tensor any
    /// more.
    #[must_use]
    pub fn outlives_its_use(&self, op: usize) -> bool {
        self.is_live(op) && self.last_use.is_some_and(|last| last < op)
    }

    /// Returns `L1` or `DRAM`.
    #[must_use]
    pub fn memory(&self) -> &'static str {
        if self.region.starts_with("L1") { "L1" } else { "DRAM" }
    }

    /// Returns the kind of the buffer in the table `memory`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match (self.is_own, &self.content) {
            (true, _) => MemoryRow::PROFILER,
            (false, Some(_)) => MemoryRow::TENSOR,
            (false, None) => MemoryRow::BUFFER,
        }
    }

    pub(crate) const fn range(&self) -> Range<u64> {
        self.start..self.start + self.size_bytes
    }
}

/// Follows the buffers of one chip from op to op.
#[derive(Debug)]
pub(crate) struct Follower<'a> {
    chip_id: u32,
    /// Places of the calls that allocate.
    places: &'a CallPlaces,
    done: Vec<Lifetime>,
    /// Buffers that exist, by mesh, kind of memory and address.
    live: HashMap<(u64, String, u64), Lifetime>,
    /// Number of frees and uses of buffers that are not known.
    pub(crate) unknown_count: u64,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(chip_id: u32, places: &'a CallPlaces) -> Self {
        Self { chip_id, places, done: Vec::new(), live: HashMap::new(), unknown_count: 0 }
    }

    /// Follows what the allocator did before the launch of the op with this index.
    pub(crate) fn follow(&mut self, op: usize, buffers: &OpBuffers) {
        for mesh in &buffers.closed {
            self.close(op, *mesh);
        }
        if buffers.layout.is_some() {
            // The mesh was opened, so that what another one of this id held is gone.
            self.close(op, buffers.mesh);
        }
        let mut calls = buffers.calls.iter();
        for event in &buffers.events {
            let is_allocation = matches!(event, BufferEvent::Allocated(..));
            let call = if is_allocation { calls.next().and_then(Option::as_ref) } else { None };
            let place = call.and_then(|name| self.places.get(name)).cloned();
            self.event((op, buffers.mesh), event, place.unwrap_or_default());
        }
    }

    /// Follows an event of a mesh before the launch of an op. `place` is that of the call that
    /// allocates.
    fn event(&mut self, (op, mesh): (usize, u64), event: &BufferEvent, place: CallPlace) {
        let key = |region: &String, address: u64| (mesh, region.clone(), address);
        match event {
            BufferEvent::Allocated(region, start, size_bytes, owner) => {
                let fresh = Lifetime {
                    chip_id: self.chip_id,
                    region: region.clone(),
                    start: *start,
                    size_bytes: *size_bytes,
                    owner: owner.clone(),
                    place,
                    content: None,
                    is_own: false,
                    first_op: op,
                    end_op: None,
                    last_use: None,
                    uses: Vec::new(),
                };
                if let Some(old) = self.live.insert(key(region, *start), fresh) {
                    self.end(op, old);
                }
            }
            BufferEvent::Freed(region, address) => match self.live.remove(&key(region, *address)) {
                Some(old) => self.end(op, old),
                None => self.unknown_count += 1,
            },
            BufferEvent::Used(region, address, content) => {
                match self.live.get_mut(&key(region, *address)) {
                    Some(buffer) => {
                        buffer.last_use = Some(op);
                        if buffer.uses.last() != Some(&op) {
                            buffer.uses.push(op);
                        }
                        buffer.content = Some(content.clone());
                    }
                    None => self.unknown_count += 1,
                }
            }
            BufferEvent::Described(region, address, content) => {
                match self.live.get_mut(&key(region, *address)) {
                    Some(buffer) => buffer.content = Some(content.clone()),
                    None => self.unknown_count += 1,
                }
            }
            BufferEvent::Own(region, address) => match self.live.get_mut(&key(region, *address)) {
                Some(buffer) => buffer.is_own = true,
                None => self.unknown_count += 1,
            },
        }
    }

    fn end(&mut self, op: usize, mut buffer: Lifetime) {
        // A buffer that was allocated and freed before the same launch was there at none.
        if buffer.first_op < op {
            buffer.end_op = Some(op);
            self.done.push(buffer);
        }
    }

    fn close(&mut self, op: usize, mesh: u64) {
        let ended: Vec<_> = self.live.extract_if(|key, _| key.0 == mesh).collect();
        ended.into_iter().for_each(|(_, buffer)| self.end(op, buffer));
    }

    /// Returns all buffers that were there at a launch, by first op and address.
    pub(crate) fn finish(mut self) -> (Vec<Lifetime>, u64) {
        self.done.extend(self.live.into_values());
        self.done.sort_by(|a, b| {
            (a.first_op, a.memory(), a.start).cmp(&(b.first_op, b.memory(), b.start))
        });
        (self.done, self.unknown_count)
    }
}
