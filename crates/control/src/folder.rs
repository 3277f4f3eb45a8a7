//! The data folder, and what is asked of the owner and mode of it and of the files inside.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use crate::error::Error;

/// Mode of a folder that we make.
const PRIVATE: u32 = 0o700;
/// The bits that let group and world write, and those that let them read or run.
const OTHERS_WRITE: u32 = 0o022;
const OTHERS_READ_OR_RUN: u32 = 0o055;
/// The owner who can do everything anyway.
const ROOT: u32 = 0;

/// Makes the data folder where there is none, and refuses one that others could put files into.
pub fn prepare_data_dir(path: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => check_link(path, found.uid(), me())?,
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = DirBuilder::new().recursive(true).mode(PRIVATE).create(path);
            made.map_err(Error::io("make", path))?;
        }
        Err(error) => return Err(Error::io("look at", path)(error)),
    }
    // Looked at after it was made, since somebody else may have been faster in a shared folder.
    let found = fs::metadata(path).map_err(Error::io("look at", path))?;
    if !found.is_dir() {
        return Err(Error::Misplaced {
            path: path.to_owned(),
            expected: "folder",
        });
    }
    check_owner(path, found.uid(), me())?;
    check_folder_mode(path, found.mode())
}

/// Refuses a file that is not one, that somebody else owns, or that others may open.
pub(crate) fn check_file(path: &Path, found: &Metadata) -> Result<(), Error> {
    if !found.is_file() {
        return Err(Error::Misplaced {
            path: path.to_owned(),
            expected: "file",
        });
    }
    check_owner(path, found.uid(), me())?;
    check_file_mode(path, found.mode())
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Refuses a link of somebody else, who could lead it elsewhere. That is no service's folder, so that
/// root is not sent to its owner.
fn check_link(path: &Path, owner: u32, me: u32) -> Result<(), Error> {
    check_owner(path, owner, me).map_err(|_foreign| Error::Foreign {
        path: path.to_owned(),
        owner,
        seen_by_root: false,
    })
}

fn check_owner(path: &Path, owner: u32, me: u32) -> Result<(), Error> {
    if owner == me || owner == ROOT {
        Ok(())
    } else {
        Err(Error::Foreign {
            path: path.to_owned(),
            owner,
            seen_by_root: me == ROOT,
        })
    }
}

fn check_folder_mode(path: &Path, mode: u32) -> Result<(), Error> {
    if mode & OTHERS_WRITE == 0 {
        Ok(())
    } else {
        Err(Error::Writable {
            path: path.to_owned(),
            mode: mode & 0o7777,
        })
    }
}

fn check_file_mode(path: &Path, mode: u32) -> Result<(), Error> {
    if mode & (OTHERS_WRITE | OTHERS_READ_OR_RUN) == 0 {
        Ok(())
    } else {
        Err(Error::Exposed {
            path: path.to_owned(),
            mode: mode & 0o7777,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_missing_folder_is_made_private() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("state/mcpproxy");
        prepare_data_dir(&folder).unwrap();
        assert_eq!(
            (mode(&folder), mode(&home.path().join("state"))),
            (0o700, 0o700)
        );
        prepare_data_dir(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let check = |bits: u32, expect: bool| {
            chmod(home.path(), bits);
            let result = prepare_data_dir(home.path());
            assert_eq!(result.is_ok(), expect, "{bits:o}: {result:?}");
            if let Err(error) = result {
                let path = home.path().display();
                let message =
                    format!("folder `{path}` can be written by other users (mode {bits:04o})");
                assert_eq!(error.to_string(), message);
                assert_eq!(error.remedy().unwrap(), format!("run `chmod 700 {path}`"));
            }
        };
        check(0o700, true);
        check(0o755, true);
        check(0o770, false);
        check(0o707, false);
        check(0o1777, false);
        check(0o702, false);
        chmod(home.path(), 0o700);
    }

    #[test]
    fn a_volume_that_a_group_can_write_holds_a_folder_that_it_cannot() {
        let volume = tempfile::tempdir().unwrap();
        // As Kubernetes leaves one with an fsGroup.
        chmod(volume.path(), 0o2775);
        assert!(prepare_data_dir(volume.path()).is_err());
        let folder = volume.path().join("state");
        prepare_data_dir(&folder).unwrap();
        assert_eq!(mode(&folder) & 0o777, 0o700);
        prepare_data_dir(&folder).unwrap();
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(
            prepare_data_dir(&file),
            Err(Error::Misplaced { .. })
        ));
        assert!(matches!(
            prepare_data_dir(&file.join("below")),
            Err(Error::Io { .. })
        ));
        let dangling = home.path().join("dangling");
        symlink(home.path().join("nowhere"), &dangling).unwrap();
        assert!(matches!(prepare_data_dir(&dangling), Err(Error::Io { .. })));
    }

    #[test]
    fn a_link_of_ones_own_is_followed_and_its_target_judged() {
        let home = tempfile::tempdir().unwrap();
        let (target, link) = (home.path().join("target"), home.path().join("link"));
        fs::create_dir(&target).unwrap();
        symlink(&target, &link).unwrap();
        chmod(&target, 0o700);
        prepare_data_dir(&link).unwrap();
        chmod(&target, 0o777);
        assert!(matches!(
            prepare_data_dir(&link),
            Err(Error::Writable { .. })
        ));
    }

    #[test]
    fn only_root_and_oneself_are_trusted_owners() {
        let check = |owner, me, expect| {
            let result = check_owner(Path::new("data"), owner, me);
            assert_eq!(result.is_ok(), expect, "{owner} {me}");
        };
        check(1000, 1000, true);
        check(ROOT, 1000, true);
        check(ROOT, ROOT, true);
        check(1001, 1000, false);
        check(1000, ROOT, false);
    }

    #[test]
    fn a_link_of_somebody_else_is_refused() {
        // Only root can give a link away; for others the table above has to do.
        if me() != ROOT {
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let (target, link) = (home.path().join("target"), home.path().join("link"));
        prepare_data_dir(&target).unwrap();
        symlink(&target, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(1), Some(1)).unwrap();
        let error = prepare_data_dir(&link).unwrap_err();
        assert!(
            matches!(&error, Error::Foreign { path, owner: 1, .. } if *path == link),
            "{error}"
        );
        assert!(error.remedy().unwrap().contains("chown -h"));
    }
}
