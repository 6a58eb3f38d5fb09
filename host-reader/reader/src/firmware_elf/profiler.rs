//! The profiler's memory in a core's L1.

use crate::firmware_elf::debug_info::{DebugInfo, DebugInfoError};

/// The range of L1 in which a core's firmware keeps the profiler's data.
///
/// The control vector comes first, directly followed by one vector per processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfilerMemory {
    /// L1 address of the control vector.
    pub control_address: u64,
    /// Size of the control vector, in bytes.
    pub control_bytes: u64,
    /// Size of one processor's vector, in bytes.
    pub vector_bytes: u64,
    /// Size of the whole range, in bytes.
    pub size_bytes: u64,
}

impl ProfilerMemory {
    /// Computes the range of the profiler's memory from the layout of the variable `mailboxes`.
    ///
    /// # Errors
    /// If the file has no such variable, or the variable has no profiler member.
    ///
    /// # Compatibility
    /// The names come from `hostdev/dev_msgs.h`. The variable `mailboxes` is a pointer with a
    /// constant value. The member `profiler` of the mailboxes is a structure that consists of
    /// `control_vector` and `buffer`.
    pub fn from_debug_info(info: &DebugInfo) -> Result<Self, DebugInfoError> {
        let part = |path: &str| info.part("mailboxes", path);
        let mailboxes = info.constant("mailboxes")?;
        let profiler = part("profiler")?;
        let control_address = mailboxes.checked_add(profiler.offset.into());
        Ok(Self {
            control_address: control_address
                .filter(|&address| address <= u32::MAX.into())
                .ok_or_else(|| DebugInfoError::Unreadable {
                    reason: format!("`mailboxes` lies at {mailboxes:#x}, which is not in L1"),
                })?,
            control_bytes: part("profiler.control_vector")?.size_bytes.into(),
            vector_bytes: part("profiler.buffer[0]")?.size_bytes.into(),
            size_bytes: profiler.size_bytes.into(),
        })
    }

    /// Returns the L1 address of the first processor's vector.
    #[must_use]
    pub const fn vector_address(&self) -> u64 {
        self.control_address.saturating_add(self.control_bytes)
    }

    /// Returns the number of processors with a vector.
    #[must_use]
    pub const fn processor_count(&self) -> u64 {
        match self.size_bytes.saturating_sub(self.control_bytes).checked_div(self.vector_bytes) {
            Some(count) => count,
            None => 0,
        }
    }

    /// Returns the first address after the range.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.control_address.saturating_add(self.size_bytes)
    }
}
