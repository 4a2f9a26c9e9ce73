//! A loaded contender: which kernel, on which path, with its memory and threads.

use crate::clock::monotonic_ns;
use crate::corpus;
use crate::plant::{Plant, Planted};
use crate::serve::Known;
use crate::settled;
use proofmark_contract::{Entry, ExplicitCase, Kernel, Signature, check_case, find};
use proofmark_peers::{NotLoaded, PeerShelf, Peered, by_id, load};
use proofmark_schema::wire::FromWorker;
use proofmark_schema::{Case, ContenderId, Family, Isa, Receipt};
use proofmark_tensor::{AlignedBuffer, Pool};

/// The byte that fills fresh scratch memory. It makes a NaN in every float type, so that a kernel
/// that reads the memory is detected.
const RUBBISH: u8 = 0xff;

/// A kernel ready to be given operands.
pub(crate) struct Contender {
    pub(crate) kernel: &'static dyn Kernel,
    receipt: Receipt,
    /// Its threads are a library's own and not the pool's.
    owns_threads: bool,
    pub(crate) isa: Isa,
    pub(crate) case: Case,
    pub(crate) signature: Signature,
    pub(crate) threads: usize,
    pub(crate) pool: Pool,
    pub(crate) workspace: AlignedBuffer,
    pub(crate) prepared: AlignedBuffer,
    /// `prepare` has been run, or need not be.
    pub(crate) is_prepared: bool,
    /// This allocation only moves the addresses of those after it.
    _heap_pad: Vec<u8>,
}

impl Contender {
    /// Finds the kernel and gives it what it asks for. The error says why the kernel does not
    /// support this case, or any case.
    pub(crate) fn load(
        known: &Known,
        id: &ContenderId,
        case: Case,
        threads: usize,
        heap_pad: usize,
    ) -> Result<Contender, NotLoaded> {
        let pad = std::hint::black_box(Vec::with_capacity(heap_pad));
        let no_op = || NotLoaded::Unsupported(format!("no op `{}`", case.op));
        let (entry, shelf) = match (find(known.entries, &case.op), id.family) {
            (Some(entry), family) if family != Family::Own => (entry, known.shelf.clone()),
            (built_in, _) => {
                let own = known.own.find(&case.op, built_in, id).ok_or_else(no_op)?;
                let (entry, kernels) = own.map_err(NotLoaded::Broken)?;
                (entry, known.shelf.clone().with_own(kernels))
            }
        };
        let signature = check_case(entry.op, &case)
            .map_err(|error| NotLoaded::Unsupported(error.to_string()))?;
        let (kernel, isa, receipt) = match id.family {
            Family::Peer | Family::Own | Family::OpenCl => {
                let case = ExplicitCase::of(entry.op, &case);
                peer(&shelf, id, (&case, &signature), threads)?
            }
            // Wrong kernels of own ops are made by their references, those of devices by their own.
            Family::Mutant if by_id(&shelf, id, &case.op).is_some() => {
                let case = ExplicitCase::of(entry.op, &case);
                peer(&shelf, id, (&case, &signature), threads)?
            }
            Family::Planted => planted(entry, &shelf, id, (&case, &signature), threads)?,
            _ => native(known.plant, entry, id, (&case, &signature))
                .map_err(NotLoaded::Unsupported)?,
        };
        let (kernel, receipt) = match known.settles_each_call && kernel.settles() {
            true => (settled::in_every_call(kernel), Receipt { memory: String::new(), ..receipt }),
            false => (kernel, receipt),
        };
        let prepared = kernel.prepared_bytes(&case, isa);
        let mut contender = Contender {
            kernel,
            receipt,
            owns_threads: matches!(
                id.family,
                Family::Peer | Family::Own | Family::OpenCl | Family::Planted
            ),
            isa,
            case,
            signature,
            threads: 1,
            pool: Pool::serial(),
            workspace: AlignedBuffer::new(0),
            prepared: AlignedBuffer::new(prepared),
            is_prepared: prepared == 0,
            _heap_pad: pad,
        };
        contender.set_threads(threads);
        Ok(contender)
    }

    /// Gives the kernel another number of threads, and the scratch memory that goes with it.
    pub(crate) fn set_threads(&mut self, threads: usize) {
        self.threads = if self.kernel.is_parallel() { threads.max(1) } else { 1 };
        self.kernel.set_threads(self.threads);
        let pooled = if self.owns_threads { 1 } else { self.threads };
        if self.pool.max_threads() != pooled {
            self.pool = Pool::new(pooled);
        }
        let bytes = self.kernel.workspace_bytes(&self.case, self.isa, self.threads);
        self.workspace = AlignedBuffer::new(bytes);
        self.workspace.as_mut_slice().fill(RUBBISH);
    }

    /// What it reports about itself.
    pub(crate) fn introduce(&self) -> FromWorker {
        let prepared_bytes = self.prepared.as_slice().len();
        FromWorker::Loaded {
            receipt: Box::new(Receipt {
                prepared_outside: prepared_bytes > 0 || self.receipt.prepared_outside,
                threads: Some(self.threads),
                ..self.receipt.clone()
            }),
            contract: self.kernel.contract(&self.case),
            workspace_bytes: self.workspace.as_slice().len(),
            prepared_bytes,
            settles: self.kernel.settles(),
        }
    }
}

