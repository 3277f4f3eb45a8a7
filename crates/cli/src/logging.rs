//! The log of the process on standard error: one line for each event, whoever chose the words in it.
//! What becomes of calls is on record elsewhere.

use std::fmt;
use std::io::{self, IsTerminal as _};

use mcpproxy_core::Clock;
use mcpproxy_gateway::settings::{LogFormat, LogSettings};
use mcpproxy_text::decode::is_hidden;
use serde_json::json;
use tracing::Subscriber;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::fmt::{FormatFields, MakeWriter, layer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, reload};

use crate::daemon::LogLevel;
use crate::output;

/// Sends log lines to standard error; what is returned lets a reload change which.
pub(crate) fn start(settings: &LogSettings) -> LogLevel {
    let filter = EnvFilter::new(settings.level.as_str());
    let (filter, level) = reload::Layer::new(filter);
    let log = tracing_subscriber::registry().with(filter);
    match settings.format {
        LogFormat::Text => log
            .with(text(io::stderr, io::stderr().is_terminal()))
            .init(),
        LogFormat::Json => log
            .with(layer().with_writer(io::stderr).with_target(false).json())
            .init(),
    }
    level
}

/// Says what whoever started the program waits for, in the form of the log and at each of its
/// levels.
pub(crate) fn announce(format: LogFormat, clock: &dyn Clock, message: &str) {
    match format {
        LogFormat::Text => output::note(message),
        LogFormat::Json => {
            let fields = json!({ "message": message });
            let at = clock.wall().rfc3339();
            let line = json!({ "timestamp": at, "level": "INFO", "fields": fields });
            output::note(&line.to_string());
        }
    }
}

/// Lines for people.
fn text<S, W>(writer: W, coloured: bool) -> impl Layer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + 'static,
{
    let lines = layer().with_writer(writer).with_target(false);
    lines.with_ansi(coloured).fmt_fields(OneLine)
}

/// Writes fields so that they neither end their line nor steer a terminal. Names of tools are chosen
/// by agents and upstreams: with a line end in one of them they could write lines of their own.
struct OneLine;

impl<'writer> FormatFields<'writer> for OneLine {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut escaped = Escaped(writer);
        DefaultFields::new().format_fields(Writer::new(&mut escaped), fields)
    }
}

/// Writes characters that are not seen as the escapes of Rust and JSON.
struct Escaped<'writer>(Writer<'writer>);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            let ends_line = matches!(char, '\u{2028}' | '\u{2029}');
            if char.is_control() || ends_line || is_hidden(char) {
                write!(self.0, "{}", char.escape_default())?;
            } else {
                self.0.write_char(char)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Regression for #8: a name with a line end in it wrote a line of its own.
    #[test]
    fn an_event_is_one_line_whatever_is_in_its_fields() {
        for coloured in [false, true] {
            let kept = Kept::default();
            let writer = kept.clone();
            let log = tracing_subscriber::registry().with(text(move || writer.clone(), coloured));
            let hostile = "a\nb\rc\u{85}d\u{2028}e\u{2029}f\u{1b}[2Jg\u{9b}h\u{b}i\0j\u{202E}k\tl";
            tracing::subscriber::with_default(log, || {
                let span = tracing::error_span!("call", name = %hostile);
                let _entered = span.enter();
                tracing::error!(shown = %hostile, quoted = ?hostile, "{hostile}");
            });
            let written = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
            let line = written.strip_suffix('\n').unwrap();
            let whole = r"a\nb\rc\u{85}d\u{2028}e\u{2029}f";
            assert_eq!(line.matches(whole).count(), 4, "{line}");
            // Colours are ours.
            let odd = |char: char| char.is_control() && !(coloured && char == '\u{1b}');
            assert!(!line.contains(odd), "{line:?}");
            assert!(
                !line.contains("\u{1b}[2J") && !line.contains('\u{202E}'),
                "{line:?}"
            );
        }
    }
}
