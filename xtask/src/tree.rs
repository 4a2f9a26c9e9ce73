//! The files of the repository, as git knows them.

use std::path::Path;
use std::process::Command;

use crate::Failure;

/// Paths that are tracked, or would be if they were added: relative to the root, with `/`.
pub(crate) fn files(root: &Path) -> Result<Vec<String>, Failure> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .map_err(|error| format!("git did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let listing = String::from_utf8(output.stdout)
        .map_err(|error| format!("a file name is not UTF-8: {error}"))?;
    // A tracked file may be deleted or be a link.
    let is_file = |path: &&str| root.join(path).symlink_metadata().is_ok_and(|it| it.is_file());
    Ok(listing.split_terminator('\0').filter(is_file).map(str::to_owned).collect())
}
