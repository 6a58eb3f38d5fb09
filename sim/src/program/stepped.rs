//! Kernels that wait for other kernels of their core.

/// Native kernel that runs in steps, since it waits for other kernels of its core.
pub trait SteppedKernel {
    /// Runs until the kernel has to wait for a kernel that has not come far enough, or a part of
    /// its work is done.
    fn step(&mut self) -> Progress;
}

/// Outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A part is done.
    Advanced,
    /// Another kernel has to go on first; nothing has happened.
    Waiting,
    /// The kernel has ended.
    Done,
}
