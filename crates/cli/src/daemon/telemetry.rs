//! Traces and metrics for a collector, over OTLP/HTTP as JSON, with the semantic conventions for
//! MCP.
//!
//! A span is made from what is put on record; where no collector is configured, nothing stands in the
//! way of a call. A collector that is slow or gone costs spans, never calls.

mod otlp;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use mcpproxy_core::{Record, TraceNote, TraceSink};
use mcpproxy_gateway::settings::TelemetrySettings;
use mcpproxy_mcp::dial::Dialer;
use serde_json::Value;
use tokio::sync::mpsc;

use self::otlp::{Counted, Span};
use crate::exit::bad_input;

/// Spans that wait to be sent; beyond, they are counted and let go.
const WAITING: usize = 4096;
/// Spans of one request.
const MOST: usize = 512;
/// How long spans wait for company.
const GATHER: Duration = Duration::from_secs(1);
/// How long a collector may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes what traces calls, where a collector is configured.
pub(super) fn tracer(settings: &TelemetrySettings) -> Result<Option<Arc<dyn TraceSink>>> {
    if settings.otlp_endpoint.is_none() || !(settings.traces || settings.metrics) {
        return Ok(None);
    }
    let collector = Collector::new(settings)?;
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(collector.run(receiver));
    Ok(Some(Arc::new(Tracer {
        keeps_spans: settings.traces,
        sender,
        dropped: AtomicU64::new(0),
    })))
}

#[derive(Debug)]
struct Tracer {
    keeps_spans: bool,
    sender: mpsc::Sender<Box<Span>>,
    dropped: AtomicU64,
}

impl TraceSink for Tracer {
    fn ended(&self, record: &Record, note: &TraceNote) {
        if let Some(span) = Span::of(record, note)
            && self.sender.try_send(Box::new(span)).is_err()
            && self.dropped.fetch_add(1, Ordering::Relaxed) == 0
        {
            tracing::warn!("spans are let go: the collector does not keep up");
        }
    }

    fn keeps_spans(&self) -> bool {
        self.keeps_spans
    }
}

struct Collector {
    traces: Option<Uri>,
    metrics: Option<Uri>,
    headers: HeaderMap,
    service: String,
    interval: Duration,
    dialer: Dialer,
}

impl Collector {
    fn new(settings: &TelemetrySettings) -> Result<Self> {
        let wrong = || bad_input("`telemetry.otlp_endpoint` is no address", None);
        let base = settings.otlp_endpoint.as_deref().unwrap_or_default();
        let base = base.trim_end_matches('/');
        let place = |wanted: bool, end: &str| {
            let place = wanted.then(|| format!("{base}{end}").parse::<Uri>());
            let place = place.transpose().map_err(|_| wrong())?;
            match place {
                Some(uri) if uri.scheme().is_none() => Err(wrong()),
                place => Ok(place),
            }
        };
        let mut headers = HeaderMap::new();
        let kind = HeaderValue::from_static("application/json");
        headers.insert(http::header::CONTENT_TYPE, kind);
        for (name, value) in &settings.headers {
            let odd = || bad_input(format!("`telemetry.headers.{name}` is no header"), None);
            let value = HeaderValue::from_str(value.expose()).map_err(|_| odd())?;
            let name = name.parse::<HeaderName>().map_err(|_| odd())?;
            headers.insert(name, value);
        }
        Ok(Self {
            traces: place(settings.traces, "/v1/traces")?,
            metrics: place(settings.metrics, "/v1/metrics")?,
            headers,
            service: settings.service_name.clone(),
            interval: Duration::from(settings.interval).max(GATHER),
            dialer: Dialer::default(),
        })
    }

    /// Sends spans in company, and now and then what was counted of them.
    async fn run(self, mut spans: mpsc::Receiver<Box<Span>>) {
        let mut counted = Counted::default();
        let mut waiting = Vec::new();
        let mut gather = tokio::time::interval(GATHER);
        let mut report = tokio::time::interval(self.interval);
        loop {
            tokio::select! {
                span = spans.recv() => match span {
                    Some(span) => {
                        counted.add(&span);
                        waiting.extend(span.sampled.then_some(*span));
                    }
                    None => return,
                },
                _ = gather.tick() => self.send_spans(&mut waiting).await,
                _ = report.tick() => self.send_counts(&counted).await,
            }
            if waiting.len() >= MOST {
                self.send_spans(&mut waiting).await;
            }
        }
    }

    async fn send_spans(&self, waiting: &mut Vec<Span>) {
        let spans = std::mem::take(waiting);
        if let (Some(place), false) = (&self.traces, spans.is_empty()) {
            self.send(place, &otlp::traces(&self.service, &spans)).await;
        }
    }

    async fn send_counts(&self, counted: &Counted) {
        if let (Some(place), false) = (&self.metrics, counted.is_empty()) {
            self.send(place, &otlp::metrics(&self.service, counted))
                .await;
        }
    }

    async fn send(&self, place: &Uri, what: &Value) {
        let body = Bytes::from(what.to_string());
        let sent = self
            .dialer
            .send(Method::POST, place, self.headers.clone(), body);
        match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Ok(answer)) if answer.status().is_success() => {}
            Ok(Ok(answer)) => tracing::warn!("the collector answered {}", answer.status()),
            Ok(Err(fault)) => tracing::warn!("the collector cannot be reached: {fault}"),
            Err(_) => tracing::warn!("the collector did not answer in time"),
        }
    }
}
