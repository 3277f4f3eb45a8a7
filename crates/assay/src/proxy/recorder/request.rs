//! Lines on their way to the upstream: which may go, and what is recorded of them before they do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use mcpproxy_mcp::era::{DENIED, INTERNAL_ERROR};
use mcpproxy_mcp::tap::Seen;
use mcpproxy_mcp::{Frame, compose, tap};
use mcpproxy_notary::disclose::Side;
use mcpproxy_notary::guard::{self, SystemFiles, SystemResolver, World};
use mcpproxy_notary::receipt::{
    Call, CallReceipt, Evidence, Mark, Outcome, RequestId, Rule, Ruling, invocation_id,
};
use mcpproxy_notary::{NotaryError, hash};
use mcpproxy_text::{self as text, Limits};
use serde_json::json;

use super::{Fate, Line, Message, Recorder, echoed};
use crate::args::Profile;
use crate::proxy::calls::Open;

/// How long the names in one line may take to resolve, however many calls it holds.
const RESOLVE: Duration = Duration::from_secs(2);
/// The method of calls.
const CALL: &str = "tools/call";
/// Lines of one session that have receipts though nobody can tell what they are: a receipt is much
/// longer than such a line may be, and garbage must not be a cheap way to fill the disk.
const UNREAD: u64 = 1024;
/// What stands in for arguments that are not there.
const NO_ARGUMENTS: &[u8] = b"{}";

/// A call of a line, with its raw id.
struct Asked {
    id: Option<Vec<u8>>,
    call: Call,
}

impl Recorder {
    /// Judges and records a message behind a head. An upstream that does not know heads would read
    /// it as lines, and not as the messages that were judged.
    pub(in crate::proxy) fn headed_request(&self, text: &[u8]) -> Fate {
        if self.heads.load(Ordering::Relaxed) || self.settings.profile == Profile::Audit {
            return self.request(text);
        }
        let mut read = self.read(text);
        read.trouble = Some("a head, which the upstream has not shown to know".to_owned());
        self.decide(&read)
    }

    /// Judges and records a line that is at hand.
    pub(in crate::proxy) fn request(&self, line: &[u8]) -> Fate {
        let mut read = self.read(line);
        // Many readers end a line at either, and would find a second message behind it.
        if memchr::memchr2(b'\r', b'\n', line.trim_ascii()).is_some() {
            read.trouble = Some("a line break inside the message".to_owned());
        }
        let guard = self.settings.profile == Profile::Guard;
        if read.trouble.is_none() && (guard || may_call(&read)) {
            read.trouble = read.text.and_then(fault);
        }
        self.decide(&read)
    }

    pub(super) fn decide(&self, line: &Line<'_>) -> Fate {
        let asked = match self.asked(line) {
            Ok(asked) => asked,
            Err(fault) => return self.unrecorded(fault, line),
        };
        if self.settings.profile == Profile::Guard
            && let Some(reason) = refusal(&asked, line)
        {
            return self.refuse(asked, line, &reason);
        }
        let calls: BTreeSet<Vec<u8>> = asked.iter().filter_map(|one| one.id.clone()).collect();
        for one in asked {
            if let Err(fault) = self.intend(one, line) {
                if self.settings.strict {
                    return self.unrecorded(fault, line);
                }
                self.tell(Some(fault));
            }
        }
        self.follow(line, &calls);
        Fate::Forward
    }

    /// Refuses a line that is too long to go on, in either profile.
    pub(super) fn too_long(&self, line: &Line<'_>) -> Fate {
        match self.asked(line) {
            Ok(asked) => self.refuse(asked, line, line.trouble.as_deref().unwrap_or_default()),
            Err(fault) => self.unrecorded(fault, line),
        }
    }

    /// Makes the calls of a line.
    fn asked(&self, line: &Line<'_>) -> Result<Vec<Asked>, NotaryError> {
        let resolver = SystemResolver::within(RESOLVE);
        line.messages
            .iter()
            .filter(|message| is_call(message))
            .map(|message| self.ask(message, line, &resolver))
            .chain(self.unreadable(line))
            .collect()
    }

