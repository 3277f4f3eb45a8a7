//! Alerts as posts to a webhook: signed, and tried again for as long as that makes sense.
//!
//! Every alert is posted at once, and holds a place only while it is. One that was not taken waits in a line
//! (`line`), which says when it is tried again; those that come meanwhile do not stand behind it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use mcpproxy_core::{Clock, Later};
use mcpproxy_hooks_remote::Signer;
use mcpproxy_mcp::Error;
use mcpproxy_mcp::dial::Dialer;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::line::{AT_ONCE, Line, Waiting};
use super::{Lost, Post, UnderWay, WAITING};

#[cfg(test)]
mod tests;

/// How long after an alert was made it is tried again. A webhook that is put up anew is away for minutes.
const GIVEN_UP: Duration = Duration::from_mins(13);
/// How long a webhook may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Posts to an address, and returns what it answers.
type Ask =
    Box<dyn Fn(Uri, HeaderMap, Bytes) -> Later<'static, Result<StatusCode, Error>> + Send + Sync>;

/// The way to the webhook.
pub(super) struct Webhook {
    ask: Ask,
    clock: Arc<dyn Clock>,
    under_way: UnderWay,
    lost: Lost,
}

/// An alert as it is posted.
struct Signed {
    uri: Uri,
    signer: Signer,
    /// The same with every try, so that whoever takes it can tell.
    id: String,
    body: Bytes,
    until: Instant,
}

/// Why an alert was not taken.
enum Untaken {
    /// It may be later.
    Yet(String),
    /// It never will be.
    Ever(String),
}

/// What was posted: something new, or out of the line.
enum Posted {
    New(Arc<Signed>),
    Again(Waiting<Arc<Signed>>),
}

/// What is posted at this moment, and what waits to be posted again.
#[derive(Default)]
struct Desk {
    tries: JoinSet<Result<(), Untaken>>,
    posted: HashMap<Id, Posted>,
    /// How many of those were not posted before.
    new: usize,
    line: Line<Arc<Signed>>,
}

impl Webhook {
    pub(super) fn new(clock: Arc<dyn Clock>, counts: (UnderWay, Lost)) -> Self {
        let dialer = Dialer::default();
        let ask: Ask = Box::new(move |uri, headers, body| {
            let dialer = dialer.clone();
            Box::pin(async move {
                let answer = dialer.send(Method::POST, &uri, headers, body).await?;
                Ok(answer.status())
            })
        });
        Self::asking(ask, clock, counts)
    }

    fn asking(ask: Ask, clock: Arc<dyn Clock>, (under_way, lost): (UnderWay, Lost)) -> Self {
        Self {
            ask,
            clock,
            under_way,
            lost,
        }
    }

