//! What an activity log must do, whichever database it stands in.

use std::time::Duration;

use mcpproxy_core::{
    Action, ActivityQuery, ActivityReader, ActivitySink, CallId, Cell, Classified, CountQuery,
    Counted, DataOrigin, Declared, Door, Durability, Field, Finding, FlowType, HookNote, Label,
    Likeness, Masked, Match, Nature, Operation, Order, Owner, Phase, Record, Risk, RiskLevel,
    Severity, Side, SinkFault, Source, Status, Threat, Tier, ToolName, UpstreamId, Wall, Weight,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// When the first of the records was made.
pub const NOON: u64 = 1_780_000_000_000;

/// A plain record, one of many.
pub fn record(number: u64) -> Record {
    Record {
        server_name: format!("server{}", number % 3),
        tool_name: "echo".to_owned(),
        method: "tools/call".to_owned(),
        duration_ms: 1.5,
        timestamp: Wall(NOON + number).rfc3339(),
        session_id: format!("s{}", number / 1000),
        correlation_id: "trace-7".to_owned(),
        principal: "owner".to_owned(),
        request_bytes: 10,
        response_bytes: 20,
        ..Record::new(
            CallId::new(NOON + number, u128::from(number)),
            "tool_call",
            Door::Mcp,
        )
    }
}

/// A record in which everything is said that can be.
pub fn denial(number: u64) -> Record {
    let origin = DataOrigin {
        call: CallId::new(NOON, 1),
        upstream: UpstreamId::new("github"),
        tool: ToolName::new("get_file"),
        at: Wall(NOON),
        side: Side::Inside,
    };
    let label = Label {
        kind: "aws_secret_key".into(),
        word: "api_token",
        severity: Severity::Critical,
        validated: true,
        nature: Nature::Secret,
    };
    let evidence = Match {
        how: Likeness::Encoded,
        via: vec!["base64"],
        origin,
        place: "/arguments/text".into(),
        shared: 40,
        weight: Weight::Sensitive,
        label: Some(label),
        sample: Masked::from_safe("wJ…EY"),
    };
    let finding = Finding {
        rule: "flow".into(),
        source: Source::Flow,
        tier: Tier::SensitiveFlow,
        wants: Action::Deny,
        severity: Severity::Critical,
        confidence: 99,
        threat: Threat::DataExfiltration,
        place: None,
        evidence: Some(Box::new(evidence)),
        contradiction: None,
        retry_after: None,
        reason: Masked::from_safe("a key is about to leave"),
    };
    Record {
        kind: "policy_decision",
        status: Status::Blocked,
        error_message: Some("a \"key\" is about to leave".to_owned()),
        decision: Action::Deny,
        effective: Action::Deny,
        flow_type: FlowType::InternalToExternal,
        risk: Risk {
            level: RiskLevel::Critical,
            score: 90,
        },
        declared: Declared {
            operation: Some(Operation::Write),
            reason: Some("to share it".into()),
            ..Declared::default()
        },
        findings: vec![finding],
        has_sensitive_data: true,
        detection_types: vec!["aws_secret_key".into()],
        max_severity: Some(Severity::Critical),
        ..record(number)
    }
}

/// A record of what a hook told, part of another call.
pub fn told(number: u64) -> Record {
    let note = HookNote {
        agent: "co\"dex".to_owned(),
        event: "PreToolUse".to_owned(),
        phase: Phase::Pre,
        session: "s".to_owned(),
        tool_use_id: None,
        owner: Owner::Agent,
        classification: Classified {
            class: "internal",
            confidence: 0.5,
            method: "name",
            can_read_data: true,
            can_exfiltrate: false,
        },
    };
    Record {
        correlation_id: format!("re\"quest-{number}"),
        parent_id: Some(record(number - 1).id),
        mcp_session_id: Some(format!("m\"{number}")),
        hook: Some(Box::new(note)),
        ..record(number)
    }
}

/// Adds records, every five-thousandth a denial, one before it what a hook told and one a request
/// without a name, and waits until they are on disk.
pub async fn fill(sink: &dyn ActivitySink, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let record = match number % 5000 {
            4999 => denial(number),
            4998 => told(number),
            4997 => Record {
                correlation_id: String::new(),
                ..record(number)
            },
            _ => record(number),
        };
        while sink.append(record.clone(), Durability::Relaxed).await == Err(SinkFault::Full) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    sink.flush().await.unwrap();
}

/// A question for fifty records.
pub fn query(wanted: &[(Field, &[&str])]) -> ActivityQuery {
    let own = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
    ActivityQuery {
        wanted: wanted
            .iter()
            .map(|(field, values)| (*field, own(values)))
            .collect(),
        limit: 50,
        ..ActivityQuery::default()
    }
}

/// All pages of an answer, as the numbers of the records.
pub fn numbers(reader: &dyn ActivityReader, query: &ActivityQuery) -> Vec<u64> {
    let (mut query, mut numbers) = (query.clone(), Vec::new());
    loop {
        let page = reader.page(&query).unwrap();
        assert!(page.records.len() <= query.limit, "a page is too long");
        numbers.extend(page.records.iter().map(|text| number(text)));
        query.skip = 0;
        query.before = page.next;
        if page.next.is_none() {
            return numbers;
        }
    }
}

/// The number of a record that is shown.
pub fn number(text: &str) -> u64 {
    let record: Value = serde_json::from_str(text).unwrap();
    let id = record["id"].as_str().unwrap();
    CallId::parse(id).unwrap().millis() - NOON
}

/// Waits until something is so.
///
/// # Panics
///
/// Where it is not so within ten seconds.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(is_so(), "waited in vain for {what}");
}

