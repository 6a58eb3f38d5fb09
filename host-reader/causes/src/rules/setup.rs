//! Rule about reconfiguration and initialisation inside kernels.

use super::{OpGroup, kernel_ns};
use crate::{
    finding::{Cause, Finding, GainOf, Place, share},
    threshold::SETUP,
};
use reader::names::ZoneTable;

/// Reports setup zones, if they take a large part of each launch.
pub(crate) fn setup(group: &OpGroup<'_>, zones: &ZoneTable) -> Option<Finding> {
    let (_, setup) = group.longest(|op| op.setup.as_ref())?;
    if setup.percent < SETUP.value {
        return None;
    }
    let zone = setup.zone.map(|zone| zones.label(zone).into_owned());
    let sentence = format!(
        "{} zones {} take {:.1} % of {} on {}",
        setup.count,
        zone.as_deref().unwrap_or("of setup"),
        setup.percent,
        group.label,
        setup.risc
    );
    let gains =
        group.ops.iter().filter_map(|op| Some(op.setup.as_ref()?.percent / 100.0 * kernel_ns(op)));
    let gain: f64 = gains.sum();
    Some(Finding {
        cause: Cause::Setup,
        sentence,
        figure: setup.percent,
        threshold: SETUP.name,
        place: Place {
            core: Some(setup.core),
            risc: Some(setup.risc.label()),
            zone,
            ..group.place()
        },
        why: Vec::new(),
        rows: Vec::new(),
        location: String::new(),
        gain_at_most_ns: Some(gain),
        gain_at_most_percent: Some(share(gain, group.kernel_ns())),
        gain_of: GainOf::Ops,
        gain_at_most_percent_of_all: None,
        part_of: None,
        is_in_layout: false,
        advice: "reconfigure once per change of format, not once per block".to_owned(),
    })
}
