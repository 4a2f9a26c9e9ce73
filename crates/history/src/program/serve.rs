//! The commands about the server: `serve`, `key`, `quarantine`, `admit`.

use super::{exit, now};
use clap::{Args, Subcommand};
use proofmark_history::output::{print, say};
use proofmark_history::serve::access::{Access, AccessFile, Key, Scope};
use proofmark_history::serve::{Options, serve};
use proofmark_history::{HistoryError, Place, quarantine};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show the history in a browser, and take uploads if a file of keys is given
    Serve(Serve),
    /// Make, list and revoke keys for uploads
    #[command(subcommand)]
    Key(KeyCommand),
    /// List runs that were uploaded by forks and do not count yet
    Quarantine(Quarantine),
    /// Let a run count that is in quarantine
    Admit(Admit),
}

#[derive(Args)]
#[command(after_help = "\
Pages are read-only. With `--access`, a run is uploaded by
  proofmark history append latest --to http://127.0.0.1:8417
with a key in the variable PROOFMARK_KEY. docs/history.md describes the file, keys and tokens.
The server speaks plain HTTP: put a server that speaks HTTPS in front of it for other machines.")]
pub(crate) struct Serve {
    /// A folder or `s3://bucket/prefix`
    place: String,
    /// Address that is listened on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8417")]
    listen: SocketAddr,
    /// Listen on an address that other machines can reach, too
    #[arg(long)]
    allow_remote: bool,
    /// Take uploads from the keys and issuers in this file
    #[arg(long, value_name = "FILE")]
    access: Option<PathBuf>,
    /// Connections at a time
    #[arg(long, value_name = "COUNT", default_value_t = 1024)]
    connections: usize,
    /// Uploads a minute of one key
    #[arg(long, value_name = "COUNT", default_value_t = 600)]
    rate: u32,
}

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key, and print it once
    Create(Create),
    /// List keys
    List(OfFile),
    /// Revoke a key; a server refuses it from the next request on
    Revoke(Revoke),
}

#[derive(Args)]
pub(crate) struct Create {
    /// What it is for
    name: String,
    /// What it may do: `append`, `append:PREFIX` (ops that begin so) or `quarantine`
    #[arg(long)]
    scope: Scope,
    /// Days until it expires
    #[arg(long, value_name = "COUNT", default_value_t = 90)]
    days: u32,
    #[command(flatten)]
    file: OfFile,
}

#[derive(Args)]
pub(crate) struct Revoke {
    /// Its name
    name: String,
    #[command(flatten)]
    file: OfFile,
}

#[derive(Args)]
pub(crate) struct OfFile {
    /// File of keys and issuers
    #[arg(long, value_name = "FILE", default_value = "access.json")]
    access: PathBuf,
}

#[derive(Args)]
pub(crate) struct Quarantine {
    /// A folder or `s3://bucket/prefix`
    place: String,
}

#[derive(Args)]
pub(crate) struct Admit {
    /// The run, or the beginning of just one
    run: String,
    /// The history: a folder or `s3://bucket/prefix`
    #[arg(long, value_name = "PLACE", env = "PROOFMARK_HISTORY", hide_env = true)]
    to: String,
}

fn seconds() -> i64 {
    let since = now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn day(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| "?".to_owned(), |time| time.strftime("%Y-%m-%d").to_string())
}

impl Command {
    pub(crate) async fn run(self) -> Result<u8, HistoryError> {
        match self {
            Command::Serve(command) => command.run().await,
            Command::Key(KeyCommand::Create(command)) => command.run(),
            Command::Key(KeyCommand::List(file)) => list(&file.access),
            Command::Key(KeyCommand::Revoke(command)) => command.run(),
            Command::Quarantine(command) => command.run().await,
            Command::Admit(command) => command.run().await,
        }
    }
}

