//! The arguments of `activity`.

use clap::ValueEnum;

/// Which records are meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ActivityFilter {
    /// Only records of these types, as `tool_call,policy_decision`.
    #[arg(long = "type", value_name = "TYPES")]
    pub(crate) kind: Option<String>,
    /// Only those of an upstream, or of several, as `github,slack`.
    #[arg(long, value_name = "NAMES")]
    pub(crate) server: Option<String>,
    /// Only those of a tool, prompt or resource.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only calls that ended so: success, error, blocked, rejected or pending, or several, as `blocked,rejected`.
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Only calls about which this was decided: allow, warn, ask or deny, or several, as `ask,deny`.
    #[arg(long)]
    pub(crate) decision: Option<String>,
    /// Only those of a conversation, and of those linked with it.
    #[arg(long, value_name = "ID")]
    pub(crate) session_id: Option<String>,
    /// Only those of one request, by its correlation id.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
    /// Only those that are part of something, by the id of its record.
    #[arg(long, value_name = "ID")]
    pub(crate) parent_id: Option<String>,
    /// Only what the hooks of an agent reported, as `claude-code`.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only those in which data moved so, as `internal_to_external`, or several.
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow_type: Option<String>,
    /// Only those of this risk and above: none, medium, high or critical.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) risk_level: Option<String>,
    /// Only those in which sensitive data was found, or was not.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) sensitive_data: Option<String>,
    /// Only those with data of these types or families, as `api_token,private_key`.
    #[arg(long, value_name = "TYPES")]
    pub(crate) detection_type: Option<String>,
    /// Only those whose heaviest finding weighs this: info, low, medium, high or critical, or several.
    #[arg(long)]
    pub(crate) severity: Option<String>,
    /// Not before this time, as `2026-01-31T12:00:00Z` or `2026-01-31`.
    #[arg(long, value_name = "TIME")]
    pub(crate) start_time: Option<String>,
    /// Not after this time; a date takes its whole day along.
    #[arg(long, value_name = "TIME")]
    pub(crate) end_time: Option<String>,
}

impl ActivityFilter {
    /// Returns what was given, by the names that the gateway knows.
    pub(crate) fn given(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("type", &self.kind),
            ("server", &self.server),
            ("tool", &self.tool),
            ("status", &self.status),
            ("decision", &self.decision),
            ("session_id", &self.session_id),
            ("request_id", &self.request_id),
            ("parent_id", &self.parent_id),
            ("agent", &self.agent),
            ("flow_type", &self.flow_type),
            ("risk_level", &self.risk_level),
            ("sensitive_data", &self.sensitive_data),
            ("detection_type", &self.detection_type),
            ("severity", &self.severity),
            ("start_time", &self.start_time),
            ("end_time", &self.end_time),
        ];
        let given = all.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
            .collect()
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct ActivityList {
    #[command(flatten)]
    pub(crate) filter: ActivityFilter,
    /// How many at most.
    #[arg(short = 'n', long, value_name = "COUNT", default_value = "50")]
    pub(crate) number: usize,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ActivityWatch {
    /// Only events of these types, as `flow.alert,approval.*`; every end of a call if not given.
    #[arg(long, value_name = "TYPES")]
    pub(crate) events: Option<String>,
    /// Only what happens at an upstream.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Only what happens in a conversation, by its id on record.
    #[arg(long, value_name = "ID")]
    pub(crate) session_id: Option<String>,
    /// Only what is of this risk and above: none, medium, high or critical.
    #[arg(long, value_name = "LEVEL", value_parser = ["none", "medium", "high", "critical"])]
    pub(crate) risk_level: Option<String>,
    /// End after so many.
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) number: Option<usize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ActivitySummary {
    #[command(flatten)]
    pub(crate) filter: ActivityFilter,
    /// The stretch up to the end: 1h, 24h (if neither it nor a start is given), 7d or 30d.
    #[arg(long, conflicts_with = "start_time")]
    pub(crate) period: Option<String>,
    /// Also count by: server, tool, type, status, `session_id`, principal, agent, `flow_type` or
    /// `risk_level`.
    #[arg(long, value_name = "WHAT")]
    pub(crate) group_by: Option<String>,
}

/// `--output FILE` is where an export goes; without it, standard output.
#[derive(Debug, clap::Args)]
pub(crate) struct ActivityExport {
    #[command(flatten)]
    pub(crate) filter: ActivityFilter,
    /// The form; `--output FILE` names the file, standard output if not given.
    #[arg(long, value_enum, default_value = "json")]
    pub(crate) format: ExportFormat,
    /// Also say how data was followed: where it was read, and how it was recognized.
    #[arg(long)]
    pub(crate) include_flows: bool,
    /// Also carry what was sent and what came back, masked, where `activity.bodies` keeps it. Only
    /// `json` and `ndjson` have room for it.
    #[arg(long)]
    pub(crate) include_bodies: bool,
    /// Also count the records by day; the counts follow them. Only `json` and `ndjson` have room for
    /// it.
    #[arg(long, value_enum, value_name = "SPAN")]
    pub(crate) rollup: Option<Rollup>,
    /// Go on with an export to the same file that was broken off; not with one that is encrypted.
    #[arg(long, conflicts_with = "recipient")]
    pub(crate) resume: bool,
    /// Encrypt it for the holder of a key, as age does: `age1...`. Such an export cannot be gone on with:
    /// what opens it would have to be kept beside it until then.
    #[arg(long, value_name = "RECIPIENT")]
    pub(crate) recipient: Option<String>,
}

/// The spans that records are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rollup {
    /// Days, in UTC.
    Daily,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON array.
    Json,
    /// A JSON object a line.
    Ndjson,
    /// A row a line.
    Csv,
    /// The Open Cybersecurity Schema Framework, an event a line.
    Ocsf,
    /// The Common Event Format, an event a line.
    Cef,
}

impl ExportFormat {
    /// The form in which the gateway is asked; a JSON array is put together here, so that it can be
    /// broken off anywhere.
    pub(crate) fn asked(self) -> &'static str {
        match self {
            Self::Json | Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Ocsf => "ocsf",
            Self::Cef => "cef",
        }
    }
}
