//! `proofmark peers`: other libraries, where they are and how to get them.

use super::{arena, shelf};
use crate::exit;
use crate::output::{Failure, Format, print_document, say};
use crate::progress::Progress;
use clap::{Args, Subcommand};
use proofmark_engine::peers::{self, InstallError, Peer, PeerShelf, Status, Tools};
use proofmark_engine::{Event, Listener, check_opens, nearest};
use proofmark_report::reports::{self, PeerRow};
use std::path::PathBuf;

/// Arguments of `peers`.
#[derive(Args)]
pub(crate) struct Peers {
    #[command(subcommand)]
    deed: Option<Deed>,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table, global = true)]
    format: Format,
    /// Say nothing while working
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Deed {
    /// List every peer: whether it is here, and how to get it
    List,
    /// Get a peer, or register a library of your own
    Add(Add),
    /// Delete what `add` has put there
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Args)]
struct Add {
    /// Its name, as `proofmark peers` lists it, or a version of it, as `onnxruntime@1.20.0`; or a
    /// new one with --from
    name: String,
    /// The Python that gets packages
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// Use that Python with the packages it has, and install nothing
    #[arg(long)]
    as_it_is: bool,
    /// Install the newest versions, without the versions and hashes of the lock; so is a version
    /// that is named
    #[arg(long, conflicts_with = "as_it_is")]
    unlocked: bool,
    /// Use this shared library and install nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["python", "as_it_is", "unlocked"])]
    from: Option<PathBuf>,
    /// It compiles machine code while it runs, which the sandbox allows only where it is declared
    #[arg(long, requires = "from")]
    jit: bool,
}

impl Peers {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let shelf = shelf();
        let shown = match &self.deed {
            None | Some(Deed::List) => peers::libraries(&shelf),
            Some(Deed::Add(add)) => vec![self.add(&shelf, add)?],
            Some(Deed::Remove { name }) => return remove(&shelf, name),
        };
        let rows: Vec<PeerRow> = shown.iter().map(|peer| row(*peer, &shelf)).collect();
        print_document(self.format, &reports::peers(&rows))?;
        Ok(exit::PASS)
    }

    fn add(&self, shelf: &PeerShelf, add: &Add) -> Result<&'static dyn Peer, Failure> {
        let name = &add.name;
        let not_known = || unknown(shelf, name, "is no peer");
        if let Some(library) = &add.from {
            let was = shelf.read(name);
            peers::register(shelf, name, library, add.jit).map_err(|error| failed(&error))?;
            if let Err(broken) = check_opens(&arena(None)?, shelf, name) {
                peers::restore(shelf, name, was.as_ref()).map_err(|error| failed(&error))?;
                return Err(broken.into());
            }
            return peers::by_name(shelf, name).ok_or_else(not_known);
        }
        let peer = peers::by_name(shelf, name).ok_or_else(not_known)?;
        let progress = Progress::new(self.quiet);
        let (python, unlocked) = (add.python.clone(), add.unlocked);
        let tools = Tools { python, as_it_is: add.as_it_is, unlocked };
        let mut hear = |line: &str| progress.hear(&Event::Installing { line });
        let added = peers::add(peer, shelf, &tools, &mut hear);
        progress.finish();
        added.map_err(|error| failed(&error))?;
        Ok(peer)
    }
}

fn remove(shelf: &PeerShelf, name: &str) -> Result<u8, Failure> {
    if peers::remove(shelf, name).map_err(|error| failed(&error))? {
        say(&format!("{name} is removed"));
        return Ok(exit::PASS);
    }
    let hint = match peers::by_name(shelf, name) {
        Some(peer) if peer.shelved_as() != name => {
            format!("it comes with {0}: proofmark peers remove {0}", peer.shelved_as())
        }
        Some(_) => "what the system has is removed by the system's own means".to_owned(),
        None => return Err(unknown(shelf, name, "is no peer")),
    };
    let message = format!("{name} was not added");
    Err(Failure { message, hint: Some(hint), code: exit::USAGE })
}

fn row(peer: &dyn Peer, shelf: &PeerShelf) -> PeerRow {
    let (status, version, lock, hint) = match peers::status(peer, shelf) {
        Status::Ready(found) => ("ready", found.version, found.lock, None),
        Status::Absent(hint) => ("absent", None, None, Some(hint)),
    };
    PeerRow {
        name: peer.name().to_owned(),
        summary: peer.summary().to_owned(),
        status: status.to_owned(),
        version,
        lock,
        hint,
        ops: peer.ops().iter().map(|&op| op.to_owned()).collect(),
    }
}

fn failed(error: &InstallError) -> Failure {
    Failure::environment(error.to_string())
}

fn unknown(shelf: &PeerShelf, name: &str, what: &str) -> Failure {
    let known = peers::libraries(shelf);
    let names: Vec<&str> = known.iter().map(|peer| peer.name()).collect();
    let hint = match nearest(name.split('@').next().unwrap_or(name), &names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("peers: {}", names.join(", ")),
    };
    Failure { message: format!("`{name}` {what}"), hint: Some(hint), code: exit::USAGE }
}
