//! What was found out about who may know of what: lists ask the same again and again.
//!
//! Answers hold for as long as the policies do, since policies see neither a clock nor anything
//! else that changes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mcpproxy_core::{AccessRequest, Claims};

/// Answers that are kept. Past that all are forgotten, and found out anew.
const MOST: usize = 50_000;
/// The longest question whose answer is kept.
const LONGEST: usize = 1024;

/// Answers by the question, without its arguments.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<HashMap<String, bool>>);

impl Remembered {
    /// Returns what is known, or finds it out.
    pub(crate) fn or_ask(&self, request: &AccessRequest<'_>, ask: impl FnOnce() -> bool) -> bool {
        let key = key(request);
        if let Some(known) = self.lock().get(&key) {
            return *known;
        }
        let answer = ask();
        if key.len() <= LONGEST {
            let mut answers = self.lock();
            if answers.len() >= MOST {
                answers.clear();
            }
            answers.insert(key, answer);
        }
        answer
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything that an answer depends on. Printed with quotes, so that no two questions read alike.
fn key(request: &AccessRequest<'_>) -> String {
    let none = Claims::default();
    let Claims {
        subject,
        roles,
        scopes,
        attributes,
        // A credential that has ended is not let in.
        until: _,
    } = request.who.claims.as_deref().unwrap_or(&none);
    let thing = (
        request.kind,
        request.upstream,
        request.name,
        request.operation,
    );
    let who = (
        request.who.kind,
        &request.who.name,
        subject,
        roles,
        scopes,
        attributes,
    );
    format!("{thing:?}{who:?}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcpproxy_core::{OfferKind, Operation, Principal};

    use super::*;

    #[test]
    fn an_answer_is_only_for_the_very_same_question() {
        let remembered = Remembered::default();
        let check = |change: &dyn Fn(&mut AccessRequest<'_>, &mut Claims), known: bool| {
            let mut claims = Claims::default();
            let mut who = Principal::agent("token:a");
            let blank = Principal::local();
            let mut request = AccessRequest {
                who: &blank,
                kind: OfferKind::Tool,
                upstream: "git",
                name: "log",
                operation: Some(Operation::Read),
                arguments: "{}",
            };
            change(&mut request, &mut claims);
            who.claims = Some(Arc::new(claims));
            request.who = &who;
            let mut asked = false;
            remembered.or_ask(&request, || {
                asked = true;
                true
            });
            assert_eq!(!asked, known);
        };
        check(&|_, _| {}, false);
        check(&|_, _| {}, true);
        check(&|request, _| request.arguments = "{\"a\":1}", true);
        check(&|request, _| request.name = "push", false);
        check(&|request, _| request.upstream = "hub", false);
        check(&|request, _| request.kind = OfferKind::Prompt, false);
        check(&|request, _| request.operation = None, false);
        check(&|_, claims| claims.roles.push("a".to_owned()), false);
        check(&|_, claims| claims.scopes.push("a".to_owned()), false);
        check(&|_, claims| claims.roles.push("a\", \"b".to_owned()), false);
        let two = |_: &mut AccessRequest<'_>, claims: &mut Claims| {
            claims.roles = vec!["a".to_owned(), "b".to_owned()];
        };
        check(&two, false);
        check(&two, true);
    }
}
