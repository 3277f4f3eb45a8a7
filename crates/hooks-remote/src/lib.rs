//! Security hooks that are services of their own: webhooks and gRPC.
//!
//! Each implements the port in `mcpproxy_core::security`: it turns what it is shown into a question
//! on the wire and the answer into a decision. Whatever is no decision becomes a `HookFault` that
//! says what went wrong. Order, failure modes, breakers, masking and queues are not here: the
//! registry has them for all hooks alike.

mod decision;
mod grpc;
mod link;
mod settings;
mod subject;
mod tls;
mod webhook;

mod error;

pub use crate::error::Error;
pub use crate::grpc::GrpcHook;
pub use crate::settings::{
    BatchSettings, GrpcConfig, GrpcSettings, Method, Protocol, TlsSettings, WebhookConfig,
    WebhookSettings,
};
pub use crate::webhook::{Signer, Webhook, schema};
