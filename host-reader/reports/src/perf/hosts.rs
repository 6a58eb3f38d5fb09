//! Devices of several hosts in one file. Each host numbers its devices from 0.

use super::row::OpRow;
use crate::problem::ProblemLog;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Titles of columns that name the host of a row. The first one that a file has is used.
///
/// `HOST` is that of `kprof merge`, `HOST ID` that of TT-Metal issue 32450.
const HOST: [&str; 4] = ["HOST", "HOST ID", "HOSTNAME", "RANK"];

/// Gives each device a number of its own, if hosts of one file have devices of the same number. Those of
/// the second host follow the ones of the first, in the order of the rows.
pub(super) fn separate_hosts(rows: &mut [OpRow], file: &str, problems: &mut ProblemLog) {
    let Some(title) =
        HOST.into_iter().find(|title| rows.iter().any(|row| cell(row, title).is_some()))
    else {
        return;
    };
    let mut order: Vec<Option<Arc<str>>> = Vec::new();
    let mut devices: BTreeMap<Option<Arc<str>>, BTreeSet<u64>> = BTreeMap::new();
    for row in &*rows {
        let Some(device) = row.device else { continue };
        let host = cell(row, title);
        let own = devices.entry(host.clone()).or_insert_with(|| {
            order.push(host);
            BTreeSet::new()
        });
        own.insert(device);
    }
    let number_count = devices.values().flatten().collect::<BTreeSet<_>>().len();
    if number_count == devices.values().map(BTreeSet::len).sum::<usize>() {
        return;
    }
    let mut numbers: BTreeMap<(Option<Arc<str>>, u64), u64> = BTreeMap::new();
    let mut told: Vec<String> = Vec::new();
    for host in order {
        let own = devices.get(&host).into_iter().flatten();
        let first = numbers.len() as u64;
        for &device in own {
            numbers.insert((host.clone(), device), numbers.len() as u64);
        }
        let name = host.as_deref().unwrap_or("rows without a host");
        let last = (numbers.len() as u64).saturating_sub(1);
        told.push(if first == last {
            format!("{name}: {first}")
        } else {
            format!("{name}: {first} to {last}")
        });
    }
    for row in rows.iter_mut() {
        if let Some(device) = row.device {
            row.device = numbers.get(&(cell(row, title), device)).copied();
        }
    }
    problems.add_to_file(
        file,
        format!(
            "column DEVICE ID: expected a number of its own for each device, found the same numbers on \
             {} hosts (column {title}); devices are numbered anew, {}",
            told.len(),
            told.join(", ")
        ),
    );
}

fn cell(row: &OpRow, title: &str) -> Option<Arc<str>> {
    row.others.iter().find(|(of, _)| &**of == title).map(|(_, cell)| Arc::clone(cell))
}

#[cfg(test)]
mod tests {
    use crate::perf::{OpsCsv, OpsCsvError, read_ops_csv};

    fn read(title: &str, lines: &[(&str, &str)]) -> Result<OpsCsv, OpsCsvError> {
        let mut text = format!("OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],{title}\n");
        for (host, device) in lines {
            text.push_str(&format!("Matmul,tt_dnn_device,{device},1500,{host}\n"));
        }
        read_ops_csv(text.as_bytes(), "ops.csv")
    }

    fn devices(csv: &OpsCsv) -> Vec<Option<u64>> {
        csv.rows.iter().map(|row| row.device).collect()
    }

    fn told(csv: &OpsCsv) -> Option<String> {
        let mut all = csv.problems.kept().iter().map(ToString::to_string);
        all.find(|problem| problem.contains("hosts"))
    }

    #[test]
    fn devices_of_two_hosts_are_told_apart() -> Result<(), OpsCsvError> {
        let lines =
            [("b", "0"), ("b", "2"), ("a", "0"), ("b", "0"), ("", "0"), ("a", "1"), ("a", "")];
        for title in ["HOST", "HOST ID", "RANK"] {
            let csv = read(title, &lines)?;
            let expected = [Some(0), Some(1), Some(2), Some(0), Some(4), Some(3), None];
            assert_eq!(devices(&csv), expected, "{title}");
            let told = told(&csv).unwrap_or_default();
            assert!(told.contains("3 hosts"), "{told}");
            assert!(told.ends_with("b: 0 to 1, a: 2 to 3, rows without a host: 4"), "{told}");
        }
        Ok(())
    }

    #[test]
    fn devices_that_are_apart_keep_their_numbers() -> Result<(), OpsCsvError> {
        for (title, lines) in [
            ("HOST", [("a", "4"), ("b", "7"), ("a", "5")]),
            ("HOST", [("a", "4"), ("a", "7"), ("a", "5")]),
            // A column of another meaning.
            ("HOST START", [("a", "4"), ("b", "7"), ("c", "5")]),
        ] {
            let csv = read(title, &lines)?;
            assert_eq!(devices(&csv), [Some(4), Some(7), Some(5)]);
            assert_eq!(told(&csv), None);
        }
        Ok(())
    }
}