/// Every filter finds its records, alone and together, among those that [`fill`] made of the first
/// ten thousand numbers.
pub fn finds_by_every_filter(reader: &dyn ActivityReader) {
    let denials = vec![9999_u64, 4999];
    let check = |wanted: &[(Field, &[&str])], expect: &[u64]| {
        assert_eq!(numbers(reader, &query(wanted)), expect, "{wanted:?}");
    };
    check(&[(Field::Kind, &["policy_decision", "approval"])], &denials);
    check(&[(Field::Status, &["blocked"])], &denials);
    check(&[(Field::Decision, &["deny"])], &denials);
    check(&[(Field::FlowType, &["internal→external"])], &denials);
    check(&[(Field::RiskLevel, &["high", "critical"])], &denials);
    check(&[(Field::Operation, &["write"])], &denials);
    check(&[(Field::Sensitive, &["true"])], &denials);
    check(&[(Field::Severity, &["critical"])], &denials);
    check(&[(Field::Detection, &["aws_secret_key"])], &denials);
    // A family of types is many values, of which hardly any occurs.
    let family: Vec<_> = (0..200).map(|number| format!("type_{number}")).collect();
    let mut family: Vec<_> = family.iter().map(String::as_str).collect();
    check(&[(Field::Detection, &family)], &[]);
    family.push("aws_secret_key");
    check(&[(Field::Detection, &family)], &denials);
    let denied: (Field, &[&str]) = (Field::Decision, &["deny"]);
    check(&[(Field::Session, &["s4"]), denied], &[4999]);
    check(&[(Field::Session, &["s5"]), denied], &[]);
    check(&[(Field::Tool, &["ech"])], &[]);
    let owner: (Field, &[&str]) = (Field::Principal, &["owner"]);
    check(&[owner, (Field::Kind, &["intent"])], &[]);
    check(&[(Field::Source, &["api"])], &[]);
    finds_by_what_has_no_column(reader);
    let third: Vec<_> = (0..10_000).rev().filter(|number| number % 3 == 1).collect();
    check(&[(Field::Upstream, &["server1"])], &third);
    check(&[], &(0..10_000).rev().collect::<Vec<_>>());
}

