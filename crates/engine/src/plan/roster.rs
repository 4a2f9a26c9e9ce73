//! The roster: which contenders may enter, by pattern and capped by instruction set.

use crate::{EngineError, nearest};
use proofmark_analyze::is_match;
use proofmark_contract::{Entry, ExplicitCase, Kernel};
use proofmark_peers::{Peer, PeerShelf, Status, status};
use proofmark_schema::device::HOST;
use proofmark_schema::{Case, ContenderId, Family, Isa};
use proofmark_worker::corpus;

/// The highest path kernels may take: what the processor has, capped by `PROOFMARK_ISA`.
///
/// # Errors
/// If the cap names no level, or one the processor lacks.
pub fn isa_cap(cap: Option<&str>) -> Result<Isa, EngineError> {
    let best = proofmark_simd::detect();
    let Some(cap) = cap.filter(|cap| !cap.is_empty()) else { return Ok(best) };
    let cap: Isa =
        cap.parse().map_err(|error| EngineError::Isa(format!("PROOFMARK_ISA: {error}")))?;
    if !proofmark_simd::available(cap) {
        let message = format!("PROOFMARK_ISA={cap}: this processor only reaches {best}");
        return Err(EngineError::Isa(message));
    }
    Ok(cap)
}

/// Checks that there is such a contender, so that a typo does not become a verdict.
///
/// # Errors
/// If there is none, with the nearest name; for a peer also if it is not on this machine.
pub fn check_contender(
    entry: &Entry,
    who: &ContenderId,
    shelf: &PeerShelf,
) -> Result<(), EngineError> {
    match who.family {
        Family::Peer => present(shelf, &who.name),
        Family::Native if entry.kernel(&who.name).is_none() => {
            let names: Vec<&str> = entry.kernels.iter().map(|kernel| kernel.name()).collect();
            Err(EngineError::UnknownKernel {
                op: entry.op.name().to_owned(),
                name: who.name.clone(),
                nearest: nearest(&who.name, &names).map(str::to_owned),
                known: names.join(", "),
            })
        }
        Family::Native => Ok(()),
        Family::Mutant if entry.mutant(&who.name).is_some() => Ok(()),
        Family::Mutant if proofmark_peers::by_id(shelf, who, entry.op.name()).is_some() => Ok(()),
        Family::Mutant => {
            let names: Vec<&str> = entry.mutants.iter().map(|mutant| mutant.name).collect();
            Err(unknown(who, nearest(&who.name, &names).map(ContenderId::mutant)))
        }
        // Specimens exist only in self-tests.
        Family::Planted => Err(unknown(who, None)),
        Family::Own | Family::OpenCl => own(shelf, who, entry.op.name()),
    }
}

