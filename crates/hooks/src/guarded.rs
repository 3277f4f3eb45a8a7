//! Foreign code in a task of its own: that it panics, hangs or blocks its thread costs whoever waits
//! the time until the deadline and nothing else.

use mcpproxy_core::HookFault;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// Runs foreign code in a task of its own until the deadline.
pub(crate) async fn guarded<T: Send + 'static>(
    task: impl Future<Output = Result<T, HookFault>> + Send + 'static,
    deadline: Instant,
) -> Result<T, HookFault> {
    let mut task = Ended(tokio::spawn(task));
    match timeout_at(deadline, &mut task.0).await {
        Ok(Ok(said)) => said,
        // What it says when it panics may hold anything.
        Ok(Err(_)) => Err(HookFault::Crashed("it panicked".to_owned())),
        Err(_) => Err(HookFault::Late),
    }
}

/// A task that ends with whoever waits for it.
struct Ended<T>(JoinHandle<T>);

impl<T> Drop for Ended<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
