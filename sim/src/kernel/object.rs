//! Kernels by the function of the simulator's object code that they are.

use super::ALL;
use crate::program::{Emission, Kernel, KernelContext};
use std::{borrow::Cow, sync::Arc};

/// A function of the simulator's object code.
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
    /// Records that it tries to leave, and more of them.
    records: fn(&KernelContext) -> Emission,
    emission: Emission,
}

impl ObjectKernel {
    /// One kernel for each way of going wrong: endless, three accesses that no kernel may make,
    /// what is no instruction, a panic.
    pub const BROKEN: [Self; 6] = [
        Self::new("broken_endless"),
        Self::new("broken_store"),
        Self::new("broken_load"),
        Self::new("broken_overwrite"),
        Self::new("broken_instruction"),
        Self::new("broken_panic"),
    ];

    /// A kernel that records nothing and takes no words.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self::ready(name, |_| Emission::NONE)
    }

    /// A kernel whose records follow from its context.
    pub(super) const fn ready(name: &'static str, records: fn(&KernelContext) -> Emission) -> Self {
        Self { name, data: Cow::Borrowed(&[]), records, emission: Emission::NONE }
    }

    /// The kernel with this name, as its body is called, if its records are known.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|kernel| kernel.name == name).cloned()
    }

    /// The kernel with this name, as a program takes it.
    ///
    /// # Panics
    /// If there is none: names of kernels are written into programs.
    pub(crate) fn shared(name: &str) -> Arc<dyn Kernel> {
        Arc::new(Self::named(name).expect("a kernel whose records are known"))
    }

    /// Every kernel whose records are known.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        ALL
    }

    /// Returns the function's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Gives it words that a launch brings into L1.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Vec<u32>>) -> Self {
        self.data = Cow::Owned(data.into());
        self
    }

    /// Sets how many records it tries to leave, besides those that are known.
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
