//! The copy of the active policy that is kept beside the receipts, named by its content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Policy;

impl Policy {
    /// Keeps a copy of the file in `folder` under a name made of its hash; returns where.
    ///
    /// A copy that is there already is kept if it is the same, and is an error if it is not.
    pub fn snapshot(&self, folder: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("policy_sha256_{}.yaml", self.hash()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => self.fill(file, folder)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.compare(&path)?,
            Err(error) => return Err(error),
        }
        Ok(path)
    }

    /// CRASH: a stop here leaves a shorter copy, which the next start replaces.
    fn fill(&self, mut file: File, folder: &Path) -> io::Result<()> {
        file.write_all(self.text().as_bytes())?;
        file.sync_all()?;
        File::open(folder)?.sync_all()
    }

    fn compare(&self, path: &Path) -> io::Result<()> {
        let found = fs::read(path)?;
        if found == self.text().as_bytes() {
            return Ok(());
        }
        if self.text().as_bytes().starts_with(&found) {
            return fs::write(path, self.text());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a policy snapshot has other content than its name says",
        ))
    }
}
