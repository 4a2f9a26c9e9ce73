//! Calls in a queue, step by step. Without a device they are passed over, unless
//! `PROOFMARK_REQUIRE_OPENCL` is set.
#![expect(clippy::disallowed_methods, reason = "a test reads its own switch")]

use proofmark_contract::Call;
use proofmark_opencl::{Argument, Launch, Launcher, found, set_environment};
use proofmark_schema::{Case, DType, Isa};
use proofmark_tensor::{AlignedBuffer, Layout, Pool, Tensor};

const ROWS: usize = 64;
const COLS: usize = 256;

/// Doubles each element, over and over, so that a call takes some milliseconds.
const SOURCE: &str = "kernel void slow(global const float *x, global float *y, int rounds) {
    size_t i = get_global_id(0);
    float sum = 0.0f;
    for (int round = 0; round < rounds; round++)
        sum = sum * 0.5f + x[i];
    y[i] = sum;
}";

fn launch(rounds: i32) -> Launch {
    Launch {
        source: SOURCE.to_owned(),
        options: String::new(),
        function: "slow".to_owned(),
        arguments: vec![
            Argument::Operand(0),
            Argument::Operand(1),
            Argument::Scalar(rounds.to_ne_bytes().to_vec()),
        ],
        global: vec![ROWS * COLS],
        local: vec![64],
    }
}

fn tensor(buffer: &mut AlignedBuffer) -> Tensor {
    let layout = Layout::dense(vec![1, ROWS, COLS]);
    let base = buffer.as_mut_slice().as_mut_ptr();
    // SAFETY: the buffer has so many bytes, and outlives the tensor.
    unsafe { Tensor::from_raw(base, DType::F32, layout, true) }
}

#[test]
fn a_call_is_in_the_queue_until_it_is_waited_for_and_results_are_kept_on_the_device() {
    if found().is_err() {
        assert!(std::env::var_os("PROOFMARK_REQUIRE_OPENCL").is_none(), "there is no device");
        return;
    }
    set_environment();
    let bytes = ROWS * COLS * size_of::<f32>();
    let [mut x, mut y, mut z] = [(); 3].map(|()| AlignedBuffer::new(bytes));
    x.elements_mut::<f32>().fill(1.0);
    let (inputs, mut outputs) = ([tensor(&mut x)], [tensor(&mut y)]);
    let case: Case = "add:f32[b=1,s=64,d=256]".parse().unwrap();
    let mut call = Call {
        case: &case,
        isa: Isa::Scalar,
        threads: 1,
        pool: &Pool::serial(),
        inputs: &inputs,
        outputs: &mut outputs,
        workspace: &mut [],
        prepared: &[],
    };
    let mut launcher = Launcher::open(launch(5_000), 1).unwrap();
    let before = launcher.marker().unwrap();
    launcher.start(&mut call).unwrap();
    let behind = launcher.marker().unwrap();
    launcher.flush().unwrap();
    before.wait().unwrap();
    // Work is left behind the first marker: what a program does that does not wait for all of it.
    assert!(!behind.is_reached(), "a kernel of milliseconds is done at once");
    behind.wait().unwrap();
    assert!(behind.is_reached());
    launcher.finish().unwrap();
    let times = launcher.times();
    assert_eq!(times.calls, 1);
    assert!(times.kernel_ns > 100_000, "{times:?}");
    let sums = call.outputs[0].to_f64();
    assert!(sums.iter().all(|sum| (sum - 2.0).abs() < 1e-3), "{:?}", &sums[..4]);

    let copy = launcher.keep(&call.outputs[0]).unwrap().expect("rows lie densely");
    let mut other = tensor(&mut z);
    launcher.recall(&copy, &mut other).unwrap();
    assert_eq!(other.to_f64(), sums);
    let mut small = AlignedBuffer::new(4);
    let base = small.as_mut_slice().as_mut_ptr();
    // SAFETY: one element in a buffer of four bytes.
    let mut one = unsafe { Tensor::from_raw(base, DType::F32, Layout::dense(vec![1]), true) };
    assert!(launcher.recall(&copy, &mut one).is_err(), "a result of another size");
}
