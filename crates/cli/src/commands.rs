//! The commands, one file each, run from one `match`.

mod activity;
mod adversary;
mod approvals;
mod bridge;
mod call;
pub(crate) mod client;
mod config;
mod demo;
mod detect;
mod doctor;
mod hooks;
mod init;
mod integrity;
mod key;
mod policy;
mod rules;
mod scan;
mod serve;
mod shell;
mod status;
mod stops;
pub(crate) mod supervise;
mod token;
mod tools;
mod ui;
mod upstream;

use anyhow::Result;

use crate::args::{Activity, Adversary, Command, Format, Global, Sample, Tools};
use crate::exit::{Exit, bad_input};

/// Runs one command.
pub(crate) fn run(global: &Global, command: Command) -> Result<Exit> {
    if global.format() == Format::Sarif && !scans(&command) {
        let hint = Some("choose table, json, yaml or jsonl");
        return Err(bad_input(
            "only `scan` and `adversary run` print SARIF",
            hint,
        ));
    }
    if let (Some(file), false) = (global.file(), exports(&command)) {
        let message = format!("`{}` is no form of the output", file.display());
        return Err(bad_input(
            message,
            Some("choose table, json, yaml or jsonl"),
        ));
    }
    match command {
        Command::Serve(serve) => serve::run(global, &serve),
        Command::Stdio(stdio) => bridge::run(global, &stdio),
        Command::Init(init) => init::run(global, &init),
        Command::Doctor => doctor::run(global),
        Command::Status => status::run(global),
        Command::Ui => ui::run(global),
        Command::Upstream(command) => upstream::run(global, command),
        Command::Tools(command) => tools::run(global, command),
        Command::Activity(command) => activity::run(global, &command),
        Command::Call(command) => call::run(global, command),
        Command::StopCalls(stop) => stops::stop(global, &stop.scope),
        Command::ResumeCalls(stop) => stops::resume(global, &stop.scope),
        Command::Approvals(command) => approvals::run(global, command),
        Command::Policy(command) => policy::run(global, &command),
        Command::Token(command) => token::run(global, command),
        Command::Config(command) => config::run(global, &command),
        Command::Detect => detect::run(global),
        Command::Rules(command) => rules::run(global, &command),
        Command::Scan(scan) => scan::run(global, &scan),
        Command::Hooks(command) => hooks::run(global, &command),
        Command::Hook(command) => crate::hook::run(global, command),
        Command::Demo => demo::run(global),
        Command::Adversary(command) => adversary::run(global, &command),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man => shell::man(),
        // Handled in `main`, before anything else is set up.
        Command::Supervise(_) | Command::Watch { .. } | Command::Wrap(_) => Ok(Exit::BadInput),
        Command::Sample(sample) => run_sample(sample),
    }
}

fn scans(command: &Command) -> bool {
    matches!(
        command,
        Command::Scan(_)
            | Command::Tools(Tools::Scan { .. })
            | Command::Adversary(Adversary::Run(_))
    )
}

fn exports(command: &Command) -> bool {
    matches!(command, Command::Activity(Activity::Export(_)))
}

fn run_sample(sample: Sample) -> Result<Exit> {
    use mcpproxy_testkit::sample::{EraSupport, Options, Sample as Kind};
    let unknown = |what: &str| bad_input(format!("unknown sample or era `{what}`"), None);
    let kind = Kind::named(&sample.name).ok_or_else(|| unknown(&sample.name))?;
    let era = match sample.era.as_str() {
        "both" => EraSupport::Both,
        "legacy" => EraSupport::LegacyOnly,
        "modern" => EraSupport::ModernOnly,
        other => return Err(unknown(other)),
    };
    let options = Options {
        era,
        record: sample.record,
        many: sample.many,
        script: sample.script,
    };
    mcpproxy_testkit::sample::run(kind, options)?;
    Ok(Exit::Fine)
}
