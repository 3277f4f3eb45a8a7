//! What several gateways share while it lasts, in Redis or what speaks its language (6.2 or later).
//!
//! Nothing that is written there can be read or forged without the key of the installation: names are
//! keyed hashes, values are sealed under the name that they stand at (`seal`). Only limits are numbers
//! in clear, since the store itself counts them (`limits`): what they limit cannot be read. A
//! connection that is lost comes back by itself (`link`); until then everything fails at once.

mod address;
mod limits;
mod link;
mod logs;
mod seal;

use std::time::Duration;

use mcpproxy_core::{
    Charge, Charged, Exchange, Exchanged, Later, LiveFault, LiveStore, Seat, Secret,
};
use redis::{Cmd, FromRedisValue, Pipeline, Value, cmd};

use self::address::Address;
use self::link::Link;
use self::seal::Seal;
use crate::Error;

/// What a store for live state is told.
#[derive(Debug)]
pub struct LiveOptions {
    /// The address, as `redis://user:password@host:port/database`.
    pub url: Secret,
    /// What only the gateways of one installation know.
    pub key: Secret,
    /// How long an answer is waited for.
    pub patience: Duration,
}

/// The store.
#[derive(Debug)]
pub struct Redis {
    seal: Seal,
    link: Link,
    patience: Duration,
}

impl Redis {
    /// Begins to connect, and goes on trying for as long as it lives. Within a runtime.
    pub fn open(options: &LiveOptions) -> Result<Self, Error> {
        let address = Address::parse(options.url.expose())?;
        let seal = Seal::new(options.key.expose())?;
        let channel = seal.name("notices");
        Ok(Self {
            link: Link::start(address, channel, options.patience),
            seal,
            patience: options.patience,
        })
    }

    /// Says what is wrong with the address or the key, if anything; nothing is connected to.
    pub fn check(options: &LiveOptions) -> Result<(), Error> {
        Address::parse(options.url.expose())?;
        Seal::new(options.key.expose()).map(drop)
    }

    /// Waits until it is connected, or says why it is not.
    pub async fn connected(&self, patience: Duration) -> Result<(), Error> {
        let told = |why: String| Error::Connect {
            name: self.link.name().to_owned(),
            why,
        };
        let connected = tokio::time::timeout(patience, self.link.connected()).await;
        connected.map_err(|_| {
            let problem = self.link.problem();
            told(problem.unwrap_or_else(|| "it does not answer".to_owned()))
        })
    }

    /// Has several commands done, within the time that there is for them.
    async fn ask_all(&self, steps: &Pipeline) -> Result<Vec<Value>, LiveFault> {
        let mut connection = self.link.current()?;
        let asked = steps.query_async(&mut connection);
        self.link
            .judged(tokio::time::timeout(self.patience, asked).await)
    }

    /// Has a command done, within the time that there is for it.
    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, LiveFault> {
        let mut connection = self.link.current()?;
        let asked = command.query_async(&mut connection);
        self.link
            .judged(tokio::time::timeout(self.patience, asked).await)
    }
}

impl LiveStore for Redis {
    fn exchange(&self, asked: Exchange) -> Later<'_, Result<Exchanged, LiveFault>> {
        Box::pin(self.exchanged(asked))
    }

    fn put<'a>(
        &'a self,
        name: &'a str,
        value: Vec<u8>,
        span: Duration,
    ) -> Later<'a, Result<(), LiveFault>> {
        Box::pin(async move {
            let name = self.seal.name(name);
            let sealed = self.seal.seal(&value, &name)?;
            let mut command = cmd("SET");
            command.arg(&name).arg(sealed).arg("PX").arg(millis(span));
            self.ask(&command).await
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> Later<'a, Result<Option<Vec<u8>>, LiveFault>> {
        Box::pin(async move {
            let name = self.seal.name(name);
            let found: Option<Vec<u8>> = self.ask(cmd("GET").arg(&name)).await?;
            // What cannot be opened was not written by one of us.
            Ok(found.and_then(|sealed| self.seal.open(&sealed, &name)))
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Later<'a, Result<bool, LiveFault>> {
        Box::pin(async move {
            let removed: u64 = self.ask(cmd("DEL").arg(self.seal.name(name))).await?;
            Ok(removed > 0)
        })
    }

    fn claim<'a>(&'a self, name: &'a str, span: Duration) -> Later<'a, Result<bool, LiveFault>> {
        Box::pin(async move {
            let mut command = cmd("SET");
            command.arg(self.seal.name(name)).arg("1");
            command.arg("NX").arg("PX").arg(millis(span));
            let taken: Option<String> = self.ask(&command).await?;
            Ok(taken.is_some())
        })
    }

    fn charge(&self, charge: Charge) -> Later<'_, Result<Charged, LiveFault>> {
        Box::pin(self.charged(charge))
    }

    fn leave(&self, seats: Vec<Seat>) -> Later<'_, Result<(), LiveFault>> {
        Box::pin(self.left(seats))
    }

    fn stay(
        &self,
        seats: Vec<Seat>,
        lease: Duration,
        anew: bool,
    ) -> Later<'_, Result<(), LiveFault>> {
        Box::pin(self.stayed(seats, lease, anew))
    }

    fn announce(&self, notice: Vec<u8>) -> Later<'_, Result<usize, LiveFault>> {
        Box::pin(async move {
            let channel = self.link.channel();
            let sealed = self.seal.seal(&notice, channel)?;
            self.ask(cmd("PUBLISH").arg(channel).arg(sealed)).await
        })
    }

    fn heard(&self) -> Later<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            loop {
                let sealed = self.link.heard().await?;
                if let Some(notice) = self.seal.open(&sealed, self.link.channel()) {
                    return Some(notice);
                }
            }
        })
    }

    fn problem(&self) -> Option<String> {
        self.link.problem()
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}
