//! Programs that calls of ops built.

use super::{
    arguments::{ProgramsArguments, ProgramsPart},
    loaded::{Figures, Part},
    table::{Table, table},
};
use crate::failure::Failure;
use host_reader::perf::{CallSite, PerfReport, ProgramBuilds};

const NO_MODULE: &str = "no object of the program called the op, or calls were not recorded";
const NO_CALL: &str = "calls were not recorded";
const NO_HOST_TIME: &str = "the host's time is known of none of these calls";
const NO_PART: &str = "this part of the host's time is known of none of these calls";
const NO_ID: &str = "the file does not name the program";

/// Returns the places whose calls built programs, or the calls that did so again, with the figures of
/// `kprof programs`.
///
/// # Errors
/// If the column to sort by is unknown.
pub(super) fn table<'a>(part: &'a Part, asked: &ProgramsArguments) -> Result<Table<'a>, Failure> {
    let report: Option<&PerfReport> = match &part.figures {
        Figures::OpsCsv(report) => Some(report),
        Figures::Run(_) => part.described.as_deref(),
    };
    let builds = report.map(|report| &report.builds).filter(|builds| builds.are_known());
    let sites = builds.map(|builds| &builds.sites[..]).unwrap_or_default();
    let table = match asked.part {
        ProgramsPart::Places => places(sites),
        ProgramsPart::Rebuilds => rebuilds(sites),
    };
    let table = match builds {
        Some(builds) => with_sums(table, builds),
        None => table.with_note(
            "reason",
            "the ops do not say whether they found their program in the cache; record with kprof record",
        ),
    };
    table.sorted(asked.sort.as_deref(), asked.order)
}

fn with_sums<'a>(table: Table<'a>, builds: &ProgramBuilds) -> Table<'a> {
    let all = &builds.all;
    table
        .with_note("call_count", all.call_count)
        .with_note("built_count", all.built_count)
        .with_note("rebuilt_count", all.rebuilt_count)
        .with_note("unplaced_count", all.unplaced_count)
        .with_note("unknown_count", all.unknown_count)
        .with_note("has_places", builds.has_places)
}

fn places(sites: &[CallSite]) -> Table<'_> {
    let built: Vec<&CallSite> = sites.iter().filter(|site| site.sums.built_count > 0).collect();
    table!(built, |site| {
        let sums = site.sums;
        "op_code" => &*site.op_code,
        "location" or NO_CALL => site.location.as_deref(),
        "module" or NO_MODULE => site.module.as_deref(),
        "call_count" => sums.call_count,
        "built_count" => sums.built_count,
        "rebuilt_count" => sums.rebuilt_count,
        "unplaced_count" => sums.unplaced_count,
        "unknown_count" => sums.unknown_count,
        "host_time_ns" or NO_HOST_TIME => sums.host_time_ns,
        "built_host_time_ns" or NO_HOST_TIME => sums.built_host_time_ns,
        "build_ns" or NO_PART => sums.build_ns,
        "compile_ns" or NO_PART => sums.compile_ns,
        "dispatch_ns" or NO_PART => sums.dispatch_ns,
        "without_host_time_count" => sums.without_host_time_count,
        "without_compile_count" => sums.without_compile_count,
        "first_row_id" => site.first_row_id,
    })
}

fn rebuilds(sites: &[CallSite]) -> Table<'_> {
    let again = sites.iter().flat_map(|site| site.rebuilds.iter().map(move |of| (site, of)));
    let again: Vec<_> = again.collect();
    table!(again, |(site, rebuild)| {
        "op_code" => &*site.op_code,
        "location" or NO_CALL => site.location.as_deref(),
        "module" or NO_MODULE => site.module.as_deref(),
        "reason" => rebuild.reason.to_string(),
        "row_id" => rebuild.row_id,
        "run_host_id" or NO_ID => rebuild.run_host_id,
        "compared_row_id" => rebuild.compared_row_id,
        "compared_run_host_id" or NO_ID => rebuild.compared_run_host_id,
    })
}
