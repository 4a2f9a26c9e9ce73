//! Candidates that are versions of a peer, each installed in a folder of its own.

use super::{Bisected, Ends, Judged, Kept, Line, search};
use crate::plan::unknown_peer;
use crate::race::Programs;
use crate::verbs::compare::{CompareRequest, compare};
use crate::{Arm, BisectError, EngineError, Event, Source};
use proofmark_peers::{Status, Tools, add, by_name, status, versions};
use proofmark_schema::decision::{CaseDecision, Standing};
use proofmark_schema::{Case, ContenderId};

/// What to find.
#[derive(Clone, Debug)]
pub struct VersionsRequest {
    /// The peer, without a version.
    pub peer: String,
    /// A version that is fast.
    pub good: String,
    /// A later one that is slow; none is the newest.
    pub bad: Option<String>,
    /// The versions, oldest first. If there are none, the registry is asked, or the shelf if the
    /// library is the user's own.
    pub versions: Vec<String>,
    /// What installs versions.
    pub tools: Tools,
    /// The cases, and how each race is run. The arms are those of the search, and the error rate is
    /// that of the whole search.
    pub terms: CompareRequest,
}

/// Finds the first bad version. A search that was cut off goes on where it stopped.
///
/// # Errors
/// If the versions are not known, an end cannot be installed or is refused, or the bad end is not
/// slower.
pub fn bisect_versions(
    programs: &Programs<'_>,
    request: &VersionsRequest,
) -> Result<Bisected, EngineError> {
    let VersionsRequest { peer, good, terms, .. } = request;
    let line = Versions { programs, request };
    let known = line.known()?;
    if known.is_empty() {
        return Err(unknown_peer(&terms.shelf, peer));
    }
    let place = |version: &str| {
        known.iter().position(|it| it == version).ok_or_else(|| BisectError::UnknownVersion {
            name: format!("{peer}@{version}"),
            known: known.clone(),
        })
    };
    let newest = known.last().map_or(good, |version| version);
    let bad = request.bad.as_ref().unwrap_or(newest);
    let (first, last) = (place(good)? + 1, place(bad)?);
    if first > last {
        let (good, bad) = (format!("{peer}@{good}"), format!("{peer}@{bad}"));
        return Err(BisectError::NoVersions { good, bad }.into());
    }
    line.install(good)?;
    let cases: Vec<String> = terms.cases.iter().map(ToString::to_string).collect();
    let what = format!("{peer} {:?} {cases:?} {} {:?}", [good, bad], terms.threads, terms.memory);
    let kept = Kept::open(programs.store, &what)?;
    let ends = Ends { good, bad };
    search(&line, &known[first..=last], &ends, terms.alpha, kept, programs.listener)
}

/// The versions of a peer after a good one.
struct Versions<'a> {
    programs: &'a Programs<'a>,
    request: &'a VersionsRequest,
}

impl Versions<'_> {
    fn hear(&self) -> impl FnMut(&str) {
        |line| self.programs.listener.hear(&Event::Installing { line })
    }

    /// Every version there is, oldest first.
    fn known(&self) -> Result<Vec<String>, EngineError> {
        let VersionsRequest { peer, tools, terms, .. } = self.request;
        if !self.request.versions.is_empty() {
            return Ok(self.request.versions.clone());
        }
        let listed = versions(peer, &terms.shelf, tools, &mut self.hear());
        listed.map_err(|error| BisectError::Install { name: peer.clone(), error }.into())
    }

    fn name(&self, version: &str) -> String {
        format!("{}@{version}", self.request.peer)
    }

    /// Puts a version on the shelf, unless it is there.
    fn install(&self, version: &str) -> Result<(), EngineError> {
        let (name, shelf) = (self.name(version), &self.request.terms.shelf);
        let peer = by_name(shelf, &name).ok_or_else(|| unknown_peer(shelf, &name))?;
        if matches!(status(peer, shelf), Status::Ready(_)) {
            return Ok(());
        }
        match add(peer, shelf, &self.request.tools, &mut self.hear()) {
            Ok(_) => Ok(()),
            Err(error) => Err(BisectError::Install { name, error }.into()),
        }
    }
}

impl Line for Versions<'_> {
    fn race(
        &self,
        version: &str,
        alpha: f64,
        followed: Option<&str>,
    ) -> Result<Vec<Judged>, EngineError> {
        self.install(version)?;
        let arm = |version: &str| Arm {
            source: Source::Here,
            contender: Some(ContenderId::peer(&self.name(version))),
        };
        let mut request = CompareRequest {
            arms: [arm(&self.request.good), arm(version)],
            alpha,
            ..self.request.terms.clone()
        };
        let is_followed = |case: &Case| followed.is_none_or(|name| case.to_string() == name);
        request.cases.retain(is_followed);
        let judged = |it: CaseDecision| Judged {
            name: it.case.to_string(),
            ratio: it.ratio,
            because: it.because.filter(|_| it.standing == Standing::Refused),
            standing: it.standing,
        };
        Ok(compare(self.programs, &request)?.decisions.into_iter().map(judged).collect())
    }

    fn skips(&self, error: &EngineError) -> Option<String> {
        match error {
            EngineError::Bisect(BisectError::Install { error, .. }) => {
                Some(format!("it cannot be installed: {error}"))
            }
            EngineError::BrokenPeer { why, .. } => Some(format!("it does not open: {why}")),
            _ => None,
        }
    }

    fn short<'a>(&self, version: &'a str) -> &'a str {
        version
    }
}
