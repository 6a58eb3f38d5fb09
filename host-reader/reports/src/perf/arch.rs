//! Peak performance of each architecture: cores, DRAM bandwidth and FLOPs.
//!
//! The figures come from `architectures.csv` next to this file. Users may add rows.

use super::cell;
use std::sync::LazyLock;

/// Table built into the library.
static BUILT_IN: LazyLock<ArchTable> = LazyLock::new(|| {
    // A test reads every row of the file, so it detects any error there.
    let parsed = ArchTable::parse(include_str!("architectures.csv"));
    parsed.unwrap_or(ArchTable { rows: Vec::new() })
});

/// Number of columns: name, aliases, three numbers for the chip, and one speed for each math
/// fidelity.
const COLUMN_COUNT: usize = 9;

/// The same with the column of the clock, which tables of users need not have.
const COLUMN_COUNT_WITH_CLOCK: usize = 10;

reader::labelled! {
    /// Precision of the matrix engine: the number of passes in which it multiplies the mantissas.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    pub enum MathFidelity {
        /// One pass.
        LoFi = "LoFi",
        /// Two passes.
        HiFi2 = "HiFi2",
        /// Three passes.
        HiFi3 = "HiFi3",
        /// Four passes.
        HiFi4 = "HiFi4",
    }
}

impl MathFidelity {
    /// Returns the fidelity with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fidelity| fidelity.label() == name)
    }
}

/// Peak performance of one architecture.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ArchLimits {
    /// Lower-case name.
    pub name: String,
    /// Other names in lower case.
    pub aliases: Vec<String>,
    /// Number of worker cores, used if an ops CSV does not contain the number.
    pub worker_cores: u64,
    /// Number of cores that run a matmul with DRAM-sharded weights.
    pub dram_sharded_cores: u64,
    /// DRAM bandwidth in 10^9 bytes per second.
    pub dram_gb_per_s: f64,
    /// Speed of one core in 10^12 floating-point operations per second, at HiFi4, HiFi3, HiFi2 and
    /// LoFi.
    pub tflops_per_core: [f64; 4],
    /// Clock in GHz to which the speeds belong; `None` if the table does not name it.
    pub clock_ghz: Option<f64>,
}

impl ArchLimits {
    /// Returns the speed of one core in 10^12 floating-point operations per second.
    #[must_use]
    pub const fn tflops_per_core(&self, fidelity: MathFidelity) -> f64 {
        let [hifi4, hifi3, hifi2, lofi] = self.tflops_per_core;
        match fidelity {
            MathFidelity::HiFi4 => hifi4,
            MathFidelity::HiFi3 => hifi3,
            MathFidelity::HiFi2 => hifi2,
            MathFidelity::LoFi => lofi,
        }
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// Error in a table of architectures: its line, from 1, and what is wrong with the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArchTableError(String);

/// Table of architectures.
///
/// # Compatibility
/// Names, aliases and figures are those of tt-perf-report 1.4.1.
///
/// ```
/// use reports::perf::{ArchTable, MathFidelity};
/// let table = ArchTable::default();
/// let p150 = table.find("P150").unwrap();
/// assert_eq!((p150.name.as_str(), p150.dram_gb_per_s), ("blackhole", 512.0));
/// assert_eq!(p150.tflops_per_core(MathFidelity::HiFi4), 1.3824);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ArchTable {
    rows: Vec<ArchLimits>,
}

impl Default for ArchTable {
    /// Returns the table included in the library.
    fn default() -> Self {
        BUILT_IN.clone()
    }
}

impl ArchTable {
    /// Reads a table with a header line and the columns of `architectures.csv`; the last one, `clock_ghz`, may
    /// be missing. Speeds may be
    /// written as products and quotients, such as `74/72`.
    ///
    /// # Errors
    /// Returns an error with line and column if a cell is missing or is not a positive number.
    ///
    /// ```
    /// use reports::perf::ArchTable;
    /// let table = "name,aliases,worker_cores,dram_sharded_cores,dram_gb_per_s,hifi4,hifi3,hifi2,lofi
    /// mine,my_card,10,2,100,1,4/3,2,4";
    /// let table = ArchTable::parse(table)?;
    /// assert_eq!(table.find("my_card").unwrap().worker_cores, 10);
    /// # Ok::<(), reports::perf::ArchTableError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ArchTableError> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(0, csv::Position::line);
                ArchTableError(format!("line {line}: {error}"))
            })?;
            rows.push(parse_row(&record)?);
        }
        Ok(Self { rows })
    }

    /// Inserts the rows of another table at the front. They take precedence over rows with the same
    /// name.
    #[must_use]
    pub fn overridden_by(self, other: Self) -> Self {
        Self { rows: other.rows.into_iter().chain(self.rows).collect() }
    }

    /// Returns the architecture whose name or alias is `name`, ignoring case.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ArchLimits> {
        let name = name.trim().to_lowercase();
        self.rows.iter().find(|row| row.is_called(&name))
    }

    /// Returns the names of all architectures, for messages.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.name.as_str()).collect()
    }
}

