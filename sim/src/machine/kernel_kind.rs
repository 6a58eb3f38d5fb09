//! Forms that kernels of a simulation have.

/// Form of the kernels of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelKind {
    /// Rust functions of the simulator's own process; costs are estimates.
    Native,
    /// RV32IM object code, executed instruction by instruction.
    Riscv,
    /// The same, compiled from C++; only the kernels that have a twin there.
    Cpp,
}

impl KernelKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Native, Self::Riscv, Self::Cpp];

    /// A word for it: `native`, `riscv` or `cpp`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Riscv => "riscv",
            Self::Cpp => "cpp",
        }
    }

    /// The images that its kernels are in.
    pub(super) const fn image_part(self) -> &'static str {
        match self {
            Self::Native | Self::Riscv => "kernels",
            Self::Cpp => "cpp_kernels",
        }
    }

    /// Object code where this build has it.
    #[must_use]
    pub const fn preferred() -> Self {
        if cfg!(object_code) { Self::Riscv } else { Self::Native }
    }
}
