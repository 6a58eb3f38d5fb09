//! Source languages of a simulation's kernels.

/// Language from which the kernels of a simulation are compiled; all become RV32IM object code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelKind {
    /// Rust.
    Riscv,
    /// C++, for the kernels that also exist in C++.
    Cpp,
}

impl KernelKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Riscv, Self::Cpp];

    /// Returns the name of the image part that contains these kernels.
    pub(super) const fn image_part(self) -> &'static str {
        match self {
            Self::Riscv => "kernels",
            Self::Cpp => "cpp_kernels",
        }
    }
}
