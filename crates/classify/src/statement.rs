//! Statements of query languages that destroy, and sentences that only talk about them.
//!
//! What stands where nothing but a statement can is read loosely: a pair of words is enough. What
//! may as well be the words of a search must be a statement to its end.

/// Things that `DROP` takes.
const OBJECTS: &[&str] = &[
    "table",
    "database",
    "schema",
    "index",
    "view",
    "column",
    "user",
    "role",
    "collection",
    "keyspace",
    "constraint",
    "function",
    "trigger",
    "sequence",
    "materialized",
    "if",
];
/// Words that may stand before a statement: it is explained, prepared or part of a block.
const LEADING: &[&str] = &[
    "explain",
    "analyze",
    "verbose",
    "profile",
    "begin",
    "then",
    "else",
    "do",
    "as",
    "execute",
    "immediate",
    "loop",
    "go",
    "commit",
    "transaction",
];
/// Words that may stand between a verb of destruction and what it is done to.
const BETWEEN: &[&str] = &["if", "exists", "only", "concurrently", "temporary", "table"];
/// Words that may stand after the names.
const BEHIND: &[&str] = &[
    "cascade",
    "restrict",
    "purge",
    "constraints",
    "restart",
    "continue",
    "identity",
    "force",
    "with",
    "nowait",
    "wait",
    "end",
];
/// Words by which a deletion goes on.
const CLAUSES: &[&str] = &[
    "using",
    "returning",
    "limit",
    "order",
    "join",
    "inner",
    "left",
    "partition",
    "output",
];
/// Words that make a condition.
const CONDITIONS: &[&str] = &[
    "in", "like", "ilike", "is", "between", "exists", "not", "true", "current", "match",
];
/// Words that stand where a name would, and are none: people ask about a statement.
const ABOUT: &[&str] = &[
    "meaning",
    "syntax",
    "explained",
    "example",
    "examples",
    "works",
];
/// How much of a text is looked at: tokens past it are read as loosely as a statement.
const MOST_TOKENS: usize = 4096;

/// Says whether a statement destroys: its verbs, with their objects. What is quoted counts as well as
/// what is not, since it may be run.
pub(crate) fn destroys(text: &str) -> bool {
    let word = |token: &&str| token.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let words = || tokens(text).filter(word);
    let pairs = words().zip(words().skip(1));
    let paired = pairs.into_iter().any(|(one, two)| {
        (is(one, &["drop"]) && is(two, OBJECTS))
            || (is(one, &["delete"]) && is(two, &["from"]))
            || (is(one, &["truncate"]) && is(two, &["table", "only"]))
            || (is(one, &["detach", "then"]) && is(two, &["delete"]))
    });
    paired
        || words().any(|word| is(word, &["flushall", "flushdb", "deletemany", "dropdatabase"]))
        || begins_destroying(text)
}

/// Says whether one of the statements of a text begins with what destroys, or ends so.
fn begins_destroying(text: &str) -> bool {
    let (mut starts, mut matches, mut altered) = (true, false, false);
    let mut before = "";
    let mut tokens = tokens(text).peekable();
    while let Some(token) = tokens.next() {
        let next = tokens.peek().copied().unwrap_or_default();
        let found = match token.to_ascii_lowercase().as_str() {
            // `DELETE users`, `DELETE TOP (100) FROM users`, `delete u from users u`.
            "delete" => (starts || matches) && is_name(next),
            "truncate" => starts && is_name(next),
            "drop" => match before {
                // `db.users.drop()`.
                "." => next == "(",
                _ => (starts || altered) && is_name(next),
            },
            "remove" => before == "." && next == "(",
            "flushall" | "flushdb" => starts,
            _ => false,
        };
        if found {
            return true;
        }
        if starts {
            matches = is(token, &["match"]);
            altered = is(token, &["alter"]);
        }
        starts = token == ";" || is(token, &["begin", "then", "else", "do"]);
        before = token;
    }
    false
}

/// Says whether a text that may be the words of a search is a statement that destroys.
pub(crate) fn is_destruction(text: &str) -> bool {
    if !destroys(text) {
        return false;
    }
    let tokens: Vec<&str> = tokens(text).take(MOST_TOKENS + 1).collect();
    if tokens.len() > MOST_TOKENS {
        return true;
    }
    let (mut altered, mut matched) = (false, false);
    (0..tokens.len()).any(|at| {
        let (before, rest) = tokens.split_at_checked(at).unwrap_or_default();
        let starts = before.last().is_none_or(|last| opens(last));
        if starts {
            altered = rest.first().is_some_and(|first| is(first, &["alter"]));
        }
        if before.last().is_none_or(|last| *last == ";") {
            matched = rest.first().is_some_and(|first| is(first, &["match"]));
        }
        let Some((verb, rest)) = rest.split_first() else {
            return false;
        };
        match verb.to_ascii_lowercase().as_str() {
            // `ALTER TABLE a DROP COLUMN b`, `db.users.drop()`.
            "drop" if before.last() == Some(&".") => is_called(rest),
            "drop" => (starts || altered) && is_dropped(rest),
            "remove" => before.last() == Some(&".") && is_called(rest),
            "truncate" => starts && names_end(rest),
            "delete" => {
                let detached = before.last().is_some_and(|last| is(last, &["detach"]));
                detached || (starts && is_deleted(verb, rest)) || (matched && names_end(rest))
            }
            "flushall" | "flushdb" => {
                let way = rest.first().is_some_and(|way| is(way, &["async", "sync"]));
                starts && ends(rest.get(usize::from(way)..).unwrap_or_default())
            }
            "deletemany" | "dropdatabase" => rest.first() == Some(&"("),
            _ => false,
        }
    })
}

