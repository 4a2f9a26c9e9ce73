//! `proofmark asm`: what a kernel's machine code is made of, and whether it keeps its promise.

use super::arena;
use super::profile::What;
use crate::exit;
use crate::output::{Failure, print_document};
use crate::progress::Progress;
use clap::Args;
use proofmark_engine::inspect;
use proofmark_report::reports::{self, InspectedCode};
use proofmark_schema::ContenderId;

/// Arguments of `asm`.
#[derive(Args)]
#[command(after_help = AFTER_HELP, override_usage = "proofmark asm [OPTIONS] <OP/KERNEL[@ISA]>")]
#[command(mut_arg("op", |op| op.value_name("OP/KERNEL[@ISA]").help(
    "The kernel, as `softmax/simd@avx2`; it runs on the op's medium size unless --case is given"
)))]
pub(crate) struct Asm {
    #[command(flatten)]
    what: What,
}

const AFTER_HELP: &str = "\
The kernel runs on a case and is sampled; the functions where its time goes are disassembled. A
kernel called avx512 without a zmm register there, avx2 without a ymm, or amx without a tile ends
with exit code 4.

  proofmark asm softmax/simd@avx512
  proofmark asm matmul/parallel@avx2 --case 'matmul:f32[b=1,m=64,n=64,k=64]' --threads 2";

impl Asm {
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let (op, contender) = kernel(self.what.op().unwrap_or_default()).map_err(|message| {
            let hint = Some("write `softmax/simd`, or `softmax/simd@avx2` for a path".to_owned());
            Failure { message, hint, code: exit::USAGE }
        })?;
        let request = self.what.request(Some(&op), contender)?;
        if request.case.op != op {
            return Err(Failure {
                message: format!("{} is no case of {op}", request.case),
                hint: Some(format!("give a case that begins with `{op}:`")),
                code: exit::USAGE,
            });
        }
        let progress = Progress::new(self.what.shown.quiet);
        let inspected = inspect(&arena(None)?, &progress, &request)?;
        progress.finish();
        let document = reports::asm(&InspectedCode {
            case: &inspected.case,
            contender: &inspected.contender,
            mixes: &inspected.mixes,
            promised: inspected.promised,
            widest: inspected.widest,
            samples: inspected.samples,
        });
        print_document(self.what.shown.format, &document)?;
        Ok(if inspected.is_kept() { exit::PASS } else { exit::INTEGRITY })
    }
}

/// Reads `op/kernel[@isa]`.
fn kernel(text: &str) -> Result<(String, ContenderId), String> {
    let (op, kernel) = text.split_once('/').ok_or(format!("`{text}` names no kernel of an op"))?;
    let kernel = kernel.strip_prefix("native/").unwrap_or(kernel);
    let contender = format!("native/{kernel}").parse();
    let contender = contender.map_err(|_| format!("`{kernel}` is no name of a kernel"))?;
    Ok((op.to_owned(), contender))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_with_their_op_and_path() {
        let (op, who) = kernel("softmax/simd@avx2").unwrap();
        assert_eq!((op.as_str(), who.to_string().as_str()), ("softmax", "native/simd@avx2"));
        assert_eq!(kernel("softmax/native/simd").unwrap().1.name, "simd");
        assert!(kernel("softmax").is_err() && kernel("softmax/simd@sse9").is_err());
    }
}
