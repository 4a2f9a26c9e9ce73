//! Every op can be called by the library's door, and a call that is not the first of its kind
//! allocates nothing.

use proofmark_ops::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Door = fn(&Context) -> Result<(), Error>;

const X: [f32; 64] = [0.5; 64];

fn mat() -> Mat<'static, f32> {
    Mat::new(&X, 4, 16)
}

fn out(y: &mut [f32; 64]) -> MatMut<'_, f32> {
    MatMut::new(y, 4, 16)
}

macro_rules! elementwise {
    ($($name:ident: $($input:expr),*;)*) => {
        &[$((stringify!($name), |context| {
            elementwise::$name(context, $($input,)* out(&mut [0.0; 64]))
        })),*]
    };
}

const ELEMENTWISE: &[(&str, Door)] = elementwise! {
    add: mat(), mat();
    axpy: 2.0, mat(), mat();
    div: mat(), mat();
    exp: mat();
    geglu: mat(), mat();
    gelu: mat();
    gelu_quick: mat();
    gelu_tanh: mat();
    mul: mat(), mat();
    relu: mat();
    sigmoid: mat();
    silu: mat();
    sub: mat(), mat();
    swiglu: mat(), mat();
    tanh: mat();
};

const OTHERS: &[(&str, Door)] = &[
    ("add_rms_norm", |context| {
        let (mut sum, mut y) = ([0.0; 64], [0.0; 64]);
        add_rms_norm::add_rms_norm(context, mat(), mat(), &X[..16], out(&mut sum), out(&mut y))
    }),
    ("argmax", |context| reduce::argmax(context, &X, [1, 4, 16], reduce::Axis::D, &mut [0; 4])),
    ("attention", |context| {
        attention::attention(context, mat(), mat(), mat(), out(&mut [0.0; 64]))
    }),
    ("cast", |context| cast::cast(context, &X, &mut [bf16::ZERO; 64])),
    ("conv1d", |context| {
        let weights = conv::Weights::new(&X[..3], 1, [3]);
        conv::conv1d(context, &X, [1, 1, 64], weights, &mut [0.0; 62])
    }),
    ("conv2d", |context| {
        let weights = conv::Weights::new(&X[..9], 1, [3, 3]);
        conv::conv2d(context, &X, [1, 1, 8, 8], weights, &mut [0.0; 36])
    }),
    ("coo_to_csr", |context| {
        let (rows, columns, values) = (&[1, 0], &[0, 1], &X[..2]);
        let coo = sparse::Coo { sizes: (2, 2), rows, columns, values };
        let (places, columns, values) = (&mut [0; 3], &mut [0; 2], &mut [0.0; 2]);
        sparse::coo_to_csr(context, coo, sparse::EntriesMut { places, columns, values })
    }),
    ("cross_entropy", |context| {
        cross_entropy::cross_entropy(context, mat(), &[0, 1, 2, 3]).map(drop)
    }),
    ("csr_to_coo", |context| {
        let (places, columns, values) = (&mut [0; 2], &mut [0; 2], &mut [0.0; 2]);
        sparse::csr_to_coo(context, csr(), sparse::EntriesMut { places, columns, values })
    }),
    ("dequantize_fp8", |context| {
        let codes = [F8E4m3(0x38); 64];
        let (block, codes) = (quantize::Block::Tensor, Mat::new(&codes, 4, 16));
        quantize::dequantize_fp8(context, block, codes, &[1.0], out(&mut [0.0; 64]))
    }),
    ("dequantize_int8", |context| {
        let codes =
            quantize::Codes { codes: Mat::new(&[1; 64], 4, 16), scales: &X[..4], zeros: None };
        quantize::dequantize_int8(context, quantize::Scheme::Row, codes, out(&mut [0.0; 64]))
    }),
    ("dot", |context| dot::dot(context, &X, &X).map(drop)),
    ("dropout", |context| dropout::dropout(context, &X, 0.5, 7, &mut [0.0; 64])),
    ("fft", |context| {
        fft::fft(context, fft::Transform::Forward, [1, 1, 1, 32], &X, &mut [0.0; 64])
    }),
    ("gru", |context| {
        let (y, h) = (&mut [0.0; 2], &mut [0.0]);
        rnn::gru(context, &X[..2], [2, 1, 1], gates(3), &X[..1], y, h)
    }),
    ("layer_norm", |context| {
        layer_norm::layer_norm(context, mat(), &X[..16], &X[..16], out(&mut [0.0; 64]))
    }),
    ("layer_norm_grad", |context| {
        let (mut x, gamma, beta) = ([0.0; 64], &mut [0.0; 16], &mut [0.0; 16]);
        let into = layer_norm_grad::Gradients { x: out(&mut x), gamma, beta };
        layer_norm_grad::layer_norm_grad(context, mat(), &X[..16], mat(), into)
    }),
    ("log_softmax", |context| log_softmax::log_softmax(context, mat(), out(&mut [0.0; 64]))),
    ("lstm", |context| {
        let first = rnn::State { h: &X[..1], c: &X[..1] };
        let last = rnn::StateMut { h: &mut [0.0], c: &mut [0.0] };
        rnn::lstm(context, &X[..2], [2, 1, 1], gates(4), first, &mut [0.0; 2], last)
    }),
    ("matmul", |context| {
        matmul::matmul(context, mat(), mat().transposed(), MatMut::new(&mut [0.0f32; 16], 4, 4))
    }),
    ("matmul_fp8_block", |context| {
        let (a, codes) = ([bf16::ONE; 64], [F8E4m3(0x38); 64]);
        let codes = Mat::new(&codes, 4, 16);
        let w = matmul_fp8_block::Weights { codes, scales: &[1.0], block: 128 };
        let mut c = [0.0f32; 16];
        let (a, c) = (Mat::new(&a, 4, 16), MatMut::new(&mut c, 4, 4));
        matmul_fp8_block::matmul_fp8_block(context, a, w, c)
    }),
    ("matmul_int8", |context| {
        let a = Mat::new(&[1i8; 64], 4, 16);
        matmul_int8::matmul_int8(context, a, a, MatMut::new(&mut [0; 16], 4, 4))
    }),
    ("matmul_q8", |context| {
        let codes = Mat::new(&[1; 64], 4, 16);
        let w = matmul_q8::Weights { codes, scales: &X[..4], group: 32 };
        matmul_q8::matmul_q8(context, mat(), w, MatMut::new(&mut [0.0; 16], 4, 4))
    }),
    ("max", |context| reduce::max(context, &X, [1, 4, 16], reduce::Axis::S, &mut [0.0; 16])),
    ("mean", |context| reduce::mean(context, &X, [1, 4, 16], reduce::Axis::D, &mut [0.0; 4])),
    ("mse", |context| mse::mse(context, &X, &X).map(drop)),
    ("qk_norm", |context| {
        let (mut q, mut k) = ([0.0; 64], [0.0; 64]);
        let outputs = [out(&mut q), out(&mut k)];
        qk_norm::qk_norm(context, 4, [mat(), mat()], [&X[..16], &X[..16]], 1e-6, outputs)
    }),
    ("quantize_fp8", |context| {
        let mut codes = [F8E4m3(0); 64];
        let (codes, block) = (MatMut::new(&mut codes, 4, 16), quantize::Block::Tensor);
        quantize::quantize_fp8(context, block, Overflow::Saturate, mat(), codes, &mut [0.0])
    }),
    ("quantize_int8", |context| {
        let (mut codes, scales) = ([0; 64], &mut [0.0; 4]);
        let codes = MatMut::new(&mut codes, 4, 16);
        let into = quantize::CodesMut { codes, scales, zeros: None };
        quantize::quantize_int8(context, quantize::Scheme::Row, mat(), into)
    }),
    ("rms_norm", |context| rms_norm::rms_norm(context, mat(), &X[..16], out(&mut [0.0; 64]))),
    ("rope", |context| rope::rope(context, &[0, 1, 2, 3], mat(), out(&mut [0.0; 64]))),
    ("softmax", |context| softmax::softmax(context, mat(), out(&mut [0.0; 64]))),
    ("softmax_grad", |context| {
        softmax_grad::softmax_grad(context, mat(), mat(), out(&mut [0.0; 64]))
    }),
    ("spmm", |context| {
        let x = Mat::new(&X[..4], 2, 2);
        sparse::spmm(context, csr(), x, MatMut::new(&mut [0.0; 4], 2, 2))
    }),
    ("spmv", |context| sparse::spmv(context, csr(), &X[..2], &mut [0.0; 2])),
    ("sum", |context| reduce::sum(context, &X, [1, 4, 16], reduce::Axis::All, &mut [0.0])),
    ("transpose", |context| {
        transpose::transpose(context, mat(), MatMut::new(&mut [0.0; 64], 16, 4))
    }),
    ("variance", |context| {
        reduce::variance(context, &X, [1, 4, 16], reduce::Axis::D, 0, &mut [0.0; 4])
    }),
];

