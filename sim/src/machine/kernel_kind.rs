//! Compilers that kernels of a simulation come from.

/// Language that the kernels of a simulation are compiled from; all are RV32IM object code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelKind {
    /// Rust.
    Riscv,
    /// C++; only the kernels that exist in it, too.
    Cpp,
}

impl KernelKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Riscv, Self::Cpp];

    /// The images that its kernels are in.
    pub(super) const fn image_part(self) -> &'static str {
        match self {
            Self::Riscv => "kernels",
            Self::Cpp => "cpp_kernels",
        }
    }
}