fn finds_by_what_has_no_column(reader: &dyn ActivityReader) {
    let check = |wanted: &[(Field, &[&str])], expect: &[u64]| {
        assert_eq!(numbers(reader, &query(wanted)), expect, "{wanted:?}");
    };
    check(&[(Field::Agent, &["co\"dex"])], &[9998, 4998]);
    check(&[(Field::Agent, &["claude-code"])], &[]);
    check(&[(Field::Request, &["re\"quest-4998"])], &[4998]);
    check(&[(Field::McpSession, &["m\"4998"])], &[4998]);
    check(
        &[(Field::McpSession, &["m\"4998", "m\"9998"])],
        &[9998, 4998],
    );
    check(&[(Field::McpSession, &["s4"])], &[]);
    let several: &[&str] = &["re\"quest-4998", "re\"quest-9998", "re\"quest-1"];
    check(&[(Field::Request, several)], &[9998, 4998]);
    // A request without a name has that of its call.
    for nameless in [9997, 4997] {
        let id = record(nameless).id.to_string();
        check(&[(Field::Request, &[&id])], &[nameless]);
        check(&[(Field::Parent, &[&id])], &[nameless + 1]);
        let codex: (Field, &[&str]) = (Field::Agent, &["co\"dex"]);
        check(&[codex, (Field::Parent, &[&id])], &[nameless + 1]);
        check(&[codex, (Field::Request, &[&id])], &[]);
    }
    let named = numbers(reader, &query(&[(Field::Request, &["trace-7"])]));
    assert_eq!(named.len(), 10_000 - 4);
}

/// Times, skipping, single calls and the tail are found among the first five thousand.
pub fn finds_by_time_and_place(reader: &dyn ActivityReader) {
    let span = ActivityQuery {
        from: Some(Wall(NOON + 2000)),
        to: Some(Wall(NOON + 2100)),
        ..query(&[])
    };
    let expect: Vec<_> = (2000..=2100).rev().collect();
    assert_eq!(numbers(reader, &span), expect);
    let third = ActivityQuery {
        wanted: query(&[(Field::Upstream, &["server1"])]).wanted,
        ..span
    };
    let expect: Vec<_> = expect.into_iter().filter(|one| one % 3 == 1).collect();
    assert_eq!(numbers(reader, &third), expect);
    let oldest = ActivityQuery {
        to: Some(Wall(NOON + 70)),
        ..query(&[])
    };
    let expect: Vec<_> = (0..=70).rev().collect();
    assert_eq!(numbers(reader, &oldest), expect);
    let skipping = ActivityQuery {
        skip: 7,
        limit: 3,
        ..query(&[])
    };
    let page = reader.page(&skipping).unwrap();
    let shown: Vec<_> = page.records.iter().map(|text| number(text)).collect();
    assert_eq!(shown, [4992, 4991, 4990]);
    for one in [0, 2047, 2048, 4999] {
        let id = record(one).id;
        assert_eq!(number(&reader.get(id).unwrap().unwrap()), one);
    }
    assert_eq!(reader.get(CallId::new(NOON + 7, 8)).unwrap(), None);
    assert_eq!(reader.get(CallId::new(7, 7)).unwrap(), None);
    let tail = reader.tail(4998, 10).unwrap();
    assert_eq!(tail.records.len(), 2);
    assert_eq!(
        reader.tail(tail.next.unwrap().place, 10).unwrap().next,
        None
    );
}

/// When a call of [`fill_session`] began: every third took as long as two thousand others.
fn began(number: u64) -> u64 {
    if number.is_multiple_of(3) {
        return number.saturating_sub(2000);
    }
    number
}