impl Serve {
    async fn run(self) -> Result<u8, HistoryError> {
        if !self.listen.ip().is_loopback() && !self.allow_remote {
            return Err(HistoryError::Usage(format!(
                "other machines can reach {}: the pages need no key and are not encrypted; listen \
                 on 127.0.0.1, or give `--allow-remote` if that is wanted",
                self.listen
            )));
        }
        raise_open_files();
        let place = Place::parse(&self.place)?;
        place.check().await?;
        self.access.as_deref().map(Access::read).transpose()?;
        let listener = tokio::net::TcpListener::bind(self.listen).await.map_err(|error| {
            let address = self.listen;
            HistoryError::Usage(format!(
                "cannot listen on {address}: {error}; choose another by `--listen`"
            ))
        })?;
        let address = listener.local_addr().unwrap_or(self.listen);
        let uploads = match &self.access {
            Some(path) => format!("it takes uploads from the keys in {}", path.display()),
            None => "it is read-only".to_owned(),
        };
        let options = Options {
            place,
            access: self.access,
            connections: self.connections.max(1),
            rate: self.rate,
            any_host: self.allow_remote,
            clock: seconds,
        };
        let serving = serve(listener, options);
        say(&format!("http://{address}/ shows {}; {uploads}. Ctrl-C ends it.", self.place));
        tokio::select! {
            ended = serving => ended?,
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(exit::PASS)
    }
}

/// Each connection is an open file, and the usual limit is 1,024.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The file, or an empty one if it is not there yet.
fn file(path: &Path) -> Result<AccessFile, HistoryError> {
    if path.exists() { AccessFile::read(path) } else { Ok(AccessFile::default()) }
}

impl Create {
    fn run(self) -> Result<u8, HistoryError> {
        let path = &self.file.access;
        let mut stored = file(path)?;
        if stored.keys.iter().any(|key| key.name == self.name) {
            return Err(HistoryError::Usage(format!(
                "{} has a key `{}` already: choose another name",
                path.display(),
                self.name
            )));
        }
        let expires = seconds() + 86_400 * i64::from(self.days);
        let (secret, key) = Key::create(&self.name, self.scope, expires)?;
        say(&format!(
            "Key `{}` may `{}` until {}. It is shown once: {} has only its hash.",
            key.name,
            key.scope,
            day(expires),
            path.display()
        ));
        stored.keys.push(key);
        stored.write(path)?;
        print(&secret)?;
        Ok(exit::PASS)
    }
}

impl Revoke {
    fn run(self) -> Result<u8, HistoryError> {
        let path = &self.file.access;
        let mut stored = AccessFile::read(path)?;
        let key = stored.keys.iter_mut().find(|key| key.name == self.name);
        let key = key.ok_or_else(|| {
            let path = path.display();
            HistoryError::Usage(format!(
                "{path} has no key `{}`: `proofmark history key list --access {path}` shows all",
                self.name
            ))
        })?;
        key.revoked = true;
        stored.write(path)?;
        say(&format!("Key `{}` is revoked.", self.name));
        Ok(exit::PASS)
    }
}

fn list(path: &Path) -> Result<u8, HistoryError> {
    for key in AccessFile::read(path)?.keys {
        let state = match key {
            Key { revoked: true, .. } => "revoked",
            Key { expires, .. } if expires <= seconds() => "expired",
            _ => "valid",
        };
        print(&format!("{}\t{}\t{state}\tuntil {}\n", key.name, key.scope, day(key.expires)))?;
    }
    Ok(exit::PASS)
}

impl Quarantine {
    async fn run(self) -> Result<u8, HistoryError> {
        let place = Place::parse(&self.place)?;
        place.check().await?;
        let waiting = quarantine::waiting(&place).await?;
        for of in &waiting {
            let run = of.details.as_ref();
            let commit = run.and_then(|run| run.commit.as_deref()).unwrap_or("");
            let branch = run.and_then(|run| run.branch.as_deref()).unwrap_or("");
            let line = format!("{} {commit} {branch}", of.run);
            print(&format!("{}\n", proofmark_history::output::plain(&line)))?;
        }
        if waiting.is_empty() {
            say("No run is in quarantine.");
        }
        Ok(exit::PASS)
    }
}

impl Admit {
    async fn run(self) -> Result<u8, HistoryError> {
        let place = Place::parse(&self.to)?;
        let name = quarantine::admit(&place, &self.run).await?;
        say("The run counts from now on.");
        print(&name)?;
        Ok(exit::PASS)
    }
}
