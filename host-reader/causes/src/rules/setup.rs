//! Rule about reconfiguration and initialisation inside kernels.

use super::{OpGroup, kernel_ns};
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place},
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
    let risc = Some(setup.risc.label());
    let place = Place { core: Some(setup.core), risc, zone, ..group.place() };
    let advice = "reconfigure once per change of format, not once per block";
    let finding = Finding::new(
        Cause::Setup,
        (SETUP, setup.percent),
        sentence,
        place,
        advice,
        Basis::launches(1, group.ops.len()),
    );
    Some(finding.with_gain(gain, (group.kernel_ns(), GainOf::Ops)))
}
