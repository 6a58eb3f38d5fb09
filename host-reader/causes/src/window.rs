//! Time windows in which individual waits and signals of an op were recorded.
//!
//! Each tile opens its windows by its own clock. Individual waits are known in the parts of the op
//! in which the windows of all its tiles are open, unless records were lost in these parts.

use crate::op::{CoreRun, OpView};
use analysis::{Span, WindowsAt};
use std::collections::BTreeSet;

/// Maximum number of an op's windows that are used. Later windows are ignored.
const WINDOWS_MAX: usize = 512;

/// Number of cycles after the opening of a window in which a signal may have no record. The RISC
/// checks the window slightly before or after it takes the time of the record.
const EDGE_CYCLES: u64 = 32;

/// Returns the parts of an op in which its individual waits are known, in time order. The list is
/// empty if the windows of any tile are unknown.
///
/// Returns `None` if no windows were recorded. In this case, individual waits were recorded either
/// during the whole op or not at all.
pub(crate) fn window_parts(view: &OpView<'_>) -> Option<Vec<Span>> {
    let mut syncs = view.runs.iter().filter_map(|run| run.evidence.sync());
    if syncs.all(|sync| sync.windows.is_none()) {
        return None;
    }
    let tiles: Option<Vec<_>> = view.cores().map(tile_windows).collect();
    let windows = tiles.map(|tiles| tiles.into_iter().flatten().collect::<Vec<WindowsAt>>());
    Some(windows.and_then(|windows| common_parts(view, &windows)).unwrap_or_default())
}

/// Returns the windows of a core's runs.
///
/// `Some(None)` means that all waits and signals of the core were recorded, or that the core had no
/// waits and signals. `None` means that the core has waits or signals but no record of its windows.
fn tile_windows(core: &[CoreRun<'_>]) -> Option<Option<WindowsAt>> {
    let mut syncs = core.iter().filter_map(|run| run.evidence.sync());
    let windows = syncs.clone().find_map(|sync| sync.windows);
    let has_single = syncs.clone().any(|sync| !sync.waits.is_empty());
    let is_silent = syncs.all(|sync| sync.totals.is_empty() && sync.signals.is_empty());
    (windows.is_some() || has_single || is_silent).then_some(windows)
}

/// Returns the parts of an op in which the windows of all its tiles are open; `None` if there are
/// no such parts, or if tiles have windows of different length or period.
fn common_parts(view: &OpView<'_>, tiles: &[WindowsAt]) -> Option<Vec<Span>> {
    let kernel = view.kernel?;
    let windows: BTreeSet<(u32, u32)> =
        tiles.iter().map(|at| (at.windows.length(), at.windows.period())).collect();
    let &(length, period) = windows.first().filter(|_| windows.len() == 1)?;
    let (length, period) = (u64::from(length), u64::from(period));
    // For each tile, the cycles from the opening of the first tile's window to the opening of this
    // tile's window. If this tile's window opens earlier, the difference wraps around the period.
    let reference = tiles.first()?.opens.checked_rem(period)?;
    let (mut latest, mut earliest) = (0_u64, 0_u64);
    for at in tiles {
        let later =
            at.opens.saturating_add(period).saturating_sub(reference).checked_rem(period)?;
        if later < period / 2 {
            latest = latest.max(later);
        } else {
            earliest = earliest.max(period.saturating_sub(later));
        }
    }
    let opens = latest.saturating_add(EDGE_CYCLES);
    let closes = length.checked_sub(earliest).filter(|closes| opens < *closes)?;
    let known = view.runs.iter().filter_map(|run| run.evidence.known_until()).min();
    let end = known.map_or(kernel.end_cycle, |until| until.min(kernel.end_cycle));
    // A window that opened before the kernels may extend into them, or may begin before cycle 0. So
    // all times are shifted by one period.
    let (begin, end) = (kernel.start_cycle.checked_add(period)?, end.checked_add(period)?);
    let first = begin.saturating_sub(reference).checked_div(period)?;
    let parts = (first..).map_while(|number| {
        let opened = number.checked_mul(period)?.checked_add(reference)?;
        let start = opened.checked_add(opens)?.max(begin);
        let closed = opened.saturating_add(closes).min(end);
        (start < end).then(|| (start.saturating_sub(period), closed.saturating_sub(period)))
    });
    let parts = parts.filter(|(start, end)| start < end).take(WINDOWS_MAX);
    Some(parts.filter_map(|(start, end)| Span::new(start, end, view.aiclk_mhz)).collect())
}
