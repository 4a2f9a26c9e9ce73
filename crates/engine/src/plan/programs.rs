//! `[benches]` and `[[command]]` of `proofmark.toml`: programs that a check races as they are.

use proofmark_programs::{Command, CommandError};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Two commands that do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPair {
    /// What they do.
    pub name: String,
    /// The base and the other.
    pub sides: [Command; 2],
}

/// The programs of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectPrograms {
    /// Whether the bench targets of both revisions are raced.
    pub has_benches: bool,
    /// Only benchmarks whose name contains this text, or matches it as a pattern.
    pub filter: Option<String>,
    /// Pairs of commands.
    pub commands: Vec<CommandPair>,
}

impl ProjectPrograms {
    /// Whether there is nothing to race.
    pub fn is_empty(&self) -> bool {
        !self.has_benches && self.commands.is_empty()
    }
}

/// `[benches]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireBenches {
    filter: Option<String>,
}

/// `[[command]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireCommand {
    name: String,
    base: String,
    new: String,
    setup: Option<String>,
    input: Option<PathBuf>,
    folder: Option<PathBuf>,
    output: Option<String>,
    #[serde(default)]
    exit_code: i32,
}

impl WireCommand {
    /// The pair; folders and files are relative to the project's.
    fn pair(&self, project: &Path) -> Result<CommandPair, String> {
        let said = |error: CommandError| error.to_string();
        let side = |text: &str| -> Result<Command, String> {
            let mut command = Command::parse(text).map_err(said)?;
            if let Some(setup) = &self.setup {
                command = command.with_setup(setup).map_err(said)?;
            }
            let folder = self.folder.as_deref().unwrap_or(Path::new(""));
            let folder = project.join(folder);
            command.folder = Some(folder).filter(|folder| !folder.as_os_str().is_empty());
            command.input = self.input.as_ref().map(|path| project.join(path));
            command.shown = self.output.as_deref().map(str::parse).transpose()?;
            command.exit_code = self.exit_code;
            Ok(command)
        };
        Ok(CommandPair { name: self.name.clone(), sides: [side(&self.base)?, side(&self.new)?] })
    }
}

/// The programs that a file names; an error says which command it is about by its number.
pub(super) fn read(
    benches: Option<&WireBenches>,
    commands: &[&WireCommand],
    project: &Path,
) -> Result<ProjectPrograms, (usize, String)> {
    let numbered = commands.iter().enumerate();
    let pairs = numbered.map(|(number, wire)| wire.pair(project).map_err(|said| (number, said)));
    Ok(ProjectPrograms {
        has_benches: benches.is_some(),
        filter: benches.and_then(|benches| benches.filter.clone()),
        commands: pairs.collect::<Result<_, _>>()?,
    })
}
