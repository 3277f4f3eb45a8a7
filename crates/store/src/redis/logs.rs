//! The logs of a room as streams: what others appended is read and what is new is appended in one
//! transaction, so that nothing comes between.

use mcpproxy_core::{Exchange, Exchanged, Id128, LiveFault, LogAsk, LogSaid, Place};
use redis::{Pipeline, RedisError, Value, from_redis_value};

use super::{Redis, millis};

/// Entries of a log that are read at once.
const PAGE: usize = 64;
/// The field of an entry.
const FIELD: &str = "e";

/// The entries of a stream, each with its fields.
type Entries = Vec<(String, Vec<Vec<u8>>)>;

impl Redis {
    /// Has an exchange done, within the time that there is for it.
    pub(super) async fn exchanged(&self, asked: Exchange) -> Result<Exchanged, LiveFault> {
        let names = [0, 1].map(|log| self.seal.name(&format!("{}/{log}", asked.room)));
        let mut steps = redis::pipe();
        steps.atomic();
        let epoch = self.seal.name("epoch");
        steps.cmd("SETNX").arg(&epoch).arg(fresh()?.to_string());
        steps.cmd("GET").arg(&epoch);
        for (name, log) in names.iter().zip(&asked.logs) {
            self.ask_log(&mut steps, name, log)?;
        }
        // One log lasts as long as the other.
        if asked.logs.iter().any(|log| !log.append.is_empty()) {
            for name in &names {
                steps.cmd("PEXPIRE").arg(name).arg(millis(asked.rest));
            }
        }
        let answers = self.ask_all(&steps).await?;
        let read = || {
            let mut answers = answers.into_iter().skip(1);
            let epoch: String = next(&mut answers)?;
            let [first, second] = &names;
            let [one, other] = &asked.logs;
            let logs = [
                self.read_log(&mut answers, first, one)?,
                self.read_log(&mut answers, second, other)?,
            ];
            let epoch = u128::from_str_radix(&epoch, 16).map(Id128).ok()?;
            Some(Exchanged { logs, epoch })
        };
        read().ok_or_else(|| LiveFault("the answer is not what was asked for".to_owned()))
    }

    fn ask_log(&self, steps: &mut Pipeline, name: &str, log: &LogAsk) -> Result<(), LiveFault> {
        let from = log
            .after
            .map_or_else(|| "-".to_owned(), |at| format!("({}", id(at)));
        let step = steps.cmd("XRANGE").arg(name).arg(from).arg("+");
        step.arg("COUNT").arg(PAGE);
        for entry in &log.append {
            let step = steps.cmd("XADD").arg(name);
            if let Some(keep) = log.keep {
                step.arg("MINID").arg("~").arg(id(keep));
            }
            step.arg("*").arg(FIELD).arg(self.seal.seal(entry, name)?);
        }
        Ok(())
    }

    fn read_log(
        &self,
        answers: &mut impl Iterator<Item = Value>,
        name: &str,
        log: &LogAsk,
    ) -> Option<LogSaid> {
        let found: Entries = next(answers)?;
        let more = found.len() >= PAGE;
        let entries = found.into_iter().map(|(at, fields)| {
            // What cannot be opened was not written by one of us: it is passed over.
            let opened = fields
                .get(1)
                .and_then(|sealed| self.seal.open(sealed, name));
            Some((place(&at)?, opened.unwrap_or_default()))
        });
        let entries = entries.collect::<Option<Vec<_>>>()?;
        let appended = log.append.iter().map(|_| place(&next::<String>(answers)?));
        let appended = appended.collect::<Option<Vec<_>>>()?;
        Some(LogSaid {
            entries,
            more,
            appended,
        })
    }
}

fn fresh() -> Result<Id128, LiveFault> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|fault| LiveFault(fault.to_string()))?;
    Ok(Id128::from_bytes(bytes))
}

fn next<T: redis::FromRedisValue>(answers: &mut impl Iterator<Item = Value>) -> Option<T> {
    let answer: Result<T, RedisError> = from_redis_value(answers.next()?).map_err(Into::into);
    answer.ok()
}

fn id(place: Place) -> String {
    format!("{}-{}", place.0, place.1)
}

fn place(id: &str) -> Option<Place> {
    let (millis, number) = id.split_once('-')?;
    Some(Place(millis.parse().ok()?, number.parse().ok()?))
}