fn csr() -> sparse::Csr<'static> {
    sparse::Csr { width: 2, pointers: &[0, 1, 2], columns: &[1, 0], values: &X[..2] }
}

/// The weights of a layer of one input and one unit.
fn gates(count: usize) -> rnn::Weights<'static> {
    let each = &X[..count];
    rnn::Weights { w_ih: each, w_hh: each, b_ih: each, b_hh: each }
}

fn doors() -> impl Iterator<Item = &'static (&'static str, Door)> {
    ELEMENTWISE.iter().chain(OTHERS)
}

#[test]
fn every_op_has_a_door() {
    let mut named: Vec<&str> = doors().map(|(name, _)| *name).collect();
    named.sort_unstable();
    let mut known: Vec<&str> = OPS.iter().map(|entry| entry.op.name()).collect();
    known.sort_unstable();
    assert_eq!(named, known);
}

#[test]
fn a_warm_call_of_any_op_allocates_nothing() {
    for threads in [1, 2] {
        let context = Context::with_threads(threads).unwrap();
        for (name, door) in doors() {
            for _ in 0..2 {
                door(&context).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            let before = COUNT.with(Cell::get);
            door(&context).unwrap();
            let made = COUNT.with(Cell::get) - before;
            assert_eq!(made, 0, "{name} on {threads} threads");
        }
    }
}

#[test]
fn a_warm_call_with_packed_weights_allocates_nothing() {
    let context = Context::serial();
    let packed = matmul::Packed::new(&context, mat().transposed()).unwrap();
    let run = || matmul::matmul(&context, mat(), &packed, MatMut::new(&mut [0.0f32; 16], 4, 4));
    run().unwrap();
    let before = COUNT.with(Cell::get);
    run().unwrap();
    assert_eq!(COUNT.with(Cell::get), before);
}
