//! What an upstream's program is made of on this machine, as far as that can be seen.

use serde::Serialize;

/// The files that an upstream's program was started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// How the files came here.
    pub origin: Origin,
    /// The name of the package or of the file.
    pub name: String,
    /// The version of the package, where it has one.
    pub version: Option<String>,
    /// SHA-256 over the files, in hexadecimal digits; nothing where they are too many or too large.
    pub digest: Option<String>,
}

/// How files came to this machine, and so what it means that they changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A package of npm: its files change with its version and not otherwise.
    Npm,
    /// A package of `PyPI`: the same.
    Pypi,
    /// A file that somebody put there, and may change at any time.
    File,
}

impl Origin {
    /// Tells whether files of this origin belong to a version.
    pub const fn is_package(self) -> bool {
        match self {
            Self::Npm | Self::Pypi => true,
            Self::File => false,
        }
    }
}
