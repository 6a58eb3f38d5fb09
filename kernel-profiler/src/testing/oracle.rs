//! A simple decoder of one lane that defines all bit positions itself.

use std::vec::Vec;

/// Records that a run kept, by kind. Zones are counted by their starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) zones: u32,
    pub(crate) ends: u32,
    pub(crate) data: u32,
    pub(crate) events: u32,
    pub(crate) sums: u32,
}

/// A decoded run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) risc_index: u32,
    pub(crate) flat_id: u32,
    pub(crate) trace_count: u32,
    pub(crate) generation: u32,
    pub(crate) program_id: u32,
    /// FW start, FW end, KERNEL start, KERNEL end; `None` if the slot is empty.
    pub(crate) fixed: [Option<u64>; 4],
    /// (type, id, time or cycles) of every optional record.
    pub(crate) records: Vec<(u32, u16, u64)>,
    /// Number of word pairs after the ID words, without padding.
    pub(crate) slots: u32,
}

impl Run {
    pub(crate) fn kept(&self) -> Kept {
        let count = |wanted: &[u32]| {
            self.records.iter().filter(|(kind, ..)| wanted.contains(kind)).count() as u32
        };
        Kept {
            zones: count(&[0]),
            ends: count(&[1]),
            data: count(&[3, 5]),
            events: count(&[4]),
            sums: count(&[2]),
        }
    }

    /// Returns the number of zones that the runtime itself recorded around pushes. No kernel
    /// emitted these zones.
    pub(crate) fn push_zones(&self) -> u32 {
        let id = u32::from(crate::flush::QUICK_PUSH_ZONE.0);
        self.records.iter().filter(|(kind, of, ..)| *kind == 0 && u32::from(*of) == id).count()
            as u32
    }
}

/// Decodes a lane; panics on words that no run can contain.
pub(crate) fn decode(words: &[u32]) -> Vec<Run> {
    assert!(words.len().is_multiple_of(4));
    let mut runs = Vec::<Run>::new();
    let mut i = 0;
    while i < words.len() {
        if words[i] >> 31 == 0 {
            assert!(i.is_multiple_of(4) && words[i..i + 2] == [0, 0], "no run begins at {i}");
            runs.push(header(&words[i..i + 12]));
            i += 12;
            continue;
        }
        let run = runs.last_mut().expect("a lane begins with a run");
        let (high, low) = (words[i], words[i + 1]);
        if high == 0x8000_0000 {
            assert_eq!(low, 0, "padding");
            i += 2;
            continue;
        }
        let kind = (high >> 28) & 7;
        run.records.push((kind, (high >> 12) as u16, time(high, low)));
        let slots = match kind {
            0 | 1 | 2 | 4 => 1,
            3 => 2,
            5 => 3,
            _ => panic!("no packet has type {kind} (word {i})"),
        };
        run.slots += slots;
        i += 2 * slots as usize;
    }
    runs
}

fn header(words: &[u32]) -> Run {
    let slot = |i: usize| (words[i] != 0x8000_0000).then(|| time(words[i], words[i + 1]));
    Run {
        risc_index: words[2] & 31,
        flat_id: (words[2] >> 5) & 255,
        trace_count: (words[2] >> 13) & 0xFFFF,
        generation: words[2] >> 29,
        slots: 4,
        program_id: words[3],
        fixed: [slot(4), slot(6), slot(8), slot(10)],
        ..Run::default()
    }
}

fn time(high: u32, low: u32) -> u64 {
    u64::from(high & 0xFFF) << 32 | u64::from(low)
}
