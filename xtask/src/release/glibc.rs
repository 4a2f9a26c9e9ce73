//! Which versions of the C library the program asks for, from its table of needed versions.

use std::process::Command;

use super::tools::succeeded;
use super::{OLDEST_GLIBC, Release};
use crate::Failure;

/// The newest version that the program asks for must not be newer than the oldest that we support.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let mut readelf = Command::new("readelf");
    let text = succeeded(readelf.args(["--version-info", "--wide"]).arg(release.program()))?;
    let newest = newest(&text).ok_or("readelf names no version of glibc: is it linked to one?")?;
    let oldest = parsed(OLDEST_GLIBC).ok_or("the oldest version is no version")?;
    let libraries = needed(release)?.join(", ");
    let (major, minor) = newest;
    match newest <= oldest {
        true => Ok(format!("newest symbol version GLIBC_{major}.{minor}; needs {libraries}")),
        false => Err(format!("it asks for GLIBC_{major}.{minor}, newer than {OLDEST_GLIBC}")),
    }
}

/// The shared libraries that the program cannot start without.
pub(super) fn needed(release: &Release) -> Result<Vec<String>, Failure> {
    let mut readelf = Command::new("readelf");
    let text = succeeded(readelf.args(["--dynamic", "--wide"]).arg(release.program()))?;
    let lines = text.lines().filter(|line| line.contains("(NEEDED)"));
    let name = |line: &str| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned());
    Ok(lines.filter_map(name).collect())
}

/// The newest version of glibc in what `readelf --version-info` prints.
fn newest(text: &str) -> Option<(u32, u32)> {
    let versions = text.split_whitespace().filter_map(|word| word.strip_prefix("GLIBC_"));
    versions.filter_map(parsed).max()
}

/// Major and minor number; a third, as in 2.2.5, does not count.
fn parsed(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn versions_are_compared_as_numbers_and_other_libraries_do_not_count() {
        let text = "  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 12\n\
                    0x0020:   Name: GLIBC_2.28  Flags: none\n\
                    0x0030:   Name: GLIBC_2.2.5  Flags: none\n\
                    0x0040:   Name: GCC_4.2.0  Flags: none\n\
                    0x0050:   Name: GLIBC_PRIVATE  Flags: none\n";
        assert_eq!(newest(text), Some((2, 28)));
        assert_eq!(newest("Name: GCC_3.0"), None);
    }
}
