//! Silence that keeps nothing from the user.
//!
//! A price that buyers are not told, ids that nobody can read, work that is not done yet, and a
//! password that has no place in a reply: each is kept back in the words of an attack. What is
//! wanted here is a reason in the same sentence. A sentence that does something by the way, or that
//! speaks of the user where it names others, has none.

use crate::hostile::shape::{Families, Family as F};

/// What attacks want nobody to hear of.
const DEEDS: &[&str] = &[
    "upload",
    "uploads",
    "uploaded",
    "uploading",
    "copy",
    "copies",
    "copied",
    "copying",
    "forward",
    "forwards",
    "forwarded",
    "forwarding",
    "transfer",
    "transfers",
    "transferred",
    "sync",
    "synced",
    "mirrored",
    "exported",
    "leaked",
    "step",
    "steps",
    "action",
    "actions",
    "backup",
    "files",
    "data",
    "conversation",
    "chat",
    "transcript",
    "upstream",
    "request",
    "requests",
];

/// The user, or everybody.
const USERS: &[&str] = &[
    "user",
    "users",
    "human",
    "humans",
    "operator",
    "anyone",
    "anybody",
    "nobody",
    "someone",
    "somebody",
    "everyone",
    "everybody",
    "you",
    "your",
    "developer",
    "admin",
    "administrator",
];

/// Who is not the user of an agent, whatever is said.
const OTHERS: &[&str] = &[
    "custodian",
    "custodians",
    "player",
    "players",
    "recipient",
    "recipients",
    "candidate",
    "candidates",
    "applicant",
    "applicants",
    "student",
    "students",
    "pupil",
    "pupils",
    "learner",
    "learners",
    "bidder",
    "bidders",
    "buyer",
    "buyers",
    "seller",
    "sellers",
    "participant",
    "participants",
    "contestant",
    "contestants",
    "relatives",
    "relative",
    "tenant",
    "tenants",
    "caller",
    "callers",
    "guest",
    "guests",
    "counsel",
    "vendor",
    "vendors",
    "supplier",
    "suppliers",
    "patient",
    "patients",
    "child",
    "children",
    "parents",
    "opponent",
    "opponents",
    "competitor",
    "competitors",
    "attendees",
    "visitors",
    "subscribers",
    "defendant",
    "witness",
    "witnesses",
    "voters",
    "viewers",
    "journalists",
    "press",
    "debtor",
    "landlord",
    "suspect",
    "suspects",
    "interviewee",
    "reporter",
    "donor",
    "donors",
    "respondent",
    "respondents",
    "author",
    "authors",
];

/// Who may be the user: a reason has to be told.
const PERHAPS: &[&str] = &[
    "customer",
    "customers",
    "client",
    "clients",
    "employee",
    "employees",
    "owner",
    "owners",
    "colleague",
    "colleagues",
    "member",
    "members",
    "staff",
    "people",
    "person",
    "subject",
    "holder",
    "contractor",
    "contractors",
    "team",
    "teams",
];

/// Reasons for which something is kept from somebody.
const REASONS: &[&str] = &[
    "internal",
    "internally",
    "confidential",
    "privileged",
    "embargo",
    "embargoed",
    "restricted",
    "insider",
    "suspected",
    "investigation",
    "investigated",
    "complaint",
    "complained",
    "concerned",
    "fraud",
    "court",
    "law",
    "legal",
    "warrant",
    "staff-only",
];

/// What something is written as, and what only machines can read.
const FORMS: &[&str] = &[
    "id",
    "ids",
    "uuid",
    "uuids",
    "identifier",
    "identifiers",
    "cursor",
    "cursors",
    "json",
    "xml",
    "html",
    "markdown",
    "jargon",
    "codes",
];

/// How work is called that is not done yet.
const PENDING: &[&str] = &[
    "queued",
    "queue",
    "outbox",
    "requested",
    "accepted",
    "pending",
    "scheduled",
    "started",
    "running",
    "runs",
    "submitted",
    "progress",
    "waiting",
    "underway",
    "filed",
    "planned",
];

/// Verbs of saying.
const SAYING: &[&str] = &["say", "tell", "report", "answer"];

