//! What every command says, held by snapshots: help, tables, narrow terminals, errors, exit codes.
//!
//! A snapshot is a transcript in `outputs`. CONTRIBUTING.md says how to accept a change. Commands
//! that read runs read those of `golden`, which this tool measured once; commands that measure get
//! too little time to decide anything, and their numbers are masked.

mod errors;
mod help;
mod live;
mod mask;
mod session;
mod stored;
