//! Requests to the program. The number of unanswered requests is limited, because the program's
//! buffers are limited.

use crate::protocol::{QUERY_BYTES, Query};
use std::collections::VecDeque;

/// Maximum number of unanswered requests.
///
/// Tracy's own server allows 8,188 unanswered requests.
const MOST_IN_FLIGHT: usize = 4096;

/// Requests to be sent, and the number of sent requests that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    waiting: VecDeque<(Query, u64)>,
    in_flight: usize,
}

impl Queries {
    pub(crate) fn ask(&mut self, query: Query, key: u64) {
        self.waiting.push_back((query, key));
    }

    pub(crate) fn answered(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Returns true if all requests have been sent and answered.
    pub(crate) fn is_done(&self) -> bool {
        self.in_flight == 0 && self.waiting.is_empty()
    }

    /// Returns the bytes of the requests that may be sent now, and marks them as sent.
    pub(crate) fn take_bytes(&mut self) -> Vec<u8> {
        let count = MOST_IN_FLIGHT.saturating_sub(self.in_flight).min(self.waiting.len());
        self.in_flight = self.in_flight.saturating_add(count);
        self.waiting.drain(..count).flat_map(|(query, key)| query_bytes(query, key)).collect()
    }
}

/// Encodes one request.
pub(crate) fn query_bytes(query: Query, key: u64) -> [u8; QUERY_BYTES] {
    let mut bytes = [0; QUERY_BYTES];
    let (head, rest) = bytes.split_at_mut(1);
    head.fill(query.byte());
    if let Some(field) = rest.first_chunk_mut() {
        *field = key.to_le_bytes();
    }
    bytes
}