    /// Follows what is not among the calls of a line: other requests, and cancellations.
    fn follow(&self, line: &Line<'_>, calls: &BTreeSet<Vec<u8>>) {
        for Message { seen, .. } in &line.messages {
            if seen.is_method("notifications/cancelled") {
                if let Some(id) = &seen.request_id {
                    self.calls().cancel(id, line.tick);
                }
            } else if let (Some(id), Some(_)) = (&seen.id, &seen.method)
                && !seen.is_method(CALL)
                && !calls.contains(id)
            {
                let lost = self.calls().add_other(id, self.line());
                self.overflow(lost);
            }
        }
    }

    /// Records an intent and follows its call.
    fn intend(&self, asked: Asked, line: &Line<'_>) -> Result<(), NotaryError> {
        let Asked { id, mut call } = asked;
        let Some(id) = id else {
            // Nothing will be answered to a call without an id: its end is now.
            let ticket = self.ledger.intent(call)?;
            let after = Duration::ZERO;
            return self.ledger.outcome(ticket, Outcome::Timeout { after }, &[]);
        };
        if self.calls().has(&id) {
            call.marks.push(Mark::DuplicateId);
        }
        let open = Open {
            ticket: self.ledger.intent(call)?,
            since: line.tick,
            cancelled: None,
            refused: false,
            ambiguous: false,
        };
        let lost = self.calls().add_call(&id, self.line(), open);
        self.overflow(lost);
        Ok(())
    }

    /// Records a call that had to make room for others.
    fn overflow(&self, lost: Option<Open>) {
        if let Some(open) = lost {
            self.unanswered(open, None);
        }
    }

    /// Makes the call of a message.
    fn ask(
        &self,
        message: &Message,
        line: &Line<'_>,
        resolver: &SystemResolver,
    ) -> Result<Asked, NotaryError> {
        let seen = &message.seen;
        let mut marks = Vec::new();
        let inline = line.text.map(|text| match seen.arguments.clone() {
            Some(span) => text.get(span).unwrap_or_default(),
            None => NO_ARGUMENTS,
        });
        let keep = &self.settings.keep_arguments;
        let hashed = message.hashed;
        let arguments = self.evidence(inline, hashed, keep, &mut marks);
        let tool = seen.tool();
        let almost = !seen.is_method(CALL);
        let unread = tool.is_none() || almost || seen.doubtful || line.trouble.is_some();
        marks.extend(unread.then_some(Mark::Uninspected));
        marks.extend(line.batch.then_some(Mark::Batch));
        let id = seen.id.clone().filter(|id| id != b"null");
        marks.extend(id.is_none().then_some(Mark::NoId));
        let tool_name = tool.unwrap_or_else(|| {
            let name = lossy(seen.name.as_deref());
            name.trim_matches('"').to_owned()
        });
        let inspected = !marks.contains(&Mark::Uninspected);
        let readable = inline.filter(|_| inspected);
        let ruling = self.judge(&tool_name, readable, line.trouble.as_deref(), resolver);
        let invocation_id = invocation_id()?;
        self.commit(&invocation_id, Side::Arguments, inline);
        let call = Call {
            invocation_id,
            tool_name,
            request_id: RequestId::from_json(id.as_deref().map(|id| lossy(Some(id))).as_deref()),
            observed_at: line.wall,
            arguments,
            ruling,
            marks,
            via: None,
        };
        Ok(Asked { id, call })
    }

    /// Makes a call of a line that is unreadable but may be one to a reader that is less strict, or
    /// that knows another encoding.
    fn unreadable(&self, line: &Line<'_>) -> Option<Result<Asked, NotaryError>> {
        let known = line.messages.iter().any(is_call);
        let doubted = line.trouble.is_some() && !known;
        let named = line.foreign || names_a_call(&line.partial);
        let text = line.text.filter(|text| named || mentions(text));
        let pepper = self.settings.pepper.as_ref();
        let whole = text.map(|text| hash::digest(text, pepper)).or(line.whole);
        let whole = whole.filter(|_| doubted)?;
        if self.unread.fetch_add(1, Ordering::Relaxed) >= UNREAD {
            return self.untold();
        }
        let make = || {
            let rule = self.rule("uninspected", line.trouble.clone());
            let judged = self.settings.policy.is_some();
            // A message that has another method is no call itself, but may hide one.
            let seen = match line.messages.as_slice() {
                [one] if method(&one.seen).is_none() => &one.seen,
                _ => &line.partial,
            };
            let id = seen.id.clone().filter(|id| id != b"null");
            let shown = id.as_deref().map(|id| lossy(Some(id)));
            Ok(Asked {
                id,
                call: Call {
                    invocation_id: invocation_id()?,
                    tool_name: seen.tool().unwrap_or_default(),
                    request_id: RequestId::from_json(shown.as_deref()),
                    observed_at: line.wall,
                    arguments: Evidence::hashed(whole),
                    ruling: if judged {
                        self.denied(rule)
                    } else {
                        Ruling::NoPolicy
                    },
                    marks: vec![Mark::Uninspected],
                    via: None,
                },
            })
        };
        Some(make())
    }

