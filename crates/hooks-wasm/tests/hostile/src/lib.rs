//! A hook that does whatever the tool's name tells it to, all of it wrong.

use mcpproxy::hook::types::{Modification, Pair, Severity, Threat, Violation};

wit_bindgen::generate!({ path: "../../../../wit", world: "hook" });

struct Hostile;

impl Guest for Hostile {
    fn check_config(config: String) -> Result<(), String> {
        match config.as_str() {
            r#"{"refuse":true}"# => Err("it does not like this".to_owned()),
            r#"{"trap":true}"# => trap(),
            _ => Ok(()),
        }
    }

    fn inspect(_context: Context, subject: Subject) -> Result<Decision, String> {
        let Subject::Request(request) = subject else {
            return Ok(Decision::Allow);
        };
        match request.name.as_str() {
            "remember" => Ok(remember()),
            "loop" => spin(),
            "recurse" => Ok(deny(recurse(1).to_string())),
            "allocate" => Ok(deny(allocate().to_string())),
            "trap" => trap(),
            "give-up" => Err("it gave up".to_owned()),
            "huge" => Ok(deny("x".repeat(4 << 20))),
            "multiply" => Ok(multiply()),
            "not-text" => Ok(deny(not_text())),
            "bad-evidence" => Ok(bad_evidence()),
            "wrong-phase" => Ok(modify(None, Some("{}"))),
            "nothing-changed" => Ok(modify(None, None)),
            "bad-header" => Ok(bad_header()),
            _ => Ok(Decision::Allow),
        }
    }
}

/// Answers differently the second time, if there is one.
fn remember() -> Decision {
    static SEEN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    match SEEN.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => Decision::Allow,
        times => deny(format!("seen {times} times before")),
    }
}

fn spin() -> ! {
    loop {
        std::hint::black_box(0);
    }
}

fn recurse(depth: u64) -> u64 {
    if depth == u64::MAX {
        return 0;
    }
    let frame = std::hint::black_box([depth; 64]);
    recurse(depth + 1) + frame[3]
}

fn allocate() -> usize {
    let mut kept = Vec::new();
    loop {
        kept.push(std::hint::black_box(vec![1_u8; 1 << 20]));
        if kept.len() > 1 << 16 {
            return kept.len();
        }
    }
}

fn trap<T>() -> T {
    panic!("a hook that panics")
}

/// Names the same megabyte thousands of times, so that little memory here would be much there.
fn multiply() -> Decision {
    let value = "x".repeat(1 << 20);
    let part = |_| Pair {
        name: String::new(),
        // SAFETY: none; the same bytes get many owners. The process ends before any is freed.
        value: unsafe { String::from_raw_parts(value.as_ptr().cast_mut(), value.len(), 0) },
    };
    let headers = (0..4096).map(part).collect();
    std::mem::forget(value);
    Decision::Modify(Modification {
        params: None,
        body: None,
        headers,
        audit: None,
    })
}

fn not_text() -> String {
    // SAFETY: none; that the bytes are no text is the point.
    unsafe { String::from_utf8_unchecked(vec![0xff, 0xfe, 0xff]) }
}

fn bad_evidence() -> Decision {
    let mut decision = deny(String::new());
    if let Decision::Deny(violation) = &mut decision {
        violation.evidence = Some("{".to_owned());
    }
    decision
}

fn bad_header() -> Decision {
    let mut decision = modify(Some("{}"), None);
    if let Decision::Modify(modification) = &mut decision {
        modification.headers.push(Pair {
            name: "x-a\r\nx-b".to_owned(),
            value: String::new(),
        });
    }
    decision
}

fn modify(params: Option<&str>, body: Option<&str>) -> Decision {
    Decision::Modify(Modification {
        params: params.map(str::to_owned),
        body: body.map(str::to_owned),
        headers: Vec::new(),
        audit: None,
    })
}

fn deny(description: String) -> Decision {
    Decision::Deny(Violation {
        rule_id: "hostile".to_owned(),
        severity: Severity::Low,
        threat_type: Threat::AnomalousBehavior,
        description,
        evidence: None,
        recommended_action: String::new(),
    })
}

export!(Hostile);
