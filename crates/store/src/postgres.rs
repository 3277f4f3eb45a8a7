//! The log in a PostgreSQL database, which several gateways may share.
//!
//! A small group of records is one statement, a large one is copied. Either moves the place under a
//! lock that is held until the commit, so that places are seen in order by everybody, and what is
//! finished stays finished.
//! Every connection is used from a thread that may wait.

mod address;
mod audit;
mod baselines;
mod connection;
mod copy;
mod house;
mod log;
mod reader;
mod row;
mod schema;
mod search;
mod tls;
mod worker;

use std::borrow::Cow;

pub use self::baselines::PostgresBaselines;
pub use self::reader::PostgresReader;

use self::address::Address;
use self::connection::Connection;
use self::house::PostgresHouse;
use self::log::PostgresLog;
use crate::Error;
use crate::database::Database;

/// A database behind an address.
#[derive(Debug)]
pub(crate) struct Postgres {
    address: Address,
}

impl Postgres {
    /// Reads the address.
    pub(crate) fn at(url: &str) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        Ok(Self { address })
    }

    /// Connects once, and changes nothing.
    pub(crate) fn reach(&self) -> Result<(), Error> {
        Connection::reach(&self.address).map(drop)
    }
}

impl Database for Postgres {
    type Log = PostgresLog;
    type House = PostgresHouse;

    fn log(&self) -> Result<PostgresLog, Error> {
        let connection = Connection::open(&self.address)?;
        PostgresLog::new(connection).map_err(|fault| Error::Connect {
            name: self.address.name().to_owned(),
            why: fault.to_string(),
        })
    }

    fn house(&self) -> Result<PostgresHouse, Error> {
        Connection::open(&self.address).map(PostgresHouse::new)
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.address.name())
    }
}