    /// Counts a line that has no receipt because too many before it had one; in strict mode it does
    /// not pass.
    fn untold(&self) -> Option<Result<Asked, NotaryError>> {
        self.ledger.note_lost(1);
        let why = "too many lines that cannot be read".to_owned();
        let fault = NotaryError::Unrecorded(why);
        if self.settings.strict {
            return Some(Err(fault));
        }
        self.tell(Some(fault));
        None
    }

    /// Asks the policy; `arguments` are absent where they could not be read, of which `trouble` may
    /// say why.
    fn judge(
        &self,
        tool: &str,
        arguments: Option<&[u8]>,
        trouble: Option<&str>,
        resolver: &SystemResolver,
    ) -> Ruling {
        let Some(policy) = &self.settings.policy else {
            return Ruling::NoPolicy;
        };
        let read = arguments.and_then(|bytes| text::check(bytes, Limits::default()).ok());
        let Some(arguments) = read else {
            let reason = trouble.unwrap_or("the arguments cannot be read");
            return self.denied(self.rule("uninspected", Some(reason.to_owned())));
        };
        let world = World {
            resolver,
            files: &SystemFiles,
        };
        let ruling = policy.judge(tool, arguments, world);
        match ruling.verdict {
            guard::Verdict::Allowed => Ruling::Allowed(self.rule(&ruling.rule, None)),
            guard::Verdict::Denied => self.denied(self.rule(&ruling.rule, Some(ruling.reason))),
        }
    }

    fn denied(&self, rule: Rule) -> Ruling {
        self.violated.store(true, Ordering::Relaxed);
        Ruling::Denied(rule)
    }

    fn rule(&self, name: &str, reason: Option<String>) -> Rule {
        Rule {
            name: name.to_owned(),
            reason,
            decided_at: self.clock.wall(),
        }
    }

    /// Records that the calls of a line are denied, and answers it.
    fn refuse(&self, asked: Vec<Asked>, line: &Line<'_>, reason: &str) -> Fate {
        let answers_us = |one: &Message| one.seen.result.is_some() || one.seen.error.is_some();
        let first = asked.first().and_then(|asked| asked.id.clone());
        let first = first.filter(|_| !line.messages.iter().any(answers_us));
        let mut rules = BTreeMap::new();
        for Asked { id, call } in asked {
            let rule = match &call.ruling {
                Ruling::Denied(rule) => rule.clone(),
                Ruling::Allowed(_) | Ruling::NoPolicy => {
                    self.rule("uninspected", Some(reason.to_owned()))
                }
            };
            self.denied(rule.clone());
            rules.entry(id).or_insert_with(|| rule.clone());
            let outcome = Outcome::Denied(rule);
            self.tell(self.ledger.call(CallReceipt { call, outcome }).err());
        }
        let answer = &|id: Option<&[u8]>| {
            let rule = rules.get(&id.map(<[u8]>::to_vec));
            let name = rule.map_or("uninspected", |rule| rule.name.as_str());
            let why = rule.and_then(|rule| rule.reason.as_deref());
            let message = format!("denied by policy: {}", why.unwrap_or(reason));
            let data = json!({ "policy_ref": name });
            compose::error(
                id.and_then(echoed).as_deref(),
                DENIED,
                &message,
                Some(&data),
            )
        };
        // What names no method to us may be a call to others, and its caller waits.
        let said = answers(line, answer);
        let said = said.or_else(|| Some(answer(Some(first.as_deref()?)).to_vec()));
        Fate::Refuse(said)
    }

    /// Refuses a line whose calls cannot be recorded.
    pub(super) fn unrecorded(&self, fault: NotaryError, line: &Line<'_>) -> Fate {
        self.tell(Some(fault));
        let message = "the call was not forwarded: its receipt cannot be recorded";
        let answer = |id: Option<&[u8]>| {
            compose::error(
                id.and_then(echoed).as_deref(),
                INTERNAL_ERROR,
                message,
                None,
            )
        };
        Fate::Refuse(answers(line, answer))
    }
}

