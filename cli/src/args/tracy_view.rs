//! Options of commands that send records to Tracy viewers while a program runs.

use clap::Args;

/// Heading of the Tracy options in the help text.
const TRACY: &str = "Tracy, while the program runs";

/// Viewers of the running program.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TracyViewArgs {
    /// Send each streamed record to Tracy viewers and capture tools as soon as it is read; needs
    /// --stream.
    /// ADDRESS is the address and port to listen on; port 0 selects a free port. Default:
    /// 127.0.0.1:8086. Viewers may connect and leave at any time, and never delay the program. The
    /// newest million zones and messages are kept for viewers; a viewer gets a message about the
    /// data that it missed.
    #[arg(
        help_heading = TRACY,
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:8086",
        requires = "stream"
    )]
    pub(crate) tracy: Option<String>,
    /// Begin to run or read only after the first viewer has connected.
    #[arg(help_heading = TRACY, long, requires = "tracy")]
    pub(crate) tracy_wait: bool,
    /// Expect viewers of Tenstorrent's fork, which uses protocol numbers 66 and 76 differently.
    #[arg(help_heading = TRACY, long, requires = "tracy")]
    pub(crate) tracy_fork: bool,
    /// Disconnect a viewer that receives no data for this time. After the last read, viewers have
    /// this time to receive the remaining data.
    #[arg(
        help_heading = TRACY,
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "tracy"
    )]
    pub(crate) tracy_drop_after: u64,
}