/// Adds six thousand calls of two sessions in the order in which they ended.
pub async fn fill_session(sink: &dyn ActivitySink) {
    for number in 0..6000_u64 {
        let session = if number.is_multiple_of(2) { "a" } else { "b" };
        let one = Record {
            timestamp: Wall(NOON + began(number)).rfc3339(),
            session_id: session.to_owned(),
            ..record(number)
        };
        while sink.append(one.clone(), Durability::Relaxed).await == Err(SinkFault::Full) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    sink.flush().await.unwrap();
}

/// Calls that took long stand where they began, whichever block they were written to, and pages of
/// any length give every record of [`fill_session`] once.
pub fn tells_a_session_in_order_of_time(reader: &dyn ActivityReader) {
    let check = |wanted: &[(Field, &[&str])], limit: usize, meant: &dyn Fn(u64) -> bool| {
        let mut expect: Vec<_> = (0..6000).filter(|number| meant(*number)).collect();
        // What began at the same time stands as it was written.
        expect.sort_by_key(|number| std::cmp::Reverse((began(*number), *number)));
        let asked = ActivityQuery {
            order: Order::Begun,
            limit,
            ..query(wanted)
        };
        assert_eq!(numbers(reader, &asked), expect, "{wanted:?} by {limit}");
        let skipping = ActivityQuery { skip: 100, ..asked };
        assert_eq!(numbers(reader, &skipping), expect[100..], "{wanted:?}");
    };
    check(&[(Field::Session, &["a", "b"])], 2500, &|_| true);
    check(&[(Field::Session, &["b"])], 1400, &|number| number % 2 == 1);
    let server: (Field, &[&str]) = (Field::Upstream, &["server0"]);
    let of_both = |number: u64| number.is_multiple_of(6);
    check(&[(Field::Session, &["a"]), server], 600, &of_both);
    let span = ActivityQuery {
        order: Order::Begun,
        from: Some(Wall(NOON + 1000)),
        to: Some(Wall(NOON + 1500)),
        ..query(&[(Field::Session, &["a", "b"])])
    };
    let in_time = |number: &u64| (1000..=1500).contains(&began(*number));
    let mut expect: Vec<_> = (0..6000).filter(in_time).collect();
    expect.sort_by_key(|number| std::cmp::Reverse((began(*number), *number)));
    assert_eq!(numbers(reader, &span), expect);
}

/// Adds six thousand records of every kind that counts tell apart.
pub async fn fill_mixed(sink: &dyn ActivitySink) {
    for number in 0..6000 {
        let plain = record(number);
        let one = match number % 10 {
            0 => Record {
                kind: "intent",
                status: Status::Pending,
                ..plain
            },
            // One in two calls ended.
            5 if number % 20 == 5 => Record {
                id: record(number - 5).id,
                timestamp: record(number - 5).timestamp,
                ..plain
            },
            1 => denial(number),
            2 => Record {
                kind: "hook_evaluation",
                ..told(number)
            },
            3 => Record {
                kind: "message",
                method: "notifications/progress".to_owned(),
                ..plain
            },
            4 => Record {
                status: Status::Rejected,
                // Longer than a value that an index has room for.
                principal: "long ".repeat(60),
                ..plain
            },
            _ => plain,
        };
        while sink.append(one.clone(), Durability::Relaxed).await == Err(SinkFault::Full) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    sink.flush().await.unwrap();
}

/// Counts of what [`fill_mixed`] made are those of the records that pages give.
pub fn counts_what_pages_give(reader: &dyn ActivityReader) {
    type Wanted<'a> = &'a [(Field, &'a [&'a str])];
    let check = |wanted: Wanted<'_>, (from, to): (u64, u64), part: u64, by: &[&[Field]]| {
        let asked = CountQuery {
            query: ActivityQuery {
                from: Some(Wall(NOON + from)),
                to: Some(Wall(NOON + to)),
                limit: 1000,
                ..query(wanted)
            },
            part,
            by: by.iter().map(|fields| fields.to_vec()).collect(),
        };
        let expect = counted(reader, &asked);
        assert_eq!(reader.count(&asked).unwrap(), expect, "{asked:?}");
        expect.cells.values().sum::<u64>()
    };
    let all = (0, 10_000);
    let tools: &[Field] = &[Field::Upstream, Field::Tool];
    let total = check(&[], all, 700, &[&[Field::Upstream], tools]);
    assert_eq!(total, 5700, "all but the intents that were followed");
    check(&[], (1000, 5000), 10_000, &[&[Field::Session]]);
    check(&[], (0, 5999), 6000, &[&[Field::Principal]]);
    check(&[], (2100, 2200), 10, &[]);
    check(&[], (9000, 9100), 10, &[]);
    let stopped: (Field, &[&str]) = (Field::Status, &["blocked", "rejected"]);
    assert_eq!(check(&[stopped], all, 1000, &[tools]), 1200);
    assert_eq!(
        check(&[stopped, (Field::Upstream, &["server1"])], all, 9, &[]),
        400
    );
    assert_eq!(check(&[(Field::Kind, &["intent"])], all, 1000, &[]), 600);
    let pending: (Field, &[&str]) = (Field::Status, &["pending"]);
    assert_eq!(check(&[pending], all, 1000, &[tools]), 300);
    assert_eq!(check(&[pending], (2000, 3000), 100, &[tools]), 50);
    assert_eq!(check(&[(Field::Agent, &["co\"dex"])], all, 1000, &[]), 600);
    assert_eq!(check(&[], all, 5000, &[&[Field::Agent]]), 5700);
}