type Loaded = (&'static dyn Kernel, Isa, Receipt);

fn native(
    plant: Plant,
    entry: &Entry,
    id: &ContenderId,
    (case, signature): (&Case, &Signature),
) -> Result<Loaded, String> {
    let kernel = find_kernel(entry, id)?;
    let isa = choose_path(kernel, case, id.isa)?;
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let planted = (plant != Plant::default()).then(|| plant.to_string());
    let told = planted.as_ref().map_or_else(String::new, |what| format!(" planted: {what}"));
    let receipt = Receipt {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: format!("{profile} {}{told}", std::env::consts::ARCH),
        isa: isa.to_string(),
        device: "cpu".to_owned(),
        planted,
        ..Receipt::default()
    };
    Ok((Planted::into(kernel, plant, signature), isa, receipt))
}

/// A specimen of the corpus around the kernel that it wraps.
fn planted(
    entry: &'static Entry,
    shelf: &PeerShelf,
    id: &ContenderId,
    (case, signature): (&Case, &Signature),
    threads: usize,
) -> Result<Loaded, NotLoaded> {
    let is_on_device = corpus::specimen(&id.name).is_some_and(|one| one.is_on_device);
    let (wrapped, isa, receipt) = match (is_on_device, proofmark_opencl::usual(&case.op)) {
        (true, Some(usual)) => {
            let explicit = ExplicitCase::of(entry.op, case);
            peer(shelf, &usual, (&explicit, signature), threads)?
        }
        _ => {
            let wrapped = corpus::wrapped(entry, &id.name).map_err(NotLoaded::Unsupported)?;
            let isa = choose_path(wrapped, case, id.isa).map_err(NotLoaded::Unsupported)?;
            let (version, isa_name) = (env!("CARGO_PKG_VERSION").to_owned(), isa.to_string());
            let device = "cpu".to_owned();
            (wrapped, isa, Receipt { version, isa: isa_name, device, ..Receipt::default() })
        }
    };
    let kernel = corpus::load(entry, &id.name, wrapped, case, isa);
    let what = format!("{} around {}", id.name, wrapped.name());
    let build = format!("planted: {what}");
    let receipt = Receipt { build, planted: Some(what), ..receipt };
    Ok((kernel.map_err(NotLoaded::Unsupported)?, isa, receipt))
}

fn peer(
    shelf: &PeerShelf,
    id: &ContenderId,
    (case, signature): (&ExplicitCase, &Signature),
    threads: usize,
) -> Result<Loaded, NotLoaded> {
    let peered = load(shelf, id, case, signature, threads)?;
    let Peered { kernel, mut receipt, empty } = peered;
    receipt.empty_call_ns = empty.map(time_of_empty_call);
    Ok((kernel, Isa::Scalar, receipt))
}

/// The time of an empty call: the minimum of a few batches, because disturbances only add time.
fn time_of_empty_call(call: &dyn Fn()) -> f64 {
    const BATCHES: usize = 5;
    const CALLS: u32 = 200;
    let batch = || {
        let start = monotonic_ns();
        (0..CALLS).for_each(|_| call());
        (monotonic_ns() - start) as f64 / f64::from(CALLS)
    };
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

fn find_kernel(entry: &Entry, id: &ContenderId) -> Result<&'static dyn Kernel, String> {
    let found = match id.family {
        Family::Native => entry.kernel(&id.name),
        Family::Mutant => entry.mutant(&id.name).map(|mutant| mutant.kernel),
        Family::Peer | Family::Own | Family::OpenCl | Family::Planted => None,
    };
    found.ok_or_else(|| format!("no contender `{id}` for op `{}`", entry.op.name()))
}

/// The wanted path, or the best path of this machine on which the kernel supports the case.
fn choose_path(
    kernel: &'static dyn Kernel,
    case: &Case,
    wanted: Option<Isa>,
) -> Result<Isa, String> {
    let supports = |isa| kernel.supports(case, isa).map_err(|reason| reason.to_string());
    if let Some(isa) = wanted {
        if !kernel.isas().contains(&isa) {
            return Err(format!("`{}` has no path {isa}", kernel.name()));
        }
        if !proofmark_simd::available(isa) {
            return Err(format!("this machine has no {isa}"));
        }
        return supports(isa).map(|()| isa);
    }
    let mut paths = kernel.isas().to_vec();
    paths.retain(|&isa| proofmark_simd::available(isa));
    paths.sort_unstable_by(|a, b| b.cmp(a));
    let mut refusal = Err(format!("`{}` has no path for this machine", kernel.name()));
    for (rank, isa) in paths.into_iter().enumerate() {
        match supports(isa) {
            Ok(()) => return Ok(isa),
            Err(reason) if rank == 0 => refusal = Err(reason),
            Err(_) => {}
        }
    }
    refusal
}
