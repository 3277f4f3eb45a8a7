//! A gRPC service on a loopback port, with tonic's own server behind it where it is sound.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic_prost::ProstCodec;

use super::super::own::wire::{Answer, Batch, Inspection, Nothing};
use super::super::{HealthRequest, HealthResponse};

/// What the service does.
#[derive(Clone)]
pub(super) enum Answers {
    /// Decides.
    Inspect(Result<Answer, Status>),
    /// Says how it is.
    Health(Result<i32, Status>),
    /// Takes batches.
    Observe,
    /// Answers these bytes.
    Raw {
        kind: &'static str,
        body: Bytes,
        status: Option<&'static str>,
    },
    /// Does not answer.
    Never,
}

/// What is kept of the questions.
#[derive(Clone)]
struct Kept {
    seen: Arc<Mutex<Vec<Inspection>>>,
    metadata: Arc<Mutex<BTreeMap<String, String>>>,
    batches: mpsc::UnboundedSender<Batch>,
}

/// A service that runs until it is dropped.
pub(super) struct Running {
    pub(super) endpoint: String,
    pub(super) seen: Arc<Mutex<Vec<Inspection>>>,
    pub(super) metadata: Arc<Mutex<BTreeMap<String, String>>>,
    batches: tokio::sync::Mutex<mpsc::UnboundedReceiver<Batch>>,
    connections: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
    closing: watch::Sender<usize>,
}

impl Running {
    pub(super) async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("grpc://{}", listener.local_addr().unwrap());
        let (sender, batches) = mpsc::unbounded_channel();
        let kept = Kept {
            seen: Arc::default(),
            metadata: Arc::default(),
            batches: sender,
        };
        let (closing, ending) = watch::channel(0);
        let running = Self {
            endpoint,
            seen: Arc::clone(&kept.seen),
            metadata: Arc::clone(&kept.metadata),
            batches: tokio::sync::Mutex::new(batches),
            connections: Arc::default(),
            ended: Arc::default(),
            closing,
        };
        let counts = (Arc::clone(&running.connections), Arc::clone(&running.ended));
        tokio::spawn(accept(listener, answers, kept, counts, ending));
        running
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Closes every connection and waits until they are closed.
    pub(super) async fn hang_up(&self) {
        self.closing.send_modify(|times| *times += 1);
        while self.ended.load(Ordering::SeqCst) < self.connections() {
            tokio::task::yield_now().await;
        }
    }

    /// Waits for the next batch.
    pub(super) async fn batch(&self) -> Batch {
        self.batches.lock().await.recv().await.unwrap()
    }
}

async fn accept(
    listener: TcpListener,
    answers: Answers,
    kept: Kept,
    (connections, ended): (Arc<AtomicUsize>, Arc<AtomicUsize>),
    mut ending: watch::Receiver<usize>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            changed = ending.changed() => match changed {
                Ok(()) => continue,
                Err(_dropped) => return,
            },
        };
        let (stream, _) = accepted.unwrap();
        connections.fetch_add(1, Ordering::SeqCst);
        let (answers, kept, ended) = (answers.clone(), kept.clone(), Arc::clone(&ended));
        let mut ending = ending.clone();
        tokio::spawn(async move {
            let service = service_fn(move |question| {
                let (answers, kept) = (answers.clone(), kept.clone());
                async move { Ok::<_, Infallible>(answer(&answers, &kept, question).await) }
            });
            let serving = http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                served = serving => drop(served),
                changed = ending.changed() => drop(changed),
            }
            ended.fetch_add(1, Ordering::SeqCst);
        });
    }
}

async fn answer(answers: &Answers, kept: &Kept, question: Request<Incoming>) -> Response<Body> {
    match answers.clone() {
        Answers::Inspect(answer) => {
            let headers = question.headers().iter();
            let headers = headers.map(|(name, value)| {
                (
                    name.to_string(),
                    value.to_str().unwrap_or_default().to_owned(),
                )
            });
            *kept.metadata.lock().unwrap() = headers.collect();
            let seen = Arc::clone(&kept.seen);
            let decide = move |inspection: Inspection| {
                seen.lock().unwrap().push(inspection);
                answer.clone()
            };
            unary(question, decide).await
        }
        Answers::Health(status) => {
            let answer =
                move |_: HealthRequest| status.clone().map(|status| HealthResponse { status });
            unary(question, answer).await
        }
        Answers::Observe => {
            let batches = kept.batches.clone();
            let take = move |batch: Batch| {
                batches.send(batch).unwrap();
                Ok(Nothing {})
            };
            unary(question, take).await
        }
        Answers::Raw { kind, body, status } => raw(kind, body, status),
        Answers::Never => pending().await,
    }
}

/// Answers bytes with a status behind them, as gRPC does, but whichever.
fn raw(kind: &'static str, body: Bytes, status: Option<&'static str>) -> Response<Body> {
    let mut trailers = HeaderMap::new();
    if let Some(status) = status {
        trailers.insert("grpc-status", HeaderValue::from_static(status));
    }
    let body = Full::new(body).with_trailers(ready(Some(Ok(trailers))));
    let answer = Response::builder().header("content-type", kind);
    answer.body(Body::new(body)).unwrap()
}

/// One method in tonic's server.
struct Method<F>(F);

impl<Q, A, F: FnMut(Q) -> Result<A, Status>> UnaryService<Q> for Method<F> {
    type Response = A;
    type Future = Ready<Result<tonic::Response<A>, Status>>;

    fn call(&mut self, request: tonic::Request<Q>) -> Self::Future {
        ready((self.0)(request.into_inner()).map(tonic::Response::new))
    }
}

async fn unary<Q, A>(
    question: Request<Incoming>,
    answer: impl FnMut(Q) -> Result<A, Status>,
) -> Response<Body>
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
{
    let codec = ProstCodec::<A, Q>::default();
    Grpc::new(codec).unary(Method(answer), question).await
}
