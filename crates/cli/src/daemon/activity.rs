//! The activity log of a gateway: where the configuration has it, how long it is kept, and with
//! which key it says how far it has got.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use mcpproxy_config::{BaselinePlace, Loaded};
use mcpproxy_core::{
    ActivityReader, ActivitySink, BaselineStore, Clock, Signed, StatementCheck, StatementSigner,
};
use mcpproxy_gateway::settings::Settings;
use mcpproxy_notary::keys::{PublicKey, Signer};
use mcpproxy_store::{
    Flaw, NoSink, Options, PostgresBaselines, PostgresReader, Reader, Retention, Sink,
    SqliteBaselines, Verified, remake_database_index, remake_index,
};

use crate::output;

/// The name of the log's key in the folder of keys.
const KEY: &str = "activity";
const DAY: u64 = 24 * 60 * 60;

/// The activity log, to write and, unless it is switched off, to read.
pub(crate) struct ActivityLog {
    pub(crate) sink: Arc<dyn ActivitySink>,
    pub(crate) reader: Option<Arc<dyn ActivityReader>>,
    /// The same sink, to change how long records are kept.
    pub(crate) kept: Option<Arc<Sink>>,
}

impl ActivityLog {
    /// Opens the log that the configuration wants.
    pub(crate) fn open(loaded: &Loaded, clock: Arc<dyn Clock>) -> Result<Self> {
        let settings = &loaded.config.gateway;
        if !settings.activity.enabled {
            return Ok(Self {
                sink: Arc::new(NoSink),
                reader: None,
                kept: None,
            });
        }
        let signer = Signer::open(&keys(&settings.data_dir), KEY);
        let signer = signer.context("cannot open the key of the activity log")?;
        let options = Options {
            retention: retention(loaded),
            signer: Arc::new(LogKey(signer)),
            trust: Arc::new(Believed::load(&settings.data_dir, &[])?),
            clock,
            reminder: Some(reminder(settings)),
        };
        if let Some(url) = &settings.store {
            let sink = Arc::new(Sink::postgres(url.expose(), options)?);
            return Ok(Self {
                reader: Some(Arc::new(PostgresReader::open(url.expose())?)),
                kept: Some(Arc::clone(&sink)),
                sink,
            });
        }
        let path = settings.data_dir.join(mcpproxy_store::FILE);
        let is_new = !path.exists();
        let sink = Arc::new(Sink::sqlite(&path, options)?);
        let old = settings.data_dir.join("activity.ndjson");
        if is_new && old.exists() {
            let (old, path) = (old.display(), path.display());
            output::note(&format!(
                "notice: records now go to `{path}`; `{old}` is left as it is"
            ));
        }
        Ok(Self {
            reader: Some(Arc::new(Reader::open(&path)?)),
            kept: Some(Arc::clone(&sink)),
            sink,
        })
    }
}

/// Opens the baselines where they are to be kept.
pub(crate) fn baselines(
    settings: &Settings,
    place: BaselinePlace,
) -> Result<Arc<dyn BaselineStore>> {
    if place == BaselinePlace::Redis {
        output::note(
            "notice: Redis may forget what was approved; baselines are kept with the records",
        );
    }
    let own = match place {
        BaselinePlace::Postgres(url) => return Ok(Arc::new(PostgresBaselines::open(&url)?)),
        BaselinePlace::File(file) => Some(file),
        BaselinePlace::Records | BaselinePlace::Redis => None,
    };
    if let (None, Some(url)) = (&own, &settings.store) {
        return Ok(Arc::new(PostgresBaselines::open(url.expose())?));
    }
    let file = own.unwrap_or_else(|| mcpproxy_store::FILE.into());
    let file = settings.data_dir.join(file);
    Ok(Arc::new(SqliteBaselines::open(&file)?))
}

/// Goes through the whole log to find what was changed behind its back.
pub(crate) fn verify(settings: &Settings, believed: Believed) -> Result<Verified> {
    let mut found = if let Some(url) = &settings.store {
        PostgresReader::open(url.expose())?.verify_beside(believed, &reminder(settings))?
    } else {
        let reader = Reader::open(&settings.data_dir.join(mcpproxy_store::FILE))?;
        reader.verify_beside(&believed, &reminder(settings))?
    };
    // A gateway that makes a key writes that it starts: where nobody has ever written, all is gone.
    if found.writers == 0 && found.records == 0 && own_key(&settings.data_dir).exists() {
        found.flaws.push(Flaw {
            record: None,
            chain: None,
            block: None,
            what: "the log is empty, and the key that signs it is there",
        });
    }
    Ok(found)
}

