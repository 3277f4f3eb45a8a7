//! What every answer has to keep to, whatever the wire.

use http::{HeaderName, HeaderValue};
use serde::de::IgnoredAny;

use mcpproxy_core::security::{HookFault, SecurityDecision, SecurityModification};

use crate::subject::Phase;

/// Takes a modification that fits what was asked about and changes something.
///
/// Whether the new parameters or result are JSON is not looked at: where they are not, the
/// registry denies the message, which a fault would not do for a hook that fails open.
pub(crate) fn modified(
    change: SecurityModification,
    phase: Phase,
) -> Result<SecurityDecision, HookFault> {
    let fits = match phase {
        Phase::Request | Phase::Notification | Phase::Reverse => change.modified_response.is_none(),
        Phase::Response | Phase::Listing => {
            change.modified_request.is_none() && change.added_headers.is_empty()
        }
    };
    if !fits {
        return Err(garbage("the modification does not fit the phase"));
    }
    if !change.added_headers.iter().all(sound) {
        return Err(garbage("a header of the modification is none"));
    }
    if change == SecurityModification::default() {
        return Err(garbage("the modification changes nothing"));
    }
    Ok(SecurityDecision::AllowWithModification(change))
}

/// Takes text that has to be JSON.
pub(crate) fn json(text: Option<String>) -> Result<Option<Box<str>>, HookFault> {
    let Some(text) = text else {
        return Ok(None);
    };
    match serde_json::from_str::<IgnoredAny>(&text) {
        Ok(IgnoredAny) => Ok(Some(text.into())),
        Err(_) => Err(garbage("a text that has to be JSON is not")),
    }
}

fn sound((name, value): &(String, String)) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
}

fn garbage(why: &str) -> HookFault {
    HookFault::Garbage(why.to_owned())
}
