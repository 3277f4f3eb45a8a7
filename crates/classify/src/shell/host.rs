//! The host that an address names, in the spellings that programs take.

use super::value::{Taint, Value};

/// Gives the host of a URL, of `user@host:path` or of `host:port`, lower case.
///
/// A host of which only the end is known (`$().example.com`) is given by that end.
pub(super) fn host_of(address: &str) -> Option<String> {
    let address = address.trim();
    let rest = match address.split_once("://") {
        Some((_, rest)) => rest,
        // `https:\host` and `//host` are read as URLs by most programs.
        None => address.trim_start_matches(['/', '\\']),
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        // Many colons without brackets are an IPv6 address.
        None if host.matches(':').count() > 1
            && host
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b':') =>
        {
            host
        }
        None => host.split(':').next().unwrap_or_default(),
    };
    fixed(host)
}

/// Gives where that of an address comes from which is no login: in `https://$TOKEN@host/` nothing is.
pub(super) fn past_login(address: &Value) -> Taint {
    let rest = address.text.split_once("://").map(|(_, rest)| rest);
    let login = rest.and_then(|rest| {
        let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        rest.get(..authority)?.rfind('@')
    });
    // What is not known of a text stands in it as a name or a hole.
    let known = |at: usize| {
        rest.and_then(|rest| rest.get(at..))
            .is_some_and(|rest| !rest.contains('$'))
    };
    if login.is_some_and(known) {
        return Taint::default();
    }
    address.taint
}

/// Gives what is fixed of a host.
fn fixed(host: &str) -> Option<String> {
    let known = match host.rfind(['$', '%']) {
        Some(hole) => host.get(hole..)?.split_once('.')?.1,
        None => host,
    };
    let known = known.trim_end_matches('.');
    let sane = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':');
    (!known.is_empty() && known.len() <= 255 && known.chars().all(sane))
        .then(|| known.to_lowercase())
}

/// Says whether a word is a URL with a scheme that reaches another machine.
pub(super) fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty()
            && scheme.len() < 16
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && !scheme.eq_ignore_ascii_case("file")
            && !rest.is_empty()
    })
}

/// Splits `[user@]host:path`, or a path into an object store, from a local path.
pub(super) fn remote_of(text: &str) -> Option<String> {
    if let Some((scheme, rest)) = text.split_once("://") {
        let bucket = rest.split('/').next().unwrap_or_default();
        return match scheme.to_ascii_lowercase().as_str() {
            "file" => None,
            "s3" => Some(format!("{}.s3.amazonaws.com", fixed(bucket)?)),
            "gs" => Some(format!("{}.storage.googleapis.com", fixed(bucket)?)),
            _ => host_of(text),
        };
    }
    let (host, _) = text.split_once(':')?;
    // A slash before the colon makes it a path; one letter is a drive.
    if host.contains(['/', '\\']) || (host.len() == 1 && host != "$") {
        return None;
    }
    host_of(host)
}

/// Says whether a word names a remote place.
pub(super) fn is_remote(text: &str) -> bool {
    if text.contains("://") {
        return is_url(text);
    }
    text.split_once(':')
        .is_some_and(|(host, _)| !host.contains(['/', '\\']) && host.len() > 1)
}

/// Says whether a word looks like the path of a file.
pub(super) fn looks_like_path(text: &str) -> bool {
    !is_url(text)
        && !text.contains(['\n', '|', ';'])
        && text.len() < 4096
        && (text.starts_with(['/', '~', '.'])
            || text.contains('/')
            || text.contains(":\\")
            || text.rsplit_once('.').is_some_and(|(stem, end)| {
                !stem.is_empty()
                    && (1..=5).contains(&end.len())
                    && end.bytes().all(|b| b.is_ascii_alphanumeric())
                    && !end.bytes().all(|b| b.is_ascii_digit())
            }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let check = |address: &str, expect: Option<&str>| {
            assert_eq!(host_of(address).as_deref(), expect, "{address}");
        };
        check("https://Example.com/a?b", Some("example.com"));
        check("https://user:pw@example.com:8443/", Some("example.com"));
        check("https://good.example@evil.example/", Some("evil.example"));
        check("example.com", Some("example.com"));
        check("user@example.com:path", Some("example.com"));
        check("http://[::1]:80/x", Some("::1"));
        check("2001:db8::1", Some("2001:db8::1"));
        check("10.0.0.1:4444", Some("10.0.0.1"));
        check("$().evil.example", Some("evil.example"));
        check("$HOST", None);
        check("https://$HOST/x", None);
        check("", None);
    }

    #[test]
    fn logins() {
        let check = |address: &str, expect: bool| {
            let address = Value::unknown(address, Taint::of(0));
            assert_eq!(past_login(&address).is_empty(), expect, "{}", address.text);
        };
        check("https://$TOKEN@host.example/x", true);
        check("https://me:$TOKEN@host.example", true);
        check("https://me:$TOKEN@host.example/$TOKEN", false);
        check("https://host.example/$TOKEN@x", false);
        check("https://host.example/?a=$TOKEN", false);
        check("https://$TOKEN.host.example/", false);
        check("host.example/$()", false);
    }
}
