//! `activity verify`: whether the log is what was written; `activity reindex`: what it is searched by, made
//! anew.

use anyhow::Result;
use mcpproxy_store::Verified;
use serde_json::{Value, json};

use crate::args::{ActivityVerify, Global};
use crate::daemon::activity::{self, Believed};
use crate::daemon::{configuration, flags};
use crate::exit::Exit;
use crate::output;

/// Goes through the whole log; the gateway need not run.
pub(crate) fn run(global: &Global, verify: &ActivityVerify) -> Result<Exit> {
    let loaded = configuration(&flags(global, None))?;
    let settings = &loaded.config.gateway;
    let believed = Believed::load(&settings.data_dir, &verify.keys)?;
    let found = activity::verify(settings, believed)?;
    output::value(global.format(), &shown(&found))?;
    if found.is_sound() {
        return Ok(Exit::Fine);
    }
    for key in &found.unknown_keys {
        output::note(&format!(
            "hint: `{key}` signed, and nobody vouches for it; name it with `--key` if you know it"
        ));
    }
    if found.flaws.iter().any(|flaw| flaw.block.is_some()) {
        output::note(
            "hint: filters and summaries miss records of these blocks, or count too many; make their index \
             anew from the records with `mcpproxy activity reindex`",
        );
    }
    Ok(Exit::Findings)
}

/// Makes what records are found by anew; the gateway may run or not.
pub(crate) fn reindex(global: &Global) -> Result<Exit> {
    let loaded = configuration(&flags(global, None))?;
    let blocks = activity::reindex(&loaded.config.gateway)?;
    output::value(global.format(), &json!({ "blocks": blocks }))?;
    Ok(Exit::Fine)
}

fn shown(found: &Verified) -> Value {
    let flaws = found.flaws.iter().map(|flaw| {
        let (place, id) = flaw.record.unzip();
        let (writer, number) = flaw.chain.unzip();
        json!({
            "problem": flaw.what,
            "place": place,
            "id": id,
            "writer": writer.map(|writer| writer.to_string()),
            "number": number,
            "block": flaw.block,
        })
    });
    json!({
        "sound": found.is_sound(),
        "records": found.records,
        "writers": found.writers,
        "redacted": found.redacted,
        "redacted_without_signature": found.unaccounted,
        "pruned": found.pruned,
        "unsigned": found.unsigned,
        "unchained": found.unchained,
        "blocks_without_index": found.unindexed,
        "unknown_keys": found.unknown_keys,
        "problems": flaws.collect::<Vec<_>>(),
        "more_problems": found.more,
    })
}
