//! One hook of the configuration, made by the crate that has its kind.

use std::sync::Arc;

use mcpproxy_config::{HookKind, HookSettings};
use mcpproxy_core::{Clock, SecurityHook};
use mcpproxy_hooks_remote::{GrpcHook, Webhook};

/// Makes a hook.
pub(super) fn made(
    settings: &HookSettings,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<dyn SecurityHook>, String> {
    let (id, priority) = (settings.id.as_str(), settings.priority);
    let phases = settings.phases();
    match settings.kind {
        HookKind::Webhook => {
            let made = Webhook::new(
                id,
                priority,
                phases,
                &settings.webhook()?,
                Arc::clone(clock),
            );
            Ok(Arc::new(made.map_err(|fault| fault.to_string())?))
        }
        HookKind::ExternalGrpc => {
            let made = GrpcHook::new(id, priority, phases, &settings.grpc()?);
            Ok(Arc::new(made.map_err(|fault| fault.to_string())?))
        }
        HookKind::Native => Err("a native hook is a guard, which needs no trial".to_owned()),
        HookKind::Wasm => Err("this build has no hooks of type `wasm`".to_owned()),
    }
}
