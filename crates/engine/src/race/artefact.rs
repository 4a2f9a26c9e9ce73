//! Turns an arm into a program that can be run: this one, a saved one, or one that is built now.

use super::revision::{self, Builds};
use crate::{Arm, EngineError, Listener, Source};
use proofmark_arena::{Arena, Regime, Spawn};
use proofmark_schema::{Artefact, ContenderId, FORMAT_VERSION, Isolation};
use proofmark_store::{Shelf, Store, StoreError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The running program as a worker.
#[derive(Clone, Debug)]
pub struct Here {
    /// Where it lies.
    pub program: PathBuf,
    /// Arguments that make it a worker.
    pub args: Vec<String>,
    /// Arguments that follow those and name the user's own ops. Their folders may change, so no
    /// kept program has these arguments.
    pub own_args: Vec<String>,
    /// The rules of isolation for all workers, those of other programs too.
    pub regime: Regime,
}

/// Where programs come from.
pub struct Programs<'a> {
    /// Where they are kept.
    pub store: &'a Store,
    /// The folder that keeps builds of revisions; none where the user has no cache folder.
    pub cache: Option<&'a Path>,
    /// The running program.
    pub here: &'a Here,
    /// The folder whose revisions are meant.
    pub repo: &'a Path,
    /// The listener that hears about builds.
    pub listener: &'a dyn Listener,
    /// Revisions that this command has built: each is resolved and taken from the cache once, so
    /// that the build of one side cannot replace the other, and edits of the working tree do not
    /// count meanwhile.
    pub built: Built,
}

/// Programs of revisions by their names.
pub type Built = RefCell<BTreeMap<String, Artefact>>;

/// An arm that can be run.
pub(crate) struct Stand {
    pub(crate) arena: Arena,
    /// SHA-256 of the program, where it is kept.
    pub(crate) program: Option<String>,
    /// Arguments that make it a worker.
    pub(crate) args: Vec<String>,
    /// The contender that the artefact means where none is named.
    pub(crate) contender: Option<ContenderId>,
}

impl Programs<'_> {
    /// Both arms as programs. Every program that has to be built is built before anything runs.
    pub(crate) fn stands(&self, arms: &[Arm; 2]) -> Result<[Stand; 2], EngineError> {
        if arms.iter().all(|arm| arm.source == Source::Here) {
            let args = || [&self.here.args[..], &self.here.own_args].concat();
            let arena = || arena(self.here.program.clone(), &args());
            let regime = self.here.regime.clone();
            let stand = || {
                let arena = arena().under(regime.clone());
                Stand { arena, program: None, args: args(), contender: None }
            };
            return Ok([stand(), stand()]);
        }
        let artefacts = [self.artefact(&arms[0])?, self.artefact(&arms[1])?];
        let [first, second] = artefacts;
        let regime = self.regime_of(arms);
        Ok([self.stand(&arms[0], first, &regime)?, self.stand(&arms[1], second, &regime)?])
    }

    /// The rules for these arms. A program that is built from a revision, or was kept, is a
    /// stranger's code: it runs in a sandbox unless another level is asked for.
    fn regime_of(&self, arms: &[Arm]) -> Regime {
        let asked = self.here.regime.clone();
        let is_other = arms.iter().any(|arm| arm.source != Source::Here);
        match asked.level {
            Isolation::Unstated if is_other => Regime { level: Isolation::T2, ..asked },
            _ => asked,
        }
    }

    /// Keeps an arm's program under a name.
    ///
    /// # Errors
    /// If it cannot be built, is no worker, or cannot be kept.
    pub fn save_baseline(
        &self,
        name: &str,
        from: Option<&Arm>,
        contender: Option<&ContenderId>,
    ) -> Result<Artefact, EngineError> {
        let here = Arm { source: Source::Here, contender: None };
        let from = from.unwrap_or(&here);
        let mut artefact = self.artefact(from)?;
        let meant = contender.or(from.contender.as_ref());
        artefact.contender = meant.cloned().or(artefact.contender);
        self.stand(from, artefact.clone(), &self.regime_of(std::slice::from_ref(from)))?;
        self.store.name_artefact(Shelf::Baselines, name, &artefact)?;
        Ok(artefact)
    }

    fn artefact(&self, arm: &Arm) -> Result<Artefact, EngineError> {
        match &arm.source {
            Source::Here => Ok(self.store.keep_program(&self.here.program, &self.here.args)?),
            Source::Revision(name) => self.built(name),
            Source::Baseline(name) => {
                let artefact = self.store.baseline(name)?;
                if artefact.format != FORMAT_VERSION {
                    let (arm, format) = (arm.to_string(), artefact.format);
                    return Err(EngineError::OtherFormat { arm, format });
                }
                Ok(artefact)
            }
            Source::Run(_) => Err(EngineError::OnlyNumbers(arm.to_string())),
            Source::Command(_) => Err(EngineError::OnlyPrograms(arm.to_string())),
        }
    }

    /// The program of a revision, copied from the cache into the store: programs of both arms lie
    /// in one folder, and a run stays whole when the cache is emptied.
    fn built(&self, revision: &str) -> Result<Artefact, EngineError> {
        if let Some(known) = self.built.borrow().get(revision) {
            return Ok(known.clone());
        }
        let cache = Store::open(self.cache.ok_or(EngineError::NoCache)?)?;
        let builds = Builds { cache: &cache, store: self.store.root(), repo: self.repo };
        let artefact = revision::build(&builds, revision, self.listener)?;
        let path = cache.program(&artefact)?;
        let found = self.store.keep_program(&path, &artefact.args)?.sha256;
        if found != artefact.sha256 {
            return Err(StoreError::Changed { path, found }.into());
        }
        self.built.borrow_mut().insert(revision.to_owned(), artefact.clone());
        Ok(artefact)
    }

    /// Checks the program's hash and lets it greet once.
    fn stand(&self, arm: &Arm, artefact: Artefact, regime: &Regime) -> Result<Stand, EngineError> {
        let arena = arena(self.store.program(&artefact)?, &artefact.args);
        let arena = super::at(&arena, regime.clone())?;
        if let Err(fault) = arena.spawn(&Spawn::default()) {
            let (arm, said) = (arm.to_string(), fault.to_string());
            return Err(EngineError::NoGreeting { arm, said });
        }
        let Artefact { sha256, args, contender, .. } = artefact;
        Ok(Stand { arena, program: Some(sha256), args, contender })
    }
}

fn arena(program: PathBuf, args: &[String]) -> Arena {
    Arena::new(program, args.iter().map(Into::into).collect())
}
