//! Lines to answers, in their order, on all cores where there is enough to do.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mcpproxy_detect::Inspector;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

use super::lines::{LONGEST, Line};

/// Bytes for which starting threads pays off.
const WORTH_THREADS: usize = 8 * 1024;

/// The answer to one line.
#[derive(Debug)]
pub(super) struct Answer {
    /// JSON on one line.
    pub(super) text: String,
    /// Whether it says why the line could not be judged.
    pub(super) faulty: bool,
}

/// Judges all lines.
pub(super) fn all(inspector: &Inspector, lines: &[Line]) -> io::Result<Vec<Answer>> {
    let bytes: usize = lines.iter().map(|line| line.bytes().len()).sum();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(lines.len());
    if workers < 2 || bytes < WORTH_THREADS {
        return Ok(lines.iter().map(|line| answer(inspector, line)).collect());
    }
    // Lines differ much in what they cost, so each worker takes the next one that is left.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(line) = lines.get(at) else {
                return done;
            };
            done.push((at, answer(inspector, line)));
        }
    };
    let done = thread::scope(|scope| {
        let workers: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for worker in workers {
            let more = worker.join();
            done.extend(more.map_err(|_| io::Error::other("a thread stopped half way"))?);
        }
        io::Result::Ok(done)
    });
    let mut done = done?;
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, answer)| answer).collect())
}

fn answer(inspector: &Inspector, line: &Line) -> Answer {
    let judged = match line {
        Line::Long(_) => Err(format!("the line is longer than {LONGEST} bytes")),
        Line::Whole(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => inspector.case(text),
            Err(_) => Err("the line is not UTF-8".to_owned()),
        },
    };
    let shown = judged.and_then(|judged| {
        serde_json::to_string(&judged).map_err(|fault| format!("cannot be shown: {fault}"))
    });
    match shown {
        Ok(text) => Answer {
            text,
            faulty: false,
        },
        Err(error) => {
            let text = json!({ "id": id_of(line.bytes()), "error": error }).to_string();
            Answer { text, faulty: true }
        }
    }
}

/// Finds the id of a case whose rest may be broken or cut off.
fn id_of(bytes: &[u8]) -> Value {
    let mut id = Value::Null;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    // Where the text breaks off, what was read by then counts.
    drop(IdOf(&mut id).deserialize(&mut reader));
    id
}

/// Puts the member `id` of an object into a place that outlives a fault further on.
struct IdOf<'a>(&'a mut Value);

impl<'de> DeserializeSeed<'de> for IdOf<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IdOf<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            if key == "id" {
                *self.0 = members.next_value()?;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_detect::Settings;

    use super::*;

    fn inspector() -> Inspector {
        Inspector::new(&Settings::default()).unwrap()
    }

    #[test]
    fn the_order_stays_on_many_threads() {
        let case = |at: usize| {
            let text = "nothing to see here ".repeat(if at.is_multiple_of(7) { 500 } else { 1 });
            Line::Whole(
                json!({ "id": at, "kind": "text", "text": text })
                    .to_string()
                    .into(),
            )
        };
        let lines: Vec<_> = (0..500).map(case).collect();
        let answers = all(&inspector(), &lines).unwrap();
        for (at, answer) in answers.iter().enumerate() {
            assert!(!answer.faulty);
            let expect = format!(r#"{{"id":{at},"verdict":"clean","findings":[]}}"#);
            assert_eq!(answer.text, expect);
        }
        assert_eq!(answers.len(), 500);
    }

    #[test]
    fn a_fault_is_told_with_the_id_where_there_is_one() {
        let inspector = inspector();
        let check = |line: Line, expect: &str| {
            let answer = answer(&inspector, &line);
            assert!(answer.faulty, "{answer:?}");
            let told: Value = serde_json::from_str(&answer.text).unwrap();
            let told = format!("{} {}", told["id"], told["error"].as_str().unwrap());
            assert_eq!(told, expect);
        };
        let whole = |text: &str| Line::Whole(text.into());
        check(
            whole(r#"{"id":1,"kind":"session"}"#),
            "1 unknown kind `session`",
        );
        check(
            whole(r#"{"kind":"text","id":"a"}"#),
            "\"a\" `text` is missing",
        );
        check(whole(r#"{"kind":"text"}"#), "null `text` is missing");
        check(
            whole(r#"{"id":[2],"#),
            "[2] EOF while parsing a value at line 1 column 10",
        );
        check(Line::Whole(vec![0xff]), "null the line is not UTF-8");
        let long = Line::Long(br#"{"id":"x","text":"yyyy"#.to_vec());
        check(long, "\"x\" the line is longer than 16777216 bytes");
        let deep = format!(
            "{{\"id\":3,\"kind\":\"args\",\"args\":{}",
            "[".repeat(100_000)
        );
        check(
            whole(&deep),
            "3 recursion limit exceeded at line 1 column 156",
        );
    }
}
