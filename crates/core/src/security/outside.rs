//! Hooks that are code of somebody else: all that they are asked is one question, told apart by
//! what it is about. How the question reaches them is not here.

use std::fmt;
use std::sync::Arc;

use super::{
    HealthStatus, HookFault, McpMessage, McpRequest, McpResponse, Phases, SecurityContext,
    SecurityDecision, SecurityHook,
};
use crate::activity::Later;

/// What is known of a hook before it is asked anything.
#[derive(Clone, Debug)]
pub struct HookCard {
    /// The id, unique among all hooks.
    pub id: Arc<str>,
    /// The name that people read.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub description: String,
    /// Its place in the order; lower runs earlier.
    pub priority: u32,
    /// What it is asked about.
    pub runs_on: Phases,
}

/// What a question is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A request before it leaves.
    Request(&'a McpRequest),
    /// What came back for a request.
    Response(&'a McpRequest, &'a McpResponse),
    /// A message that answers nothing.
    Message(&'a McpMessage),
}

/// A hook that is asked everything in one way.
pub trait OutsideHook: Send + Sync + fmt::Debug {
    /// Returns what is known of it.
    fn card(&self) -> &HookCard;

    /// Gets ready. Unless a hook has another way, it is ready when it says that it is well.
    fn start(&self) -> Later<'_, Result<(), HookFault>> {
        Box::pin(async {
            let status = self.health().await?;
            if status.healthy {
                return Ok(());
            }
            Err(HookFault::Unreachable(status.message))
        })
    }

    /// Asks it.
    fn ask<'a>(
        &'a self,
        context: &'a SecurityContext,
        subject: Subject<'a>,
    ) -> Later<'a, Result<SecurityDecision, HookFault>>;

    /// Asks how it is doing.
    fn health(&self) -> Later<'_, Result<HealthStatus, HookFault>>;
}

impl<H: OutsideHook> SecurityHook for H {
    fn id(&self) -> &str {
        &self.card().id
    }

    fn name(&self) -> &str {
        self.card().name
    }

    fn description(&self) -> &str {
        &self.card().description
    }

    fn priority(&self) -> u32 {
        self.card().priority
    }

    fn runs_on(&self) -> Phases {
        self.card().runs_on
    }

    fn initialize(&self) -> Later<'_, Result<(), HookFault>> {
        self.start()
    }

    fn inspect_request<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        self.ask(context, Subject::Request(request))
    }

    fn inspect_response<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
        response: &'a McpResponse,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        self.ask(context, Subject::Response(request, response))
    }

    fn inspect_message<'a>(
        &'a self,
        context: &'a SecurityContext,
        message: &'a McpMessage,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        self.ask(context, Subject::Message(message))
    }

    fn health_check(&self) -> Later<'_, Result<HealthStatus, HookFault>> {
        self.health()
    }
}
