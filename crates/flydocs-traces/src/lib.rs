//! W3C trace context in and out of spans, so that a trace goes on over the bus, into other processes and to receivers.
//!
//! Without a layer that collects traces, spans have no context: [`of`] is `None` and [`adopt`] does nothing.

use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The headers `traceparent` and `tracestate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// `00-<trace>-<span>-<flags>`.
    pub traceparent: String,
    /// What vendors add; `None` when it is empty.
    pub tracestate: Option<String>,
}

/// Makes a span that was not entered yet the child of the one the headers name; what is not well formed is passed over.
pub fn adopt(span: &Span, traceparent: Option<&str>, tracestate: Option<&str>) {
    let Some(parent) = traceparent.and_then(|text| parse(text, tracestate)) else {
        return;
    };
    let context = opentelemetry::Context::new().with_remote_span_context(parent);
    // an error only says that nobody collects this span
    drop(span.set_parent(context));
}

/// What to hand on so that others become children of this span; `None` when nobody collects it.
pub fn of(span: &Span) -> Option<TraceContext> {
    let context = span.context();
    let span = context.span();
    let span = span.span_context();
    if !span.is_valid() {
        return None;
    }
    let tracestate = span.trace_state().header();
    Some(TraceContext {
        traceparent: format!(
            "00-{}-{}-{:02x}",
            span.trace_id(),
            span.span_id(),
            span.trace_flags().to_u8()
        ),
        tracestate: Some(tracestate).filter(|text| !text.is_empty()),
    })
}

fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<SpanContext> {
    let mut parts = traceparent.trim().split('-');
    let _version = parts.next()?;
    let trace = TraceId::from_hex(parts.next()?).ok()?;
    let span = SpanId::from_hex(parts.next()?).ok()?;
    let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
    let state = tracestate
        .and_then(|text| text.parse::<TraceState>().ok())
        .unwrap_or_default();
    let context = SpanContext::new(trace, span, TraceFlags::new(flags), true, state);
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_child_hands_on_the_trace_of_its_parent_under_its_own_name() {
        let provider = SdkTracerProvider::builder().build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::info_span!("call");
            adopt(&span, Some(CALLER), Some("vendor=1"));
            let handed = of(&span).unwrap();
            assert!(handed.traceparent.starts_with(&CALLER[..36]), "{handed:?}");
            assert_ne!(handed.traceparent, CALLER);
            assert_eq!(handed.tracestate.as_deref(), Some("vendor=1"));

            let odd = tracing::info_span!("odd");
            adopt(&odd, Some("nonsense"), None);
            let own = of(&odd).unwrap();
            assert!(!own.traceparent.contains(&CALLER[3..35]), "{own:?}");
        });
    }

    #[test]
    fn nobody_collects_nothing_is_handed_on() {
        let span = tracing::info_span!("call");
        adopt(&span, Some(CALLER), None);
        assert_eq!(of(&span), None);
    }
}
