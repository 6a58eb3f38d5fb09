//! The measurements on cards in `sim/tests/silicon/silicon.csv`, and the tables in
//! `docs/silicon.md` that compare them with the simulator.
//!
//! By default, tests replay a sample of the rows. With `KPROF_SILICON_ROWS=all` they replay all, and
//! compare the tables of the page; with `BLESS=1` as well, they write the tables.

use crate::arch::Arch;
use std::{collections::BTreeMap, fmt::Write as _, sync::Mutex};

const ROWS: &str = include_str!("../silicon/silicon.csv");

/// One measurement.
pub(super) struct Row<'a> {
    pub(super) arch: Arch,
    pub(super) class: &'a str,
    pub(super) what: &'a str,
    pub(super) parameters: &'a str,
    pub(super) cycles: f64,
}

pub(super) fn rows() -> Vec<Row<'static>> {
    let mut rows = Vec::new();
    for line in ROWS.lines().skip(1) {
        let fields = fields(line);
        let [chip, class, what, parameters, silicon, ..] = fields[..] else { panic!("{line}") };
        rows.push(Row {
            arch: Arch::from_name(if chip == "wormhole" { "wormhole_b0" } else { chip }).unwrap(),
            class,
            what,
            parameters,
            cycles: silicon.parse().unwrap(),
        });
    }
    rows
}

/// Splits a line of the CSV at commas outside of quotes.
fn fields(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let fields = line.split(|c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    fields.map(|field| field.trim_matches('"')).collect()
}

/// Returns the number before a word.
pub(super) fn number_before(text: &str, word: &str) -> Option<u32> {
    let before = text.split_once(word)?.0;
    before.rsplit(' ').next()?.trim_start_matches('(').parse().ok()
}

/// Returns true if all rows are to be replayed.
pub(super) fn is_all() -> bool {
    std::env::var("KPROF_SILICON_ROWS").is_ok_and(|rows| rows == "all")
}

/// A measurement that the simulator has repeated.
pub(super) struct Replayed<'a> {
    pub(super) row: &'a Row<'a>,
    pub(super) group: &'static str,
    pub(super) simulated: f64,
}

impl Replayed<'_> {
    pub(super) fn error_percent(&self) -> f64 {
        100.0 * (self.simulated / self.row.cycles - 1.0)
    }

    pub(super) fn print(&self) {
        println!(
            "{:8.1} % {:>10} {:>10.4} {} {} {}",
            self.error_percent(),
            self.row.cycles,
            self.simulated,
            self.row.arch.facts().name,
            self.row.what,
            self.row.parameters
        );
    }
}

fn quantile(sorted: &[f64], percent: usize) -> f64 {
    sorted[((sorted.len() - 1) * percent + 50) / 100]
}

/// Returns a table of replayed rows, in Markdown.
pub(super) fn errors(replayed: &[Replayed<'_>]) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<&Replayed<'_>>> = BTreeMap::new();
    for one in replayed {
        groups.entry((one.group, one.row.arch.facts().name)).or_default().push(one);
    }
    let mut text = "| class | chip | rows | median % | p90 % | worst row | card | simulated |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for ((name, chip), rows) in &groups {
        let mut errors: Vec<f64> = rows.iter().map(|one| one.error_percent().abs()).collect();
        errors.sort_by(f64::total_cmp);
        let worst =
            rows.iter().max_by(|a, b| a.error_percent().abs().total_cmp(&b.error_percent().abs()));
        let worst = worst.unwrap();
        let what = worst.row.what.replace("as 256 requests of 4096 bytes ", "");
        writeln!(
            text,
            "| {name} | {chip} | {} | {:.1} | {:.1} | {} | {} | {} |",
            rows.len(),
            quantile(&errors, 50),
            quantile(&errors, 90),
            what.split(';').next().unwrap(),
            worst.row.cycles,
            (worst.simulated * 1e4).round() / 1e4,
        )
        .unwrap();
    }
    text
}

/// Compares a table in `docs/silicon.md` between two comments, or writes it.
pub(super) fn compare_page(name: &str, expected: &str) {
    /// Tests that write the page run at the same time.
    static PAGE: Mutex<()> = Mutex::new(());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/silicon.md");
    let _alone = PAGE.lock();
    let text = std::fs::read_to_string(path).unwrap();
    let start = format!("<!-- {name} -->\n");
    let (before, rest) = text.split_once(&start).unwrap();
    let (found, after) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{before}{start}{expected}<!-- end -->{after}")).unwrap();
    } else {
        assert_eq!(found, expected);
    }
}
