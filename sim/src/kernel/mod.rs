//! Kernels that exist twice: as native functions and as object code.
//!
//! What they do stands in [`body`]; here are the native environment and what a reader may
//! expect of each.

pub mod body;

use crate::{
    native,
    program::{Emission, Kernel, KernelContext},
};
use body::Environment;

/// A kernel that runs natively and as object code, and does the same.
#[derive(Clone, Copy, Debug)]
pub struct TwinKernel {
    name: &'static str,
    run: fn(&mut Native),
    emission: fn(&KernelContext) -> Emission,
}

/// What a native kernel can ask of its RISC.
#[derive(Debug)]
pub struct Native {
    context: KernelContext,
}

impl Environment for Native {
    fn spin(&mut self, cycles: u32) {
        native::spin(u64::from(cycles));
    }

    fn arg(&self, index: u32) -> u32 {
        self.context.arg(index as usize)
    }
}

impl Kernel for TwinKernel {
    fn run(&self, context: &KernelContext) {
        (self.run)(&mut Native { context: context.clone() });
    }

    fn emission(&self, context: &KernelContext) -> Emission {
        (self.emission)(context)
    }

    fn object_name(&self) -> Option<&str> {
        Some(self.name)
    }
}

impl TwinKernel {
    /// The kernel with this name, as its body is called.
    ///
    /// ```
    /// use sim::{kernel::TwinKernel, program::Kernel};
    /// let kernel = TwinKernel::named("full_buffer").unwrap();
    /// assert_eq!(kernel.object_name(), Some("full_buffer"));
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|kernel| kernel.name == name).copied()
    }

    /// Every such kernel.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        ALL
    }

    /// What it is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// Argument 0, how often the body repeats what it records.
fn times(context: &KernelContext, each: Emission) -> Emission {
    each * u64::from(context.arg(0))
}

const ALL: &[TwinKernel] = &[
    TwinKernel { name: "empty", run: body::empty, emission: |_| Emission::NONE },
    TwinKernel { name: "work", run: body::work, emission: |_| Emission::zones(1) },
    TwinKernel {
        name: "full_buffer",
        run: body::full_buffer,
        emission: |context| times(context, Emission::zones(1)),
    },
    TwinKernel {
        name: "timestamped_events",
        run: body::timestamped_events,
        emission: |context| times(context, Emission { zones: 1, data: 1, events: 1, sums: 0 }),
    },
    TwinKernel {
        name: "wide_data",
        run: body::wide_data,
        emission: |context| times(context, Emission { data: 1, ..Emission::NONE }),
    },
    TwinKernel { name: "cycle_count", run: body::cycle_count, emission: |_| Emission::NONE },
    TwinKernel {
        name: "sums",
        run: body::sums,
        emission: |context| {
            let sums = u64::from(context.sums_enabled && context.arg(0) > 0) * 2;
            Emission { sums, ..Emission::NONE }
        },
    },
    TwinKernel {
        name: "matmul_reader",
        run: body::matmul_reader,
        emission: |context| times(context, Emission::zones(3)),
    },
    TwinKernel {
        name: "matmul_compute",
        run: body::matmul_compute,
        emission: |context| times(context, Emission { zones: 1, data: 1, ..Emission::NONE }),
    },
    TwinKernel {
        name: "matmul_writer",
        run: body::matmul_writer,
        emission: |context| times(context, Emission { zones: 1, events: 1, ..Emission::NONE }),
    },
];
