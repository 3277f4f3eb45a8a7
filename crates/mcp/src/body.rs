//! Reading a body with a bound on its size and on its time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;

use crate::Error;

/// The longest body that is read only to be thrown away.
const SHORT: usize = 16 * 1024;

/// Reads a whole body of at most `limit` bytes within `patience`.
pub async fn read_bounded<B>(body: B, limit: usize, patience: Duration) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    // A declared length past the bound is refused before a byte is read.
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(Error::TooLarge { limit });
    }
    tokio::time::timeout(patience, read(body, limit))
        .await
        .map_err(|_| Error::TimedOut)?
}

/// Reads a short body that says nothing, so that its connection can be used again. One that may be
/// long is not waited for, which closes its connection.
pub async fn discard<B>(body: B, patience: Duration)
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let most = body
        .size_hint()
        .upper()
        .and_then(|most| usize::try_from(most).ok());
    if let Some(most) = most.filter(|most| *most <= SHORT) {
        drop(read_bounded(body, most, patience).await);
    }
}

async fn read<B>(mut body: B, limit: usize) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|fault| Error::Transport(fault.to_string()))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + rest.len() + data.len() > limit {
            return Err(Error::TooLarge { limit });
        }
        // Most bodies come in one piece, which is then handed on without a copy.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() {
        first
    } else {
        rest.freeze()
    })
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    #[tokio::test]
    async fn a_body_past_the_bound_is_refused() {
        let patience = Duration::from_secs(5);
        let fine = read_bounded(Full::new(Bytes::from_static(b"1234")), 4, patience).await;
        assert_eq!(fine.unwrap(), "1234");
        let large = read_bounded(Full::new(Bytes::from_static(b"12345")), 4, patience).await;
        assert!(matches!(large, Err(Error::TooLarge { limit: 4 })));
    }
}
