//! Programs that most chips have launched and some have not, or not as often.

use crate::op::OpCauses;
use recording::problem::counted;
use std::collections::{BTreeMap, BTreeSet};
use wire::RunHostId;

/// Maximum number of programs that are named.
const NAMED: usize = 3;

/// Returns a sentence about each of the first programs of which a chip has another number of launches than
/// most chips, and one about how many others there are.
pub(crate) fn missing_launches(ops: &[OpCauses]) -> Vec<String> {
    let chips: BTreeSet<u32> = ops.iter().map(|op| op.chip_id).collect();
    let mut programs: BTreeMap<u32, (Option<&str>, BTreeMap<u32, u64>)> = BTreeMap::new();
    for op in ops {
        let (name, counts) = programs.entry(RunHostId(op.run_host_id).base()).or_default();
        *name = name.or(op.name.as_deref());
        let count = counts.entry(op.chip_id).or_default();
        *count = count.saturating_add(1);
    }
    let mut sentences = Vec::new();
    for (id, (name, counts)) in programs {
        let mut chips_of: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for chip in &chips {
            chips_of.entry(counts.get(chip).copied().unwrap_or(0)).or_default().push(*chip);
        }
        // A program of one chip alone is no program that others lack.
        let usual = chips_of.iter().find(|(_, of)| of.len() > chips.len() / 2);
        let Some((usual, of_usual)) = usual.filter(|(count, _)| **count > 0) else { continue };
        let name = name.map_or_else(String::new, |name| format!(" ({name})"));
        let launches = counted(*usual, "launch", "launches");
        for (count, others) in chips_of.iter().filter(|(count, _)| *count != usual) {
            let others: Vec<String> = others.iter().map(u32::to_string).collect();
            let (chip, has) = match others.len() {
                1 => ("chip", "has"),
                _ => ("chips", "have"),
            };
            sentences.push(format!(
                "{chip} {} {has} {count} of the {launches} of program {id}{name} that {} of {} chips have",
                others.join(", "),
                of_usual.len(),
                chips.len(),
            ));
        }
    }
    let more = sentences.len().saturating_sub(NAMED);
    sentences.truncate(NAMED);
    if more > 0 {
        let more = counted(more as u64, "other program", "other programs");
        sentences.push(format!("chips also differ in their launches of {more}"));
    }
    sentences
}