fn lossy(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

fn method(seen: &Seen) -> Option<String> {
    seen.method.as_deref().and_then(tap::text)
}

/// Tells whether a message is a call to anybody: to us, or to a reader who is less strict.
fn is_call(message: &Message) -> bool {
    names_a_call(&message.seen)
}

/// Tells whether what was seen of a message names the method of calls, to whatever reader.
pub(super) fn names_a_call(seen: &Seen) -> bool {
    method(seen).is_some_and(|method| is_almost(&method))
}

/// Tells whether a line may be a call to anybody.
fn may_call(line: &Line<'_>) -> bool {
    let text = line.text.unwrap_or_default();
    line.messages.iter().any(is_call) || memchr::memmem::find(text, CALL.as_bytes()).is_some()
}

/// Says why a guard does not let a line pass, if it does not.
fn refusal(asked: &[Asked], line: &Line<'_>) -> Option<String> {
    if let Some(trouble) = &line.trouble {
        return Some(trouble.clone());
    }
    let denied = |asked: &Asked| matches!(asked.call.ruling, Ruling::Denied(_));
    if asked.iter().any(denied) {
        return Some("another call of the batch is denied".to_owned());
    }
    let without = asked.iter().any(|asked| asked.id.is_none());
    without.then(|| "a call without an id cannot be answered".to_owned())
}

/// Answers every request of a line that was refused; nothing if there is none.
fn answers(line: &Line<'_>, answer: impl Fn(Option<&[u8]>) -> Bytes) -> Option<Vec<u8>> {
    let with_id = |message: &Message| {
        let seen = &message.seen;
        seen.method
            .as_ref()
            .and(seen.id.clone())
            .filter(|id| id != b"null")
    };
    let ids: Vec<Vec<u8>> = line.messages.iter().filter_map(with_id).collect();
    let all: Vec<Bytes> = ids.iter().map(|id| answer(Some(id))).collect();
    match (line.batch, all.as_slice()) {
        (_, []) if line.trouble.is_some() && line.messages.is_empty() => {
            let id = line
                .partial
                .id
                .as_deref()
                .filter(|id| std::str::from_utf8(id).is_ok());
            Some(answer(id).to_vec())
        }
        (_, []) => None,
        // Several that are no batch stand in one line by mistake; each of their callers waits.
        (false, all) => Some(all.join(&b"\n"[..])),
        (true, all) => Some([b"[", all.join(&b","[..]).as_slice(), b"]"].concat()),
    }
}

/// Says what keeps a line from being read by everybody alike.
fn fault(line: &[u8]) -> Option<String> {
    let checked = match text::check(line, Limits::default()) {
        Ok(checked) if checked.trim().is_empty() => return None,
        Ok(checked) => checked,
        Err(_) if line.trim_ascii().is_empty() => return None,
        Err(fault) => return Some(fault.to_string()),
    };
    let frame = |message: &str| {
        let message = Bytes::copy_from_slice(message.as_bytes());
        match Frame::parse(message, Limits::default()) {
            Ok(frame) => almost_named(frame.method()),
            Err(refusal) => Some(refusal.message),
        }
    };
    if !checked.trim_start().starts_with('[') {
        return frame(checked);
    }
    text::elements(checked).find_map(|span| checked.get(span).and_then(frame))
}

/// Says that a message is a call only to a reader who is lax about its method.
pub(super) fn almost_a_call(seen: &Seen) -> Option<String> {
    method(seen).as_deref().and_then(almost_named)
}

fn almost_named(method: &str) -> Option<String> {
    let almost = method != CALL && is_almost(method);
    almost.then(|| format!("a method that some readers take for `{CALL}`"))
}

/// Tells whether a reader who is lax about case or blanks, or to whom a text ends at a NUL, takes a
/// method for that of calls.
fn is_almost(method: &str) -> bool {
    let blank = |char: char| char == '\0' || char.is_whitespace();
    let front = method.trim_start_matches(blank).split('\0').next();
    text::fold(front.unwrap_or_default().trim_end()) == CALL
}

/// Tells whether a text may name the method of calls, in whatever writing.
pub(super) fn mentions(text: &[u8]) -> bool {
    let tools = |word: &[u8]| word.eq_ignore_ascii_case(b"tools");
    text.windows(5).any(tools) || memchr::memmem::find(text, b"\\u").is_some()
}
