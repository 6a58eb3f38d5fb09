//! Data for Tracy viewers, sent while the recorded program is still running.

use crate::{
    args::TracyViewArgs,
    failure::{Failure, OrFail, note},
    numbers::{counted, grouped},
};
use host_reader::{
    export::tracy::{LiveView, LiveViewOptions, Program, ServeError, ServedViewer},
    mesh::Mesh,
};
use std::{fmt::Write as _, time::Duration};

/// Starts to listen for Tracy viewers if the options request it. Also waits for the first viewer if
/// requested.
pub(crate) fn begin_view(
    args: &TracyViewArgs,
    title: &str,
    mesh: &mut dyn Mesh,
) -> Result<Option<LiveView>, Failure> {
    let Some(address) = &args.tracy else { return Ok(None) };
    let options = LiveViewOptions {
        address: address.clone(),
        title: title.to_owned(),
        program: if args.tracy_fork { Program::Fork } else { Program::Stock },
        patience: Duration::from_secs(args.tracy_drop_after),
    };
    let view = LiveView::begin(options, mesh, print).or_fail()?;
    note!("kprof: waiting for Tracy viewers on {}", view.address());
    while args.tracy_wait && !view.wait_for_viewer(Duration::from_secs(1)) {}
    Ok(Some(view))
}

/// Waits until each viewer has received all data or has stopped reading. Prints how many viewers
/// did not receive all data, and how many zones they did not receive.
pub(crate) fn wait_for_viewers(view: &LiveView) {
    if let Some(pressure) = view.wait_for_viewers() {
        note!(
            "kprof: {} not received everything: {} waiting",
            counted(pressure.viewer_count as u64, "Tracy viewer has", "Tracy viewers have"),
            counted(pressure.waiting_zones, "zone is", "zones are"),
        );
    }
}

/// Prints how a connection ended.
fn print(result: Result<ServedViewer, ServeError>) {
    match result {
        Ok(served) => note!("kprof: {}", served_label(&served)),
        Err(error) => note!("kprof: {error}"),
    }
}

/// Returns one or more lines about the data that a viewer has received, without a final newline.
pub(crate) fn served_label(served: &ServedViewer) -> String {
    let ServedViewer { peer, protocol, notes, sent_bytes, .. } = served;
    let releases = protocol.releases;
    if let Some(failure) = served.failure() {
        return format!("{peer} ({releases}) {failure}");
    }
    let host_label = match notes.host_zones {
        0 => String::new(),
        count => format!(", {} of the host", counted(count, "zone", "zones")),
    };
    let mut label = format!(
        "{peer} ({releases}): {} on {}{host_label}, {}, {} bytes",
        counted(notes.zones, "zone", "zones"),
        counted(notes.lanes, "lane", "lanes"),
        counted(notes.messages, "message", "messages"),
        grouped(*sent_bytes)
    );
    for (what, count) in notes.doubts() {
        let _ = write!(label, "\n  {}: {}", what.replace('_', " "), grouped(count));
    }
    label
}