    /// Sends what comes, for as long as anything may come; ends when all of it was taken or given up.
    pub(super) async fn run(self: Arc<Self>, mut posts: mpsc::Receiver<Post>) {
        let (mut desk, mut open) = (Desk::default(), true);
        loop {
            self.try_again(&mut desk);
            if !open && desk.posted.is_empty() && desk.line.is_empty() {
                return;
            }
            let next = desk.line.next();
            tokio::select! {
                post = posts.recv(), if open && desk.new < AT_ONCE => match post {
                    Some(post) => self.take(&mut desk, &post),
                    None => open = false,
                },
                Some(tried) = desk.tries.join_next_with_id() => self.settle(&mut desk, tried),
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    /// Posts an alert for the first time.
    fn take(self: &Arc<Self>, desk: &mut Desk, post: &Post) {
        match signed(post) {
            Ok(signed) => {
                desk.new += 1;
                self.begin(desk, Posted::New(Arc::new(signed)));
            }
            Err(why) => self.lose(why),
        }
    }

    /// Posts again what is to be posted by now, and gives up what has waited for too long.
    fn try_again(self: &Arc<Self>, desk: &mut Desk) {
        let now = Instant::now();
        for _ in desk.line.expired(now) {
            self.lose("the webhook did not take it in thirteen minutes");
        }
        while let Some(waiting) = desk.line.pop(now) {
            self.begin(desk, Posted::Again(waiting));
        }
    }

    fn begin(self: &Arc<Self>, desk: &mut Desk, posted: Posted) {
        let signed = match &posted {
            Posted::New(signed) => Arc::clone(signed),
            Posted::Again(waiting) => Arc::clone(&waiting.what),
        };
        let webhook = Arc::clone(self);
        let task = desk
            .tries
            .spawn(async move { webhook.tried(&signed).await });
        desk.posted.insert(task.id(), posted);
    }

    /// Takes in what became of a post.
    fn settle(&self, desk: &mut Desk, tried: Result<(Id, Result<(), Untaken>), JoinError>) {
        let (id, tried) = match tried {
            Ok((id, tried)) => (id, tried),
            Err(fault) => (
                fault.id(),
                Err(Untaken::Ever("posting it broke off".to_owned())),
            ),
        };
        let Some(posted) = desk.posted.remove(&id) else {
            return;
        };
        let now = Instant::now();
        match &posted {
            Posted::New(_) => desk.new = desk.new.saturating_sub(1),
            Posted::Again(_) => desk.line.came_back(),
        }
        let why = match tried {
            Ok(()) => {
                desk.line.taken(now);
                self.under_way.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            Err(Untaken::Ever(why)) => return self.lose(why),
            Err(Untaken::Yet(why)) => why,
        };
        let again = match posted {
            Posted::New(_) if desk.line.len() >= WAITING => {
                return self.lose(format!(
                    "{why}, and {WAITING} others wait to be tried again"
                ));
            }
            Posted::New(signed) => {
                let until = signed.until;
                desk.line.push(signed, until, now)
            }
            Posted::Again(waiting) => desk.line.put_back(waiting, now),
        };
        if !again {
            self.lose(why);
        }
    }

    /// Notes that an alert will never be taken.
    fn lose(&self, why: impl std::fmt::Display) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        self.lost.fetch_add(1, Ordering::Relaxed);
        tracing::error!("an alert is lost: {why}");
    }

    async fn tried(&self, post: &Signed) -> Result<(), Untaken> {
        let asked = (self.ask)(post.uri.clone(), self.headers(post), post.body.clone());
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(status)) => judged(status),
            Ok(Err(_)) => Err(Untaken::Yet("the webhook cannot be reached".to_owned())),
            Err(_) => Err(Untaken::Yet(
                "the webhook did not answer in time".to_owned(),
            )),
        }
    }

    fn headers(&self, post: &Signed) -> HeaderMap {
        let seconds = self.clock.wall().0 / 1000;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("webhook-timestamp", HeaderValue::from(seconds));
        headers.extend(login(&post.uri).map(|login| (AUTHORIZATION, login)));
        let signature = post.signer.sign(&post.id, seconds, &post.body);
        for (name, value) in [
            ("webhook-id", Some(&*post.id)),
            ("webhook-signature", signature.as_deref()),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// What an address says of who asks, as `http://name:password@host`: whoever dials leaves it out.
fn login(uri: &Uri) -> Option<HeaderValue> {
    let (login, _) = uri.authority()?.as_str().rsplit_once('@')?;
    let mut value =
        HeaderValue::try_from(format!("Basic {}", BASE64.encode(unescaped(login)))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Undoes `%40` and its like; what is none stays.
fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.split_at_checked(2);
        let byte = code.and_then(|(code, rest)| Some((u8::from_str_radix(code, 16).ok()?, rest)));
        if let Some((byte, rest)) = byte {
            bytes.push(byte);
            bytes.extend(rest.as_bytes());
        } else {
            bytes.push(b'%');
            bytes.extend(part.as_bytes());
        }
    }
    bytes
}

/// Makes of an alert what is posted.
fn signed(post: &Post) -> Result<Signed, &'static str> {
    let address = post.settings.webhook_url.as_ref();
    let uri = address.and_then(|address| address.expose().parse::<Uri>().ok());
    let signer = Signer::new(&post.settings.signing_keys).ok();
    let (uri, signer) = uri
        .zip(signer)
        .ok_or("`alerts.webhook_url` or a key cannot be used")?;
    let id: [u8; 16] = mcpproxy_mcp::seal::random().unwrap_or_default();
    Ok(Signed {
        uri,
        signer,
        id: format!("msg_{:032x}", u128::from_be_bytes(id)),
        body: Bytes::from(post.alert.to_string()),
        until: post.made + GIVEN_UP,
    })
}

/// Tells what an answer says of an alert. One that is refused today is refused in ten minutes as well,
/// unless it came too slowly or among too many.
fn judged(status: StatusCode) -> Result<(), Untaken> {
    let why = || format!("the webhook answered {status}");
    match status {
        _ if status.is_success() => Ok(()),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(Untaken::Yet(why())),
        _ if status.is_client_error() => Err(Untaken::Ever(why())),
        _ => Err(Untaken::Yet(why())),
    }
}
