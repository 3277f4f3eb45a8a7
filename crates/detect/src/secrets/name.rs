//! What the name of a field or variable says about its value.

/// What a name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// A password, which people choose.
    Password,
    /// A password of a database.
    DatabasePassword,
    /// A key or token, which machines make.
    Secret,
    /// A key of something, which may as well be one of a table.
    Key,
}

/// What the last word of a name calls its value, if it is a secret and nothing beside one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A password.
    Password,
    /// A secret, or a key that opens an interface.
    Key,
    /// A token, which elsewhere is a place in a sequence and may be a moment.
    Token,
}

/// Words that name a password.
const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "pass",
    "pw",
    "psw",
    "passwort",
    "kennwort",
    "senha",
    "contrasena",
    "contraseña",
    "contrasenya",
    "parola",
    "haslo",
    "wachtwoord",
    "mdp",
    "motdepasse",
    "passord",
    "losenord",
    "lösenord",
    "salasana",
    "sifre",
    "şifre",
    "clave",
    "hasło",
    "heslo",
    "lozinka",
    "zaporka",
    "geslo",
    "jelszó",
    "jelszo",
    "parolă",
    "adgangskode",
    "kodeord",
    "slaptažodis",
    "parool",
    "пароль",
    "парола",
    "лозинка",
    "סיסמה",
    "סיסמא",
];
/// Words that name one together.
const PASSWORD_PHRASES: &[&[&str]] = &[
    &["mot", "de", "passe"],
    &["palavra", "passe"],
    &["parola", "d", "ordine"],
    &["kata", "sandi"],
    &["mật", "khẩu"],
];
/// Ends of words that do, as in `dbpassword`.
const PASSWORD_ENDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "userpass",
    "dbpass",
    "passwort",
    "kennwort",
    "wachtwoord",
    "lösenord",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
];
/// Words that name a database or a queue.
const DATABASES: &[&str] = &[
    "db",
    "database",
    "sql",
    "postgres",
    "postgresql",
    "pg",
    "mysql",
    "mariadb",
    "mssql",
    "oracle",
    "mongo",
    "mongodb",
    "redis",
    "rabbitmq",
    "amqp",
    "kafka",
    "sasl",
    "clickhouse",
    "cassandra",
    "elastic",
    "elasticsearch",
    "snowflake",
    "jdbc",
    "sqlserver",
    "couchdb",
    "neo4j",
    "pgpassword",
];
/// Words that name a secret by themselves.
const SECRETS: &[&str] = &[
    "secret",
    "secrets",
    "token",
    "apikey",
    "credential",
    "credentials",
    "creds",
    "cred",
    "authkey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authorization",
    "bearer",
    "jwt",
    "apitoken",
    "authtoken",
    "accesstoken",
    "secretaccesskey",
    "pat",
    "cookie",
    "auth",
    "masterkey",
    "signingkey",
];
/// Ends of words that do, as in `clientsecret`.
const SECRET_ENDS: &[&str] = &["secret", "token", "apikey", "secretkey", "accesskey"];
/// Words that make a secret of a key.
const KEYS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "signing",
    "sign",
    "signature",
    "encryption",
    "encrypt",
    "master",
    "account",
    "service",
    "app",
    "application",
    "client",
    "storage",
    "shared",
    "hmac",
    "jwt",
    "license",
    "subscription",
    "admin",
    "deploy",
    "webhook",
    "session",
    "cookie",
    "fernet",
    "crypto",
    "aes",
    "cipher",
    "server",
    "integration",
    "write",
    "ingest",
    "rest",
    "bot",
    "functions",
    "host",
    "root",
    "consumer",
    "function",
    "project",
    "team",
    "user",
    "developer",
    "dev",
    "prod",
    "production",
    "security",
    "security",
    "recovery",
    "unseal",
    "wallet",
    "signer",
];
/// Words that name a secret whatever it looks like, and keys that open an interface, in one word.
const PLAIN_SECRETS: &[&str] = &[
    "secret",
    "secrets",
    "apikey",
    "authkey",
    "accesskey",
    "secretkey",
    "privatekey",
    "secretaccesskey",
    "masterkey",
    "signingkey",
];
/// Words directly before `key` that leave no doubt: other keys may be those of a table.
const PLAIN_KEYS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "signing",
    "encryption",
    "master",
    "hmac",
    "jwt",
    "license",
];
/// Words behind a name that say where or when it holds and not what it is.
const PLACES: &[&str] = &[
    "prod",
    "production",
    "live",
    "staging",
    "stage",
    "dev",
    "development",
    "local",
    "main",
    "backup",
    "old",
    "new",
    "current",
    "value",
];
/// Words that take it back: what is counted, named, public or looked up is no secret.
const HARMLESS: &[&str] = &[
    "public",
    "websocket",
    "pub",
    "id",
    "ids",
    "name",
    "names",
    "type",
    "types",
    "file",
    "filename",
    "path",
    "dir",
    "url",
    "uri",
    "endpoint",
    "count",
    "counts",
    "len",
    "length",
    "size",
    "limit",
    "max",
    "min",
    "num",
    "number",
    "index",
    "hash",
    "hashed",
    "hashes",
    "digest",
    "checksum",
    "sha",
    "sha1",
    "sha256",
    "sha512",
    "md5",
    "fingerprint",
    "thumbprint",
    "field",
    "fields",
    "label",
    "placeholder",
    "hint",
    "pattern",
    "regex",
    "policy",
    "expiry",
    "expires",
    "expiration",
    "ttl",
    "timeout",
    "arn",
    "ref",
    "version",
    "prefix",
    "suffix",
    "header",
    "format",
    "example",
    "kind",
    "alias",
    "cache",
    "primary",
    "foreign",
    "sort",
    "partition",
    "page",
    "next",
    "continuation",
    "cursor",
    "csrf",
    "csrftoken",
    "xsrftoken",
    "xsrf",
    "site",
    "sitekey",
    "idempotency",
    "publishable",
    "eos",
    "bos",
    "pad",
    "unk",
    "mask",
    "cls",
    "etag",
    "tokenizer",
    "tokens",
    "usage",
    "used",
    "class",
    "description",
    "title",
    "message",
    "error",
    "required",
    "enabled",
    "mode",
    "algorithm",
    "alg",
    "method",
    "iterations",
    "rounds",
    "salt",
    "column",
    "table",
    "env",
    "var",
    "variable",
    "selector",
    "icon",
    "strength",
    "reset",
    "forgot",
    "change",
    "confirm",
    "validator",
    "schema",
    "spec",
    "resource",
    "commit",
    "integrity",
    "sri",
    "revision",
    "rev",
    "build",
    "blob",
    "tree",
    "snapshot",
    "trait",
    "author",
    "authors",
    "authority",
    "ssh-rsa",
    "verify",
    "vector",
    "expected",
    "test",
    "tests",
];

