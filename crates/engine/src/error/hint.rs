//! What the user can do next about an error.

use super::{EngineError, TrustedPlace};
use crate::nearest;
use proofmark_contract::{AttributeKind, BadCase};
use proofmark_store::StoreError;

impl EngineError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            EngineError::UnknownOp { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            EngineError::UnknownOp { name, .. } if name.contains('[') => {
                Some(format!("a case is given with `--case '{name}'`"))
            }
            EngineError::UnknownOp { known, .. } => Some(format!("ops: {known}")),
            EngineError::UnknownSuite { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            EngineError::UnknownSuite { .. } => Some(
                "`proofmark workload list` has the workloads; every op has sweeps smoke, standard \
                 and full"
                    .to_owned(),
            ),
            EngineError::UnknownKernel { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `native/{nearest}`?"))
            }
            EngineError::UnknownKernel { known, .. } => Some(format!("kernels: {known}")),
            EngineError::UnknownContender { is_elsewhere: true, .. } => {
                Some("`proofmark peers` shows which ops a peer has".to_owned())
            }
            EngineError::UnknownContender { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            EngineError::UnknownContender { .. } => Some(
                "`proofmark list ops` has the kernels, as `native/simd`; `proofmark peers` the \
                 peers, as `peer/pytorch`"
                    .to_owned(),
            ),
            EngineError::NoTruth { .. } => None,
            EngineError::NoReference { op, folder } => Some(format!(
                "write {}, as docs/own-ops.md says",
                folder.join(op).join("op.toml").display()
            )),
            EngineError::Own(_) => {
                Some("`proofmark new op NAME` writes a folder that works".to_owned())
            }
            EngineError::Submission(error) => Some(error.hint().to_owned()),
            EngineError::Bisect(error) => error.hint(),
            EngineError::SameOp { .. } => {
                Some("give the folder, or `name` in its op.toml, another name".to_owned())
            }
            EngineError::UnknownPeer { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `peer/{nearest}`?"))
            }
            EngineError::UnknownPeer { known, .. } => Some(format!("peers: {known}")),
            EngineError::AbsentPeer { hint, .. } => Some(hint.clone()),
            EngineError::OtherDevice { device, .. } => {
                Some(format!("leave `--device` out, or add `{device}` to it"))
            }
            EngineError::BrokenPeer { .. } => Some(
                "give a shared library for this machine that has the interface of \
                 `plugins/proofmark_peer.h`, or of the peer it stands for"
                    .to_owned(),
            ),
            EngineError::NoSandbox { .. } => Some(
                "use Linux 6.12 or later, where a container allows Landlock and seccomp; or give \
                 `--isolation t1` if you trust the code"
                    .to_owned(),
            ),
            EngineError::OnlyRotated(_) => Some("add `--cache rotate`".to_owned()),
            EngineError::Sweep { .. } => {
                Some("write `--sweep 'b=16,32 s=256:2048:*2 d=768'`".to_owned())
            }
            EngineError::ParseCase(_) => {
                Some("a case looks like `rms_norm:f32[b=32,s=512,d=768;eps=1e-6]`".to_owned())
            }
            EngineError::Case { reason, .. } if near_in_case(reason).is_some() => {
                near_in_case(reason).map(|near| format!("did you mean `{near}`?"))
            }
            EngineError::Case { .. } => {
                Some("`proofmark list ops` shows axes, attributes and element types".to_owned())
            }
            EngineError::NoRoom { .. } => {
                Some("make its axes smaller, or run it on a machine with more memory".to_owned())
            }
            EngineError::NoField(_) => Some(
                "`proofmark peers` shows which peers are here and how to get the others".to_owned(),
            ),
            EngineError::Refused { contender, case, .. }
            | EngineError::Failed { contender, case, .. } => {
                Some(format!("`proofmark repro '{case}' --with {contender}` examines it again"))
            }
            EngineError::Arm { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}:`?"))
            }
            EngineError::Arm { .. } => Some(
                "write `native/simd@avx2`, `rev:HEAD~1`, `baseline:NAME` or `run:ID`; the last \
                 three take `/CONTENDER`"
                    .to_owned(),
            ),
            EngineError::NoContender(arm) => {
                Some(format!("write `{arm}/native/simd`, or give `--contender native/simd`"))
            }
            EngineError::OnlyNumbers(_) => {
                Some("save programs with `proofmark baseline save NAME`".to_owned())
            }
            EngineError::NotABench(_) => {
                Some("run `proofmark compare`, `scale` or `tune` again".to_owned())
            }
            EngineError::NoRepository { .. } => {
                Some("give the folder of your crate with `--repo PATH`".to_owned())
            }
            EngineError::NoRevision { .. } => Some(
                "write what `git rev-parse` takes, or `rev:.` for the working tree as it is"
                    .to_owned(),
            ),
            EngineError::NoCache | EngineError::CacheInside { .. } => Some(
                "give a folder outside of the repository with `--build-cache PATH` or \
                 PROOFMARK_BUILD_CACHE"
                    .to_owned(),
            ),
            EngineError::Committed { place, .. } => Some(match place {
                TrustedPlace::Store => "remove it from git and add the folder to .gitignore, or \
                                        give another folder with `--store` or PROOFMARK_STORE"
                    .to_owned(),
                TrustedPlace::Peers => "remove it from git, or give another folder with \
                                        PROOFMARK_PEERS"
                    .to_owned(),
                TrustedPlace::Program => "install proofmark outside of the repository".to_owned(),
            }),
            EngineError::NoWorker { packages, .. } if packages.is_empty() => Some(
                "add to the Cargo.toml of the crate whose program runs the kernels:\n\
                 [package.metadata.proofmark]\nworker = \"BIN\"\nargs = [\"__worker\"]"
                    .to_owned(),
            ),
            EngineError::NoWorker { .. } => {
                Some("leave `[package.metadata.proofmark]` in one of them".to_owned())
            }
            EngineError::OnlyPrograms(_) => {
                Some("write both sides as `cmd:…`, as in `cmd:./old --size 3`".to_owned())
            }
            EngineError::NoBenches { .. } => Some(
                "benchmarks are the `[[bench]]` targets of a cargo project and programs of Google \
                 Benchmark; race two commands as `cmd:./old` and `cmd:./new` without `--benches`"
                    .to_owned(),
            ),
            EngineError::NoProgram { .. } => {
                Some("with `--benches`, write the path of the program first".to_owned())
            }
            EngineError::NoProject { .. } => {
                Some("`proofmark init` writes one, or give `--config PATH`".to_owned())
            }
            EngineError::Project { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            EngineError::Project { .. } => Some(
                "`docs/ci.md` has every key; `proofmark init` writes a file with all of them"
                    .to_owned(),
            ),
            EngineError::NoGreeting { .. } => Some(
                "build or save it again with this version of proofmark, or compare with the \
                 version that made it"
                    .to_owned(),
            ),
            EngineError::OtherFormat { .. } => Some(
                "save the baseline again, or compare with the version that saved it".to_owned(),
            ),
            EngineError::Shard(_) => {
                Some("write `--shard 1/2` for the first of two, up to `--shard 2/2`".to_owned())
            }
            EngineError::Merge { hint, .. } => Some(hint.clone()),
            EngineError::Import { .. } => Some(
                "give criterion's folder, Go benchmark text, or JSON of Google Benchmark or \
                 hyperfine; `--from` names the format"
                    .to_owned(),
            ),
            EngineError::UnknownImport { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            EngineError::UnknownImport { known, .. } if known.is_empty() => {
                Some("none is kept: `proofmark import FILE` reads one".to_owned())
            }
            EngineError::UnknownImport { known, .. } => Some(format!("imports: {known}")),
            EngineError::Perf(_) => Some(
                "let the worker sample itself with `--sampler own`; or allow it with `sysctl \
                 kernel.perf_event_paranoid=2`, in a container with `--cap-add PERFMON` or a \
                 seccomp profile that has perf_event_open"
                    .to_owned(),
            ),
            EngineError::Tuning(_) => Some(
                "write them again with `proofmark tune --all`, or unset PROOFMARK_TUNING"
                    .to_owned(),
            ),
            EngineError::Start { .. } => Some("install git and cargo".to_owned()),
            EngineError::Store(StoreError::NotFound { text, known, .. }) if !known.is_empty() => {
                let mut words: Vec<&str> = vec!["latest"];
                words.extend(known.iter().map(String::as_str));
                Some(match nearest(text, &words) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => numbered(known.len()),
                })
            }
            EngineError::Store(StoreError::NoBaseline { name, known }) if !known.is_empty() => {
                let words: Vec<&str> = known.iter().map(String::as_str).collect();
                Some(match nearest(name, &words) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("baselines: {}", known.join(", ")),
                })
            }
            EngineError::Store(error) => error.hint(),
            EngineError::Workload { .. } => {
                Some("a line is `op:f32,bf16 axis=sizes attribute=value`".to_owned())
            }
            EngineError::Suite { .. }
            | EngineError::Isa(_)
            | EngineError::Unfit(_)
            | EngineError::Build { .. }
            | EngineError::Program(_)
            | EngineError::Sampling(_)
            | EngineError::DeviceProbe(_)
            | EngineError::SelfTest { .. }
            | EngineError::Command { .. } => None,
        }
    }
}

/// The name that may have been meant where an axis, an attribute or its value is not known.
fn near_in_case(reason: &BadCase) -> Option<&'static str> {
    match reason {
        BadCase::UnknownAxis { axis, known } => nearest(axis, known),
        BadCase::UnknownAttribute { attribute, known } => nearest(attribute, known),
        BadCase::BadAttribute { value, expected: AttributeKind::Word { words, .. }, .. } => {
            nearest(value, words)
        }
        _ => None,
    }
}

/// How runs can be named.
fn numbered(runs: usize) -> String {
    format!(
        "runs have the numbers 1 to {runs}; `latest` is the newest, and `2026-11-17-softmax` the \
         newest of a day with that op"
    )
}
