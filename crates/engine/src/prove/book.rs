//! Verdicts over portfolios, stored one by one as they are made, so that an interrupted command
//! loses only those in progress.

use super::portfolio::{Certified, ProveRequest};
use crate::EngineError;
use proofmark_arena::sha256;
use proofmark_peers::{Found, PeerShelf};
use proofmark_schema::{CodeFile, ContenderId, DType, Family, Outcome, Receipt};
use proofmark_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The file in the store that keeps the last verdict of each contender.
const FILE: &str = "proofs.json";

/// A verdict over an op's portfolio, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) op: String,
    pub(crate) contender: ContenderId,
    pub(crate) dtype: DType,
    pub(crate) outcome: Outcome,
    /// See [`identity`].
    pub(crate) of: String,
    /// See [`terms`]; empty in files of older versions, which matches no terms.
    #[serde(default)]
    under: String,
    /// The seed of its inputs.
    #[serde(default)]
    seed: u64,
}

/// Where the verdicts of a request are kept, and which of them are there already.
pub struct ProofBook<'a> {
    store: &'a Store,
    request: &'a ProveRequest,
    /// Hash of the program that is judged.
    program: String,
}

impl<'a> ProofBook<'a> {
    /// The book of what this program is judged by on such a request.
    pub fn new(store: &'a Store, program: &Path, request: &'a ProveRequest) -> ProofBook<'a> {
        ProofBook { store, request, program: hash(program) }
    }

    /// Keeps a verdict in place of the last one of the same contender. When this returns, it is on
    /// the disk; other commands may keep theirs in the same store meanwhile. A verdict on files
    /// that were replaced while they were judged is not kept.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub(crate) fn keep(&self, one: &Certified) -> Result<(), EngineError> {
        if self.was_replaced(one) {
            return Ok(());
        }
        let fresh = Kept {
            op: one.op.to_owned(),
            contender: one.contender.clone(),
            dtype: one.dtype,
            outcome: one.outcome,
            of: identity(&self.program, &self.request.shelf, &one.contender, one.op),
            under: terms(self.request, one.op),
            seed: self.request.seed,
        };
        let add = |old: Option<Vec<u8>>| {
            let mut kept = parse(old);
            kept.retain(|old| !old.is_about(&fresh.op, &fresh.contender, fresh.dtype));
            kept.push(fresh);
            serde_json::to_vec_pretty(&kept).unwrap_or_default()
        };
        Ok(self.store.update_file(FILE, add)?)
    }

    /// Whether the library that was judged is no longer the one on the disk.
    fn was_replaced(&self, one: &Certified) -> bool {
        let found = found(&self.request.shelf, &one.contender, one.op);
        let library = found.map(|found| found.library);
        let Some(library) = library.and_then(|path| path.canonicalize().ok()) else { return false };
        let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let sha256 = sha256(&library).unwrap_or_default();
        let now = Receipt { libraries: vec![CodeFile { name, sha256 }], ..Receipt::default() };
        one.receipt.replaced_in(&now).is_some()
    }

    /// The verdicts that need not be made again: passed by this program on these terms. A refused
    /// contender has no proof, and is judged again so that the refusal is reported again.
    pub(crate) fn passed(&self) -> Vec<Kept> {
        // A search for a peer reads the disk, so it is made once for each peer and not for each
        // verdict.
        let mut identities = BTreeMap::new();
        let mut is_this = |one: &Kept| {
            let who = &one.contender;
            let find = || identity(&self.program, &self.request.shelf, who, &one.op);
            // The same library serves all ops; kernels of own ops are each of one op.
            let op = if who.family == Family::Own { one.op.as_str() } else { "" };
            one.of == *identities.entry((who.clone(), op.to_owned())).or_insert_with(find)
        };
        let mut kept = read(self.store);
        kept.retain(|one| {
            matches!(one.outcome, Outcome::Proven | Outcome::Unsupported)
                && (self.request.any_seed || one.seed == self.request.seed)
                && one.under == terms(self.request, &one.op)
                && is_this(one)
        });
        kept
    }
}

impl Kept {
    /// Whether this is the verdict of that contender on that op for that element type.
    pub(crate) fn is_about(&self, op: &str, contender: &ContenderId, dtype: DType) -> bool {
        (self.op.as_str(), &self.contender, self.dtype) == (op, contender, dtype)
    }
}

