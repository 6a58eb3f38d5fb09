//! Sizes of those tables in BRISC's firmware that describe the chip. The host fills these tables.

use crate::{architecture::Arch, firmware_elf::debug_info::DebugInfoError};
use object::{Object, ObjectSymbol};

/// Numbers of entries in the tables of banks, columns and rows in BRISC's firmware.
///
/// These numbers show for which chip a file was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSizes {
    /// Number of DRAM banks.
    pub dram_bank_count: usize,
    /// Number of L1 banks.
    pub l1_bank_count: usize,
    /// Number of columns of the NoC's grid, rounded up to a multiple of four.
    pub column_count: usize,
    /// Number of rows of the NoC's grid, rounded up to a multiple of four.
    pub row_count: usize,
}

impl TableSizes {
    /// Computes the numbers of entries from the sizes of the tables' symbols in an ELF file.
    ///
    /// # Errors
    /// If one of the symbols is missing.
    ///
    /// # Compatibility
    /// The names come from `firmware_common.h`. Each entry for a bank has two bytes of coordinates
    /// for each of two NoCs.
    pub fn from_file(file: &[u8]) -> Result<Self, DebugInfoError> {
        Ok(Self {
            dram_bank_count: required_bytes(file, "dram_bank_to_noc_xy")? / BYTES_OF_BOTH_NOCS,
            l1_bank_count: required_bytes(file, "l1_bank_to_noc_xy")? / BYTES_OF_BOTH_NOCS,
            column_count: required_bytes(file, "worker_logical_col_to_virtual_col")?,
            row_count: required_bytes(file, "worker_logical_row_to_virtual_row")?,
        })
    }

    /// Returns the architecture whose NoC has as many columns and rows as the tables; `None` if
    /// there is no such architecture.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        Arch::ALL.into_iter().find(|arch| {
            let (columns, rows) = arch.facts().grid;
            [self.column_count, self.row_count]
                == [columns, rows].map(|count| usize::from(count).next_multiple_of(4))
        })
    }
}

fn required_bytes(file: &[u8], name: &str) -> Result<usize, DebugInfoError> {
    symbol_bytes(file, name)
        .ok_or_else(|| DebugInfoError::Missing { kind: "symbol", name: name.to_owned() })
}

/// Returns the size of a symbol in an ELF file; `None` if there is no such symbol.
#[must_use]
pub fn symbol_bytes(file: &[u8], name: &str) -> Option<usize> {
    let file = object::File::parse(file).ok()?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name))?;
    usize::try_from(symbol.size()).ok()
}

/// Size of a bank's table entry: two bytes of coordinates for each of two NoCs.
const BYTES_OF_BOTH_NOCS: usize = 4;
