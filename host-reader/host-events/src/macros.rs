//! Macros that record events of the program with the source location of the macro call.

/// Records a zone from the macro call to the end of the enclosing block.
///
/// ```
/// host_events::host_zone_scoped!("LoadWeights");
/// ```
///
/// # Compatibility
/// Corresponds to Tracy's `ZoneScopedN`.
#[macro_export]
macro_rules! host_zone_scoped {
    ($name:expr $(,)?) => {
        let _zone = match $crate::installed() {
            Some(recorder) => recorder.zone($crate::__host_source!($name)),
            None => $crate::HostZoneGuard::unrecorded(),
        };
    };
}

/// Records a message. The arguments are those of `format!`.
///
/// ```
/// host_events::host_message!("layer {} of {}", 1, 24);
/// ```
///
/// # Compatibility
/// Corresponds to Tracy's `TracyMessage`.
#[macro_export]
macro_rules! host_message {
    ($($text:tt)*) => {
        if let Some(recorder) = $crate::installed() {
            recorder.message_fmt($crate::__host_source!(""), ::std::format_args!($($text)*));
        }
    };
}

/// Records a signpost with a name and an optional text.
///
/// ```
/// host_events::host_signpost!("warm-up done");
/// host_events::host_signpost!("iteration", "7");
/// ```
///
/// # Compatibility
/// Corresponds to `signpost` in TT-Metal's Python package `tracy`.
#[macro_export]
macro_rules! host_signpost {
    ($name:expr $(,)?) => {
        if let Some(recorder) = $crate::installed() {
            recorder.signpost($name, None, None);
        }
    };
    ($name:expr, $text:expr $(,)?) => {
        if let Some(recorder) = $crate::installed() {
            recorder.signpost($name, Some($text), None);
        }
    };
}

/// Records the end of a frame, such as an iteration. The optional argument names the sequence of
/// frames.
///
/// ```
/// host_events::host_frame_mark!();
/// host_events::host_frame_mark!("token");
/// ```
///
/// # Compatibility
/// Corresponds to Tracy's `FrameMark` and `FrameMarkNamed`.
#[macro_export]
macro_rules! host_frame_mark {
    () => {
        $crate::host_frame_mark!("frame")
    };
    ($name:expr $(,)?) => {
        if let Some(recorder) = $crate::installed() {
            recorder.frame_mark($crate::__host_source!($name));
        }
    };
}

/// Records a point of a plot.
///
/// ```
/// let queued = 3_u32;
/// host_events::host_plot!("queued programs", queued);
/// ```
///
/// # Compatibility
/// Corresponds to Tracy's `TracyPlot`.
#[macro_export]
macro_rules! host_plot {
    ($name:expr, $value:expr $(,)?) => {
        if let Some(recorder) = $crate::installed() {
            recorder.plot($crate::__host_source!($name), ::std::convert::Into::into($value));
        }
    };
}

/// Returns a static `HostSource` with the name and the source location of a macro call.
#[doc(hidden)]
#[macro_export]
macro_rules! __host_source {
    ($name:expr) => {{
        static SOURCE: $crate::HostSource =
            $crate::HostSource::new($name, ::std::module_path!(), ::std::file!(), ::std::line!());
        &SOURCE
    }};
}