/// Makes what the records of the log are found by anew, and returns of how many blocks.
pub(crate) fn reindex(settings: &Settings) -> Result<u64> {
    if let Some(url) = &settings.store {
        return Ok(remake_database_index(url.expose())?);
    }
    let path = settings.data_dir.join(mcpproxy_store::FILE);
    // Where there is no log none is begun.
    drop(Reader::open(&path)?);
    Ok(remake_index(&path)?)
}

/// Returns how long the configuration wants records kept.
pub(crate) fn retention(loaded: &Loaded) -> Retention {
    let days = |days: u32| Duration::from_secs(u64::from(days) * DAY);
    let activity = &loaded.config.gateway.activity;
    let personal = &loaded.config.security.pii_detection;
    Retention {
        max_bytes: activity.max_bytes.bytes(),
        max_records: activity.max_records,
        max_age: activity.max_age_days.map(days),
        redact_after: personal.auto_redact_after_days.map(days),
    }
}

fn keys(data_dir: &Path) -> PathBuf {
    data_dir.join("keys")
}

/// The file that says how far the log had got, apart from it. One in a file and one in a database are two
/// logs.
fn reminder(settings: &Settings) -> PathBuf {
    let name = match settings.store {
        Some(_) => "activity-database.last",
        None => "activity.last",
    };
    keys(&settings.data_dir).join(name)
}

fn own_key(data_dir: &Path) -> PathBuf {
    keys(data_dir).join(format!("{KEY}.pub"))
}

/// The key with which a gateway signs how far its log has got.
#[derive(Debug)]
struct LogKey(Signer);

impl StatementSigner for LogKey {
    fn key(&self) -> [u8; 32] {
        *self.0.public().bytes()
    }

    fn sign(&self, statement: &[u8]) -> [u8; 64] {
        self.0.sign(statement)
    }
}

/// Keys that are believed: that of this gateway, and those that were named.
#[derive(Debug)]
pub(crate) struct Believed(Vec<PublicKey>);

impl Believed {
    /// Reads the keys; that of this gateway need not be there.
    pub(crate) fn load(data_dir: &Path, named: &[PathBuf]) -> Result<Self> {
        let own = own_key(data_dir);
        let own = own.exists().then_some(own);
        let keys = own.iter().chain(named).map(|path| PublicKey::load(path));
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }
}

impl StatementCheck for Believed {
    fn check(&self, key: &[u8], statement: &[u8], signature: &[u8]) -> Signed {
        let key = key.try_into().ok().and_then(PublicKey::from_bytes);
        let Some(key) = key.filter(|key| key.verify(statement, signature)) else {
            return Signed::Forged;
        };
        if self.0.contains(&key) {
            Signed::Trusted
        } else {
            Signed::Unknown
        }
    }

    fn vouches(&self, key: &[u8]) -> bool {
        self.0.iter().any(|known| known.bytes()[..] == *key)
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_config::{Flags, Sources, load};

    use super::*;

    #[test]
    fn every_key_about_keeping_acts() {
        let check = |text: &str, expect: Retention| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("mcpproxy.yaml");
            std::fs::write(&path, text).unwrap();
            let flags = Flags {
                config: Some(path),
                data_dir: Some(folder.path().to_owned()),
                ..Flags::default()
            };
            let loaded = load(&Sources::new(flags, &|_| None)).unwrap();
            assert_eq!(retention(&loaded), expect, "{text}");
        };
        let usual = Retention {
            max_bytes: 256 << 20,
            redact_after: Some(Duration::from_hours(30 * 24)),
            ..Retention::ALL
        };
        check("{}", usual);
        let max_bytes = 1 << 20;
        check(
            "activity: {max_bytes: 1MiB}",
            Retention { max_bytes, ..usual },
        );
        let max_records = Some(7);
        check(
            "activity: {max_records: 7}",
            Retention {
                max_records,
                ..usual
            },
        );
        let max_age = Some(Duration::from_hours(48));
        check(
            "activity: {max_age_days: 2}",
            Retention { max_age, ..usual },
        );
        let redact_after = Some(Duration::from_hours(24));
        let given = "security: {pii_detection: {auto_redact_after_days: 1}}";
        check(
            given,
            Retention {
                redact_after,
                ..usual
            },
        );
        let redact_after = None;
        let never = "security: {pii_detection: {auto_redact_after_days: null}}";
        check(
            never,
            Retention {
                redact_after,
                ..usual
            },
        );
    }
}
