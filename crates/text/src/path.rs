//! Paths in one form, whatever system or shell spelled them. Purely by their text: links and the
//! folder a program runs in are not known here.

use std::borrow::Cow;

/// Spellings of the home folder at the start of a path, in lower case, longest first.
const HOMES: [&str; 12] = [
    "$env:userprofile",
    "%homedrive%%homepath%",
    "%userprofile%",
    "${userprofile}",
    "$userprofile",
    "%homepath%",
    "$env:home",
    "${home}",
    "$(home)",
    "%home%",
    "$home",
    "~",
];
/// Folders of Windows inside the home folder.
const INSIDE: [(&str, &str); 4] = [
    ("%localappdata%", "~/AppData/Local"),
    ("$env:localappdata", "~/AppData/Local"),
    ("%appdata%", "~/AppData/Roaming"),
    ("$env:appdata", "~/AppData/Roaming"),
];

/// Brings a path to one form: slashes, no `.` and `..`, and `~` for anybody's home folder.
///
/// `C:\Users\ann\.aws\credentials`, `$HOME/.aws/./credentials`, `file:///home/ada/.aws/credentials`
/// and `~/.ssh/../.aws/credentials` all become `~/.aws/credentials`.
pub fn normal(path: &str) -> String {
    let path = path.trim().trim_matches(['"', '\'', '`']);
    let path = from_url(path);
    let path = path.replace('\\', "/");
    let path = path.strip_prefix("//?/").unwrap_or(&path);
    let path = path
        .strip_prefix("/proc/self/root")
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(path);
    home(&resolved(path))
}

/// Takes the path out of a `file:` URL.
fn from_url(path: &str) -> Cow<'_, str> {
    let Some((_, rest)) = path
        .split_once(':')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file"))
    else {
        return Cow::Borrowed(path);
    };
    let rest = match rest.strip_prefix("//") {
        Some(authority) => authority
            .find('/')
            .and_then(|at| authority.get(at..))
            .unwrap_or_default(),
        None => rest,
    };
    let decoded = crate::decode::percent_decoded(rest.as_bytes());
    let decoded = String::from_utf8_lossy(&decoded).into_owned();
    // `/C:/Users` is how a URL spells a drive.
    let drive = decoded.strip_prefix('/').filter(|rest| is_drive(rest));
    Cow::Owned(drive.map(str::to_owned).unwrap_or(decoded))
}

fn is_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Replaces a spelling of a home folder at the start by `~`.
fn home(path: &str) -> String {
    let starts = |prefix: &str| {
        let (front, rest) = path.split_at_checked(prefix.len())?;
        let ends = rest.is_empty() || rest.starts_with('/');
        (front.eq_ignore_ascii_case(prefix) && ends).then_some(rest)
    };
    for (prefix, place) in INSIDE {
        if let Some(rest) = starts(prefix) {
            return format!("{place}{rest}");
        }
    }
    if let Some(rest) = HOMES.iter().find_map(|prefix| starts(prefix)) {
        return format!("~{rest}");
    }
    if let Some(rest) = starts("/root") {
        return format!("~{rest}");
    }
    somebodys(path).unwrap_or_else(|| path.to_owned())
}

/// Reads `/home/ada/x`, `/Users/ann/x`, `C:/Users/ann/x`, `/mnt/c/Users/ann/x` and `~ann/x`.
fn somebodys(path: &str) -> Option<String> {
    let lower = path.to_ascii_lowercase();
    let bare = if is_drive(&lower) {
        lower.get(2..)?
    } else {
        &lower
    };
    let front = [
        "/home/",
        "/users/",
        "/var/users/",
        "/mnt/c/users/",
        "/c/users/",
        "/documents and settings/",
    ];
    let front = front.iter().find(|front| bare.starts_with(**front));
    let skip = match front {
        Some(front) => front.len() + (lower.len() - bare.len()),
        None if path.starts_with('~') => 1,
        None => return None,
    };
    let rest = path.get(skip..)?;
    let user = rest.find('/').unwrap_or(rest.len());
    let named = user > 0 && !rest.starts_with('.');
    named.then(|| format!("~{}", rest.get(user..).unwrap_or_default()))
}

/// Takes out empty steps, `.` and, where something stands before it, `..`.
fn resolved(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match (step, steps.last()) {
            ("" | ".", _) => {}
            ("..", None) if rooted => {}
            ("..", Some(&last)) if !stays(last) => {
                steps.pop();
            }
            _ => steps.push(step),
        }
    }
    let joined = steps.join("/");
    if rooted { format!("/{joined}") } else { joined }
}

/// Tells whether a step stands for more than one, so that `..` behind it cannot be taken out.
fn stays(step: &str) -> bool {
    step == ".." || step.starts_with(['~', '$', '%']) || is_drive(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_place_becomes_one() {
        let check = |path: &str, expect: &str| assert_eq!(normal(path), expect, "{path}");
        for path in [
            "~/.aws/credentials",
            "$HOME/.aws/credentials",
            "${HOME}/.aws//credentials",
            "%USERPROFILE%\\.aws\\credentials",
            "$env:USERPROFILE\\.aws\\credentials",
            "C:\\Users\\ann\\.aws\\credentials",
            "\\\\?\\C:\\Users\\ann\\.aws\\credentials",
            "/mnt/c/Users/ann/.aws/credentials",
            "/home/ada/.aws/credentials",
            "/home/ada/../bob/.aws/./credentials",
            "/Users/ann/x/../.aws/credentials",
            concat!("/root", "/.aws/credentials"),
            "~ann/.aws/credentials",
            "file:///home/ada/.aws/credentials",
            "file://localhost/home/ada/%2Eaws/credentials",
            "file:///C:/Users/ann/.aws/credentials",
            "\"~/.ssh/../.aws/credentials\"",
            "/proc/self/root/home/ada/.aws/credentials",
        ] {
            check(path, "~/.aws/credentials");
        }
        check("/etc/../etc/./shadow", "/etc/shadow");
        check("/../../etc/passwd", "/etc/passwd");
        check("../../x", "../../x");
        check("a/b/../c", "a/c");
        check("~/../x", "~/../x");
        check("$HOME/../x", "~/../x");
        check("%APPDATA%\\gcloud", "~/AppData/Roaming/gcloud");
        check("/home/", "/home");
        check("", "");
        check("~", "~");
        check("file:", "");
        check("C:\\..\\x", "C:/../x");
        check("é/../ü", "ü");
    }
}
