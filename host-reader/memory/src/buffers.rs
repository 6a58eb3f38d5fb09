//! What the host's allocator did before a launch, as a capture has it.

use serde::Deserialize;

/// Highest address of a memory that is accepted.
const HIGHEST: u64 = 1 << 40;

/// Sizes of a chip's memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Layout {
    /// Bytes of a worker's L1.
    pub l1_bytes: u64,
    /// First address of L1 that circular buffers and tensors may take.
    pub l1_reserved_bytes: u64,
    /// Number of workers whose L1 has buffers.
    pub l1_banks: u32,
    /// Bytes of a DRAM bank that buffers may take.
    pub dram_bank_bytes: u64,
    /// Number of DRAM banks.
    pub dram_banks: u32,
}

/// A change or use of the host's buffers. Addresses and sizes are those in each bank.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub enum BufferEvent {
    /// A buffer was allocated: kind of memory, such as `L1_SMALL`; address; size in bytes; the call
    /// that allocated it, if it was seen.
    #[serde(rename = "a")]
    Allocated(String, u64, u64, Option<String>),
    /// A buffer was freed: kind of memory, address.
    #[serde(rename = "f")]
    Freed(String, u64),
    /// The op has a buffer as a tensor: kind of memory; address; shape, data type and layout.
    #[serde(rename = "u")]
    Used(String, u64, String),
    /// A buffer is a tensor: kind of memory; address; shape, data type and layout.
    #[serde(rename = "t")]
    Described(String, u64, String),
    /// A buffer is the profiler's own: kind of memory, address.
    #[serde(rename = "o")]
    Own(String, u64),
}

/// What the host's allocator did before the launch of an op.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OpBuffers {
    /// Id of the mesh whose allocator it is; each mesh has one of its own.
    pub mesh: u64,
    /// Sizes of memories, with the first op of a mesh.
    pub layout: Option<Layout>,
    /// Meshes that were closed, with all of their buffers.
    #[serde(default)]
    pub closed: Vec<u64>,
    /// Events in their order.
    pub events: Vec<BufferEvent>,
    /// Names of the program's calls that allocated: one for each [`BufferEvent::Allocated`], in their
    /// order. `None` for a buffer that no call was seen allocating; empty if calls were not recorded.
    #[serde(default)]
    pub calls: Vec<Option<String>>,
}

impl OpBuffers {
    /// Parses the JSON of a capture; `None` if it is not what a host writes.
    ///
    /// ```
    /// use memory::{BufferEvent, OpBuffers};
    /// let text = r#"{"mesh": 1, "layout": null, "events": [{"a": ["L1", 4096, 64, "ttnn.add"]}]}"#;
    /// let buffers = OpBuffers::parse(text).unwrap();
    /// let owner = Some("ttnn.add".to_owned());
    /// assert_eq!(buffers.events, [BufferEvent::Allocated("L1".to_owned(), 4096, 64, owner)]);
    /// assert_eq!(OpBuffers::parse(r#"{"mesh": 1}"#), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let found: Self = serde_json::from_str(text).ok()?;
        let is_valid = |event: &BufferEvent| match event {
            BufferEvent::Allocated(_, address, size, _) => {
                address.checked_add(*size).is_some_and(|end| end <= HIGHEST)
            }
            _ => true,
        };
        let has_sizes = found.layout.is_none_or(|of| {
            [of.l1_bytes, of.l1_reserved_bytes, of.dram_bank_bytes]
                .iter()
                .all(|size| *size <= HIGHEST)
        });
        (has_sizes && found.events.iter().all(is_valid)).then_some(found)
    }
}
