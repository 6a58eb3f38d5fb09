//! Kernels that exist twice: as native functions and as object code.
//!
//! Their bodies are in [`body`] and `script_body`; this module has the native environment and the
//! records that a reader can expect of each kernel.

pub mod body;
pub mod file;
mod object;
pub mod script_body;
pub mod tile_words;

use crate::{
    native,
    program::{Emission, Kernel, KernelContext},
    random::Stream,
};
use body::{Environment, Transfer};
pub use object::ObjectKernel;
use std::sync::Arc;

/// A kernel that runs natively and as object code, and does the same.
#[derive(Clone, Copy, Debug)]
pub struct TwinKernel {
    name: &'static str,
    run: fn(&mut Native),
    emission: fn(&KernelContext) -> Emission,
}

/// Services that a native kernel gets from its RISC.
#[derive(Debug)]
pub struct Native {
    context: KernelContext,
    random: Stream,
    data: Arc<[u32]>,
}

impl Native {
    /// Returns the environment of a kernel with `data` of its own.
    pub(crate) fn new(context: &KernelContext, data: &Arc<[u32]>) -> Self {
        Self { context: context.clone(), random: context.random(), data: Arc::clone(data) }
    }
}

impl Environment for Native {
    fn spin(&mut self, cycles: u32) {
        native::spin(u64::from(cycles));
    }

    fn arg(&self, index: u32) -> u32 {
        self.context.arg(index as usize)
    }

    fn data(&self, index: u32) -> u32 {
        self.data.get(index as usize).copied().unwrap_or(0)
    }

    fn draw(&mut self, bound: u32) -> u32 {
        u32::try_from(self.random.below(bound.into())).unwrap_or(0)
    }

    fn noc(&self) -> Option<u8> {
        self.context.noc()
    }

    fn tile(&self, target: u32) -> u32 {
        native::tile(target)
    }

    fn transfer(&mut self, transfer: &Transfer) {
        native::transfer(transfer);
    }

    fn issue(&mut self, _: u32, _: u32) {}
}

impl Kernel for TwinKernel {
    fn run(&self, context: &KernelContext) {
        (self.run)(&mut Native::new(context, &Arc::default()));
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

    /// The kernel with this name, as a program takes it.
    ///
    /// # Panics
    /// If there is none: names of kernels are written into programs.
    pub(crate) fn shared(name: &str) -> Arc<dyn Kernel> {
        Arc::new(Self::named(name).expect("a kernel that this module lists"))
    }

    /// Every such kernel.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        ALL
    }

    /// Returns the kernel's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// As many times as argument 0 says.
fn times(context: &KernelContext, each: Emission) -> Emission {
    each * u64::from(context.arg(0))
}

/// NoC events of as many transfers as an argument says, on a RISC with a NoC.
fn transfers(context: &KernelContext, argument: usize) -> Emission {
    DATA * (events_of_transfer(context) * u64::from(context.arg(argument)))
}

/// NoC events of a transfer: itself, and the wait behind it where waits are recorded.
pub(crate) const fn events_of_transfer(context: &KernelContext) -> u64 {
    match (context.noc(), context.records_noc_waits) {
        (None, _) => 0,
        (Some(_), false) => 1,
        (Some(_), true) => 2,
    }
}

/// Totals of sum zones, where they are recorded.
fn sums(context: &KernelContext, accumulators: u64) -> Emission {
    let is_recorded = context.sums_enabled && context.arg(0) > 0;
    Emission { sums: if is_recorded { accumulators } else { 0 }, ..Emission::NONE }
}

const EVENT: Emission = Emission { events: 1, ..Emission::NONE };
const DATA: Emission = Emission { data: 1, ..Emission::NONE };

const ALL: &[TwinKernel] = &[
    TwinKernel { name: "empty", run: body::empty, emission: |_| Emission::NONE },
    TwinKernel { name: "short", run: body::short, emission: |_| Emission::NONE },
    TwinKernel { name: "work", run: body::work, emission: |_| Emission::zones(1) },
    TwinKernel {
        name: "full_buffer",
        run: body::full_buffer,
        emission: |_| Emission::zones(body::FULL_BUFFER_ZONES.into()),
    },
    TwinKernel {
        name: "timestamped_events",
        run: body::timestamped_events,
        emission: |_| (Emission::zones(1) + DATA + EVENT) * body::EVENT_PASSES.into(),
    },
    TwinKernel {
        name: "wide_data",
        run: body::wide_data,
        emission: |context| times(context, DATA),
    },
    TwinKernel { name: "instructions", run: body::instructions, emission: |_| Emission::zones(1) },
    TwinKernel { name: "cycle_count", run: body::cycle_count, emission: |_| Emission::zones(1) },
    TwinKernel {
        name: "steps",
        run: body::steps,
        emission: |_| Emission::zones(body::STEPS.into()),
    },
    TwinKernel {
        name: "calibration",
        run: body::calibration,
        emission: |_| (Emission::zones(6) + DATA + DATA + EVENT) * body::CALIBRATION_PASSES.into(),
    },
    TwinKernel {
        name: "numbers",
        run: body::numbers,
        emission: |context| times(context, Emission::zones(1) + DATA),
    },
    TwinKernel { name: "sums", run: body::sums, emission: |context| sums(context, 2) },
    TwinKernel {
        name: "matmul_reader",
        run: body::matmul_reader,
        emission: |context| times(context, Emission::zones(1) + DATA) + sums(context, 1),
    },
    TwinKernel {
        name: "matmul_tile_reader",
        run: body::matmul_tile_reader,
        emission: |context| {
            times(context, Emission::zones(1) + DATA + transfers(context, 1)) + sums(context, 1)
        },
    },
    TwinKernel {
        name: "matmul_tile_writer",
        run: body::matmul_tile_writer,
        emission: |context| Emission::zones(2) + DATA + transfers(context, 2),
    },
    TwinKernel {
        name: "matmul_unpack",
        run: body::matmul_unpack,
        emission: |context| times(context, Emission::zones(1)) + sums(context, 1),
    },
    TwinKernel {
        name: "matmul_math",
        run: body::matmul_math,
        emission: |context| {
            Emission::zones(1) + times(context, Emission::zones(1) + EVENT) + sums(context, 2)
        },
    },
    TwinKernel {
        name: "matmul_pack",
        run: body::matmul_pack,
        emission: |context| Emission::zones(1) + sums(context, 1),
    },
    TwinKernel {
        name: "matmul_writer",
        run: body::matmul_writer,
        emission: |_| Emission::zones(2) + DATA,
    },
];
