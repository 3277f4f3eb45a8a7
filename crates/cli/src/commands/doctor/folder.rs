//! The data folder and the private files in it.

use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mcpproxy_control::{Error, prepare_data_dir};

use super::check::Check;
use crate::daemon::SOCKET;

const AREA: &str = "Data folder";
/// What only the user may open, beside the socket.
const PRIVATE: [&str; 3] = ["api_key", "tokens.json", mcpproxy_store::FILE];
const OTHERS: u32 = 0o077;

/// Looks at the folder and its private files.
pub(super) fn checks(folder: &Path) -> Vec<Check> {
    let name = folder.display();
    if fs::symlink_metadata(folder).is_err() {
        let message = format!("`{name}` is not there yet; `mcpproxy serve` makes it");
        return vec![Check::ok(AREA, message)];
    }
    // It is there, so that nothing is made here, only looked at.
    if let Err(fault) = prepare_data_dir(folder) {
        return vec![refused(&fault)];
    }
    let mode = fs::metadata(folder).map_or(0, |found| mode(&found));
    let whole = if mode & OTHERS == 0 {
        Check::ok(AREA, format!("`{name}` is private (mode {mode:04o})"))
    } else {
        let message = format!("`{name}` can be looked into by other users (mode {mode:04o})");
        Check::warn(AREA, message, &format!("run `chmod 700 {name}`"))
    };
    let files = PRIVATE.into_iter().chain([SOCKET]);
    let files = files.filter_map(|file| private(&folder.join(file)));
    std::iter::once(whole).chain(files).collect()
}

/// Says why a folder cannot be used.
fn refused(fault: &Error) -> Check {
    let hint = fault.remedy();
    let hint = hint.unwrap_or_else(|| "choose another with `--data-dir`".to_owned());
    match fault {
        // Nothing is wrong with the folder of a service; only root is not who uses it.
        Error::Foreign {
            seen_by_root: true, ..
        } => Check::warn(AREA, fault.to_string(), &hint),
        _ => Check::fail(AREA, fault.to_string(), &hint),
    }
}

fn private(path: &Path) -> Option<Check> {
    let mode = mode(&fs::metadata(path).ok()?);
    let name = path.display();
    Some(if mode & OTHERS == 0 {
        Check::ok(AREA, format!("`{name}` is private (mode {mode:04o})"))
    } else {
        let message = format!("`{name}` is open to other users (mode {mode:04o})");
        Check::fail(AREA, message, &format!("run `chmod 600 {name}`"))
    })
}

fn mode(found: &Metadata) -> u32 {
    found.permissions().mode() & 0o7777
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::super::check::Status;
    use super::*;

    #[test]
    fn what_others_could_open_is_told() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("data");
        let check = |expect: &[Status]| {
            let statuses: Vec<_> = checks(&folder).iter().map(|check| check.status).collect();
            assert_eq!(statuses, expect);
        };
        let chmod = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        check(&[Status::Ok]);
        assert!(!folder.exists());
        fs::create_dir(&folder).unwrap();
        chmod(&folder, 0o755);
        check(&[Status::Warn]);
        chmod(&folder, 0o777);
        check(&[Status::Fail]);
        chmod(&folder, 0o700);
        fs::write(folder.join("api_key"), "").unwrap();
        chmod(&folder.join("api_key"), 0o644);
        check(&[Status::Ok, Status::Fail]);
        chmod(&folder.join("api_key"), 0o600);
        check(&[Status::Ok, Status::Ok]);
    }

    /// Regression for #8: root was told to take the folder away from the service.
    #[test]
    fn root_is_sent_to_the_user_whose_folder_it_is() {
        let check = |seen_by_root, expect: Status, hint: &str| {
            let (path, owner) = ("/var/lib/mcpproxy".into(), 990);
            let told = refused(&Error::Foreign {
                path,
                owner,
                seen_by_root,
            });
            let said = told.hint.unwrap();
            assert_eq!(told.status, expect);
            assert!(said.contains(hint), "{said}");
            assert_eq!(said.contains("chown"), !seen_by_root, "{said}");
        };
        check(true, Status::Warn, "`sudo -u '#990'`");
        check(false, Status::Fail, "run as its owner");
    }
}
