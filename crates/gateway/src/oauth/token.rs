//! One access token (RFC 7519, RFC 9068): read, verified, and what it says about its holder.
//!
//! Pure: keys and time are handed in. What is wrong is said in fixed words, nothing of the token is
//! repeated.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mcpproxy_core::{Claims, Wall};
use mcpproxy_text::{self as text, Limits};
use serde_json::Value;

use super::keys::{Algorithm, Key};
use super::metadata::is_audience;
use super::settings::OauthSettings;

/// The longest token.
const LONGEST: usize = 16 * 1024;
/// The deepest claims.
const DEPTH: usize = 16;
/// Roles, scopes and the like of one token.
const MOST: usize = 256;
/// The longest name of a holder, a role, a scope or an attribute's value, in bytes.
const LONGEST_NAME: usize = 256;

/// A token that is not verified yet.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub(crate) algorithm: Algorithm,
    pub(crate) key: Option<String>,
    signed: &'a str,
    signature: Vec<u8>,
    claims: Value,
}

/// Tells whether a credential looks like a token of an issuer, and not like one of ours.
pub(crate) fn is_token(presented: &str) -> bool {
    presented.split('.').count() == 3
}

impl<'a> Token<'a> {
    /// Takes a token apart.
    pub(crate) fn read(presented: &'a str) -> Result<Self, &'static str> {
        if presented.len() > LONGEST {
            return Err("the token is too long");
        }
        let (signed, signature) = presented.rsplit_once('.').ok_or("this is no token")?;
        let (header, claims) = signed.split_once('.').ok_or("this is no token")?;
        let header = object(header)?;
        if header.get("crit").is_some() {
            return Err("the token has extensions that are not understood");
        }
        let kind = header.get("typ").map(|kind| kind.as_str().unwrap_or(""));
        let access = |kind: &str| {
            let kind = kind.to_ascii_lowercase();
            matches!(kind.as_str(), "jwt" | "at+jwt" | "application/at+jwt")
        };
        if !kind.is_none_or(access) {
            return Err("the token is no access token");
        }
        let algorithm = header.get("alg").and_then(Value::as_str);
        let algorithm = algorithm.and_then(Algorithm::named);
        let key = match header.get("kid") {
            None => None,
            Some(Value::String(key)) if key.len() <= LONGEST_NAME => Some(key.clone()),
            Some(_) => return Err("the token names no key"),
        };
        Ok(Self {
            algorithm: algorithm.ok_or("the token is not signed in a way that is taken here")?,
            key,
            signed,
            signature: BASE64.decode(signature).map_err(|_| "this is no token")?,
            claims: object(claims)?,
        })
    }

    /// Verifies the token and returns what it says about its holder.
    pub(crate) fn verified(
        self,
        key: &Key,
        settings: &OauthSettings,
        now: Wall,
        thumbprint: Option<&str>,
    ) -> Result<Claims, &'static str> {
        if !key.verifies(self.algorithm, self.signed.as_bytes(), &self.signature) {
            return Err("the token's signature is not valid");
        }
        let claims = &self.claims;
        if claims.get("iss").and_then(Value::as_str) != Some(&settings.issuer) {
            return Err("the token is of another issuer");
        }
        if !is_for(claims.get("aud"), settings) {
            return Err("the token is not made for this gateway");
        }
        let leeway = Duration::from(settings.leeway);
        let until = moment(claims.get("exp"))?.ok_or("the token does not say when it ends")?;
        let until = until.after(leeway);
        if until <= now {
            return Err("the token has expired");
        }
        if moment(claims.get("nbf"))?.is_some_and(|begins| begins > now.after(leeway)) {
            return Err("the token is not valid yet");
        }
        if !is_shown_by_its_holder(claims.get("cnf"), thumbprint) {
            return Err("the token is bound to a key that was not shown with it");
        }
        Ok(Claims {
            subject: plain_name(claims.get("sub").and_then(Value::as_str))
                .ok_or("the token names nobody")?,
            roles: names(at(claims, &settings.roles_claim))
                .ok_or("the token's roles are no names")?,
            scopes: names(claims.get("scope").or_else(|| claims.get("scp")))
                .ok_or("the token's scopes are no names")?,
            attributes: attributes(claims, &settings.attribute_claims)
                .ok_or("an attribute in the token is too long")?,
            until: Some(until),
        })
    }
}

