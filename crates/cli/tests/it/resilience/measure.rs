//! What the tests measure with: the process table and the memory of a process.

use std::time::Duration;

use tokio::time::Instant;

use crate::support::{Gateway, until};

/// Counts so that no two markers of one test process are the same.
static MARKERS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Returns digits that occur in no command line but those they are put into. Digits, so that they
/// can be the fraction of a `sleep`.
pub(super) fn marker() -> String {
    let count = MARKERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("735198{:010}{count:04}", std::process::id())
}

/// Finds the processes whose command line has the marker in it.
pub(super) fn marked(marker: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap();
    let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|id| {
            // A process may end between the listing and the reading; a dead one has no line.
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(marker)
        })
        .collect()
}

/// Waits until so many processes have the marker.
pub(super) async fn until_marked(marker: &str, count: usize) {
    until("marked processes", || async {
        (marked(marker).len() >= count).then_some(())
    })
    .await;
}

/// Returns the most memory that a gateway has had, in megabytes.
pub(super) fn peak(gateway: &Gateway) -> u64 {
    field(gateway, "VmHWM:")
}

/// Returns the memory that a gateway took for itself, in megabytes: pages of its own code are the
/// build's business.
pub(super) fn resident(gateway: &Gateway) -> u64 {
    field(gateway, "RssAnon:")
}

fn field(gateway: &Gateway, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.unwrap().parse::<u64>().unwrap() / 1024
}

/// Returns how long something took, and fails if that was longer than `bound`.
pub(super) async fn bounded<T>(what: &str, bound: Duration, future: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let value = crate::support::within(what, future).await;
    let took = begun.elapsed();
    assert!(took <= bound, "{what} took {took:?}, more than {bound:?}");
    value
}
