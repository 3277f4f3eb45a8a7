//! Limits that gateways keep together: buckets as the one moment at which they are full again, and
//! places as a set of calls, each with the end of its lease. One script charges a call to all of its
//! limits or to none, by the clock of the store, so that gateways need not agree on the time.
//!
//! Everything ends by itself: a bucket when it is full, a place with its lease.

use std::time::Duration;

use mcpproxy_core::{Charge, Charged, Limit, LiveFault, Seat};
use redis::cmd;

use super::Redis;

/// For each key: what a call takes (less than nothing for places), what there is room for, and what is
/// known to be taken; times are microseconds. Answers 0 and what each bucket lacks then, or the number
/// of the limit that is full and the time to wait.
const CHARGE: &str = r"
local stamp = redis.call('TIME')
local now = stamp[1] * 1000000 + stamp[2]
local lacks = {0}
for i, key in ipairs(KEYS) do
  local cost, room, known = tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2])
  if cost < 0 then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
    if redis.call('ZCARD', key) >= room then return {i, 0} end
    lacks[i + 1] = 0
  else
    local full = tonumber(redis.call('GET', key) or 0) or 0
    local lack = math.max(full - now, known, 0) + cost
    if lack > room then return {i, lack - room} end
    lacks[i + 1] = lack
  end
end
for i, key in ipairs(KEYS) do
  if tonumber(ARGV[3 * i]) < 0 then
    redis.call('ZADD', key, string.format('%.0f', now + ARGV[2]), ARGV[1])
    redis.call('PEXPIRE', key, math.ceil(ARGV[2] / 1000))
  elseif lacks[i + 1] > 0 then
    redis.call('SET', key, string.format('%.0f', now + lacks[i + 1]), 'PX', math.ceil(lacks[i + 1] / 1000))
  end
end
return lacks";

/// Renews the leases of places: for each key the call, the lease in microseconds, and whether a place
/// is taken that is not known.
const STAY: &str = r"
local stamp = redis.call('TIME')
local now = stamp[1] * 1000000 + stamp[2]
for i, key in ipairs(KEYS) do
  local ends = string.format('%.0f', now + ARGV[1])
  if ARGV[2] == '1' then
    redis.call('ZADD', key, ends, ARGV[i + 2])
  else
    redis.call('ZADD', key, 'XX', ends, ARGV[i + 2])
  end
  redis.call('PEXPIRE', key, math.ceil(ARGV[1] / 1000))
end
return 0";

impl Redis {
    /// Charges a call to its limits.
    pub(super) async fn charged(&self, charge: Charge) -> Result<Charged, LiveFault> {
        let mut command = cmd("EVAL");
        command.arg(CHARGE).arg(charge.limits.len());
        for (name, _) in &charge.limits {
            command.arg(self.seal.name(name));
        }
        command.arg(self.seal.name(&charge.call));
        command.arg(micros(charge.lease));
        for (_, limit) in &charge.limits {
            match limit {
                Limit::Bucket { cost, room, known } => {
                    command.arg(micros(*cost)).arg(micros(*room));
                    command.arg(micros(*known));
                }
                Limit::Places(most) => {
                    command.arg(-1).arg(*most).arg(0);
                }
            }
        }
        let said: Vec<i64> = self.ask(&command).await?;
        let told = || LiveFault("the answer is not what was asked for".to_owned());
        let (first, rest) = said.split_first().ok_or_else(told)?;
        let span = |micros: &i64| Duration::from_micros(u64::try_from(*micros).unwrap_or(0));
        match usize::try_from(*first).map_err(|_| told())?.checked_sub(1) {
            Some(limit) => Ok(Charged::Full {
                limit,
                wait: rest.first().map(span).unwrap_or_default(),
            }),
            None if rest.len() == charge.limits.len() => {
                Ok(Charged::Taken(rest.iter().map(span).collect()))
            }
            None => Err(told()),
        }
    }

    /// Gives places back.
    pub(super) async fn left(&self, seats: Vec<Seat>) -> Result<(), LiveFault> {
        let mut steps = redis::pipe();
        for seat in &seats {
            let step = steps.cmd("ZREM").arg(self.seal.name(&seat.limit));
            step.arg(self.seal.name(&seat.call));
        }
        self.ask_all(&steps).await.map(drop)
    }

    /// Renews places.
    pub(super) async fn stayed(
        &self,
        seats: Vec<Seat>,
        lease: Duration,
        anew: bool,
    ) -> Result<(), LiveFault> {
        let mut command = cmd("EVAL");
        command.arg(STAY).arg(seats.len());
        for seat in &seats {
            command.arg(self.seal.name(&seat.limit));
        }
        command.arg(micros(lease)).arg(u8::from(anew));
        for seat in &seats {
            command.arg(self.seal.name(&seat.call));
        }
        let _done: u64 = self.ask(&command).await?;
        Ok(())
    }
}

/// Microseconds, begun ones counted. No more than a script can count exactly.
fn micros(span: Duration) -> u64 {
    const MOST: u64 = 1 << 51;
    let micros = span.as_nanos().div_ceil(1000);
    u64::try_from(micros).unwrap_or(MOST).min(MOST)
}
