//! Activity sinks that keep everything in memory, or fail to order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcpproxy_core::{ActivitySink, Durability, Later, Record, SinkFault};

use crate::lock;

/// A sink that keeps every record for a test to look at.
#[derive(Debug, Default)]
pub struct MemorySink(Mutex<Vec<(Record, Durability)>>);

impl MemorySink {
    /// Returns the records in the order in which they came.
    pub fn records(&self) -> Vec<Record> {
        lock(&self.0)
            .iter()
            .map(|(record, _)| record.clone())
            .collect()
    }

    /// Returns how each record was asked to be kept.
    pub fn durabilities(&self) -> Vec<Durability> {
        lock(&self.0).iter().map(|&(_, how)| how).collect()
    }
}

impl ActivitySink for MemorySink {
    fn append(&self, record: Record, how: Durability) -> Later<'_, Result<(), SinkFault>> {
        lock(&self.0).push((record, how));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A sink that takes nothing and counts what it was offered.
#[derive(Debug)]
pub struct FailingSink {
    fault: SinkFault,
    offered: AtomicUsize,
}

impl FailingSink {
    /// Makes a sink that answers every record with `fault`.
    pub fn new(fault: SinkFault) -> Self {
        let offered = AtomicUsize::new(0);
        Self { fault, offered }
    }

    /// Returns how many records it was offered.
    pub fn offered(&self) -> usize {
        self.offered.load(Ordering::Relaxed)
    }
}

impl ActivitySink for FailingSink {
    fn append(&self, _record: Record, _how: Durability) -> Later<'_, Result<(), SinkFault>> {
        self.offered.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Err(self.fault.clone())))
    }
}

/// A sink whose disk hangs: a strict record never becomes durable.
#[derive(Debug, Default)]
pub struct HangingSink;

impl ActivitySink for HangingSink {
    fn append(&self, _record: Record, how: Durability) -> Later<'_, Result<(), SinkFault>> {
        match how {
            Durability::Relaxed => Box::pin(std::future::ready(Ok(()))),
            Durability::Strict => Box::pin(std::future::pending()),
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_core::{CallId, Door};

    use super::*;

    fn record(id: u64) -> Record {
        Record {
            server_name: "echo".to_owned(),
            tool_name: "echo".to_owned(),
            method: "tools/call".to_owned(),
            principal: "owner".to_owned(),
            ..Record::new(CallId::new(id, 0), "tool_call", Door::Mcp)
        }
    }

    #[tokio::test]
    async fn records_are_kept_or_refused() {
        let memory = MemorySink::default();
        memory.append(record(1), Durability::Strict).await.unwrap();
        memory.append(record(2), Durability::Relaxed).await.unwrap();
        let ids: Vec<_> = memory.records().iter().map(|record| record.id).collect();
        assert_eq!(ids, [CallId::new(1, 0), CallId::new(2, 0)]);
        assert_eq!(
            memory.durabilities(),
            [Durability::Strict, Durability::Relaxed]
        );

        let failing = FailingSink::new(SinkFault::Full);
        let refused = failing.append(record(1), Durability::Strict).await;
        assert_eq!(refused, Err(SinkFault::Full));
        assert_eq!(failing.offered(), 1);
    }
}
