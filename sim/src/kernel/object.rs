//! Kernels that are functions in the simulator's object code.

use super::ALL;
use crate::program::{Emission, Kernel, KernelContext};
use std::{borrow::Cow, sync::Arc};

/// A kernel that is a function in the simulator's object code.
///
/// ```
/// use sim::{kernel::ObjectKernel, program::Kernel};
/// let kernel = ObjectKernel::named("full_buffer").unwrap();
/// assert_eq!(kernel.object_name(), Some("full_buffer"));
/// ```
#[derive(Clone, Debug)]
pub struct ObjectKernel {
    name: &'static str,
    data: Cow<'static, [u32]>,
    /// Computes the records that the function tries to make, without those in `emission`.
    records: fn(&KernelContext) -> Emission,
    emission: Emission,
}

impl ObjectKernel {
    /// The kernels that fail: one loops for ever, three make invalid accesses, one executes an
    /// invalid instruction, and one panics.
    pub const BROKEN: [Self; 6] = [
        Self::new("broken_endless"),
        Self::new("broken_store"),
        Self::new("broken_load"),
        Self::new("broken_overwrite"),
        Self::new("broken_instruction"),
        Self::new("broken_panic"),
    ];

    /// Creates a kernel without data words that is expected to record nothing.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self::ready(name, |_| Emission::NONE)
    }

    /// Creates a kernel without data words; `records` computes the number of the kernel's records
    /// from the context of the launch.
    pub(super) const fn ready(name: &'static str, records: fn(&KernelContext) -> Emission) -> Self {
        Self { name, data: Cow::Borrowed(&[]), records, emission: Emission::NONE }
    }

    /// Returns the kernel with the function `name`; `None` if the simulator has no record counts
    /// for that function.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|kernel| kernel.name == name).cloned()
    }

    /// Returns the kernel with this name in a shared pointer, as programs need it.
    ///
    /// # Panics
    /// If there is no such kernel; the names are constants, so this does not happen.
    pub(crate) fn shared(name: &str) -> Arc<dyn Kernel> {
        Arc::new(Self::named(name).expect("a kernel whose records are known"))
    }

    /// Returns every kernel whose records are known.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        ALL
    }

    /// Returns the function's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Sets the data words, which a launch copies into L1.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Vec<u32>>) -> Self {
        self.data = Cow::Owned(data.into());
        self
    }

    /// Sets the records that the kernel tries to make in addition to those known for its function.
    #[must_use]
    pub const fn with_emission(mut self, emission: Emission) -> Self {
        self.emission = emission;
        self
    }
}

impl Kernel for ObjectKernel {
    fn emission(&self, context: &KernelContext) -> Emission {
        (self.records)(context) + self.emission
    }

    fn object_name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn object_data(&self, _: &KernelContext) -> Cow<'_, [u32]> {
        Cow::Borrowed(&self.data)
    }
}
