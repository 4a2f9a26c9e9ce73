//! Files of tuned constants: the one in force, and the one that a command adds to.

use crate::exit;
use crate::output::{Failure, env, say};
use proofmark_engine::{Constants, Settings, facts, read_constants, write_constants};
use proofmark_schema::Isa;
use std::path::Path;

/// The tuned constants of the file that `PROOFMARK_TUNING` names.
pub(super) fn in_force() -> Result<Option<Constants>, Failure> {
    let Some(path) = env("PROOFMARK_TUNING").filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(&path).map_err(|error| Failure {
        message: format!("PROOFMARK_TUNING: cannot read {path}: {error}"),
        hint: Some("write it with `proofmark tune --all --out FILE`, or unset it".to_owned()),
        code: exit::USAGE,
    })?;
    Ok(Some(read_constants(&text)?))
}

/// What that file puts in force; nothing where there is none.
pub(super) fn settings() -> Result<Settings, Failure> {
    Ok(in_force()?.map(|constants| constants.settings()).transpose()?.unwrap_or_default())
}

/// What a file has of this machine; nothing where there is none, or it is of another machine.
pub(super) fn constants_in(path: &Path, cap: Isa) -> Result<Constants, Failure> {
    let fresh = Constants::of(&facts(cap));
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(fresh) };
    match read_constants(&text) {
        Ok(old) if old.machine == fresh.machine => {
            let Constants { ops, blocks, kernels, .. } = old;
            Ok(Constants { ops, blocks, kernels, ..fresh })
        }
        Ok(old) => {
            let (path, machine) = (path.display(), old.machine);
            say(&format!("note: {path} is of the machine {machine}; what is found replaces it"));
            Ok(fresh)
        }
        Err(error) => Err(Failure {
            message: format!("{} is there and is no such file: {error}", path.display()),
            hint: Some("give another with `--out FILE`".to_owned()),
            code: exit::USAGE,
        }),
    }
}

/// Writes a file of constants.
pub(super) fn write_to(path: &Path, constants: &Constants) -> Result<(), Failure> {
    std::fs::write(path, write_constants(constants))
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}
