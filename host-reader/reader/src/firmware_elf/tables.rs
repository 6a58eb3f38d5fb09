//! Sizes of the tables through which a host tells BRISC's firmware about its chip.

use crate::firmware_elf::debug_info::DebugInfoError;
use object::{Object, ObjectSymbol};

/// Entries of the tables that BRISC's firmware keeps of banks, columns and rows.
///
/// They tell for which chip a file was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSizes {
    /// DRAM banks.
    pub dram_bank_count: usize,
    /// Banks of L1.
    pub l1_bank_count: usize,
    /// Columns of the NoC's grid, in whole words of bytes.
    pub column_count: usize,
    /// Rows of the NoC's grid, likewise.
    pub row_count: usize,
}

impl TableSizes {
    /// Reads the sizes of the tables' symbols.
    ///
    /// # Errors
    /// If one of the symbols is missing.
    ///
    /// # Compatibility
    /// Names of `firmware_common.h`; a bank has two bytes of coordinates on each of two NoCs.
    pub fn of(file: &[u8]) -> Result<Self, DebugInfoError> {
        let size = |name: &'static str| {
            let size = symbol_bytes(file, name);
            size.ok_or_else(|| DebugInfoError::Missing { kind: "symbol", name: name.to_owned() })
        };
        Ok(Self {
            dram_bank_count: size("dram_bank_to_noc_xy")? / BYTES_OF_BOTH_NOCS,
            l1_bank_count: size("l1_bank_to_noc_xy")? / BYTES_OF_BOTH_NOCS,
            column_count: size("worker_logical_col_to_virtual_col")?,
            row_count: size("worker_logical_row_to_virtual_row")?,
        })
    }

    /// Returns true if the tables were made for a NoC of this size.
    #[must_use]
    pub fn fit_grid(&self, (columns, rows): (u16, u16)) -> bool {
        let room = |count: u16| usize::from(count).next_multiple_of(4);
        (self.column_count, self.row_count) == (room(columns), room(rows))
    }
}

/// Size of a symbol of an ELF file; `None` if there is no such symbol.
#[must_use]
pub fn symbol_bytes(file: &[u8], name: &str) -> Option<usize> {
    let file = object::File::parse(file).ok()?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name))?;
    usize::try_from(symbol.size()).ok()
}

/// A pair of coordinates of two bytes for each of two NoCs.
const BYTES_OF_BOTH_NOCS: usize = 4;
