//! What one downstream said so far: its handshake, its requests under way, its open questions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

use mcpproxy_mcp::envelope::{Envelope, EnvelopeRefusal};
use mcpproxy_mcp::era::{
    Era, INTERNAL_ERROR, INVALID_REQUEST, MODERN_VERSIONS, UNSUPPORTED_VERSION,
};
use mcpproxy_mcp::{Frame, FrameKind, compose};
use mcpproxy_text as text;
use serde_json::{Value, json};

use super::dispatch;
use super::exchange::{Answer, Exchange, Fault, Flight, Outcome, Waited};
use super::outlet::Outlet;
use super::service::Service;
use crate::lock;

/// The most requests of one conversation that are under way at once.
const MOST_FLIGHTS: usize = 64;
/// How long a question may stay without an answer.
const QUESTION_PATIENCE: std::time::Duration = std::time::Duration::from_mins(5);

/// Whether the conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It does.
    Continue,
    /// The sample was told to crash.
    Crash,
}

/// One downstream's conversation with a sample.
pub(crate) struct Conversation {
    pub(crate) service: Arc<Service>,
    pub(crate) number: u64,
    /// Where messages go that belong to no request.
    pub(crate) home: Arc<dyn Outlet>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The capabilities that a legacy downstream declared, once it did.
    opened: Option<String>,
    /// The least severe level that a legacy downstream wants to be logged.
    log_level: usize,
    flights: HashMap<String, Arc<Exchange>>,
    questions: HashMap<String, Arc<Flight>>,
}

impl Conversation {
    /// Opens a conversation.
    pub(crate) fn open(service: &Arc<Service>, home: Arc<dyn Outlet>) -> Arc<Self> {
        Arc::new(Self {
            service: Arc::clone(service),
            number: service.number(),
            home,
            state: Mutex::default(),
        })
    }

    /// Takes one message; what it is answered with goes to `outlet`.
    pub(crate) fn take(self: &Arc<Self>, frame: Frame, outlet: &Arc<dyn Outlet>) -> Step {
        match frame.kind() {
            FrameKind::Request => return self.request(frame, outlet),
            FrameKind::Notification => self.notified(&frame),
            FrameKind::Result | FrameKind::Error => {
                let id = frame.id().unwrap_or_default();
                if let Some(flight) = lock(&self.state).questions.remove(id) {
                    flight.answer(frame);
                }
            }
        }
        Step::Continue
    }

    /// Ends everything that is under way.
    pub(crate) fn close(&self) {
        self.service.listeners.remove_all(self.number);
        let flights = std::mem::take(&mut lock(&self.state).flights);
        for exchange in flights.into_values() {
            exchange.flight.cancel();
        }
    }

    /// Notes that a legacy downstream opened the conversation.
    pub(crate) fn opened(&self, capabilities: &str) {
        lock(&self.state).opened = Some(capabilities.to_owned());
    }

    /// Sets the least severe level that is logged in the legacy era.
    pub(crate) fn set_log_level(&self, level: usize) {
        lock(&self.state).log_level = level;
    }

    /// Returns the least severe level that is logged in the legacy era.
    pub(crate) fn log_level(&self) -> usize {
        lock(&self.state).log_level
    }

    /// Puts a question to a legacy downstream and waits for the answer.
    pub(crate) fn ask(&self, exchange: &Exchange, method: &str, params: &Value) -> Waited {
        let id = compose::quoted(&format!("question-{}", self.service.number()));
        let flight = Arc::clone(&exchange.flight);
        lock(&self.state).questions.insert(id.clone(), flight);
        let question = compose::request(&id, method, &params.to_string());
        exchange.outlet.put(question);
        let waited = exchange.flight.wait(QUESTION_PATIENCE);
        lock(&self.state).questions.remove(&id);
        waited
    }

    fn request(self: &Arc<Self>, frame: Frame, outlet: &Arc<dyn Outlet>) -> Step {
        let era = self.service.era(&frame);
        let capabilities = match self.greeting(&frame, era) {
            Ok(capabilities) => capabilities,
            Err(fault) => {
                outlet.finish(fault.compose(frame.id().unwrap_or("null")));
                return Step::Continue;
            }
        };
        let exchange = Arc::new(Exchange {
            frame,
            era,
            capabilities,
            conversation: Arc::clone(self),
            outlet: Arc::clone(outlet),
            flight: Arc::default(),
        });
        match dispatch::answer(&exchange) {
            Outcome::Now(answer) => exchange.reply(answer),
            Outcome::Later(job) => self.launch(&exchange, job),
            Outcome::Never => {
                if let Err(fault) = self.depart(&exchange) {
                    self.unsubscribe(&exchange);
                    exchange.reply(Err(fault));
                }
            }
            Outcome::Crash => return Step::Crash,
        }
        Step::Continue
    }

