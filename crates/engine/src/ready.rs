//! The settings of the engine, and what is made of them before the first call.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcpproxy_classify::{Classification, Endpoints};
use mcpproxy_core::{Clock, Durability, UpstreamId};
use mcpproxy_detect::{DetectError, Detector, Settings as DetectorSettings};
use mcpproxy_flow::settings::FlowTracking;
use mcpproxy_hooks::Metrics;
use mcpproxy_hooks::guards::{Guards, Settings as GuardSettings};
use mcpproxy_policy::Policy;
use mcpproxy_policy::settings::Mode;

use crate::hooks::HookSettings;

/// What the engine is told by the configuration.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Whether calls are checked at all; orders of the operator always hold.
    pub enabled: bool,
    /// Which upstreams are inside and which outside.
    pub classification: Classification,
    /// What findings lead to.
    pub policy: Policy,
    /// How data is followed.
    pub flow_tracking: FlowTracking,
    /// What is looked for in messages.
    pub detector: DetectorSettings,
    /// How long a person may take to answer for a call, if there is a queue for them.
    pub approvals: Option<Duration>,
    /// How agents' hooks are answered.
    pub hooks: HookSettings,
    /// What is withheld of what upstreams offer.
    pub guards: GuardSettings,
    /// The upstreams that there are, in the order of the configuration.
    pub upstreams: Vec<UpstreamId>,
    /// Whether a record must be on disk before the answer leaves.
    pub durability: Durability,
    /// Whether calls are refused while they cannot be recorded; strict durability always does.
    pub refuse_unrecorded: bool,
    /// Whether records keep what was sent and what came back.
    pub bodies: bool,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            classification: Classification::default(),
            policy: Policy::default(),
            flow_tracking: FlowTracking::default(),
            detector: DetectorSettings::default(),
            approvals: None,
            hooks: HookSettings::default(),
            guards: GuardSettings::default(),
            upstreams: Vec::new(),
            durability: Durability::Relaxed,
            refuse_unrecorded: false,
            bodies: false,
        }
    }
}

impl EngineSettings {
    /// Tells whether calls are refused that cannot be put on record.
    pub(crate) fn is_closed(&self) -> bool {
        self.durability == Durability::Strict || self.refuse_unrecorded
    }
}

/// Settings, and what is made of them once.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) settings: EngineSettings,
    pub(crate) detector: Arc<Detector>,
    pub(crate) guards: Guards,
    pub(crate) endpoints: Endpoints,
    /// Finds what hooks may not see, where the detector itself is switched off.
    masker: OnceLock<Option<Detector>>,
}

impl Ready {
    pub(crate) fn new(settings: EngineSettings) -> Result<Self, DetectError> {
        let listed = &settings.policy.flow.suspicious_endpoints;
        let detector = Arc::new(Detector::new(&settings.detector)?);
        Ok(Self {
            guards: Guards::new(settings.guards.clone(), Arc::clone(&detector)),
            detector,
            endpoints: Endpoints::new(listed.iter().map(String::as_str)),
            masker: OnceLock::new(),
            settings,
        })
    }

    /// Has what guards do counted and timed.
    pub(crate) fn counted(self, metrics: &Metrics, clock: &Arc<dyn Clock>) -> Self {
        Self {
            guards: self.guards.counted(metrics, clock),
            ..self
        }
    }

    /// Returns what finds the secrets that hooks may not see: what nobody wants to be alarmed of is
    /// not for strangers either.
    pub(crate) fn masker(&self) -> Option<&Detector> {
        let settings = &self.settings.detector;
        if settings.enabled && settings.scan_requests && settings.scan_responses {
            return Some(&self.detector);
        }
        let all = || DetectorSettings {
            enabled: true,
            scan_requests: true,
            scan_responses: true,
            ..settings.clone()
        };
        let masker = self.masker.get_or_init(|| Detector::new(&all()).ok());
        masker.as_ref()
    }

    /// Whether what upstreams offer is withheld at all.
    pub(crate) fn withholds(&self) -> bool {
        let enforced = self.settings.policy.mode == Mode::Enforce;
        self.judges() && enforced
    }

    /// Whether what upstreams offer is judged.
    pub(crate) fn judges(&self) -> bool {
        self.settings.enabled && self.settings.guards.enabled
    }

    /// The window over which thresholds count.
    pub(crate) fn window(&self) -> Duration {
        let minutes = self.settings.policy.exfiltration.window_minutes;
        Duration::from_secs(u64::from(minutes) * 60)
    }
}
