//! Work that a later step needs and that judges nothing, done at low priority beside the steps
//! before it: downloads and builds.
//!
//! Such work only fills folders. The step that needs them runs its own commands all the same, so
//! that a failure here costs time and hides nothing.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};

/// The jobs that were started; dropping it ends those that still run.
pub(crate) struct Ahead {
    jobs: Vec<JoinHandle<String>>,
    groups: Arc<Groups>,
}

/// The process groups that run now; nothing once no further command may start.
type Groups = Mutex<Option<Vec<Pid>>>;

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead { jobs: Vec::new(), groups: Arc::new(Mutex::new(Some(Vec::new()))) }
    }
}

impl Ahead {
    /// Starts commands, one after the other, for a later step; what they print is kept in a file
    /// of this folder.
    pub(crate) fn start(&mut self, step: &'static str, commands: Vec<Command>, folder: &Path) {
        let said = folder.join(format!("ahead-of-{step}.log"));
        let groups = Arc::clone(&self.groups);
        self.jobs.push(std::thread::spawn(move || {
            // The priority is this thread's alone, and what it starts inherits it. It fails only
            // where a limit forbids it; at its usual priority a job is slow and not wrong.
            let _ = rustix::process::setpriority_process(None, LOWEST);
            let begin = Instant::now();
            let all = |log: File| commands.into_iter().try_for_each(|it| run(it, &log, &groups));
            let outcome = File::create(&said).map_err(|error| error.to_string()).and_then(all);
            let ended = outcome
                .map_or_else(|why| format!("{why}; see {}", said.display()), |()| "ok".into());
            format!("ahead of {step}: {:.0} s, {ended}", begin.elapsed().as_secs_f64())
        }));
    }

    /// Whether nothing was started since the last wait.
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Waits until nothing runs beside the steps any more; gives a line about each job.
    pub(crate) fn wait(&mut self) -> Vec<String> {
        self.jobs.drain(..).filter_map(|job| job.join().ok()).collect()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let running = lock(&self.groups).take();
        for group in running.into_iter().flatten() {
            // It fails only where the group has ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.wait();
    }
}

fn lock(groups: &Groups) -> std::sync::MutexGuard<'_, Option<Vec<Pid>>> {
    groups.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a command to its end.
fn run(command: Command, log: &File, groups: &Groups) -> Result<(), String> {
    let line = format!("{command:?}");
    let started = started(command, log, groups).map_err(|error| format!("{line}: {error}"))?;
    let Some(mut child) = started else { return Err("not started".to_owned()) };
    let status = child.wait().map_err(|error| format!("{line}: {error}"));
    if let Some(running) = lock(groups).as_mut() {
        running.retain(|group| *group != Pid::from_child(&child));
    }
    match status? {
        status if status.success() => Ok(()),
        status => Err(format!("{line} ended with {status}")),
    }
}

/// Starts a command as the leader of a group; nothing if no further command may start.
fn started(mut command: Command, log: &File, groups: &Groups) -> std::io::Result<Option<Child>> {
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    command.process_group(0);
    let mut running = lock(groups);
    let Some(running) = running.as_mut() else { return Ok(None) };
    let child = command.spawn()?;
    running.push(Pid::from_child(&child));
    Ok(Some(child))
}

/// The priority of what waits for everything else.
const LOWEST: i32 = 19;

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn a_job_does_its_commands_in_turn_and_stops_at_the_first_that_fails() {
        let folder = std::env::temp_dir().join(format!("xtask-ahead-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut ahead = Ahead::default();
        let commands = |lines: &[&str]| lines.iter().map(|line| shell(line)).collect();
        ahead.start("good", commands(&["echo one", "nice"]), &folder);
        ahead.start("bad", commands(&["exit 3", "echo two"]), &folder);
        let told = ahead.wait();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a log");
        assert_eq!(
            (read("ahead-of-good.log").as_str(), read("ahead-of-bad.log").as_str()),
            ("one\n19\n", "")
        );
        assert!(told[0].starts_with("ahead of good") && told[0].ends_with("ok"), "{told:?}");
        assert!(told[1].contains("exit status: 3"), "{told:?}");
        assert!(ahead.wait().is_empty(), "each job is told once");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
    }

    #[test]
    fn what_still_runs_ends_with_the_steps() {
        let begin = Instant::now();
        let mut ahead = Ahead::default();
        let commands = vec![shell("sleep 100; true"), shell("sleep 100")];
        ahead.start("dropped", commands, &std::env::temp_dir());
        drop(ahead);
        assert!(begin.elapsed().as_secs() < 50);
        let log = std::env::temp_dir().join("ahead-of-dropped.log");
        std::fs::remove_file(log).expect("a log");
    }
}