fn parse_row(record: &csv::StringRecord) -> Result<ArchLimits, ArchTableError> {
    let line = record.position().map_or(0, csv::Position::line);
    let found = record.len();
    if !(COLUMN_COUNT..=COLUMN_COUNT_WITH_CLOCK).contains(&found) {
        return Err(ArchTableError(format!(
            "line {line}: expected {COLUMN_COUNT} or {COLUMN_COUNT_WITH_CLOCK} cells, found {found}; see \
             architectures.csv"
        )));
    }
    let row = ArchRow { record, line };
    if row.cell(0).is_empty() {
        return Err(row.wrong(0, "name", "a name"));
    }
    Ok(ArchLimits {
        name: row.cell(0).to_lowercase(),
        aliases: row.cell(1).split_whitespace().map(str::to_lowercase).collect(),
        worker_cores: row.core_count(2, "worker_cores")?,
        dram_sharded_cores: row.core_count(3, "dram_sharded_cores")?,
        dram_gb_per_s: row.rate(4, "dram_gb_per_s")?,
        tflops_per_core: [
            row.rate(5, "hifi4_tflops_per_core")?,
            row.rate(6, "hifi3_tflops_per_core")?,
            row.rate(7, "hifi2_tflops_per_core")?,
            row.rate(8, "lofi_tflops_per_core")?,
        ],
        clock_ghz: match row.cell(9) {
            "" => None,
            _ => Some(row.rate(9, "clock_ghz")?),
        },
    })
}

/// Row of the table, with its line number in the file.
struct ArchRow<'a> {
    record: &'a csv::StringRecord,
    line: u64,
}

impl ArchRow<'_> {
    fn cell(&self, at: usize) -> &str {
        self.record.get(at).unwrap_or("").trim()
    }

    fn core_count(&self, at: usize, column: &str) -> Result<u64, ArchTableError> {
        cell::core_count(self.cell(at)).ok_or_else(|| self.wrong(at, column, "a number of cores"))
    }

    fn rate(&self, at: usize, column: &str) -> Result<f64, ArchTableError> {
        const EXPECTED: &str = "a number above 0, or a product or quotient of such";
        chain(self.cell(at)).ok_or_else(|| self.wrong(at, column, EXPECTED))
    }

    fn wrong(&self, at: usize, column: &str, expected: &str) -> ArchTableError {
        let (line, found) = (self.line, self.cell(at));
        ArchTableError(format!(
            "line {line}, column {column}: expected {expected}, found `{found}`"
        ))
    }
}

/// Evaluates `a*b/c` from left to right; `None` if the result is not a positive number.
fn chain(text: &str) -> Option<f64> {
    let mut value = 1.0;
    let mut rest = text;
    let mut is_division = false;
    loop {
        let end = rest.find(['*', '/']).unwrap_or(rest.len());
        let factor = cell::number(&rest[..end])?;
        value = if is_division { value / factor } else { value * factor };
        let Some(operator) = rest[end..].chars().next() else { break };
        is_division = operator == '/';
        rest = rest.get(end..).and_then(|rest| rest.strip_prefix(operator)).unwrap_or("");
    }
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_built_in_table_is_read() {
        let table = ArchTable::parse(include_str!("architectures.csv")).unwrap();
        assert_eq!(table.names(), ["wormhole", "blackhole", "blackhole_p100", "bh20", "n1"]);
    }

    #[test]
    fn the_figures_are_those_of_the_data_sheets() {
        let table = ArchTable::default();
        let of = |name: &str| {
            let arch = table.find(name).unwrap();
            (arch.worker_cores, arch.dram_sharded_cores, arch.dram_gb_per_s, arch.tflops_per_core)
        };
        let blackhole = [1.3824, 5.5296 / 3.0, 2.7648, 5.5296];
        let wormhole = [74.0 / 72.0, 74.0 / 72.0 * 4.0 / 3.0, 148.0 / 72.0, 262.0 / 72.0];
        assert_eq!(of("wormhole_b0"), (64, 12, 288.0, wormhole));
        assert_eq!(of("p150c"), (110, 8, 512.0, blackhole));
        assert_eq!(of("P100a"), (110, 7, 448.0, blackhole));
        assert_eq!(of("bh20"), (20, 8, 512.0, blackhole));
        assert_eq!((of("N1").2, of("N1").3[3]), (120.0, 4096.0 * 0.65 / 1000.0));
        assert_eq!(table.find("grayskull"), None);
        assert_eq!(table.find("p150").unwrap().clock_ghz, Some(1.35));
        assert_eq!(table.find("wormhole").unwrap().clock_ghz, Some(1.0));
    }

    #[test]
    fn a_wrong_cell_is_named_with_line_and_column() {
        let table = "a,b,c,d,e,f,g,h,i\nx,,1,1,5,1,1,1,1/0\n";
        let error = ArchTable::parse(table).unwrap_err().to_string();
        assert!(error.starts_with("line 2, column lofi_tflops_per_core"), "{error}");
        let error = ArchTable::parse("a\nx,y\n").unwrap_err().to_string();
        assert!(error.starts_with("line 2: expected 9 or 10 cells, found 2"), "{error}");
    }

    #[test]
    fn rows_of_a_user_win() {
        let mine = "a,b,c,d,e,f,g,h,i\nwormhole,,1,1,5,1,1,1,1\n";
        let table = ArchTable::default().overridden_by(ArchTable::parse(mine).unwrap());
        assert_eq!(table.find("wormhole").unwrap().worker_cores, 1);
        assert_eq!(table.find("wormhole_b0").unwrap().worker_cores, 64);
        assert_eq!(table.find("wormhole").unwrap().clock_ghz, None);
    }
}
