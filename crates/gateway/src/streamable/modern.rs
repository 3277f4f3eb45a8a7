//! The modern era over HTTP: each request stands for itself, and closing its stream cancels it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use mcpproxy_core::{Oddity, Principal};
use mcpproxy_mcp::envelope::{Envelope, EnvelopeRefusal};
use mcpproxy_mcp::era::{self, http_status};
use mcpproxy_mcp::{Frame, FrameKind, Refusal, header, sse};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at};

use super::{SILENCE, without_id};
use crate::arrived::Arrived;
use crate::downstream::{Downstream, Replies, Reply, Way, WayBack};
use crate::gateway::Gateway;
use crate::reply::{Answered, ReplyBody, bare, json, refused, stream};
use crate::router;
use crate::settings::RoutingMode;
use crate::unjudged::{CALL, Knock};

/// Answers a message of the modern era.
pub(super) async fn modern(
    gateway: &Arc<Gateway>,
    who: Principal,
    mode: RoutingMode,
    headers: &HeaderMap,
    frame: Frame,
    connection: Option<u64>,
    arrived: Arc<Arrived>,
) -> Answered {
    let knock = Knock::new(gateway, &who, mode).arrived(&arrived);
    match frame.kind() {
        FrameKind::Request => {}
        FrameKind::Notification if &**frame.method() == CALL => {
            let refusal = without_id();
            Box::pin(knock.refused(frame.raw(), &refusal, &[Oddity::NoId])).await;
            return refused(&refusal, None);
        }
        // The modern era has no notifications from a downstream over HTTP: closing the stream
        // cancels. One that comes all the same is taken and dropped.
        FrameKind::Notification => return bare(StatusCode::ACCEPTED),
        FrameKind::Result | FrameKind::Error => {
            let message = "a response was not asked for".to_owned();
            return refused(
                &Refusal {
                    code: era::INVALID_REQUEST,
                    message,
                    id: None,
                },
                None,
            );
        }
    }
    let envelope = match check_modern(headers, &frame) {
        Ok(envelope) => envelope,
        Err(EnvelopeRefusal { refusal, data }) => {
            Box::pin(knock.refused(frame.raw(), &refusal, &[])).await;
            return refused(&refusal, data.as_deref());
        }
    };
    let key = Gateway::credential_key(&who, envelope.client_info.as_deref());
    let downstream = Downstream {
        connection,
        arrived: Some(arrived),
        ..Downstream::of_envelope(envelope, who, mode, key)
    };
    if let Err(refusal) = router::check_param_headers(gateway, &downstream, headers, &frame) {
        let knock = Knock::of(gateway, &downstream);
        Box::pin(knock.refused(frame.raw(), &refusal, &[])).await;
        return refused(&refusal, None);
    }
    let (way, back) = Way::new();
    let gateway = Arc::clone(gateway);
    tokio::spawn(router::request(gateway, downstream, frame, way, None));
    respond_modern(back).await
}

fn check_modern(headers: &HeaderMap, frame: &Frame) -> Result<Envelope, EnvelopeRefusal> {
    let envelope = Envelope::read(frame)?;
    header::check(headers, frame, &envelope.version).map_err(|refusal| EnvelopeRefusal {
        refusal,
        data: None,
    })?;
    Envelope::check_version(&envelope.version, frame.id())?;
    Ok(envelope)
}

/// Cancels a request whose downstream goes away before it is answered.
struct CancelOnDrop(Option<watch::Sender<Option<String>>>);

impl CancelOnDrop {
    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = self.0.take() {
            cancel.send_replace(Some("the downstream closed the stream".to_owned()));
        }
    }
}

/// Waits for the first reply: an answer is sent whole, anything else opens a stream.
async fn respond_modern(back: WayBack) -> Answered {
    let WayBack {
        mut replies,
        cancel,
    } = back;
    let mut guard = CancelOnDrop(Some(cancel));
    let first = tokio::time::timeout(SILENCE, replies.recv()).await.ok();
    match first {
        Some(Some(Reply::Final(message, code, _))) => {
            guard.disarm();
            let status = StatusCode::from_u16(code.map_or(200, http_status));
            json(status.unwrap_or(StatusCode::OK), message)
        }
        Some(None) => bare(StatusCode::INTERNAL_SERVER_ERROR),
        first => {
            let (sender, pieces) = mpsc::channel(64);
            tokio::spawn(pump_modern(first.flatten(), replies, sender, guard));
            stream(ReplyBody::Pieces(pieces))
        }
    }
}

async fn pump_modern(
    first: Option<Reply>,
    mut replies: Replies,
    sender: mpsc::Sender<Bytes>,
    mut guard: CancelOnDrop,
) {
    let mut next = first;
    let mut alive = interval_at(Instant::now() + SILENCE, SILENCE);
    loop {
        let piece = match next.take() {
            Some(Reply::Message(message)) => sse::encode(&message, None),
            Some(Reply::Final(message, ..)) => {
                guard.disarm();
                drop(sender.send(sse::encode(&message, None)).await);
                return;
            }
            Some(Reply::Streaming | Reply::Polling { .. }) | None => Bytes::new(),
        };
        if !piece.is_empty() && sender.send(piece).await.is_err() {
            return;
        }
        tokio::select! {
            reply = replies.recv() => match reply {
                Some(reply) => next = Some(reply),
                None => return,
            },
            _ = alive.tick() => {
                if sender.send(Bytes::from_static(sse::KEEP_ALIVE)).await.is_err() {
                    return;
                }
            }
            () = sender.closed() => return,
        }
    }
}
