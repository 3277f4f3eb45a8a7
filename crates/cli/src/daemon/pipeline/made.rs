//! One hook of the configuration, made by the crate that has its kind.

use std::sync::Arc;

use mcpproxy_config::{HookKind, HookSettings};
use mcpproxy_core::{Clock, SecurityHook};
use mcpproxy_hooks_remote::{GrpcHook, Webhook};
use mcpproxy_hooks_wasm::{WasmHook, WasmSettings};
use serde_json::Value;

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
        HookKind::Wasm => {
            let config = Value::Object(settings.own_config());
            let config = serde_json::from_value(config);
            let told = WasmSettings {
                path: settings.path.clone().unwrap_or_default(),
                config: config.map_err(|fault| format!("config: {fault}"))?,
            };
            let made = WasmHook::new(id, priority, phases, &told);
            Ok(Arc::new(made.map_err(|fault| fault.to_string())?))
        }
    }
}
