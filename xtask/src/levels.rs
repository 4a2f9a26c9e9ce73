//! What a level of instructions is entered for, is compiled with them.
//!
//! Only what is inlined into a level's entrance has its instructions. A closure that the compiler
//! leaves outside (of `map`, `from_fn`, `for_each`) is compiled for any processor: the kernel stays
//! right, and takes several times as long.

use crate::Failure;
use crate::check::{cargo, target};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Part of the names of the functions that enter a level.
const ENTRANCE: &str = "proofmark_simd::dispatch::enter_";

/// Builds the program that users get, looks at the calls of its entrances, and gives it.
pub(crate) fn run(root: &Path) -> Result<PathBuf, Failure> {
    cargo(root, &["build", "--release", "-p", "proofmark"], &[])?;
    let program = target(root)?.join("release/proofmark");
    let mut objdump = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn"])
        .arg(&program)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`objdump` did not start: {error}; install binutils"))?;
    let lines = objdump.stdout.take().map(BufReader::new).ok_or("objdump has no output")?;
    let outside = outside(lines.lines().map_while(Result::ok))?;
    let status = objdump.wait().map_err(|error| format!("objdump: {error}"))?;
    if !status.success() {
        return Err(format!("objdump of {} failed: {status}", program.display()));
    }
    for (callee, calls) in &outside {
        println!("{calls} calls of {callee}");
    }
    match outside.is_empty() {
        true => Ok(program),
        false => Err("code of a level calls what is compiled without it: write a loop in place \
                      of the closure"
            .to_owned()),
    }
}

/// Closures, and iterators over them, that entrances call, and how often they do.
fn outside(lines: impl Iterator<Item = String>) -> Result<BTreeMap<String, usize>, Failure> {
    let (mut calls, mut entrances, mut is_entrance) = (BTreeMap::new(), 0, false);
    for line in lines {
        if line.ends_with(">:") {
            is_entrance = line.contains(ENTRANCE);
            entrances += usize::from(is_entrance);
        } else if is_entrance
            // The last call of a function may be a jump.
            && let Some((_, callee)) = line.split_once("call ").or(line.split_once("jmp "))
            && let Some((_, name)) = callee.trim().split_once(' ')
            && is_closure(name)
        {
            *calls.entry(name.to_owned()).or_insert(0) += 1;
        }
    }
    match entrances {
        0 => Err(format!("no function is called {ENTRANCE}…: this looks at nothing")),
        _ => Ok(calls),
    }
}

fn is_closure(callee: &str) -> bool {
    ["{{closure}}", "core::array::", "core::iter::"].iter().any(|part| callee.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<BTreeMap<String, usize>, Failure> {
        outside(text.lines().map(str::to_owned))
    }

    #[test]
    fn calls_of_closures_are_found_in_entrances_alone() {
        let listing = "\
0000000000001000 <proofmark_simd::dispatch::enter_avx512>:
    1000:\tvaddps %zmm0,%zmm1,%zmm2
    1004:\tcall   2000 <core::array::<impl [T; N]>::try_map>
    1008:\tcall   2000 <core::array::<impl [T; N]>::try_map>
    100c:\tcall   3000 <core::panicking::panic>
    100e:\tjmp    1000 <proofmark_simd::dispatch::enter_avx512>
    100f:\tjmp    6000 <core::iter::traits::iterator::Iterator::fold>
    1010:\tcall   *0x10(%rax)
0000000000004000 <proofmark_ops::oracle>:
    4000:\tcall   5000 <proofmark_ops::oracle::{{closure}}>";
        let calls = found(listing).unwrap();
        assert_eq!(
            calls.into_iter().collect::<Vec<_>>(),
            [
                ("<core::array::<impl [T; N]>::try_map>".to_owned(), 2),
                ("<core::iter::traits::iterator::Iterator::fold>".to_owned(), 1),
            ]
        );
    }

    #[test]
    fn a_listing_without_entrances_is_no_proof() {
        assert!(found("0000000000004000 <main>:\n").unwrap_err().contains("looks at nothing"));
    }
}