/// Whether there is such a specimen in the corpus that self-tests plant.
///
/// # Errors
/// If there is none, with the nearest name.
pub fn check_specimen(who: &ContenderId) -> Result<(), EngineError> {
    if corpus::specimen(&who.name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = corpus::CORPUS.iter().map(|one| one.name).collect();
    let near = nearest(&who.name, &names);
    let as_id =
        |name: &str| ContenderId { family: Family::Planted, name: name.to_owned(), isa: None };
    Err(unknown(who, near.map(as_id)))
}

/// The peer must be one, and be on this machine.
fn present(shelf: &PeerShelf, name: &str) -> Result<(), EngineError> {
    let peer = proofmark_peers::by_name(shelf, name).ok_or_else(|| unknown_peer(shelf, name))?;
    match status(peer, shelf) {
        Status::Ready(_) => Ok(()),
        Status::Absent(hint) => Err(EngineError::AbsentPeer { name: peer.id().to_string(), hint }),
    }
}

/// There is no such peer; the nearest is named.
pub(crate) fn unknown_peer(shelf: &PeerShelf, name: &str) -> EngineError {
    let known = proofmark_peers::libraries(shelf);
    let names: Vec<&str> = known.iter().map(|peer| peer.name()).collect();
    let (name, nearest) = (name.to_owned(), nearest(name, &names).map(str::to_owned));
    EngineError::UnknownPeer { name, nearest, known: names.join(", ") }
}

/// The kernel must be one of the op, and its files be there.
fn own(shelf: &PeerShelf, who: &ContenderId, op: &str) -> Result<(), EngineError> {
    let of_op = shelf.own().iter().filter(|it| it.has(op) && it.family() == who.family);
    let names: Vec<&str> = of_op.map(|peer| peer.name()).collect();
    let near = || {
        let name = nearest(&who.name, &names)?.to_owned();
        Some(ContenderId { family: who.family, name, isa: None })
    };
    let peer = proofmark_peers::by_id(shelf, who, op).ok_or_else(|| unknown(who, near()))?;
    match status(peer, shelf) {
        Status::Ready(_) => Ok(()),
        Status::Absent(hint) => Err(EngineError::AbsentPeer { name: who.to_string(), hint }),
    }
}

fn unknown(who: &ContenderId, nearest: Option<ContenderId>) -> EngineError {
    let nearest = nearest.map(|near| near.to_string());
    EngineError::UnknownContender { pattern: who.to_string(), is_elsewhere: false, nearest }
}

/// A kernel without a path takes its best one.
pub(crate) fn best_path(entry: &'static Entry, who: &ContenderId, cap: Isa) -> ContenderId {
    if who.isa.is_some() {
        return who.clone();
    }
    let best = Roster::new(&who.to_string(), cap).kernels(entry).into_iter().next();
    best.map_or_else(|| who.clone(), |(id, _, _)| id)
}

/// Operations of a case up to which the scalar path enters without being named.
const SCALAR_FLOPS: u64 = 1_000_000_000;

/// The contenders that a set of patterns admits under a cap.
#[derive(Clone)]
pub struct Roster {
    patterns: Vec<String>,
    cap: Isa,
    /// Found once, since a shelf is a folder on disk.
    peers: Vec<(&'static dyn Peer, Status)>,
    /// Patterns of the devices whose contenders may enter.
    devices: Vec<String>,
}

impl Roster {
    /// Patterns are separated by blanks or commas; `*` matches any run of characters. Without `@`
    /// a kernel enters on its best path; `native/*@*` lets all paths in.
    pub fn new(patterns: &str, cap: Isa) -> Roster {
        let split = patterns.split([' ', ',']).filter(|pattern| !pattern.is_empty());
        let patterns = split.map(str::to_owned).collect();
        Roster { patterns, cap, peers: Vec::new(), devices: vec![HOST.to_owned()] }
    }

    /// This roster with the peers of a shelf, and those that systems have, on its devices.
    #[must_use]
    pub fn with_peers(mut self, shelf: &PeerShelf) -> Roster {
        self.devices = shelf.devices().to_vec();
        let mut all = proofmark_peers::all(shelf);
        for pattern in &self.patterns {
            // A version that is not on the shelf is absent, and not unknown.
            let Ok(ContenderId { family: Family::Peer, name, .. }) = pattern.parse() else {
                continue;
            };
            if all.iter().all(|peer| peer.name() != name) {
                all.extend(proofmark_peers::by_name(shelf, &name));
            }
        }
        self.peers = all.into_iter().map(|peer| (peer, status(peer, shelf))).collect();
        self
    }

    /// The patterns that match no kernel and no peer of these ops, for a warning.
    pub fn unmatched(&self, entries: &[&'static Entry]) -> Vec<String> {
        let matches = |pattern: &str| {
            entries.iter().any(|entry| {
                let is_meant = |peer: &dyn Peer| {
                    peer.has(entry.op.name()) && is_match(pattern, &peer.id().to_string())
                };
                entry.kernels.iter().any(|kernel| {
                    self.paths(*kernel).into_iter().any(|isa| self.admits_by(pattern, *kernel, isa))
                }) || self.peers.iter().any(|&(peer, _)| is_meant(peer))
            })
        };
        self.patterns.iter().filter(|pattern| !matches(pattern)).cloned().collect()
    }

    /// Checks that every name belongs to a contender. A pattern with a star may match none, and a
    /// peer may be absent or have none of these ops, but an unknown name is a typo.
    ///
    /// # Errors
    /// The first such name, with the nearest.
    pub fn check(&self, entries: &[&'static Entry]) -> Result<(), EngineError> {
        let is_slip = |pattern: &&String| {
            let is_peer = |&(peer, _): &(&dyn Peer, Status)| peer.id().to_string() == **pattern;
            // After the name of a peer, `@` begins a version.
            let parts = pattern.split_once('@').filter(|_| !pattern.starts_with("peer/"));
            let (name, isa) = parts.unwrap_or((pattern, "*"));
            // A path that this processor lacks still counts as known.
            let has_path = |kernel: &&'static dyn Kernel| {
                format!("{}/{}", Family::Native.name(), kernel.name()) == name
                    && kernel.isas().iter().any(|has| is_match(isa, has.name()))
            };
            let mut kernels = entries.iter().flat_map(|entry| entry.kernels);
            !name.contains('*') && !self.peers.iter().any(is_peer) && !kernels.any(has_path)
        };
        match self.patterns.iter().find(is_slip) {
            Some(pattern) => Err(self.why_unmatched(pattern, entries)),
            None => Ok(()),
        }
    }

    /// Why a pattern matches no contender: the nearest name, unless it is a peer without these ops.
    pub fn why_unmatched(&self, pattern: &str, entries: &[&'static Entry]) -> EngineError {
        let kernels = entries.iter().flat_map(|entry| entry.kernels);
        let kernels = kernels.map(|kernel| format!("{}/{}", Family::Native.name(), kernel.name()));
        let peers = self.peers.iter().map(|&(peer, _)| peer.id().to_string());
        let mut known: Vec<String> = kernels.chain(peers).collect();
        known.sort_unstable();
        known.dedup();
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        // A path that no kernel has is a slip in the path, not in the name.
        let near = nearest(pattern.split('@').next().unwrap_or(pattern), &names);
        EngineError::UnknownContender {
            pattern: pattern.to_owned(),
            is_elsewhere: near == Some(pattern),
            nearest: near.map(str::to_owned),
        }
    }

    /// The peers that may have an equal of an op, with where they are or how to get them.
    pub fn peers(&self, entry: &Entry) -> Vec<(ContenderId, &'static dyn Peer, Status)> {
        let mut admitted = Vec::new();
        for (peer, status) in &self.peers {
            let id = peer.id();
            let name = id.to_string();
            let is_meant = self.patterns.iter().any(|pattern| is_match(pattern, &name));
            if is_meant && peer.has(entry.op.name()) && self.has_device(peer.device()) {
                admitted.push((id, *peer, status.clone()));
            }
        }
        admitted
    }

    /// The kernels of an op that may enter, best first, whatever the case.
    pub fn kernels(&self, entry: &'static Entry) -> Vec<(ContenderId, &'static dyn Kernel, Isa)> {
        let mut admitted = Vec::new();
        let kernels = if self.has_device(HOST) { entry.kernels } else { &[] };
        for &kernel in kernels {
            for isa in self.paths(kernel).into_iter().rev() {
                if self.patterns.iter().any(|pattern| self.admits_by(pattern, kernel, isa)) {
                    admitted.push((ContenderId::native(kernel.name(), isa), kernel, isa));
                }
            }
        }
        admitted
    }

    /// The kernels that support a case with this number of threads, and why the others do not.
    pub fn field(
        &self,
        entry: &'static Entry,
        case: &Case,
        threads: usize,
    ) -> (Vec<ContenderId>, Vec<(ContenderId, String)>) {
        let (mut field, mut absent) = (Vec::new(), Vec::new());
        for (id, kernel, isa) in self.kernels(entry) {
            if threads == 1 && kernel.is_serial_twin() && entry.kernels.len() > 1 {
                absent.push((id, "one thread: it would only run its serial part".to_owned()));
                continue;
            }
            // A pattern with a star does not admit a path that takes seconds a call: the reference
            // would delay all others for minutes.
            let is_named = self.patterns.iter().any(|pattern| {
                pattern.split('@').next() == Some(&format!("native/{}", kernel.name()))
            });
            if !is_named && takes_seconds(entry, case, isa) {
                let reason = format!("it would take seconds a call: name native/{}", kernel.name());
                absent.push((id, reason));
                continue;
            }
            match kernel.supports(case, isa) {
                Ok(()) => field.push(id),
                Err(reason) => absent.push((id, reason.to_string())),
            }
        }
        let explicit = ExplicitCase::of(entry.op, case);
        for (id, peer, status) in self.peers(entry) {
            match (status, peer.supports(&explicit)) {
                (Status::Absent(hint), _) => absent.push((id, format!("ABSENT ({hint})"))),
                (_, Err(reason)) => absent.push((id, reason.to_string())),
                (Status::Ready(_), Ok(())) => field.push(id),
            }
        }
        absent.extend(self.elsewhere(entry));
        (field, absent)
    }

    /// The contenders that were named, or are the user's own, and run on a device that was not
    /// asked for.
    fn elsewhere(&self, entry: &'static Entry) -> Vec<(ContenderId, String)> {
        let mut left = Vec::new();
        for (peer, _) in &self.peers {
            let (id, device) = (peer.id(), peer.device());
            let is_meant = |pattern: &String| {
                *pattern == id.to_string()
                    || id.family == Family::Own && is_match(pattern, &id.to_string())
            };
            let is_of_op = peer.has(entry.op.name()) && self.patterns.iter().any(is_meant);
            if is_of_op && !self.has_device(device) {
                left.push((id, format!("it runs on {device}: add --device {device}")));
            }
        }
        left
    }

    fn has_device(&self, device: &str) -> bool {
        self.devices.iter().any(|pattern| is_match(pattern, device))
    }

    /// The other paths of a kernel, for its reproducibility class. On a large case the path that
    /// would take seconds a call is left out; the op's own cases are compared with it.
    pub fn siblings(
        &self,
        entry: &'static Entry,
        who: &ContenderId,
        case: Option<&Case>,
    ) -> Vec<ContenderId> {
        if who.family != Family::Native {
            return Vec::new();
        }
        let Some(kernel) = entry.kernel(&who.name) else { return Vec::new() };
        let is_quick = |isa: &Isa| case.is_none_or(|case| !takes_seconds(entry, case, *isa));
        self.paths(kernel)
            .into_iter()
            .filter(|isa| Some(*isa) != who.isa && is_quick(isa))
            .map(|isa| ContenderId::native(kernel.name(), isa))
            .collect()
    }

    /// The paths of a kernel that the processor has and the cap allows, lowest first.
    fn paths(&self, kernel: &dyn Kernel) -> Vec<Isa> {
        let usable = |isa: &Isa| *isa <= self.cap && proofmark_simd::available(*isa);
        let mut paths: Vec<Isa> = kernel.isas().iter().copied().filter(usable).collect();
        paths.sort_unstable();
        paths
    }

    fn admits_by(&self, pattern: &str, kernel: &dyn Kernel, isa: Isa) -> bool {
        let name = format!("{}/{}", Family::Native.name(), kernel.name());
        match pattern.split_once('@') {
            Some((names, isas)) => is_match(names, &name) && is_match(isas, isa.name()),
            None => is_match(pattern, &name) && self.paths(kernel).last() == Some(&isa),
        }
    }
}

/// Whether a call on the scalar path takes too long to enter without being named.
fn takes_seconds(entry: &Entry, case: &Case, isa: Isa) -> bool {
    isa == Isa::Scalar && entry.op.work(case).flops > SCALAR_FLOPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_op;

    #[test]
    fn a_cap_that_does_not_exist_is_refused() {
        assert!(isa_cap(Some("sse9")).is_err());
        assert_eq!(isa_cap(Some("scalar")).unwrap(), Isa::Scalar);
    }
    #[test]
    fn a_large_case_is_not_compared_with_a_path_that_would_take_seconds_a_call() {
        let entry = find_op("matmul_fp8_block").unwrap();
        let who = ContenderId::native("simd", Isa::Avx512);
        let siblings = |case: Option<&str>| {
            let case = case.map(|case| case.parse().unwrap());
            Roster::new("native/*@*", Isa::Scalar).siblings(entry, &who, case.as_ref())
        };
        let scalar = [ContenderId::native("simd", Isa::Scalar)];
        assert_eq!(siblings(None), scalar);
        assert_eq!(siblings(Some("matmul_fp8_block:bf16[m=64,n=64,k=64;block=128]")), scalar);
        assert_eq!(siblings(Some("matmul_fp8_block:bf16[m=2048,n=2048,k=4096;block=128]")), []);
    }
}
