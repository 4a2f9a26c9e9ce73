//! The commands, one file each.

mod asked;
pub(crate) mod asm;
pub(crate) mod baseline;
pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod check;
pub(crate) mod choose;
pub(crate) mod compare;
pub(crate) mod completions;
mod constants;
pub(crate) mod costs;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod judge;
pub(crate) mod list;
pub(crate) mod machine;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod new_op;
pub(crate) mod own;
pub(crate) mod peers;
pub(crate) mod profile;
pub(crate) mod programs;
pub(crate) mod prove;
mod quantities;
pub(crate) mod reference;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod repro;
pub(crate) mod scale;
pub(crate) mod selftest;
mod selftest_judge;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod worker;
pub(crate) mod workload;

use crate::output::{Failure, Format, all_env, env};
use crate::progress::Progress;
use proofmark_engine::{
    Arena, Arm, Built, EngineError, Here, PeerShelf, Programs, Shard, Store, isa_cap,
    keep_freed_memory, keep_hashes_in, regime, unix_seconds,
};
use proofmark_schema::device::HOST;
use proofmark_schema::isolation::ParseIsolationError;
use proofmark_schema::{Isa, Isolation};
use std::ffi::OsString;

/// This very program as a worker. Workers read tuned constants themselves; an error in the
/// constants is reported here, once. A command that starts workers also proves kernels, so this
/// process keeps freed memory from here on.
fn here(level: Option<Isolation>) -> Result<Here, Failure> {
    constants::in_force()?;
    keep_freed_memory();
    if let Some(folder) = cache_folder() {
        keep_hashes_in(&folder.join("hashes"), unix_seconds());
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program: {error}")))?;
    let shelf = shelf();
    let regime = regime(level, sandboxed_environment(&shelf), &shelf);
    let mut own_args = own::arguments();
    if level == Some(Isolation::T3) {
        // Any call may be checked, so that each leaves its result.
        own_args.push("--settle-each-call".to_owned());
    }
    Ok(Here { program, args: vec!["__worker".to_owned()], own_args, regime })
}

/// What every command that runs workers needs: workers are this very program.
fn arena(level: Option<Isolation>) -> Result<Arena, Failure> {
    let Here { program, mut args, own_args, regime } = here(level)?;
    args.extend(own_args);
    Ok(Arena::new(program, args.into_iter().map(Into::into).collect()).under(regime))
}

/// What stands between contenders and this process.
#[derive(clap::Args)]
pub(crate) struct Isolated {
    /// How contenders are kept apart from this program: `t1` in a process of their own, `t2` in a
    /// sandbox too, `t3` with this program's clock and new operands for each call; by default `t2`
    /// if one is a library of your own or built from a revision
    #[arg(long, value_name = "LEVEL", env = "PROOFMARK_ISOLATION", value_parser = level)]
    isolation: Option<Isolation>,
}

/// Reads a level.
fn level(text: &str) -> Result<Isolation, String> {
    text.parse().map_err(|error: ParseIsolationError| error.to_string())
}

/// The beginnings of the variables that tell libraries how to use threads and instructions. Users
/// set them on purpose, so that they reach workers in a sandbox too.
const PASSED_ON: [&str; 12] = [
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "BLIS_",
    "ONEDNN_",
    "DNNL_",
    "XLA_",
    "JAX_",
    "ATEN_",
    "PROOFMARK_",
];

/// The environment of a worker in a sandbox: nothing that could steer the loader or hold a secret.
fn sandboxed_environment(shelf: &PeerShelf) -> Vec<(OsString, OsString)> {
    let is_passed_on = |name: &OsString| {
        let name = name.to_string_lossy();
        PASSED_ON.iter().any(|beginning| name.starts_with(beginning))
    };
    let mut kept: Vec<_> = all_env().into_iter().filter(|(name, _)| is_passed_on(name)).collect();
    kept.retain(|(name, _)| name != "PROOFMARK_PEERS");
    kept.extend([
        ("PROOFMARK_PEERS".into(), shelf.folder().into()),
        ("LC_ALL".into(), "C.UTF-8".into()),
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("USER".into(), "nobody".into()),
    ]);
    kept
}

/// The highest path kernels may take: `PROOFMARK_ISA` caps it.
fn cap() -> Result<Isa, Failure> {
    Ok(isa_cap(env("PROOFMARK_ISA").as_deref())?)
}

/// Where peers are, with the kernels of the user's own ops.
fn shelf() -> PeerShelf {
    libraries().with_own(own::kernels())
}

/// Where peers are: `PROOFMARK_PEERS`, or the user's data folder; with the kernels of devices.
fn libraries() -> PeerShelf {
    let of_user = || {
        let base = etcetera::choose_base_strategy().ok()?;
        Some(etcetera::BaseStrategy::data_dir(&base).join("proofmark/peers"))
    };
    let folder = env("PROOFMARK_PEERS").map(Into::into).or_else(of_user);
    PeerShelf::new(folder.unwrap_or_else(|| std::path::PathBuf::from(".proofmark-peers")))
        .with_own(proofmark_engine::opencl::kernels())
}

/// The seed where no secret is needed: what is repeated, and what several machines share.
const DEFAULT_SEED: u64 = 20_261_115;

/// The seed of this process: no contender can know it, and `--seed` repeats it.
fn drawn_seed() -> u64 {
    static DRAWN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *DRAWN.get_or_init(|| {
        // The standard library seeds its hashes from the system's random numbers.
        let random = std::hash::RandomState::new();
        // Short enough to be typed, and exact in every reader of JSON.
        std::hash::BuildHasher::hash_one(&random, 0u8) >> 16
    })
}

/// The seed that is asked for; for a shard that of all shards, else one drawn now.
fn seed_of(asked: Option<u64>, is_shard: bool) -> u64 {
    asked.unwrap_or_else(|| if is_shard { DEFAULT_SEED } else { drawn_seed() })
}

/// Where runs are kept.
#[derive(clap::Args)]
pub(crate) struct StorePath {
    /// Folder that runs are kept in
    #[arg(long, env = "PROOFMARK_STORE", default_value = ".proofmark", global = true)]
    store: std::path::PathBuf,
}

impl StorePath {
    fn open(&self) -> Result<Store, Failure> {
        Ok(Store::open(&self.store).map_err(EngineError::from)?)
    }
}

/// Where builds of revisions are kept.
#[derive(clap::Args)]
pub(crate) struct BuildCache {
    /// Folder that builds of revisions are kept in, outside of the repository; `proofmark` in the
    /// user's cache folder by default
    #[arg(long, env = "PROOFMARK_BUILD_CACHE", value_name = "PATH")]
    build_cache: Option<std::path::PathBuf>,
}

impl BuildCache {
    fn folder(&self) -> Option<std::path::PathBuf> {
        self.build_cache.clone().or_else(cache_folder)
    }
}

/// What a command needs that runs programs of several sources.
pub(crate) struct Workbench {
    store: Store,
    here: Here,
    cache: Option<std::path::PathBuf>,
    progress: Progress,
}

impl Workbench {
    fn open(
        store: &StorePath,
        builds: &BuildCache,
        level: Option<Isolation>,
        is_quiet: bool,
    ) -> Result<Workbench, Failure> {
        let progress = Progress::new(is_quiet);
        let (store, cache) = (store.open()?, builds.folder());
        Ok(Workbench { store, here: here(level)?, cache, progress })
    }

    /// Programs of this one, of the store, and of the revisions of a folder.
    fn programs<'a>(&'a self, repo: &'a std::path::Path) -> Programs<'a> {
        Programs {
            store: &self.store,
            cache: self.cache.as_deref(),
            here: &self.here,
            repo,
            listener: &self.progress,
            built: Built::default(),
        }
    }
}

/// This program's folder among the user's caches.
fn cache_folder() -> Option<std::path::PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(etcetera::BaseStrategy::cache_dir(&base).join("proofmark"))
}

