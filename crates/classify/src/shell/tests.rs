//! Tables of commands, each with everything that is said about it in one short line.
//!
//! `r:` read, `w:` written, `x:` run, `k:` removed, `upload>host` and kin a connection,
//! `origin->host` a flow, `?kind` an unknown, `!reason` not parsed.

mod bounds;
mod flows;
mod harmless;
mod programs;
mod syntax;
mod windows;

use super::{Analysis, Dialect, Origin, read_as};

fn name(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_value(value).unwrap();
    json.as_str().unwrap().to_owned()
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::File(path) => path.clone(),
        Origin::Environment(name) => format!("${name}"),
        Origin::Program(name) => format!("({name})"),
        Origin::Remote(host) => format!("@{host}"),
    }
}

fn brief(analysis: &Analysis) -> String {
    let mut out = Vec::new();
    let host = |host: &Option<String>| host.clone().unwrap_or_else(|| "?".into());
    let sure = |certain: bool| if certain { "" } else { "~" };
    out.extend(
        analysis
            .reads
            .iter()
            .map(|access| format!("{}r:{}", sure(access.certain), access.path)),
    );
    out.extend(
        analysis
            .writes
            .iter()
            .map(|access| format!("w:{}", access.path)),
    );
    out.extend(
        analysis
            .runs
            .iter()
            .map(|access| format!("x:{}", access.path)),
    );
    out.extend(
        analysis
            .destructive
            .iter()
            .map(|gone| format!("k:{}", gone.target)),
    );
    for send in &analysis.sends {
        out.push(format!(
            "{}{}>{}",
            sure(send.certain),
            name(&send.transfer),
            host(&send.host)
        ));
    }
    for flow in &analysis.flows {
        let from: Vec<String> = flow.from.iter().map(origin).collect();
        out.push(format!("{}->{}", from.join(","), host(&flow.to)));
    }
    if analysis.fetches_and_runs {
        out.push("runs-fetched".into());
    }
    out.extend(
        analysis
            .unknown
            .iter()
            .map(|unknown| format!("?{}", name(&unknown.kind))),
    );
    out.extend(
        analysis
            .unparsed
            .iter()
            .map(|unparsed| format!("!{}", name(&unparsed.reason))),
    );
    out.join(" ")
}

/// Checks a table and shows every line that differs, so that one run is enough.
fn check_as(dialect: Dialect, table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (command, expect) in table {
        let got = brief(&read_as(command, dialect));
        if got != *expect {
            wrong.push(format!("\n{command}\n  expect {expect}\n  got    {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

fn check(table: &[(&str, &str)]) {
    check_as(Dialect::Posix, table);
}
