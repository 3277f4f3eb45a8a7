//! The older HTTP+SSE transport: one stream brings everything, POSTs take everything.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use mcpproxy_mcp::Frame;
use mcpproxy_text::Limits;

use super::Shared;
use super::answer::{Body, OnDrop, bare, events};
use super::route::{Answered, refused, take};
use crate::lock;

/// Where messages are posted.
pub(super) const MESSAGES: &str = "/messages";

/// Opens the stream, which first says where messages are posted.
pub(super) fn open(shared: &Arc<Shared>) -> Response<Body> {
    let (id, session) = shared.sessions.open(&shared.service);
    let endpoint = format!("event: endpoint\ndata: {MESSAGES}?{id}\n\n");
    let ending = Arc::clone(shared);
    let closing = OnDrop::run(move || ending.sessions.end(&id));
    events([endpoint.into()], session.listen(), Some(closing))
}

/// Takes a message; what it is answered with goes to the stream.
pub(super) async fn post(shared: &Arc<Shared>, id: &str, body: Bytes) -> Answered {
    let Some(session) = shared.sessions.get(id) else {
        return Ok(bare(404));
    };
    let frame = match Frame::parse(body, Limits::default()) {
        Ok(frame) => frame,
        Err(refusal) => return Ok(refused(400, &refusal)),
    };
    let delay = lock(&shared.orders).delay;
    tokio::time::sleep(delay).await;
    let home = &session.conversation.home;
    take(shared, &session.conversation, frame, home)?;
    Ok(bare(202))
}