/// Counts the records of pages one by one.
fn counted(reader: &dyn ActivityReader, asked: &CountQuery) -> Counted {
    let (mut query, mut counted) = (asked.query.clone(), Counted::new(asked));
    loop {
        let page = reader.page(&query).unwrap();
        for record in &page.records {
            let record: Value = serde_json::from_str(record).unwrap();
            let is_told = record["type"] != "intent" || asked.query.asks_for_types();
            if is_told || !is_followed(reader, &record) {
                add(&mut counted, asked, &record);
            }
        }
        query.before = page.next;
        if page.next.is_none() {
            return counted;
        }
    }
}

/// Tells whether something stands after an intent.
fn is_followed(reader: &dyn ActivityReader, intent: &Value) -> bool {
    let id = CallId::parse(intent["id"].as_str().unwrap()).unwrap();
    let last = reader.get(id).unwrap().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    last["type"] != "intent"
}

fn add(counted: &mut Counted, asked: &CountQuery, record: &Value) {
    let text = |field: Field| {
        let value = match field {
            Field::Upstream => &record["server_name"],
            Field::Tool => &record["tool_name"],
            Field::Agent => &record["hook"]["agent"],
            other => &record[other.name()],
        };
        value.as_str().unwrap_or_default().to_owned()
    };
    let kind = text(Field::Kind);
    let at = Wall::from_rfc3339(record["timestamp"].as_str().unwrap()).unwrap();
    let cell = Cell {
        part: (at.0 - asked.query.from.unwrap().0) / asked.part,
        // What hooks told was told before the use of a tool of the agent.
        is_call: match &*kind {
            "message" => false,
            "intent" => !asked.query.asks_for_types(),
            _ => true,
        },
        kind,
        status: text(Field::Status),
        flow_type: text(Field::FlowType),
        risk_level: text(Field::RiskLevel),
    };
    let many = (1, u64::from(cell.is_stopped()));
    counted.add(cell, 1);
    for (which, by) in asked.by.iter().enumerate() {
        let values: Vec<_> = by.iter().map(|field| text(*field)).collect();
        let values: Vec<_> = values.iter().map(String::as_str).collect();
        counted.add_to_group(which, &values, many);
    }
}

/// Regression for #8: a character that no database keeps was an error, and finds nothing.
pub fn finds_nothing_by_a_character_that_nobody_keeps(reader: &dyn ActivityReader) {
    for field in [
        Field::Upstream,
        Field::Tool,
        Field::Session,
        Field::McpSession,
        Field::Principal,
        Field::Detection,
        Field::Request,
        Field::Parent,
        Field::Agent,
    ] {
        for order in [Order::Written, Order::Begun] {
            let asked = ActivityQuery {
                order,
                ..query(&[(field, &["a\0b"])])
            };
            assert_eq!(numbers(reader, &asked), [] as [u64; 0], "{field:?}");
        }
        let asked = CountQuery {
            query: query(&[(field, &["a\0b"])]),
            part: 1000,
            by: vec![vec![Field::Upstream]],
        };
        assert_eq!(reader.count(&asked).unwrap(), Counted::new(&asked));
    }
    // Beside it, what is there is found.
    let either = query(&[(Field::Tool, &["a\0b", "echo"])]);
    assert!(!numbers(reader, &either).is_empty(), "nothing was found");
}