/// Where a run lies, and the number that other commands take for it.
fn kept(store: &Store, run: &str) -> Result<String, EngineError> {
    let number = store.number(run)?.map_or_else(|| run.to_owned(), |number| number.to_string());
    Ok(format!("run {number} is kept in {}", store.runs().join(run).display()))
}

/// The message with its hint, because the argument parser has no hints of its own.
fn with_hint(error: &EngineError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

/// Reads an arm.
fn arm(text: &str) -> Result<Arm, String> {
    text.parse().map_err(|error| with_hint(&error))
}

/// Reads a shard.
fn shard(text: &str) -> Result<Shard, String> {
    text.parse().map_err(|error| with_hint(&error))
}

/// The devices whose contenders may enter.
#[derive(clap::Args)]
pub(crate) struct Devices {
    /// Devices that contenders run on: patterns such as `host opencl*`; see `list devices`
    #[arg(long, value_name = "PATTERNS", default_value = HOST)]
    device: String,
}

impl Devices {
    /// The patterns one by one.
    fn patterns(&self) -> Vec<String> {
        let patterns = self.device.split([' ', ',']).filter(|pattern| !pattern.is_empty());
        patterns.map(str::to_owned).collect()
    }

    /// The usual contenders on these devices, if they are others than the host.
    fn others(&self) -> Option<String> {
        (self.device != HOST).then(|| self.usual("native/*"))
    }

    /// The usual contenders on these devices, where those of the host are these.
    fn usual(&self, native: &str) -> String {
        match self.device == HOST {
            true => native.to_owned(),
            false => format!("{native} opencl/*"),
        }
    }
}

/// How a command that works for a while shows itself.
#[derive(clap::Args)]
pub(crate) struct Shown {
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Say nothing while working
    #[arg(long, short)]
    quiet: bool,
}

/// Where revisions come from.
#[derive(clap::Args)]
pub(crate) struct RepoPath {
    /// Folder of the crate whose revisions `rev:` means
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: std::path::PathBuf,
}
