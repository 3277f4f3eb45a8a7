//! A hook that could not be made and is fail-open: whoever asks it has it tried again.

use std::sync::{Arc, OnceLock};

use mcpproxy_config::HookSettings;
use mcpproxy_core::{
    Clock, HealthStatus, HookFault, Later, McpMessage, McpRequest, McpResponse, Phases,
    SecurityContext, SecurityDecision, SecurityHook,
};

use super::made::made;

/// What a hook is to be made of.
#[derive(Debug)]
pub(super) struct Deferred {
    settings: HookSettings,
    clock: Arc<dyn Clock>,
    hook: OnceLock<Arc<dyn SecurityHook>>,
}

impl Deferred {
    pub(super) fn new(settings: &HookSettings, clock: &Arc<dyn Clock>) -> Self {
        Self {
            settings: settings.clone(),
            clock: Arc::clone(clock),
            hook: OnceLock::new(),
        }
    }

    /// Makes the hook, if that was not done yet. It may take a while: a component is compiled.
    async fn made(&self) -> Result<&Arc<dyn SecurityHook>, HookFault> {
        if let Some(hook) = self.hook.get() {
            return Ok(hook);
        }
        let (settings, clock) = (self.settings.clone(), Arc::clone(&self.clock));
        let task = tokio::task::spawn_blocking(move || made(&settings, &clock));
        let hook = task
            .await
            .map_err(|fault| HookFault::Crashed(fault.to_string()))?
            .map_err(HookFault::Unreachable)?;
        Ok(self.hook.get_or_init(|| hook))
    }

    /// Returns the hook, which is there once it was got ready.
    fn hook(&self) -> Result<&Arc<dyn SecurityHook>, HookFault> {
        let unmade = || HookFault::Unreachable("it could not be made".to_owned());
        self.hook.get().ok_or_else(unmade)
    }
}

impl SecurityHook for Deferred {
    fn id(&self) -> &str {
        &self.settings.id
    }

    fn name(&self) -> &str {
        self.hook
            .get()
            .map_or(&self.settings.id, |hook| hook.name())
    }

    fn description(&self) -> &str {
        let unmade = "Could not be made; it is tried again with every question.";
        self.hook.get().map_or(unmade, |hook| hook.description())
    }

    fn priority(&self) -> u32 {
        self.settings.priority
    }

    fn runs_on(&self) -> Phases {
        self.settings.phases()
    }

    fn initialize(&self) -> Later<'_, Result<(), HookFault>> {
        Box::pin(async move { self.made().await?.initialize().await })
    }

    fn inspect_request<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        Box::pin(async move { self.hook()?.inspect_request(context, request).await })
    }

    fn inspect_response<'a>(
        &'a self,
        context: &'a SecurityContext,
        request: &'a McpRequest,
        response: &'a McpResponse,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        let hook = self.hook();
        Box::pin(async move { hook?.inspect_response(context, request, response).await })
    }

    fn inspect_message<'a>(
        &'a self,
        context: &'a SecurityContext,
        message: &'a McpMessage,
    ) -> Later<'a, Result<SecurityDecision, HookFault>> {
        Box::pin(async move { self.hook()?.inspect_message(context, message).await })
    }

    fn health_check(&self) -> Later<'_, Result<HealthStatus, HookFault>> {
        Box::pin(async move { self.made().await?.health_check().await })
    }
}
