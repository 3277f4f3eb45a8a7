//! A connection whose other end must go on reading: one that takes nothing for too long is closed,
//! so that what waits for it does not wait for ever.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A connection with a bound on the time without progress of a write. Reading is bounded elsewhere.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while the other end takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    /// Gives a connection a bound.
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            stalled: None,
        }
    }

    /// Gives the connection back.
    pub(crate) fn into_inner(self) -> S {
        self.stream
    }

    /// Passes on what a write came to, or that it came to nothing for too long.
    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let patience = self.patience;
        let sleep = || Box::pin(tokio::time::sleep(patience));
        let stalled = self.stalled.get_or_insert_with(sleep);
        ready!(stalled.as_mut().poll(context));
        tracing::info!("closed a connection whose other end does not read");
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.bounded(context, wrote)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.bounded(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        // A flush that is done says nothing about a write that is not.
        match flushed {
            Poll::Ready(_) => flushed,
            Poll::Pending => this.bounded(context, Poll::Pending),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::{Instant, sleep};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_write_that_nobody_takes_is_given_up() {
        let (near, _far) = tokio::io::duplex(16);
        let mut near = Patient::new(near, PATIENCE);
        let begun = Instant::now();
        let wrote = near.write_all(&[0; 100]).await;
        assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), PATIENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_waited_for_as_long_as_it_reads() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut near = Patient::new(near, PATIENCE);
        let read = tokio::spawn(async move {
            let mut byte = [0; 16];
            for _ in 0..10 {
                sleep(PATIENCE / 2).await;
                far.read_exact(&mut byte).await.unwrap();
            }
        });
        near.write_all(&[0; 160]).await.unwrap();
        read.await.unwrap();
    }
}
