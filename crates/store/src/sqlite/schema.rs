//! The form of the database, and connections to it.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::Error;

/// The steps from an empty database to the present form. A step is never changed once it was
/// released: a new one is added.
const STEPS: [&str; 8] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
];
/// How long a connection waits for another process that writes.
pub(super) const BUSY: Duration = Duration::from_secs(2);

/// Opens the database for writing, makes it with mode 0600 if it is new, and brings it to the
/// present form.
pub(super) fn open(path: &Path) -> Result<Connection, Error> {
    make_private(path).map_err(|fault| Error::Create {
        path: path.to_owned(),
        why: fault.to_string(),
    })?;
    let mut connection = connect(path).map_err(Error::open(path))?;
    let found = migrate(&mut connection).map_err(Error::open(path))?;
    known(path, found)?;
    Ok(connection)
}

/// Reads what there is of a database, and changes nothing: its header, its form, and for at most a while
/// every page.
pub(super) fn examine(path: &Path, limit: Duration) -> Result<(), Error> {
    let looked = || -> rusqlite::Result<_> {
        let connection = open_to_read(path)?;
        let found = form(&connection)?;
        Ok((found, damage(&connection, limit)?))
    };
    let (found, damage) = looked().map_err(Error::open(path))?;
    known(path, found)?;
    damage.map_or(Ok(()), |why| {
        let path = path.to_owned();
        Err(Error::Open { path, why })
    })
}

/// Returns the first thing that is wrong with the pages that are read in time.
fn damage(connection: &Connection, limit: Duration) -> rusqlite::Result<Option<String>> {
    let (interrupt, (done, ended)) = (connection.get_interrupt_handle(), mpsc::channel::<()>());
    let said = std::thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                interrupt.interrupt();
            }
        });
        let said = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
        drop(done);
        said
    });
    match said {
        Ok(said) => Ok(Some(said).filter(|said: &String| said != "ok")),
        // It is large: what was read of it is fine.
        Err(fault) if fault.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

/// Refuses a form that only a later version knows.
fn known(path: &Path, found: i64) -> Result<(), Error> {
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if found <= known {
        return Ok(());
    }
    Err(Error::Newer {
        path: path.to_owned(),
        found,
        known,
    })
}

/// Opens the database for reading only.
pub(super) fn open_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// Returns the first and the last place of the log; the last is before the first where it is empty.
pub(super) fn ends(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    // Asked for together, they would be looked for in all rows.
    let sql = "SELECT (SELECT min(seq) FROM activity), (SELECT max(seq) FROM activity)";
    connection.query_row(sql, [], |row| {
        let (first, last): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok((first.unwrap_or(0), last.unwrap_or(-1)))
    })
}

/// Makes the file if there is none; SQLite gives its other files the mode of this one.
///
/// One that is there is never opened here: closing it would drop the locks that SQLite holds on it for
/// this process, and then another program that only looks takes the write-ahead log away at its end.
fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(fault) if fault.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    // Checkpoints are upkeep's; the write-ahead log shrinks to this size when it starts anew.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    Ok(connection)
}

/// Returns the form that the database has.
fn form(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that are missing and returns the form that the database then has.
fn migrate(connection: &mut Connection) -> rusqlite::Result<i64> {
    let current = |found: i64| usize::try_from(found).is_ok_and(|found| found >= STEPS.len());
    let found = form(connection)?;
    if current(found) {
        return Ok(found);
    }
    // CRASH: a stop within leaves the database as it was. Another process may have been faster.
    let step = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found = usize::try_from(form(&step)?).unwrap_or(0);
    for sql in STEPS.iter().skip(found) {
        step.execute_batch(sql)?;
    }
    step.execute_batch(&format!("PRAGMA user_version = {}", STEPS.len().max(found)))?;
    step.commit()?;
    form(connection)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn a_database_is_private_and_opens_again_but_not_if_it_is_from_the_future() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("activity.db");
        let connection = open(&path).unwrap();
        let form = format!("PRAGMA user_version = {}", STEPS.len());
        connection.execute_batch(&form).unwrap();
        for ending in ["", "-wal", "-shm"] {
            let file = folder.path().join(format!("activity.db{ending}"));
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
        drop(connection);
        let connection = open(&path).unwrap();
        connection
            .execute_batch("PRAGMA user_version = 99")
            .unwrap();
        let refused = open(&path).unwrap_err().to_string();
        assert!(refused.contains("has form 99"), "{refused}");
    }

    /// Locks belong to a process and a file: whoever closes the file in between drops them.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_second_connection_does_not_drop_the_locks_of_the_first() {
        use std::os::linux::fs::MetadataExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("activity.db");
        let inode = |path: &Path| std::fs::metadata(path).unwrap().st_ino();
        // The list is read in parts while others change it, so that a line can be missed.
        let locked = |path: &Path| {
            let (own, inode) = (std::process::id().to_string(), inode(path).to_string());
            (0..50).any(|_| {
                let locks = std::fs::read_to_string("/proc/locks").unwrap();
                locks.lines().any(|line| {
                    let mut words = line.split_whitespace();
                    words.any(|word| word == own) && line.contains(&format!(":{inode} "))
                })
            })
        };
        let _first = open(&path).unwrap();
        assert!(locked(&path), "a connection in WAL mode holds a lock");
        let _second = open(&path).unwrap();
        assert!(locked(&path), "the lock went with the second connection");
    }

    #[test]
    fn what_is_no_database_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("activity.db");
        let text = "a letter, and nothing that was ever a database".repeat(100);
        std::fs::write(&path, &text).unwrap();
        let refused = open(&path).unwrap_err().to_string();
        let said = "activity.db`: file is not a database";
        assert!(refused.ends_with(said), "{refused}");
        assert_eq!(examine(&path, LONG).unwrap_err().to_string(), refused);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    /// Regression for #8: a log that was cut off, or written over in the middle, looked fine.
    #[test]
    fn what_is_left_of_a_database_is_told_from_a_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("activity.db");
        let connection = open(&path).unwrap();
        // A table of many pages.
        let fill = "WITH RECURSIVE one(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM one LIMIT 5000) \
                    INSERT INTO gap SELECT n, n, hex(randomblob(50)) FROM one";
        connection.execute_batch(fill).unwrap();
        drop(connection);
        examine(&path, LONG).unwrap();
        // One that takes longer than it may is not damaged for that.
        examine(&path, Duration::ZERO).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let middle = whole.len() / 2;
        std::fs::write(&path, &whole[..middle]).unwrap();
        assert!(examine(&path, LONG).is_err(), "it was cut off");
        let mut spoilt = whole.clone();
        spoilt[middle..middle + 8192].fill(0xA5);
        std::fs::write(&path, &spoilt).unwrap();
        assert!(examine(&path, LONG).is_err(), "it was written over");
    }
}