/// `()` and `({})`; what is called with more may be anything.
fn is_called(rest: &[&str]) -> bool {
    matches!(rest, ["(", ")", ..] | ["(", "{", "}", ..])
}

fn is_dropped(rest: &[&str]) -> bool {
    match rest {
        [what, rest @ ..] if is(what, &["materialized"]) => is_dropped(rest),
        [what, rest @ ..] if is(what, &["if"]) => {
            rest.first().is_some_and(|next| is(next, &["exists"])) && names_end(rest)
        }
        // Of one index or view people ask what it means.
        [object, some, exists, rest @ ..]
            if is(object, OBJECTS) && is(some, &["if"]) && is(exists, &["exists"]) =>
        {
            names_end(rest) && !rest.first().is_some_and(|name| is(name, ABOUT))
        }
        [object, rest @ ..] if is(object, OBJECTS) => names_end(rest),
        _ => false,
    }
}

/// `FROM name [[AS] alias]` and what may follow.
fn is_deleted(verb: &str, rest: &[&str]) -> bool {
    let Some((from, rest)) = rest.split_first() else {
        return false;
    };
    let Some(rest) = name(past(rest)).filter(|_| is(from, &["from"])) else {
        return false;
    };
    if ends(rest) || goes_on(rest) {
        return true;
    }
    let (named, rest) = match rest {
        [first, rest @ ..] if is(first, &["as"]) => (true, rest),
        rest => (false, rest),
    };
    let Some((alias, rest)) = rest.split_first().filter(|(alias, _)| is_name(alias)) else {
        return false;
    };
    // `delete from cart button` is two names to a database, and words to anybody else: nobody
    // gives a whole word as alias and then does not use it, unless it is written as statements are.
    let meant = named || alias.len() <= 3 || verb == "DELETE" || !rest.is_empty();
    goes_on(rest) || (meant && ends(rest))
}

fn goes_on(rest: &[&str]) -> bool {
    match rest {
        [first, condition @ ..] if is(first, &["where"]) => condition.iter().any(|token| {
            is(token, CONDITIONS) || "=<>!~(".contains(token) || token.parse::<i64>().is_ok()
        }),
        [first, ..] => *first == "," || is(first, CLAUSES),
        [] => false,
    }
}

/// Says whether names come, then words that belong there, then the end.
fn names_end(rest: &[&str]) -> bool {
    let Some(mut rest) = name(past(rest)) else {
        return false;
    };
    loop {
        rest = match rest {
            [",", more @ ..] => match name(past(more)) {
                Some(more) => more,
                None => return false,
            },
            ["(", more @ ..] => {
                let close = more.iter().position(|token| *token == ")");
                let Some(close) = close else { return false };
                more.get(close + 1..).unwrap_or_default()
            }
            [on, more @ ..] if is(on, &["on"]) => match name(more) {
                Some(more) => more,
                None => return false,
            },
            [word, more @ ..] if is(word, BEHIND) => more,
            rest => return ends(rest),
        };
    }
}

fn past<'a, 'b>(rest: &'b [&'a str]) -> &'b [&'a str] {
    let skip = rest.iter().take_while(|token| is(token, BETWEEN)).count();
    rest.get(skip..).unwrap_or_default()
}

/// Passes over a name, with its quotes and what it is in.
fn name<'a, 'b>(rest: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let quoted = |token: &str| matches!(token, "\"" | "`" | "[" | "'");
    match rest {
        [open, more @ ..] if quoted(open) => {
            let close = if *open == "[" { "]" } else { open };
            let end = more.iter().position(|token| *token == close)?;
            let rest = more.get(end + 1..)?;
            match rest {
                [".", rest @ ..] => name(rest),
                rest => Some(rest),
            }
        }
        // What is filled in later: `{{table}}`, `${table}`, `:table`, `?`.
        ["{", more @ ..] => {
            let end = more.iter().position(|token| *token == "}")?;
            let rest = more.get(end..)?;
            let closing = rest.iter().take_while(|token| **token == "}").count();
            rest.get(closing..)
        }
        ["?", more @ ..] => Some(more),
        [":" | "#" | "$", more @ ..] => name(more),
        [word, ".", more @ ..] if is_name(word) => name(more),
        [word, more @ ..] if is_name(word) => Some(more),
        _ => None,
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphanumeric() || "_$@%".contains(c))
}

