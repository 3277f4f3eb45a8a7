//! Names of passwords, tokens and keys, and what can be the value of one: what is short or looks like
//! a word is no secret by its looks, and is one by its name.

use crate::fold::folded;
use crate::view::is_chance;
use crate::words::{Words, last, trimmed};

use super::{CODED, LONGEST, REACH, SHORTEST, ends_sentence, words_of};

/// Names of what opens something.
static NAMES: Words = Words::new(&[
    "apikey",
    "apisecret",
    "apitoken",
    "authtoken",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "pwd",
    "secret",
    "secretkey",
    "token",
]);

/// Those of what people choose, as words with a digit.
static CHOSEN: Words = Words::new(&["passphrase", "passwd", "password", "pwd"]);

/// Words that make a key one of these.
static OF_KEYS: Words = Words::new(&[
    "access",
    "account",
    "api",
    "auth",
    "encryption",
    "master",
    "private",
    "secret",
    "shared",
    "signing",
]);

/// Words that make a name one of something about a credential, or of a token that opens nothing.
static ABOUT: Words = Words::new(&[
    "age",
    "algorithm",
    "cache",
    "changed",
    "completion",
    "continuation",
    "count",
    "created",
    "csrf",
    "cursor",
    "date",
    "encoding",
    "expected",
    "expires",
    "expiration",
    "expiry",
    "field",
    "file",
    "format",
    "hash",
    "hint",
    "index",
    "input",
    "issued",
    "kind",
    "label",
    "length",
    "limit",
    "max",
    "min",
    "name",
    "next",
    "output",
    "page",
    "path",
    "policy",
    "prompt",
    "public",
    "ref",
    "rotated",
    "salt",
    "size",
    "sync",
    "time",
    "total",
    "ttl",
    "type",
    "unexpected",
    "updated",
    "uri",
    "url",
    "usage",
    "valid",
]);

/// Words that stand for a value, or for how it is written: with digits they are none, either.
static EVERYDAY: Words = Words::new(&[
    "abc",
    "admin",
    "aes",
    "api",
    "arg",
    "argon",
    "args",
    "auth",
    "bar",
    "base",
    "baz",
    "bcrypt",
    "bearer",
    "bytes",
    "change",
    "changeit",
    "changeme",
    "char",
    "column",
    "default",
    "demo",
    "dummy",
    "ed",
    "empty",
    "es",
    "example",
    "fake",
    "false",
    "field",
    "float",
    "foo",
    "fill",
    "guest",
    "hash",
    "here",
    "hidden",
    "hmac",
    "hs",
    "id",
    "in",
    "input",
    "insert",
    "int",
    "item",
    "key",
    "latin",
    "line",
    "masked",
    "md",
    "me",
    "mock",
    "my",
    "nil",
    "none",
    "null",
    "oauth",
    "param",
    "pass",
    "pbkdf",
    "pem",
    "placeholder",
    "ps",
    "redacted",
    "replace",
    "root",
    "row",
    "rs",
    "rsa",
    "sample",
    "scrypt",
    "sha",
    "some",
    "step",
    "str",
    "string",
    "temp",
    "test",
    "text",
    "this",
    "tmp",
    "todo",
    "totp",
    "true",
    "uint",
    "undefined",
    "unknown",
    "user",
    "utf",
    "uuid",
    "value",
    "var",
    "varchar",
    "version",
    "with",
    "your",
]);

/// Tells whether a name is that of a credential.
pub(super) fn is_name(name: &str) -> bool {
    let (mut names, mut key, mut of_key, mut about) = (false, false, false, false);
    words_of(name, |word| {
        names |= NAMES.has_bytes(word);
        key |= word.eq_ignore_ascii_case(b"key");
        of_key |= OF_KEYS.has_bytes(word);
        about |= ABOUT.has_bytes(word);
    });
    !about && (names || key && of_key)
}

/// Returns the name of a credential that tells of what comes next: it stands right before that, or
/// in front of the last `is`.
pub(super) fn told(before: &str) -> Option<String> {
    let mut words = last(before).map(trimmed).filter(|word| !word.is_empty());
    let words = words.by_ref();
    let first = words.next()?;
    let (first, reach) = if first == "is" {
        (words.next()?, REACH)
    } else {
        (first, 1)
    };
    let mut later = first;
    if is_name(later) {
        return Some(later.to_owned());
    }
    let rest = words.take(reach).take_while(|word| !ends_sentence(word));
    for word in rest {
        let both = [word, " ", later].concat();
        if is_name(&both) {
            return Some(both);
        }
        later = word;
    }
    None
}

/// Tells whether a value may be what a credential of this name is.
pub(super) fn is_value(name: &str, value: &str) -> bool {
    let sign = |byte: &u8| b"-_!@#%^*+?~=".contains(byte);
    if !value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || sign(&byte))
        || is_everyday(value)
    {
        return false;
    }
    let symbols = folded(value);
    let digits = symbols.iter().filter(|one| one.is_ascii_digit()).count();
    let mut chosen = false;
    words_of(name, |word| chosen |= CHOSEN.has_bytes(word));
    let mixed = digits >= 2 && digits < symbols.len() || digits >= CODED;
    let word = chosen && digits == 1 && symbols.len() >= CODED;
    let chance = symbols.len() >= CODED && is_chance(value);
    (SHORTEST..=LONGEST).contains(&symbols.len()) && (mixed || word || chance)
}

/// Tells whether all words of a value are those that stand for one.
fn is_everyday(value: &str) -> bool {
    let bytes = value.as_bytes();
    let words = bytes.split(|byte| !byte.is_ascii_alphabetic());
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let one = |word: &[u8]| word.iter().all(|byte| Some(byte) == word.first());
    words.peek().is_some()
        && words.all(|word| {
            EVERYDAY.has_bytes(word) || NAMES.has_bytes(word) || one(word) && word.len() > 1
        })
}
