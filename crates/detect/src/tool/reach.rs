//! Where a changed descriptor leads that it did not lead before: hosts among the values that it
//! proposes, schemas that are fetched from elsewhere, icons that are programs.
//!
//! Addresses in prose are not looked at here: descriptions are read as texts.

use mcpproxy_text::url::{self, Host, Reach};
use serde_json::Value;

use crate::detection::Level;
use crate::tool::fields::{self, Field, join};
use crate::tool::{Sheet, structural};

/// Members of a schema whose values a model puts into a call.
const PROPOSED: [&str; 3] = ["default", "const", "enum"];
/// Members that name another schema.
const NAMED: [&str; 2] = ["$ref", "$dynamicRef"];
/// Kinds of pictures that are nothing but pictures.
const RASTER: [&str; 8] = ["png", "jpeg", "jpg", "gif", "webp", "avif", "bmp", "x-icon"];
/// The deepest nesting that is followed.
const DEEPEST: usize = 64;

/// Judges where a change leads.
pub(super) fn judge(
    before: &Value,
    after: &Value,
    tags: &'static [&'static str],
    sheet: &mut Sheet,
) {
    let old = fields::of(before);
    let known: Vec<String> = old.iter().flat_map(|field| domains(&field.text)).collect();
    let mut add = |path: &str, rule: &'static str, reason: &str| {
        let found = structural(rule, Level::Warn, 50, reason.to_owned(), tags);
        sheet.add(path, 0, vec![found]);
    };
    let is_new = |field: &Field| !old.contains(field);
    for field in proposed(after).iter().filter(|field| is_new(field)) {
        if domains(&field.text).any(|domain| !known.contains(&domain)) {
            let reason = "a value is proposed that leads to a host not named before";
            add(&field.path, "new_host", reason);
        }
    }
    for field in named(after).iter().filter(|field| is_new(field)) {
        if !field.text.starts_with('#') && (field.text.contains("//") || field.text.contains(':')) {
            let reason = "a schema is taken from elsewhere";
            add(&field.path, "foreign_schema", reason);
        }
    }
    let had_icons = !icons(before).is_empty();
    for field in icons(after).iter().filter(|field| is_new(field)) {
        if !is_picture(&field.text) {
            add(&field.path, "icon", "an icon is no mere picture");
        } else if had_icons && domains(&field.text).any(|domain| !known.contains(&domain)) {
            add(&field.path, "icon", "an icon comes from another host");
        }
    }
}

/// The texts that a descriptor's schemas propose as values.
fn proposed(tool: &Value) -> Vec<Field> {
    under(tool, &["inputSchema"], &PROPOSED)
}

/// The names of other schemas in a descriptor.
fn named(tool: &Value) -> Vec<Field> {
    under(tool, &["inputSchema", "outputSchema"], &NAMED)
}

fn under(tool: &Value, parts: &[&str], keys: &[&str]) -> Vec<Field> {
    let mut found = Vec::new();
    for part in parts {
        if let Some(schema) = tool.get(part) {
            collect(schema, part, keys, DEEPEST, &mut found);
        }
    }
    found
}

/// Collects the texts under members of these names, at whatever depth. A parameter that is called
/// `default` is one as well: what stands under it is looked at in vain.
fn collect(value: &Value, path: &str, keys: &[&str], depth: usize, found: &mut Vec<Field>) {
    match value {
        Value::Object(members) if depth > 0 => {
            for (key, member) in members {
                let path = join(path, key);
                if keys.contains(&key.as_str()) {
                    let texts = fields::of(member).into_iter();
                    found.extend(texts.map(|field| Field {
                        path: match field.path.as_str() {
                            "" => path.clone(),
                            inner if inner.starts_with('[') => format!("{path}{inner}"),
                            inner => format!("{path}.{inner}"),
                        },
                        text: field.text,
                    }));
                }
                collect(member, &path, keys, depth - 1, found);
            }
        }
        Value::Array(items) if depth > 0 => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &format!("{path}[{at}]"), keys, depth - 1, found);
            }
        }
        _ => {}
    }
}

/// Where the icons of a descriptor are.
fn icons(tool: &Value) -> Vec<Field> {
    let icons = tool.get("icons").and_then(Value::as_array);
    let icons = icons.into_iter().flatten().enumerate();
    let sources = icons.filter_map(|(at, icon)| {
        let text = icon.get("src")?.as_str()?.to_owned();
        let path = format!("icons[{at}].src");
        Some(Field { path, text })
    });
    sources.collect()
}

/// Tells whether an icon is a picture that is fetched safely, or one that stands there itself and is
/// made of dots: drawings can hold programs.
fn is_picture(source: &str) -> bool {
    let source = source.trim_start().to_ascii_lowercase();
    if let Some(data) = source.strip_prefix("data:") {
        let kind = data.split([';', ',']).next().unwrap_or_default();
        let kind = kind.strip_prefix("image/");
        return kind.is_some_and(|kind| RASTER.contains(&kind));
    }
    source.starts_with("https://")
}

/// The registered domains of the addresses in a text that lead beyond the own network: hosts of one
/// owner count as one.
fn domains(text: &str) -> impl Iterator<Item = String> + use<> {
    let found = url::urls(text).into_iter();
    let found = found.filter(|url| match url.host.reach() {
        Reach::Public | Reach::Metadata | Reach::Reserved => true,
        Reach::Private | Reach::Loopback | Reach::LinkLocal => false,
    });
    let found = found.map(|url| match (&url.host, url.host.registrable()) {
        (_, Some(domain)) => domain.to_owned(),
        (Host::Ip(address), None) => address.to_string(),
        (Host::Name(name), None) => name.clone(),
    });
    let found: Vec<String> = found.collect();
    found.into_iter()
}