/// Tells whether a name says that its value is no secret.
pub(super) fn is_harmless(name: &str) -> bool {
    words(name)
        .iter()
        .any(|word| HARMLESS.contains(&word.as_str()))
}

/// Returns what a name promises about its value.
pub(super) fn promise(name: &str) -> Option<Promise> {
    if is_harmless(name) {
        return None;
    }
    let words = words(name);
    let says = |set: &[&str], ends: &[&str]| {
        let named = |word: &String| {
            let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
            set.contains(&word) || ends.iter().any(|end| word.ends_with(end))
        };
        words.iter().any(named)
    };
    if says(PASSWORDS, PASSWORD_ENDS) || has_phrase(&words) {
        let database = says(DATABASES, &["pgpassword", "dbpassword", "dbpass"]);
        return Some(if database {
            Promise::DatabasePassword
        } else {
            Promise::Password
        });
    }
    if says(SECRETS, SECRET_ENDS) {
        return Some(Promise::Secret);
    }
    key(name, &words)
}

/// Returns what the last word of a name calls its value: `password_changed_at` is not a password,
/// whatever it promises, and of a value that shows little by itself the name has to say it all.
pub(super) fn head(name: &str) -> Option<Head> {
    let mut words = words(name);
    let is_place = |word: &String| {
        PLACES.contains(&word.as_str()) || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    while words.len() > 1 && words.last().is_some_and(is_place) {
        words.pop();
    }
    let mut back = words.iter().rev();
    let last = back.next()?.trim_end_matches(|c: char| c.is_ascii_digit());
    let before = back.next().map_or("", String::as_str);
    let ends = |ends: &[&str]| ends.iter().any(|end| last.ends_with(end));
    let phrase = PASSWORD_PHRASES.iter().any(|phrase| {
        let tail = words.len().checked_sub(phrase.len());
        let tail = tail.and_then(|tail| words.get(tail..));
        tail.is_some_and(|tail| tail == *phrase)
    });
    // In Spanish a `clave` is any key.
    if last != "clave" && PASSWORDS.contains(&last) || ends(PASSWORD_ENDS) || phrase {
        Some(Head::Password)
    } else if PLAIN_SECRETS.contains(&last)
        || last == "key" && PLAIN_KEYS.contains(&before)
        || ends(&["secret", "apikey", "secretkey", "accesskey"])
    {
        Some(Head::Key)
    } else {
        ends(&["token"]).then_some(Head::Token)
    }
}

fn has_phrase(words: &[String]) -> bool {
    let mut phrases = PASSWORD_PHRASES.iter();
    phrases.any(|phrase| words.windows(phrase.len()).any(|words| words == *phrase))
}

/// A key counts with a word beside it that makes it one, or in the name of an environment variable.
fn key(name: &str, words: &[String]) -> Option<Promise> {
    let is_key = |word: &String| word.trim_end_matches(|c: char| c.is_ascii_digit()) == "key";
    if words.len() < 2 || !words.iter().any(is_key) {
        return None;
    }
    let shouted = name.contains('_') && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let qualified = words.iter().any(|word| KEYS.contains(&word.as_str()));
    Some(if shouted || qualified {
        Promise::Secret
    } else {
        Promise::Key
    })
}

/// Splits a name at separators and at the humps of camel case, into lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let ends_acronym = last.is_uppercase()
            && letter.is_uppercase()
            && letters.peek().is_some_and(|next| next.is_lowercase());
        let starts = last.is_lowercase() && letter.is_uppercase() || ends_acronym;
        if starts || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        last = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_promise_by_their_words() {
        let check =
            |name: &str, expect: Option<Promise>| assert_eq!(promise(name), expect, "{name}");
        check("password", Some(Promise::Password));
        check("userPassword", Some(Promise::Password));
        check("DB_PASSWORD", Some(Promise::DatabasePassword));
        check("PGPASSWORD", Some(Promise::DatabasePassword));
        check("client_secret", Some(Promise::Secret));
        check("X-Api-Key", Some(Promise::Secret));
        check("apiKey2", Some(Promise::Secret));
        check("HTTPAuthToken", Some(Promise::Secret));
        check("ALGOLIA_KEY", Some(Promise::Secret));
        check("algolia_key", Some(Promise::Key));
        check("cache_key", None);
        check("key", None);
        check("public_key", None);
        check("max_tokens", None);
        check("passwordHash", None);
        check("compass", None);
        check("bypass", None);
        check("tokenizer", None);
        check("next_page_token", None);
        check("Mot de passe", Some(Promise::Password));
        check("Пароль", Some(Promise::Password));
        check("passe", None);
        check("mot", None);
    }

    #[test]
    fn the_last_word_of_a_name_is_what_its_value_is() {
        let check = |name: &str, expect: Option<Head>| assert_eq!(head(name), expect, "{name}");
        check("DB_PASSWORD", Some(Head::Password));
        check("dbPassword2", Some(Head::Password));
        check("ADMIN_PASSWORD_PROD", Some(Head::Password));
        check("mot de passe", Some(Head::Password));
        check("数据库密码", Some(Head::Password));
        check("headers.X-Api-Key", Some(Head::Key));
        check("API_KEY_2", Some(Head::Key));
        check("clientSecret", Some(Head::Key));
        check("accessToken", Some(Head::Token));
        check("password_changed_at", None);
        check("pwdLastSet", None);
        check("badPasswordTime", None);
        check("secret_rotation", None);
        check("token_expires", None);
        check("tokens", None);
        check("user_key", None);
        check("clave", None);
        check("key", None);
        check("2", None);
        check("", None);
    }
}
