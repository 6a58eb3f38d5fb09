//! Checks that the cost tables of the C++ header, in docs/costs.md and in a sentence of the README,
//! have the current figures, with TT-Metal's for comparison.

use crate::{
    cost::{self, Costs, Row},
    firmware,
    package::{Package, package},
    program::Program,
    toolchain::{Chip, Header, Processor},
};
use std::{fs, path::Path, sync::Mutex};

/// First line of the table.
const HEADING: &str = "| through the C++ header, instructions / cycles / cycles if not cached | Wormhole | upstream's | Blackhole | upstream's |";
/// The version of gcc for the table's figures.
const COMMITTED_VERSION: &str = "12.2.0";

fn table(package: &Package, all: &[[Costs; 2]]) -> Result<String, String> {
    let mut lines = vec![HEADING.to_owned(), "|---|---|---|---|---|".to_owned()];
    let mut add = |label: &str, of: &dyn Fn(Chip, usize, &Costs) -> Result<String, String>| {
        let mut line = format!("| {label} |");
        for (chip, headers) in Chip::ALL.into_iter().zip(all) {
            for header in [1, 0] {
                line += &format!(" {} |", of(chip, header, &headers[header])?);
            }
        }
        lines.push(line);
        Ok::<(), String>(())
    };
    for (index, row) in Row::ALL.into_iter().enumerate() {
        add(row.label(), &|_, _, costs| {
            let (warm, cold) = (costs.rows[index], costs.cold_rows[index]);
            Ok(format!("{} / {} / {}", warm.instructions, warm.cycles, cold.cycles))
        })?;
    }
    add("bytes of a zone's call site", &|_, _, costs| Ok(costs.zone_site_bytes.to_string()))?;
    for processor in [Processor::Brisc, Processor::Ncrisc, Processor::Trisc0] {
        let label = format!("bytes that the profiler adds to {processor}'s firmware");
        add(&label, &|chip, header, _| {
            let header = [Header::Upstream, Header::Ours][header];
            let [with, without] = [header, Header::Off]
                .map(|header| firmware::program(package, chip, processor, header));
            let [with, without] = [with?, without?].map(|program: Program| program.text_bytes());
            Ok((with - without).to_string())
        })?;
    }
    Ok(lines.join("\n") + "\n")
}

/// Compares a table with the table in docs/costs.md that has the same first line. With `BLESS=1`,
/// writes the table to the file. The figures are only valid for one version of the compiler.
pub(crate) fn compare(package: &Package, heading: &str, table: &str) {
    compare_in(package, "docs/costs.md", heading, table);
}

/// Compares a table with the table in another file that has the same first line.
pub(crate) fn compare_in(package: &Package, file: &str, heading: &str, table: &str) {
    if package.version != COMMITTED_VERSION {
        println!("not compared: the figures of {file} are of gcc {COMMITTED_VERSION}");
        return;
    }
    static README: Mutex<()> = Mutex::new(());
    let _alone = README.lock();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = fs::read_to_string(&path).unwrap();
    let expected = replaced(&text, heading, table).expect("the file has the table");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert!(
            text == expected,
            "the table in {file} is out of date; BLESS=1 rewrites it:\n{table}"
        );
    }
}

/// Replaces the table that begins with a line in a text; returns `None` if there is none.
fn replaced(text: &str, heading: &str, table: &str) -> Option<String> {
    let start = text.find(heading)?;
    let rows = text[start..].lines().take_while(|line| line.starts_with('|'));
    let length: usize = rows.map(|line| line.len() + 1).sum();
    Some(format!("{}{table}{}", &text[..start], &text[start + length..]))
}

#[test]
fn documented_costs_of_the_header_are_the_measured_ones() {
    let Some(package) = package() else { return };
    let table = table(package, &cost::all_measured(package)).unwrap();
    crate::publish("readme.txt", &table);
    compare(package, HEADING, &table);
    let zone = table.lines().find(|line| line.starts_with("| zone, open and close |")).unwrap();
    let cells: Vec<Vec<&str>> =
        zone.split('|').map(|cell| cell.trim().split(" / ").collect()).collect();
    let [ours, upstream] = [&cells[2], &cells[3]];
    let sentence = format!(
        "a zone takes {} instructions and {} cycles on a Wormhole, {} if not cached; through \
         TT-Metal's own, compiled beside it, {}, {} and {}.",
        ours[0], ours[1], ours[2], upstream[0], upstream[1], upstream[2]
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(path).unwrap().replace('\n', " ");
    if package.version == COMMITTED_VERSION {
        assert!(readme.contains(&sentence), "the README lacks: {sentence}");
    }
}

#[test]
fn a_table_is_replaced_and_nothing_else() {
    let text = format!("a\n\n{HEADING}\n|---|\n| old |\n\n| other |\n");
    let table = format!("{HEADING}\n| new |\n");
    assert_eq!(
        replaced(&text, HEADING, &table).unwrap(),
        format!("a\n\n{HEADING}\n| new |\n\n| other |\n")
    );
    assert_eq!(replaced("no table", HEADING, &table), None);
}