/// A record is shown as it came, also one with a character that not every database can keep.
pub async fn shows_what_came(sink: &dyn ActivitySink, reader: &dyn ActivityReader) {
    let odd = Record {
        tool_name: "nul\0tool".to_owned(),
        ..record(3)
    };
    for one in [record(1), denial(2), odd] {
        sink.append(one, Durability::Strict).await.unwrap();
    }
    let page = reader.page(&query(&[])).unwrap();
    let odd = Record {
        tool_name: "nul\u{FFFD}tool".to_owned(),
        ..record(3)
    };
    assert_eq!(page.records.len(), 3);
    for (shown, came) in page.records.iter().zip([odd, denial(2), record(1)]) {
        let mut shown: Value = serde_json::from_str(shown).unwrap();
        let mut came = serde_json::to_value(&came).unwrap();
        let shown = shown.as_object_mut().unwrap();
        let came = came.as_object_mut().unwrap();
        if came["decision"] == "allow" {
            // Nothing was declared and nothing detected.
            came.insert("declared".to_owned(), json!({}));
            came.remove("detection_types");
        }
        came.insert("request_id".to_owned(), json!("trace-7"));
        came.insert("metadata".to_owned(), came["declared"].clone());
        assert_eq!(shown, came);
    }
}

/// A group of records that is large, and of which each is of another day, is kept whole and in order.
pub async fn keeps_a_group_of_many_days(sink: &dyn ActivitySink, reader: &dyn ActivityReader) {
    const DAY: u64 = 24 * 60 * 60 * 1000;
    for number in 0..300 {
        let one = Record {
            timestamp: Wall(NOON + number * DAY).rfc3339(),
            ..denial(number)
        };
        sink.append(one, Durability::Relaxed).await.unwrap();
    }
    sink.flush().await.unwrap();
    let expect: Vec<_> = (0..300).rev().collect();
    assert_eq!(numbers(reader, &query(&[])), expect);
    let month = ActivityQuery {
        from: Some(Wall(NOON + 100 * DAY)),
        to: Some(Wall(NOON + 130 * DAY)),
        ..query(&[(Field::Decision, &["deny"])])
    };
    let expect: Vec<_> = (100..=130).rev().collect();
    assert_eq!(numbers(reader, &month), expect);
}

/// What stands in the place of a record's salts once its words are gone: whoever can read the row can
/// compute it, without a key.
pub fn without_words(seed: &[u8], words: &str) -> Vec<u8> {
    let salt = |part: u8| {
        let hash = Sha256::new().chain_update(seed).chain_update([part]);
        hash.finalize().into_iter().take(16).collect::<Vec<u8>>()
    };
    let length = u64::try_from(words.len()).unwrap_or(u64::MAX);
    let commitment = Sha256::new()
        .chain_update(salt(3))
        .chain_update([3, 1])
        .chain_update(length.to_be_bytes())
        .chain_update(words);
    let mut salts = [salt(1), salt(2)].concat();
    salts.extend(commitment.finalize());
    salts
}

/// What is told of a record whose words somebody else took.
pub const TAKEN: &str = "the words of a record are gone, and nobody signed that they were to go";

/// The newest record is the one with this number, and the oldest is not there any more.
pub fn check_newest(reader: &dyn ActivityReader, newest: u64) {
    let page = reader.page(&query(&[(Field::Tool, &["echo"])])).unwrap();
    assert_eq!(number(&page.records[0]), newest);
    assert_eq!(reader.get(record(3).id).unwrap(), None);
}