/// What has no place in a reply.
const VALUES: &[&str] = &[
    "password",
    "passwords",
    "passphrase",
    "passphrases",
    "pin",
    "token",
    "tokens",
    "secret",
    "secrets",
    "code",
    "codes",
    "key",
    "keys",
    "value",
    "values",
    "credential",
    "credentials",
    "seed",
    "cvv",
];

/// How many words something is named with that is kept out of a reply.
const NAMED: usize = 4;

/// Whether what a folded sentence keeps back is kept from nobody who should hear of it.
pub(super) fn is_fair(folded: &str, families: Families, leads: bool) -> bool {
    let words: Vec<&str> = folded.split_whitespace().collect();
    if has(&words, DEEDS) {
        return false;
    }
    let does = families.any(&[F::Send, F::Destroy])
        || (leads && families.any(&[F::Take, F::Give, F::Edit, F::Run]));
    let theirs = families.any(&[F::Talk, F::Private, F::Vault, F::Credential]);
    let moves = families.any(&[F::Take, F::Send, F::Edit, F::Destroy]);
    (!does && is_toward_others(&words))
        || (!moves && !theirs && is_form(&words))
        || (!theirs && is_not_yet(&words))
        || is_value(&words, families)
}

fn has(words: &[&str], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(word))
}

/// Whether somebody else than the user is not told.
fn is_toward_others(words: &[&str]) -> bool {
    let mut before = "";
    let (mut others, mut perhaps) = (false, false);
    for word in words {
        let other = matches!(before, "other" | "another");
        if other && matches!(*word, "user" | "users" | "people" | "person") {
            others = true;
        } else if USERS.contains(word) {
            return false;
        }
        others |= OTHERS.contains(word);
        perhaps |= PERHAPS.contains(word);
        before = word;
    }
    let use_only = |pair: &[&str]| matches!(pair, ["internal", "use"]);
    let internal = words.windows(2).any(use_only) && has(words, &["them"]);
    others || internal || (perhaps && has(words, REASONS))
}

/// Whether it is about how something is written: ids, markup, the names of tools.
fn is_form(words: &[&str]) -> bool {
    let tools = |pair: &[&str]| matches!(pair, ["tool" | "field" | "column", "name" | "names"]);
    (has(words, FORMS) || words.windows(2).any(tools)) && !words.contains(&"file")
}

/// Whether a claim that would come too early is replaced by how far the work is.
fn is_not_yet(words: &[&str]) -> bool {
    let mut clauses = words.split(|word| *word == ";");
    let first = clauses.next().unwrap_or_default();
    let says = |clause: &[&str]| clause.iter().take(2).any(|word| SAYING.contains(word));
    let denies = has(first, &["not", "don't", "never"]) && has(first, SAYING);
    denies && clauses.any(|clause| (says(clause) || is_state(clause)) && has(clause, PENDING))
}

/// Whether a clause says how something is: `it's only queued`.
fn is_state(clause: &[&str]) -> bool {
    matches!(clause, ["it" | "they", "is" | "are" | "only" | "just", ..])
}

/// Whether it is a credential that is kept out of a reply, and nothing else is done with it.
fn is_value(words: &[&str], families: Families) -> bool {
    let out = words.windows(2).position(|pair| pair == ["out", "of"]);
    let before = words.get(..out.unwrap_or(0)).unwrap_or_default();
    let kept = |word: &&str| matches!(*word, "keep" | "leave" | "keeping" | "leaving");
    let Some(verb) = before.iter().rposition(kept) else {
        return false;
    };
    let told = [F::Must, F::Take, F::Name, F::Field, F::Outside, F::Toward];
    if families.any(&told) {
        return false;
    }
    let object = before.get(verb + 1..).unwrap_or_default();
    if matches!(object, ["it" | "them"]) {
        // `The password is in the vault; keep it out of your reply`.
        let subject = words.get(..verb).unwrap_or_default();
        let begins = matches!(subject, ["the" | "this" | "that" | "its", ..]);
        return begins && subject.iter().take(3).any(|word| VALUES.contains(word));
    }
    // What is named before as well may have been handed over there; a public key may.
    let elsewhere = |pair: &[&str]| match pair {
        [which, word] => *which != "public" && object.contains(word) && VALUES.contains(word),
        _ => false,
    };
    let subject = words.get(..verb).unwrap_or_default();
    let once = !subject.windows(2).any(elsewhere);
    let named = object.len() <= NAMED && has(object, VALUES);
    named && once && !families.has(F::Send)
}
