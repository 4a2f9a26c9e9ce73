//! The Dockerfile: linted everywhere, built where a Docker daemon answers.

use std::process::Command;

use super::Release;
use super::tools::{shown, succeeded};
use crate::Failure;

/// Lints it, and builds and runs the image if that can be done here.
pub(super) fn check(release: &Release) -> Result<String, Failure> {
    let file = release.root.join("packaging/Dockerfile");
    succeeded(release.tools.command("hadolint").arg("--no-color").arg(&file))?;
    let has_daemon =
        Command::new("docker").arg("info").output().is_ok_and(|it| it.status.success());
    if !has_daemon {
        return Ok(
            "linted by hadolint; NOT BUILT, because no Docker daemon answers here".to_owned()
        );
    }
    let tag = format!("proofmark:{}", release.version);
    let mut build = Command::new("docker");
    build.args(["build", "--tag", &tag, "--file"]).arg(&file);
    shown(build.arg(&release.out))?;
    let text = succeeded(Command::new("docker").args(["run", "--rm", &tag, "-V"]))?;
    Ok(format!("linted, built, and started as {}", text.trim()))
}
