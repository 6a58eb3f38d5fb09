//! Datasets of many recordings for SQL engines, in builds with the feature `parquet`.

#[cfg(feature = "parquet")]
mod compact;
#[cfg(feature = "parquet")]
mod export;
#[cfg(feature = "parquet")]
mod location;
#[cfg(feature = "parquet")]
mod machine_clock;
#[cfg(feature = "parquet")]
mod merge;
#[cfg(feature = "parquet")]
mod ops_report;
mod views;

#[cfg(feature = "parquet")]
pub(super) use {compact::run as compact, export::Dataset, merge::run as merge};

pub(super) use views::write as write_views;

#[cfg(not(feature = "parquet"))]
pub(super) use without_parquet::{Dataset, compact, merge};

#[cfg(not(feature = "parquet"))]
mod without_parquet {
    use crate::{
        args::{CompactArgs, ExportArgs, MergeArgs},
        failure::{Failure, failure},
        input::Run,
    };
    use host_reader::export::{CancelFlag, TraceItems};
    use std::process::ExitCode;

    /// Placeholder for the type `Dataset` in builds without `parquet`, which cannot write datasets.
    pub(crate) enum Dataset {}

    impl Dataset {
        pub(crate) fn new(_: &ExportArgs) -> Result<Self, Failure> {
            Err(missing())
        }

        pub(crate) fn write(
            &self,
            _: TraceItems<'_, '_>,
            _: (&Run, bool),
            _: &CancelFlag,
            _: bool,
        ) -> Result<(), Failure> {
            match *self {}
        }
    }

    pub(crate) fn compact(_: &CompactArgs) -> Result<(), Failure> {
        Err(missing())
    }

    pub(crate) fn merge(_: &MergeArgs) -> Result<ExitCode, Failure> {
        Err(missing())
    }

    fn missing() -> Failure {
        failure!(
            "this kprof was built without Parquet; build it with `cargo build -p kprof --features \
             parquet`"
        )
    }
}