    /// Returns what the sender of a request declared that it can do, or why it is not heard.
    fn greeting(&self, frame: &Frame, era: Era) -> Result<String, Fault> {
        let method = &**frame.method();
        match era {
            Era::Legacy => {
                // What may come before the handshake: itself, a sign of life, and the question of
                // a modern downstream, which then learns that the method is unknown.
                let early = matches!(method, "initialize" | "ping" | "server/discover");
                let opened = lock(&self.state).opened.clone();
                match opened {
                    Some(capabilities) => Ok(capabilities),
                    None if early => Ok("{}".to_owned()),
                    None => Err(Fault::protocol(
                        INVALID_REQUEST,
                        "`initialize` must come first",
                    )),
                }
            }
            Era::Modern if method == "initialize" => Err(unsupported(frame)),
            Era::Modern => {
                let envelope = Envelope::read(frame).map_err(refused)?;
                Envelope::check_version(&envelope.version, frame.id()).map_err(refused)?;
                Ok(envelope.capabilities)
            }
        }
    }

    fn notified(&self, frame: &Frame) {
        if &**frame.method() != "notifications/cancelled" {
            return;
        }
        let Some((id, _)) = text::get(frame.params(), &["requestId"]) else {
            return;
        };
        let exchange = lock(&self.state).flights.remove(id);
        if let Some(exchange) = exchange {
            self.unsubscribe(&exchange);
            exchange.flight.cancel();
        }
    }

    fn unsubscribe(&self, exchange: &Exchange) {
        self.service
            .listeners
            .remove(self.number, &exchange.id_value());
    }

    /// Runs a request on a thread of its own.
    fn launch(self: &Arc<Self>, exchange: &Arc<Exchange>, job: fn(&Exchange) -> Option<Answer>) {
        if let Err(fault) = self.depart(exchange) {
            return exchange.reply(Err(fault));
        }
        let (conversation, flying) = (Arc::clone(self), Arc::clone(exchange));
        let work = move || {
            let answer = job(&flying);
            conversation.land(&flying);
            if let Some(answer) = answer {
                flying.reply(answer);
            }
        };
        let started = thread::Builder::new()
            .name("sample-call".to_owned())
            .spawn(work);
        if let Err(fault) = started {
            self.land(exchange);
            let why = format!("no thread for the call: {fault}");
            exchange.reply(Err(Fault::protocol(INTERNAL_ERROR, why)));
        }
    }

    fn depart(&self, exchange: &Arc<Exchange>) -> Result<(), Fault> {
        let mut state = lock(&self.state);
        if state.flights.len() >= MOST_FLIGHTS {
            let why = format!("{MOST_FLIGHTS} requests are under way already");
            return Err(Fault::protocol(INTERNAL_ERROR, why));
        }
        if state.flights.contains_key(exchange.id()) {
            return Err(Fault::protocol(INVALID_REQUEST, "the id is in use"));
        }
        let id = exchange.id().to_owned();
        state.flights.insert(id, Arc::clone(exchange));
        Ok(())
    }

    fn land(&self, exchange: &Exchange) {
        lock(&self.state).flights.remove(exchange.id());
    }
}

fn refused(refusal: EnvelopeRefusal) -> Fault {
    Fault::Protocol {
        code: refusal.refusal.code,
        message: refusal.refusal.message,
        data: refusal.data.map(|data| *data),
    }
}

/// Refuses the handshake where only the era without one is spoken.
fn unsupported(frame: &Frame) -> Fault {
    let requested = frame.parameter(&["protocolVersion"]).unwrap_or_default();
    Fault::Protocol {
        code: UNSUPPORTED_VERSION,
        message: format!("protocol version `{requested}` is not supported"),
        data: Some(json!({ "requested": requested, "supported": MODERN_VERSIONS })),
    }
}