/// Says whether a statement is over here.
fn ends(rest: &[&str]) -> bool {
    rest.first()
        .is_none_or(|token| matches!(*token, ";" | ")" | "'" | "\"" | "`" | "$$" | "/" | "}"))
}

/// Says whether a statement may begin behind a token.
fn opens(token: &str) -> bool {
    matches!(token, ";" | "(" | ")" | "'" | "\"" | "`" | "$$" | "/" | "{") || is(token, LEADING)
}

fn is(word: &str, any: &[&str]) -> bool {
    any.iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// Gives words and signs, without blanks and comments. Quotes are signs: what is quoted may be run.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = past_comments(rest);
        let first = rest.chars().next()?;
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '%');
        let length = if rest.starts_with("$$") {
            2
        } else if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, more) = rest.split_at_checked(length)?;
        rest = more;
        Some(token)
    })
}

fn past_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let end = if rest.starts_with("--") || rest.starts_with("//") {
            rest.find('\n').map_or(rest.len(), |end| end + 1)
        } else if let Some(inner) = rest.strip_prefix("/*") {
            inner.find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            return rest;
        };
        rest = rest.get(end..).unwrap_or_default().trim_start();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statements_that_destroy_are_found() {
        for text in [
            "DROP TABLE users;",
            "drop table users",
            "Drop Table If Exists public.users, \"old\".x Cascade",
            "delete from accounts where id=1",
            "DELETE FROM accounts",
            "delete from accounts;",
            "delete from accounts a",
            "DELETE FROM accounts everything",
            "delete from accounts as a using b where a.id = b.id",
            "delete from t where name like 'a%'",
            "TRUNCATE TABLE logs",
            "truncate logs restart identity cascade",
            "; drop table x --",
            "x'; DROP TABLE users; --",
            "1); drop table users; select (1",
            "select 1; drop table users",
            "select 1;\n-- gone\ndrop table users",
            "/* tidy */ DROP INDEX CONCURRENTLY idx_a",
            "/*! drop table x */ drop table x",
            "BEGIN; DROP TABLE a; COMMIT",
            "DO $$ BEGIN DROP TABLE a; END $$",
            "EXPLAIN ANALYZE DELETE FROM a",
            "with d as (delete from a returning *) select * from d",
            "WITH x AS (SELECT 1) DELETE FROM a USING x",
            "ALTER TABLE a DROP COLUMN b",
            "alter table a drop constraint if exists b",
            "drop function f(int, text)",
            "DROP TRIGGER t ON a",
            "drop materialized view v",
            "select 1; drop materialized view v",
            "ALTER TABLE a DROP IF EXISTS b",
            "DROP TABLE ${table}; DROP TABLE :other",
            "DROP DATABASE `shop`",
            "drop table [dbo].[users]",
            "DROP TABLE {{table}}",
            "drop user bob",
            "MATCH (n) WHERE n.a = 1 DETACH DELETE n",
            "FLUSHALL",
            "flushdb async",
            "db.users.deleteMany({})",
            "db.dropDatabase()",
            "SELECT 1; TRUNCATE users",
            "begin; truncate users; commit",
            "DELETE /* x */ FROM users",
            "MATCH (n) DELETE n",
            "ALTER TABLE a DROP COLUMN b; select 1",
            "db.users.drop()",
            "db.users.remove({})",
        ] {
            assert!(is_destruction(text), "{text}");
            assert!(destroys(text), "{text}");
        }
    }

    #[test]
    fn where_only_statements_stand_they_are_read_loosely() {
        let check = |text: &str, expect: bool| assert_eq!(destroys(text), expect, "{text}");
        for text in [
            "DELETE users WHERE 1=1",
            "delete u from users u",
            "DELETE TOP (100) FROM users",
            "DELETE LOW_PRIORITY FROM users",
            "MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE",
            "ALTER TABLE a DROP b",
        ] {
            check(text, true);
        }
        for text in [
            "select deleted from users",
            "SELECT 1 -- delete from x",
            "select 1 /* drop table x */",
            "select truncate(x, 2) from t",
            "select a as drop_count from t",
            "update t set state = 'delete' where id = 1",
            "insert into log values ('remove')",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn sentences_about_them_are_none() {
        for text in [
            "drop index if exists meaning",
            "drop shadow css",
            "drop-down menu",
            "truncate long text with ellipsis",
            "delete from cart button",
            "how to drop user from group",
            "Drop table seating plan",
            "how does DROP TABLE work",
            "what is the DROP TABLE statement?",
            "DELETE FROM syntax in postgres",
            "delete from list where possible",
            "difference between truncate and delete from",
            "drop index or keep it",
            "drop if needed",
            "FLUSHALL vs FLUSHDB",
            "is deleteMany slow",
            "does drop table users free space",
            "select * from drops",
            "",
        ] {
            assert!(!is_destruction(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "\\PC{0,200}") {
            let _found = is_destruction(&text);
        }

        #[test]
        fn nearly_statements_are_taken(text in "((drop|table|delete|from|truncate|x|where|'|\"|\\[|\\(|,|;|\\.|--|/\\*) ?){0,40}") {
            let _found = is_destruction(&text);
        }
    }
}
