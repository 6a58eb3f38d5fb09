//! Layer for the `tracing` crate: spans become zones, events become messages.

use super::{HostRecorder, HostSource, HostZoneGuard};
use std::{cell::RefCell, fmt, fmt::Write, sync::Arc};
use tracing_core::{
    Event, Field, Metadata, Subscriber,
    field::Visit,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

/// Layer that records the spans and events of a program that is instrumented with `tracing`.
///
/// Each time a span is entered, a zone begins. The zone ends when the span is exited, and the
/// zone's text contains the span's fields. An event becomes a message.
///
/// ```
/// use host_events::{HostEventKind, HostLayer, HostRecorder};
/// use tracing_subscriber::layer::SubscriberExt;
/// let recorder = HostRecorder::default();
/// let subscriber = tracing_subscriber::registry().with(HostLayer::new(recorder.clone()));
/// tracing::subscriber::with_default(subscriber, || {
///     let _span = tracing::info_span!("enqueue", program = 7).entered();
///     tracing::info!("{} bytes", 4096);
/// });
/// let recording = recorder.take();
/// let [message, zone] = &recording.threads[0].events[..] else { panic!("{recording:?}") };
/// assert_eq!(message.text.as_deref(), Some("4096 bytes"));
/// assert_eq!((recording.name(zone), zone.text.as_deref()), ("enqueue", Some("program=7")));
/// assert!(matches!(zone.kind, HostEventKind::Zone { depth: 0, .. }));
/// ```
#[derive(Clone, Debug)]
pub struct HostLayer {
    recorder: HostRecorder,
}

/// Source location and text shared by all zones of a span.
struct SpanWords {
    source: Arc<HostSource>,
    text: String,
}

thread_local! {
    /// Zones of spans that this thread has entered but not exited.
    static ENTERED: RefCell<Vec<(Id, HostZoneGuard)>> = const { RefCell::new(Vec::new()) };
}

impl HostLayer {
    /// Creates a layer that records into `recorder`, which need not be installed.
    #[must_use]
    pub const fn new(recorder: HostRecorder) -> Self {
        Self { recorder }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for HostLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut text = FieldText::default();
        attributes.record(&mut text);
        let source = Arc::new(source_of(attributes.metadata()));
        span.extensions_mut().insert(SpanWords { source, text: text.0 });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(words) = span.extensions_mut().get_mut::<SpanWords>() {
            let mut text = FieldText(std::mem::take(&mut words.text));
            values.record(&mut text);
            words.text = text.0;
        }
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut text = FieldText::default();
        event.record(&mut text);
        self.recorder.message_of(Arc::new(source_of(event.metadata())), text.0, None);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let source = span.extensions().get::<SpanWords>().map(|words| Arc::clone(&words.source));
        let Some(source) = source else { return };
        let guard = self.recorder.zone_of(source);
        // A terminating thread has no `ENTERED` any more; the error is ignored.
        let _ = ENTERED.try_with(|entered| entered.borrow_mut().push((id.clone(), guard)));
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let left = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let at = entered.iter().rposition(|(span, _)| span == id)?;
            Some(entered.remove(at).1)
        });
        let Ok(Some(mut guard)) = left else { return };
        if let Some(span) = context.span(id)
            && let Some(words) = span.extensions().get::<SpanWords>()
            && !words.text.is_empty()
        {
            guard.text(words.text.as_str());
        }
    }
}

fn source_of(metadata: &'static Metadata<'static>) -> HostSource {
    HostSource::new(
        metadata.name(),
        metadata.target(),
        metadata.file().unwrap_or(""),
        metadata.line().unwrap_or(0),
    )
}

/// Text made of the fields of a span or event. The field `message` is copied unchanged, and every
/// other field is written as `name=value`.
#[derive(Default)]
struct FieldText(String);

impl FieldText {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        // Writing to a string only fails if formatting the value fails.
        let _ = match field.name() {
            "message" => self.0.write_fmt(value),
            name => self.0.write_fmt(format_args!("{name}={value}")),
        };
    }
}

impl Visit for FieldText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }
}
