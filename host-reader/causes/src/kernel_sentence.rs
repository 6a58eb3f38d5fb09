//! What the longest launch shows of its kernels: how long each RISC runs, and what its zones take.

use crate::{
    kernel_zone::KernelZone,
    op::OpCauses,
    rules::{duration, kernel_ns, label_of},
};
use reader::{names::ZoneTable, readout::Readout};
use recording::problem::counted;
use wire::Risc;

/// Maximum number of RISCs that the sentence names.
const MOST_RISCS: usize = 8;

/// Returns a sentence about where kernels that had not ended stand or, if all have ended, about the kernels of the
/// longest launch with zones in them, from the longest RISC to the shortest; `None` if no launch has any.
pub(crate) fn kernel_sentence(ops: &[&OpCauses], readout: &Readout) -> Option<String> {
    let names = &readout.zones;
    // Where losses are not counted, ends may be missing though kernels have ended.
    let are_losses_known = readout.losses.uncounted().next().is_none();
    open_sentence(ops, names, are_losses_known)
        .or_else(|| longest_sentence(ops, names))
        .or_else(|| bare_sentence(ops, names))
}

/// Returns a sentence about the zones of the launch with the longest ones, of launches without zones of kernels.
fn bare_sentence(ops: &[&OpCauses], names: &ZoneTable) -> Option<String> {
    let most = |op: &OpCauses| op.bare_zones.iter().map(|zone| zone.ns).fold(0.0, f64::max);
    let with = ops.iter().filter(|op| most(op) > 0.0);
    let op = with.max_by(|one, other| most(one).total_cmp(&most(other)))?;
    let mut zones = op.bare_zones.clone();
    zones.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    let more = zones.len().saturating_sub(MOST_BARE_ZONES);
    let mut zones: Vec<String> = zones
        .iter()
        .take(MOST_BARE_ZONES)
        .map(|zone| {
            let cores = counted(zone.core_count, "core", "cores");
            format!("{} of {} {} on {cores}", names.label(zone.zone), zone.risc, duration(zone.ns))
        })
        .collect();
    if more > 0 {
        zones.push(format!("{more} more that are shorter"));
    }
    Some(format!(
        "Zones of launch {} of {}, which has none of kernels, each without the zones within it: {}.",
        op.launch,
        label_of(op),
        zones.join(", ")
    ))
}

/// Maximum number of zones that a sentence about a launch without zones of kernels names.
const MOST_BARE_ZONES: usize = 6;

fn longest_sentence(ops: &[&OpCauses], names: &ZoneTable) -> Option<String> {
    let with = ops.iter().filter(|op| !op.zones.is_empty() && !op.riscs_ns.is_empty());
    let op = with.max_by(|one, other| kernel_ns(one).total_cmp(&kernel_ns(other)))?;
    let mut riscs = op.riscs_ns.clone();
    riscs.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    // A core of a Quasar has up to 24 RISCs.
    let more = riscs.len().saturating_sub(MOST_RISCS);
    let mut riscs: Vec<String> = riscs
        .iter()
        .take(MOST_RISCS)
        .map(|(risc, ns)| format!("{risc} {}{}", duration(*ns), of_zones(*risc, &op.zones, names)))
        .collect();
    if more > 0 {
        riscs.push(format!("{more} more with shorter kernels"));
    }
    Some(format!("Kernels of launch {} of {}: {}.", op.launch, label_of(op), riscs.join(", ")))
}

/// Returns a sentence about where the kernels of launches that had not ended stand; `None` if all have ended.
fn open_sentence(ops: &[&OpCauses], names: &ZoneTable, are_losses_known: bool) -> Option<String> {
    let mut open = ops.iter().filter(|op| !op.open_kernels.is_empty());
    let op = open.next()?;
    let more = match open.count() {
        0 => String::new(),
        count => format!(" (and {})", counted(count as u64, "other launch", "other launches")),
    };
    let stands: Vec<String> = op
        .open_kernels
        .iter()
        .map(|((risc, zone), count)| {
            let place = zone.map_or_else(
                || "outside of zones".to_owned(),
                |zone| format!("in {}", names.label(zone)),
            );
            format!("{risc} {place} on {}", counted(*count, "core", "cores"))
        })
        .collect();
    let (what, stands) =
        (format!("Launch {} of {}{more}", op.launch, label_of(op)), stands.join(", "));
    Some(match are_losses_known {
        true => format!("{what} had not ended: {stands}."),
        false => format!(
            "{what} has no end in this recording, because it had not ended or the end is missing; last known: \
             {stands}."
        ),
    })
}

/// Maximum number of zones of a RISC that the sentence names, and the percentage of its kernels from which on it
/// names more than the longest.
const MOST_ZONES: (usize, f64) = (3, 10.0);

/// Returns a text about the zones of a RISC; empty if it has none.
fn of_zones(risc: Risc, zones: &[KernelZone], names: &ZoneTable) -> String {
    let mut own: Vec<&KernelZone> = zones.iter().filter(|of| of.risc == risc).collect();
    own.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    let least = |is_least: bool| if is_least { "at least " } else { "" };
    let name = |of: &KernelZone| {
        format!(
            "{} {}{:.1} % on {} of {} cores",
            of.label(names),
            least(of.is_lower_bound),
            of.percent,
            of.core_count,
            of.kernel_core_count
        )
    };
    let (most, from_percent) = MOST_ZONES;
    let named = own.iter().enumerate().take(most);
    let named = named.filter(|(place, of)| *place == 0 || of.percent >= from_percent);
    let named: Vec<String> = named.map(|(_, of)| name(of)).collect();
    // A sum of zones may be the time of other zones, too.
    let zones = own.iter().filter(|of| of.count > 0);
    let all: f64 = zones.clone().map(|of| of.percent).sum();
    match (zones.clone().count(), named.as_slice()) {
        (_, []) => String::new(),
        (0 | 1, [name]) => format!(" (zone {name})"),
        (0 | 1, names) => format!(" (zones {})", names.join(", ")),
        (_, names) => {
            let is_least = zones.clone().any(|of| of.is_lower_bound || of.has_more);
            format!(
                " (zones {}{:.1} %, longest {})",
                least(is_least),
                all.min(100.0),
                names.join(", then ")
            )
        }
    }
}