/// The stored verdicts; a file that cannot be read counts as empty.
pub(crate) fn read(store: &Store) -> Vec<Kept> {
    parse(store.read_file(FILE).ok().flatten())
}

fn parse(text: Option<Vec<u8>>) -> Vec<Kept> {
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// What a verdict is about: this program and, for a peer, the version and the SHA-256 of the peer's
/// own files. A plug-in that was built anew is another contender.
pub(crate) fn identity(
    program: &str,
    shelf: &PeerShelf,
    contender: &ContenderId,
    op: &str,
) -> String {
    let Some(found) = found(shelf, contender, op) else { return program.to_owned() };
    let hash = |path: &PathBuf| sha256(path).unwrap_or_default();
    let mut hashes: Vec<String> = found.own_files().iter().map(hash).collect();
    let files = match hashes.len() {
        1 => hashes.remove(0),
        _ => blake3::hash(hashes.join("\n").as_bytes()).to_hex().to_string(),
    };
    match found.version {
        Some(version) => format!("{program} {version} {files}"),
        None => format!("{program} {files}"),
    }
}

/// Where a peer or an own kernel is; nothing for other contenders.
fn found(shelf: &PeerShelf, contender: &ContenderId, op: &str) -> Option<Found> {
    let peer = proofmark_peers::by_id(shelf, contender, op)?;
    proofmark_peers::find(peer, shelf)
}

/// What a verdict depends on in addition to its seed: threads, the paths that are compared, the
/// tuned constant that decides when the op's kernels go parallel, and tuned blocks.
fn terms(request: &ProveRequest, op: &str) -> String {
    let ProveRequest { threads, cap, tuned, .. } = request;
    let part = tuned.parts.iter().find(|(of, _)| of == op);
    let part = part.map_or_else(String::new, |(_, from)| format!(", parallel from {from}"));
    let blocks = tuned.blocks.map_or_else(String::new, |blocks| format!(", blocks {blocks}"));
    format!("threads {threads}, up to {cap}{part}{blocks}")
}

/// Tells one build of a program from another.
///
/// The program is read piece by piece: a copy of it in memory would stay in the heap, and every
/// worker that is started copies the page tables of the heap.
pub(crate) fn hash(program: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    let _unreadable = File::open(program).and_then(|file| hasher.update_reader(file).map(|_| ()));
    hasher.finalize().to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Known, Listener, Shard, coverage, prove};
    use proofmark_arena::Arena;
    use proofmark_ops::tuning::{Blocks, Settings};
    use proofmark_schema::Isa;
    use std::fs;
    use std::sync::Mutex;

    fn tuned(part: usize, blocks: Option<Blocks>) -> Settings {
        let parts = vec![("silu".to_owned(), part)];
        Settings { parts, blocks, ..Settings::default() }
    }

    /// Every scalar kernel of an op with several element types.
    fn request(folder: &Path) -> ProveRequest {
        ProveRequest {
            ops: vec!["silu".to_owned(), "add".to_owned()],
            dtypes: Vec::new(),
            with: "native/*@scalar".to_owned(),
            seed: 7,
            any_seed: false,
            threads: 1,
            cap: Isa::Scalar,
            shelf: PeerShelf::new(folder.join("peers")),
            tuned: Settings::default(),
            missing: false,
        }
    }

    /// A program that exists and is no worker: every contender that is examined with it is refused
    /// at once.
    fn program(folder: &Path) -> (PathBuf, Arena) {
        let program = folder.join("no-worker");
        fs::write(&program, "nothing").unwrap();
        (program.clone(), Arena::new(program, Vec::new()))
    }

    fn verdict(op: &'static str, dtype: DType, outcome: Outcome) -> Certified {
        let contender = ContenderId::native("scalar", Isa::Scalar);
        let receipt = Receipt::default();
        Certified { op, contender, dtype, outcome, receipt, proofs: Vec::new() }
    }

    /// Notes how many verdicts the store holds whenever a verdict is reported.
    struct Watch<'a>(&'a Store, Mutex<Vec<usize>>);

    impl Listener for Watch<'_> {
        fn hear(&self, event: &Event<'_>) {
            let Event::Judged { what, .. } = event else { return };
            let kept = read(self.0);
            let name = |one: &Kept| format!("{} {} {}", one.op, one.contender, one.dtype);
            assert!(kept.iter().any(|one| name(one) == *what), "{what} is not kept yet");
            self.1.lock().unwrap().push(kept.len());
        }
    }

    #[test]
    fn a_verdict_is_on_the_disk_before_it_is_told_and_before_the_next_ends() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        let (program, arena) = program(folder.path());
        let request = request(folder.path());
        let book = ProofBook::new(&store, &program, &request);
        let watch = Watch(&store, Mutex::default());
        let proved = prove(&arena, &request, Shard::WHOLE, &book, &watch).unwrap();
        let all = proved.certified.len();
        let counts = watch.1.into_inner().unwrap();
        assert!(all >= 4 && counts.len() == all && proved.skipped == 0, "{counts:?}");
        assert!(counts.iter().min().is_some_and(|&least| least < all), "{counts:?}");
        assert_eq!(read(&store).len(), all);
        assert!(proved.certified.iter().all(|one| one.outcome != Outcome::Proven));
    }

    #[test]
    fn only_those_without_a_proof_by_this_program_on_these_terms_are_missing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        let (program, arena) = program(folder.path());
        let mut request = request(folder.path());
        let all = ProofBook::new(&store, &program, &request);
        let all = prove(&arena, &request, Shard::WHOLE, &all, &()).unwrap().certified.len();
        request.missing = true;
        let book = ProofBook::new(&store, &program, &request);
        for (op, dtype, outcome) in [
            ("silu", DType::F32, Outcome::Proven),
            ("silu", DType::Bf16, Outcome::Unsupported),
            ("add", DType::F32, Outcome::Wrong),
        ] {
            book.keep(&verdict(op, dtype, outcome)).unwrap();
        }
        let silu = |kept: &Store| {
            let here = coverage(kept, &program, &request.shelf, Isa::Scalar);
            let is_it = |one: &&crate::Covered| one.op == "silu" && one.contender.name == "scalar";
            here.iter().find(is_it).unwrap().known.clone()
        };
        assert!(silu(&store).contains(&(DType::F32, Known::Judged(Outcome::Proven))));
        let judge = |book: &ProofBook<'_>| {
            let text = store.read_file(FILE).unwrap().unwrap();
            let proved = prove(&arena, book.request, Shard::WHOLE, book, &()).unwrap();
            store.write_file(FILE, &text).unwrap();
            proved
        };
        let proved = judge(&book);
        let has = |op: &str, dtype: DType| {
            let is_it = |one: &Certified| one.contender.name == "scalar" && one.op == op;
            proved.certified.iter().any(|one| is_it(one) && one.dtype == dtype)
        };
        assert_eq!((proved.skipped, proved.certified.len()), (2, all - 2));
        assert!(!has("silu", DType::F32) && !has("silu", DType::Bf16));
        assert!(has("silu", DType::F16) && has("add", DType::F32), "a refusal is no proof");
        for other in [
            ProveRequest { seed: 8, ..request.clone() },
            ProveRequest { threads: 2, ..request.clone() },
            ProveRequest { missing: false, ..request.clone() },
            ProveRequest { tuned: tuned(5, None), ..request.clone() },
            ProveRequest { tuned: tuned(5, "kc=64,mc=64,nc=64".parse().ok()), ..request.clone() },
        ] {
            let proved = judge(&ProofBook::new(&store, &program, &other));
            assert_eq!((proved.skipped, proved.certified.len()), (0, all), "{other:?}");
        }
        fs::write(&program, "another").unwrap();
        assert_eq!(judge(&ProofBook::new(&store, &program, &request)).skipped, 0);
        assert!(silu(&store).contains(&(DType::F32, Known::NotYet)));
    }

    #[test]
    fn a_verdict_that_cannot_be_kept_ends_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        let (program, arena) = program(folder.path());
        let request = request(folder.path());
        // A folder where the file should be: nothing can be renamed over it.
        fs::create_dir_all(store.root().join(FILE).join("in-the-way")).unwrap();
        let book = ProofBook::new(&store, &program, &request);
        let error = prove(&arena, &request, Shard::WHOLE, &book, &()).unwrap_err();
        assert!(error.to_string().contains(FILE), "{error}");
    }
}