/// Reads one part: an object without keys that two readers could read differently.
fn object(part: &str) -> Result<Value, &'static str> {
    let bytes = BASE64.decode(part).map_err(|_| "this is no token")?;
    let limits = Limits { depth: DEPTH };
    let json = text::check(&bytes, limits).map_err(|_| "this is no token")?;
    let value: Value = serde_json::from_str(json).map_err(|_| "this is no token")?;
    if value.is_object() {
        Ok(value)
    } else {
        Err("this is no token")
    }
}

/// Tells whether an audience, one or a list, is this gateway.
fn is_for(audience: Option<&Value>, settings: &OauthSettings) -> bool {
    let is_this = |one: &Value| one.as_str().is_some_and(|one| is_audience(settings, one));
    match audience {
        Some(Value::Array(several)) => several.iter().any(is_this),
        one => one.is_some_and(is_this),
    }
}

/// Tells whether a token that is bound to a certificate came with it (RFC 8705, section 3). One that
/// is bound in another way cannot be told from a stolen one.
fn is_shown_by_its_holder(bound: Option<&Value>, thumbprint: Option<&str>) -> bool {
    let Some(bound) = bound else {
        return true;
    };
    let to = bound.get("x5t#S256").and_then(Value::as_str);
    to.is_some() && to == thumbprint
}

/// Reads a number of seconds, which may have a fraction.
fn moment(claim: Option<&Value>) -> Result<Option<Wall>, &'static str> {
    let Some(claim) = claim else {
        return Ok(None);
    };
    let seconds = claim.as_f64().filter(|seconds| *seconds >= 0.0);
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let millis = seconds.and_then(|seconds| u64::try_from(seconds.as_millis()).ok());
    let wall = millis.map(Wall).ok_or("a time in the token is no time")?;
    Ok(Some(wall))
}

/// Finds a claim; dots lead into it.
fn at<'a>(claims: &'a Value, path: &str) -> Option<&'a Value> {
    // Some issuers have dots in the names themselves, such as those that are addresses.
    let whole = claims.get(path);
    whole.or_else(|| {
        path.split('.')
            .try_fold(claims, |value, step| value.get(step))
    })
}

/// Takes a name that can be written down everywhere.
pub(crate) fn plain_name(given: Option<&str>) -> Option<String> {
    let given = given.filter(|name| (1..=LONGEST_NAME).contains(&name.len()))?;
    let plain = !given.chars().any(char::is_control);
    plain.then(|| given.to_owned())
}

/// Takes names from a list or from words; nothing where something is not a name, since a rule that
/// forbids would miss it.
fn names(claim: Option<&Value>) -> Option<Vec<String>> {
    let given: Vec<Option<&str>> = match claim {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(words)) => words.split_ascii_whitespace().map(Some).collect(),
        Some(Value::Array(list)) => list.iter().map(Value::as_str).collect(),
        Some(_) => return None,
    };
    if given.len() > MOST {
        return None;
    }
    given.into_iter().map(plain_name).collect()
}

/// Takes the named claims that are a single value.
fn attributes(claims: &Value, wanted: &[String]) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    for path in wanted {
        let value: Cow<'_, str> = match at(claims, path) {
            Some(Value::String(value)) => value.into(),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string().into(),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => continue,
        };
        if value.len() > LONGEST_NAME {
            return None;
        }
        found.push((path.clone(), value.into_owned()));
    }
    Some(found)
}
