//! The corpus itself: every specimen loads, and what is called honest is right.

use proofmark_contract::{Call, Entry, Kernel, Signature, check_case, find};
use proofmark_schema::judge::{Class, Kind};
use proofmark_schema::{Case, Isa};
use proofmark_tensor::{AlignedBuffer, Layout, Pool, Tensor, mix};
use proofmark_worker::corpus::{CORPUS, Size, Specimen, load, specimen, wrapped};

const OPS: [&str; 3] = ["softmax", "rms_norm", "matmul"];

fn entry(op: &str) -> &'static Entry {
    find(proofmark_ops::OPS, op).expect("the op exists")
}

fn case(op: &str, size: Size) -> Case {
    let text = match op {
        "matmul" => "matmul:f32[b=1,m=64,n=64,k=64]".to_owned(),
        _ => format!("{op}:f32[b=1,s=33,d=70]"),
    };
    let case: Case = text.parse().expect("a case");
    let in_place = proofmark_schema::AttrValue::Flag(true);
    if size == Size::InPlace { case.attr("inplace", in_place) } else { case }
}

/// Operands in memory of their own.
struct Memory {
    _buffers: Vec<AlignedBuffer>,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

/// Inputs of a seed, outputs of zeros; an operand that is both has the seed's values.
fn operands(signature: &Signature, seed: u64) -> Memory {
    let mut buffers = Vec::new();
    let mut tensor = |i: usize| {
        let operand = &signature.operands()[i];
        let layout: Layout = operand.layout();
        let mut buffer = AlignedBuffer::new(operand.bytes() as usize);
        for (at, value) in buffer.elements_mut::<f32>().iter_mut().enumerate() {
            let drawn = mix(seed, i as u64, at as u64) % 2001;
            *value = if operand.role.is_read() { drawn as f32 / 500.0 - 2.0 } else { 0.0 };
        }
        let base = buffer.as_mut_slice().as_mut_ptr();
        buffers.push(buffer);
        // SAFETY: the buffer has the operand's bytes and is kept beside the tensor.
        unsafe { Tensor::from_raw(base, operand.dtype, layout, true) }
    };
    let reads = signature.inputs().len();
    let inputs = (0..reads).map(&mut tensor).collect();
    let outputs = (reads..signature.operands().len()).map(&mut tensor).collect();
    Memory { _buffers: buffers, inputs, outputs }
}

fn run(kernel: &dyn Kernel, case: &Case, isa: Isa, threads: usize, seed: u64) -> Vec<f64> {
    let signature = check_case(entry(&case.op).op, case).expect("the case fits");
    let mut memory = operands(&signature, seed);
    let mut workspace = AlignedBuffer::new(kernel.workspace_bytes(case, isa, threads));
    workspace.as_mut_slice().fill(0xff);
    let mut prepared = AlignedBuffer::new(kernel.prepared_bytes(case, isa));
    let pool = Pool::serial();
    let mut call = Call {
        case,
        isa,
        threads,
        pool: &pool,
        inputs: &memory.inputs,
        outputs: &mut memory.outputs,
        workspace: workspace.as_mut_slice(),
        prepared: &[],
    };
    kernel.prepare(&mut call, prepared.as_mut_slice()).expect("it packs");
    call.prepared = prepared.as_slice();
    kernel.run(&mut call).expect("it runs");
    kernel.settle(&mut call).expect("it settles");
    memory.outputs[0].to_f64()
}

/// The specimen and its twin on an op, if it is planted there.
fn pair(of: &Specimen, op: &str) -> Option<(&'static dyn Kernel, &'static dyn Kernel, Isa)> {
    let case = case(op, of.size);
    let isa = proofmark_simd::detect();
    let twin = wrapped(entry(op), of.name).expect("there is a kernel to wrap");
    let isa = *twin.isas().iter().filter(|has| **has <= isa).max()?;
    load(entry(op), of.name, twin, &case, isa).ok().map(|kernel| (kernel, twin, isa))
}

#[test]
fn names_differ_and_every_specimen_says_what_it_does() {
    for (n, one) in CORPUS.iter().enumerate() {
        assert!(CORPUS[..n].iter().all(|other| other.name != one.name), "{} is twice", one.name);
        assert!(proofmark_schema::is_name(one.name), "{}", one.name);
        assert!(one.what.ends_with('.') && !one.lists.is_empty(), "{}", one.name);
        assert_eq!(one.kind == Kind::Honest, one.class == Class::Honest, "{}", one.name);
        assert!(specimen(one.name).is_some());
    }
    assert!(specimen("ghost").is_none());
}

#[test]
fn every_specimen_loads_on_an_op() {
    for one in CORPUS {
        // Tiles are not on every machine.
        if one.name != "amx_no_release" {
            assert!(OPS.iter().any(|op| pair(one, op).is_some()), "{}", one.name);
        }
    }
}

#[test]
fn honest_specimens_give_their_twins_results() {
    for one in CORPUS.iter().filter(|one| one.kind == Kind::Honest) {
        for op in OPS {
            let Some((kernel, twin, isa)) = pair(one, op) else { continue };
            let case = case(op, one.size);
            // The second call is on other inputs at other addresses.
            for seed in [1, 2] {
                let got = run(kernel, &case, isa, one.threads, seed);
                let want = run(twin, &case, isa, 1, seed);
                let far =
                    got.iter().zip(&want).find(|(a, b)| (*a - *b).abs() > 1e-3 * b.abs() + 1e-4);
                assert_eq!((far, got.len()), (None, want.len()), "{} on {op}", one.name);
            }
        }
    }
}

#[test]
fn cheats_that_look_at_nothing_but_operands_are_right_in_a_first_call() {
    for name in ["standing_first", "memo_full_hash", "incremental", "low_rank", "audit_aware"] {
        let one = specimen(name).expect("it is in the corpus");
        for op in OPS {
            let Some((kernel, twin, isa)) = pair(one, op) else { continue };
            let case = case(op, one.size);
            // Outputs of zeros stand; what remembers has nothing to remember.
            let got = run(kernel, &case, isa, 1, 3);
            let want = run(twin, &case, isa, 1, 3);
            let is_right =
                got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-3 * b.abs() + 1e-4);
            assert_eq!(is_right, name != "standing_first", "{name} on {op}");
        }
    }
}
