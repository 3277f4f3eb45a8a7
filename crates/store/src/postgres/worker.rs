//! Threads that ask a database for others, who may not wait where they are or may have a runtime.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use super::address::Address;
use super::connection::Connection;
use crate::Error;
use crate::database::Fault;
use crate::writer::start;

/// Questions that may wait for a thread.
const WAITING: usize = 64;

type Job = Box<dyn FnOnce(Result<&mut Connection, Fault>) + Send>;

/// The threads.
#[derive(Debug)]
pub(super) struct Workers {
    jobs: SyncSender<Job>,
}

impl Workers {
    /// Starts threads, and connects the first.
    pub(super) fn start(url: &str, threads: usize) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let (jobs, taken) = mpsc::sync_channel(WAITING);
        let taken = Arc::new(Mutex::new(taken));
        for _ in 0..threads.max(1) {
            let (taken, address) = (Arc::clone(&taken), address.clone());
            start("activity-query", move || run(&taken, &address))?;
        }
        let workers = Self { jobs };
        let connected = workers.ask(|_| Ok(()));
        connected.map_err(|why| Error::Connect {
            name: address.name().to_owned(),
            why: why.to_string(),
        })?;
        Ok(workers)
    }

    /// Has a thread ask something, and waits for the answer.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (answer, answered) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |connection| {
            // Whoever asked may not wait any more.
            drop(answer.send(connection.and_then(question)));
        });
        let ended = || Fault::new("the threads that ask the database have ended");
        self.jobs.send(job).map_err(|_| ended())?;
        answered.recv().unwrap_or_else(|_| Err(ended()))
    }
}

fn run(jobs: &Mutex<Receiver<Job>>, address: &Address) {
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    let mut open: Option<Connection> = None;
    while let Ok(job) = next() {
        open = open.take_if(|connection| !connection.is_closed());
        if open.is_none() {
            match Connection::open(address) {
                Ok(connection) => open = Some(connection),
                Err(fault) => {
                    job(Err(fault.into()));
                    continue;
                }
            }
        }
        if let Some(connection) = &mut open {
            job(Ok(connection));
        }
    }
}
