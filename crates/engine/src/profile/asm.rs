//! The machine code where a kernel's time goes, and whether it has the registers it promises.

use super::symbols::{Function, functions};
use super::{ProfileRequest, sample};
use crate::{EngineError, Listener};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};
use proofmark_analyze::{Mix, Width, promised, widest};
use proofmark_arena::Arena;
use proofmark_schema::{Case, ContenderId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Share of the samples from which a function counts as one where the time goes.
const HOT: f64 = 0.02;
/// Maximum number of functions that are disassembled.
const MOST: usize = 8;
/// Commonest instructions that are named.
const NAMED: usize = 6;

/// The code of a contender.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The case it ran on.
    pub case: Case,
    /// The contender on its path.
    pub contender: ContenderId,
    /// Its hottest functions.
    pub mixes: Vec<Mix>,
    /// What its name promises.
    pub promised: Option<Width>,
    /// The widest registers found.
    pub widest: Width,
    /// Samples behind the shares.
    pub samples: u64,
}

impl Inspected {
    /// Whether the code has the registers that its name promises.
    pub fn is_kept(&self) -> bool {
        self.promised.is_none_or(|promised| self.widest >= promised)
    }
}

/// Samples a contender on a case and disassembles the functions where its time goes.
///
/// # Errors
/// As for a profile; and if the program has no symbols.
pub fn inspect(
    arena: &Arena,
    listener: &dyn Listener,
    request: &ProfileRequest,
) -> Result<Inspected, EngineError> {
    let mut sampled = sample(arena, listener, request)?;
    let counts = &sampled.counted.counts;
    let samples: u64 = counts.values().sum();
    let mut by_file: BTreeMap<PathBuf, BTreeMap<u64, u64>> = BTreeMap::new();
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    for (&address, &count) in counts {
        if let Some((path, at)) = sampled.symbols.place(address) {
            *by_file.entry(path).or_default().entry(at).or_default() += count;
            // A symbol does not say for which types a function was compiled; the outermost frame
            // does.
            let outer = sampled.symbols.frames(address).into_iter().next();
            names.extend(outer.map(|frame| (at, frame.function)));
        }
    }
    let mut mixes = Vec::new();
    for (path, counts) in &by_file {
        let addresses: Vec<u64> = counts.keys().copied().collect();
        for mut function in functions(path, &addresses).unwrap_or_default() {
            let range = function.address..function.address + function.bytes.len() as u64;
            if let Some((_, name)) = names.range(range).next() {
                function.name.clone_from(name);
            }
            mixes.push(mix(&function, counts, samples));
        }
    }
    mixes.retain(|mix| mix.share >= HOT);
    mixes.sort_by(|a, b| b.share.total_cmp(&a.share));
    mixes.truncate(MOST);
    if mixes.is_empty() {
        let why = "no function has a name: build with symbols (strip = false)".to_owned();
        return Err(EngineError::Sampling(why));
    }
    Ok(Inspected {
        case: sampled.case,
        promised: promised(&sampled.contender),
        contender: sampled.contender,
        widest: widest(&mixes),
        mixes,
        samples,
    })
}

/// Counts the instructions of a function, and the samples that fell on them.
fn mix(function: &Function, counts: &BTreeMap<u64, u64>, samples: u64) -> Mix {
    let mut mix = Mix {
        function: function.name.clone(),
        address: function.address,
        bytes: function.bytes.len() as u64,
        ..Mix::default()
    };
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    let (mut own, mut on_vectors) = (0, 0);
    let decoder = Decoder::with_ip(64, &function.bytes, function.address, DecoderOptions::NONE);
    for instruction in decoder {
        if instruction.code() == Code::INVALID {
            continue;
        }
        let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let width = width(&instruction);
        let is_vector = is_vector(&name, width);
        let here = counts.get(&instruction.ip()).copied().unwrap_or(0);
        mix.instructions += 1;
        mix.vector += u64::from(is_vector);
        mix.multiply_adds += u64::from(multiplies_and_adds(&name));
        mix.widest = mix.widest.max(width);
        match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => mix.calls += 1,
            FlowControl::ConditionalBranch
            | FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch => mix.jumps += 1,
            _ => {}
        }
        own += here;
        on_vectors += if is_vector { here } else { 0 };
        *names.entry(name).or_default() += 1;
    }
    mix.share = own as f64 / samples.max(1) as f64;
    mix.vector_time = on_vectors as f64 / own.max(1) as f64;
    let mut commonest: Vec<(String, u64)> = names.into_iter().collect();
    commonest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    commonest.truncate(NAMED);
    mix.commonest = commonest;
    mix
}

/// The widest register among the operands.
fn width(instruction: &Instruction) -> Width {
    let of = |register: Register| match register {
        register if register.is_tmm() => Width::Tile,
        register if register.is_zmm() => Width::Zmm,
        register if register.is_ymm() => Width::Ymm,
        register if register.is_xmm() => Width::Xmm,
        _ => Width::General,
    };
    (0..instruction.op_count())
        .filter(|&operand| instruction.op_kind(operand) == OpKind::Register)
        .map(|operand| of(instruction.op_register(operand)))
        .max()
        .unwrap_or_default()
}

/// Whether it works on more than one element; in the narrowest registers, the instruction's name
/// decides.
fn is_vector(name: &str, width: Width) -> bool {
    let is_scalar = (name.ends_with("ss") || name.ends_with("sd")) && !name.contains("dp");
    match width {
        Width::General => false,
        Width::Xmm => !is_scalar && !matches!(name, "movd" | "movq" | "vmovd" | "vmovq"),
        Width::Ymm | Width::Zmm | Width::Tile => true,
    }
}

fn multiplies_and_adds(name: &str) -> bool {
    let fused = ["vfmadd", "vfmsub", "vfnmadd", "vfnmsub", "vpdp", "vdpbf16", "tdp"];
    fused.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// vfmadd231ps zmm0,zmm1,zmm2; vaddps ymm0,ymm1,ymm2; addss xmm0,xmm1; call +0; ret.
    const CODE: [u8; 20] = [
        0x62, 0xf2, 0x75, 0x48, 0xb8, 0xc2, 0xc5, 0xf4, 0x58, 0xc2, 0xf3, 0x0f, 0x58, 0xc1, 0xe8,
        0, 0, 0, 0, 0xc3,
    ];

    #[test]
    fn instructions_are_counted_with_their_registers_and_their_time() {
        let (name, bytes) = ("kernel".to_owned(), CODE.to_vec());
        let function = Function { name, address: 0x1000, bytes };
        let counts = [(0x1000, 6), (0x100a, 2)].into();
        let mix = mix(&function, &counts, 16);
        assert_eq!((mix.instructions, mix.vector, mix.multiply_adds), (5, 2, 1));
        assert_eq!((mix.calls, mix.widest), (1, Width::Zmm));
        assert!((mix.share - 0.5).abs() < 1e-12 && (mix.vector_time - 0.75).abs() < 1e-12);
    }

    #[test]
    fn a_promise_without_its_registers_is_not_kept() {
        let inspected = |widest| Inspected {
            case: "softmax:f32[b=1,s=1,d=1]".parse().unwrap(),
            contender: "native/simd@avx512".parse().unwrap(),
            mixes: Vec::new(),
            promised: Some(Width::Zmm),
            widest,
            samples: 1,
        };
        assert!(inspected(Width::Zmm).is_kept() && inspected(Width::Tile).is_kept());
        assert!(!inspected(Width::Ymm).is_kept());
    }
}
