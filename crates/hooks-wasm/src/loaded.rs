//! One component: read, compiled, and known to be of the published world.

use std::fmt;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, InstancePre, Linker, TypedFunc};

use mcpproxy_core::security::{HookFault, SecurityContext, SecurityDecision};

use crate::Error;
use crate::answer::Answer;
use crate::question::{About, Context, Subject};
use crate::sandbox::{Room, Sandbox, fault, text};

/// Largest file that is read.
const FILE_LIMIT: u64 = 32 << 20;
const CHECK_CONFIG: &str = "check-config";
const INSPECT: &str = "inspect";

type CheckConfig<'a> = TypedFunc<(&'a str,), (Result<(), String>,)>;
type Inspect<'a> = TypedFunc<(Context<'a>, Subject<'a>), (Result<Answer, String>,)>;

/// A file with its digest.
pub(crate) struct Binary {
    bytes: Vec<u8>,
    /// SHA-256 in hexadecimal digits.
    pub(crate) digest: String,
}

/// A component that is ready to be asked.
pub(crate) struct Loaded {
    /// SHA-256 of the file, in hexadecimal digits.
    pub(crate) digest: String,
    instance: InstancePre<Room>,
    check_config: ComponentExportIndex,
    inspect: ComponentExportIndex,
}

impl Binary {
    pub(crate) fn read(path: &Path, pin: Option<&str>) -> Result<Self, Error> {
        let wrong = |why: std::io::Error| Error::File {
            path: path.to_owned(),
            why: why.to_string(),
        };
        let file = mcpproxy_core::open_regular(path).map_err(wrong)?;
        let mut bytes = Vec::new();
        file.take(FILE_LIMIT + 1)
            .read_to_end(&mut bytes)
            .map_err(wrong)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_LIMIT) {
            return Err(Error::TooLarge {
                path: path.to_owned(),
                limit: FILE_LIMIT,
            });
        }
        let digest = hex(&Sha256::digest(&bytes));
        let binary = Self { bytes, digest };
        match pin {
            Some(pin) if !pin.eq_ignore_ascii_case(&binary.digest) => Err(Error::Digest {
                path: path.to_owned(),
                found: binary.digest,
            }),
            Some(_) | None => Ok(binary),
        }
    }
}

impl Loaded {
    /// Compiles a component and lets it check its configuration.
    pub(crate) fn new(
        binary: Binary,
        path: &Path,
        sandbox: &Sandbox,
        config: &str,
    ) -> Result<Self, Error> {
        let component = sandbox.compile(&binary.bytes);
        let component = component.map_err(|why| Error::Component {
            path: path.to_owned(),
            why: text(&why),
        })?;
        // INVARIANT: the linker stays empty, so a component that wants anything does not load.
        let instance = Linker::new(sandbox.engine()).instantiate_pre(&component);
        let instance = instance.map_err(|why| Error::Import {
            path: path.to_owned(),
            why: text(&why),
        })?;
        let export = |name| {
            let index = component.get_export_index(None, name);
            index.ok_or_else(|| Error::Export {
                path: path.to_owned(),
                name,
            })
        };
        let loaded = Self {
            digest: binary.digest,
            check_config: export(CHECK_CONFIG)?,
            inspect: export(INSPECT)?,
            instance,
        };
        loaded.check(path, sandbox, config)?;
        Ok(loaded)
    }

    /// Asks about one message.
    pub(crate) fn ask(
        &self,
        mut room: Store<Room>,
        context: Context<'_>,
        subject: Subject<'_>,
    ) -> Result<Result<Answer, String>, wasmtime::Error> {
        let instance = self.instance.instantiate(&mut room)?;
        let inspect: Inspect<'_> = instance.get_typed_func(&mut room, self.inspect)?;
        let (answer,) = inspect.call(&mut room, (context, subject))?;
        Ok(answer)
    }

    /// Makes sure that both functions have their types, and that the configuration is understood.
    fn check(&self, path: &Path, sandbox: &Sandbox, config: &str) -> Result<(), Error> {
        let failed = |why: wasmtime::Error| Error::Failed(fault(&why).to_string());
        let wrong = |name| Error::Export {
            path: path.to_owned(),
            name,
        };
        let mut room = sandbox.room().map_err(failed)?;
        let instance = self.instance.instantiate(&mut room).map_err(failed)?;
        let inspect: Result<Inspect<'_>, _> = instance.get_typed_func(&mut room, self.inspect);
        inspect.map_err(|_| wrong(INSPECT))?;
        let check: Result<CheckConfig<'_>, _> =
            instance.get_typed_func(&mut room, self.check_config);
        let check = check.map_err(|_| wrong(CHECK_CONFIG))?;
        let (answer,) = check.call(&mut room, (config,)).map_err(failed)?;
        answer.map_err(Error::Refused)
    }
}

/// What is asked, in a form that can go to another thread.
pub(crate) struct Question {
    pub(crate) hook_id: Arc<str>,
    pub(crate) config: Arc<str>,
    pub(crate) context: SecurityContext,
    pub(crate) about: About,
    pub(crate) limit: u64,
}

impl Question {
    /// Asks a component.
    pub(crate) fn put(
        &self,
        loaded: &Loaded,
        room: Store<Room>,
    ) -> Result<SecurityDecision, HookFault> {
        let context = Context::new(&self.hook_id, &self.config, &self.context);
        let subject = Subject::new(&self.about, self.limit)?;
        match loaded.ask(room, context, subject) {
            Ok(Ok(answer)) => answer.decision(&self.about),
            Ok(Err(why)) => Err(HookFault::Crashed(why)),
            Err(why) => Err(fault(&why)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(digit).collect()
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}
