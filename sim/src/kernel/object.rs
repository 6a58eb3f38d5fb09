//! Kernels that exist as object code alone.

use crate::program::{Emission, Kernel, KernelContext};
use std::borrow::Cow;

/// A function of the simulator's object code that no native kernel does the same as.
///
/// ```
/// use sim::{kernel::ObjectKernel, program::Kernel};
/// let kernel = ObjectKernel::new("pass_tiles").with_data([12, 300, 0, 1, 2, 3, 0]);
/// assert!(kernel.is_object_code_only() && kernel.object_data().len() == 7);
/// ```
#[derive(Clone, Debug)]
pub struct ObjectKernel {
    name: &'static str,
    data: Cow<'static, [u32]>,
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
        Self { name, data: Cow::Borrowed(&[]), emission: Emission::NONE }
    }

    /// Gives it words that a launch brings into L1.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Vec<u32>>) -> Self {
        self.data = Cow::Owned(data.into());
        self
    }

    /// Sets how many records it tries to leave.
    #[must_use]
    pub const fn with_emission(mut self, emission: Emission) -> Self {
        self.emission = emission;
        self
    }
}

impl Kernel for ObjectKernel {
    fn run(&self, _: &KernelContext) {
        panic!("{} exists only as object code", self.name);
    }

    fn emission(&self, _: &KernelContext) -> Emission {
        self.emission
    }

    fn object_name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn is_object_code_only(&self) -> bool {
        true
    }

    fn object_data(&self) -> &[u32] {
        &self.data
    }
}
