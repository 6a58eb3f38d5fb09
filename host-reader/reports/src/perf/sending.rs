//! How an op came to a chip.

/// How an op came to the chip: times of the host and of the dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sending {
    /// Time in ns for which the op had been called before its start, at least; 0 if the host is not known to be
    /// ahead, and `None` if host or chip do not say it.
    pub queued_ns: Option<f64>,
    /// Time in ns that the dispatcher took for the op's commands; `None` if dispatch kernels were not recorded.
    pub dispatcher_ns: Option<f64>,
    /// Time in ns that the dispatcher waited for the workers before it started the op; `None` as above.
    pub dispatcher_wait_ns: Option<f64>,
}
