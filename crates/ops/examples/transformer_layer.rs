//! One layer of a transformer, through the library's door alone: prefill, then decoding.
//!
//! The shapes are those of Qwen3-0.6B (hidden 1024, 16 heads and 8 of keys and values, 128 wide,
//! feed-forward 3072), the weights random. The result is checked against the same layer composed
//! of the ops' oracles in f64, and with `--dump FOLDER` everything is written as raw f32 for
//! `transformer_layer.py`, which checks it with PyTorch. The time of a token is shown beside the
//! sum of its parts.
//!
//! ```text
//! cargo run --release -p proofmark-ops --example transformer_layer -- --threads 2
//! ```
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program of its own, which measures itself and prints"
)]

use proofmark_contract::{Entry, Values, Want, complete_case};
use proofmark_ops::library::{self, Slice, SliceMut};
use proofmark_schema::{Case, DType};
use proofmark_tensor::{Fill, Pool};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HIDDEN: usize = 1024;
const HEADS: usize = 16;
const KV_HEADS: usize = 8;
const WIDTH: usize = 128;
const FEED_FORWARD: usize = 3072;
const PROMPT: usize = 64;
const TOKENS: usize = 16;

/// An element of either computer.
trait Number: Copy + Default {
    fn of(value: f32) -> Self;
}

impl Number for f32 {
    fn of(value: f32) -> f32 {
        value
    }
}

impl Number for f64 {
    fn of(value: f32) -> f64 {
        f64::from(value)
    }
}

/// What a layer holds, by name; matrices are `[outputs, inputs]`.
type Weights<N> = BTreeMap<&'static str, Vec<N>>;

fn weights<N: Number>() -> Weights<N> {
    let shapes = [
        ("attention_norm", 1, HIDDEN),
        ("query", HEADS * WIDTH, HIDDEN),
        ("key", KV_HEADS * WIDTH, HIDDEN),
        ("value", KV_HEADS * WIDTH, HIDDEN),
        ("query_norm", 1, WIDTH),
        ("key_norm", 1, WIDTH),
        ("out", HIDDEN, HEADS * WIDTH),
        ("feed_norm", 1, HIDDEN),
        ("gate", FEED_FORWARD, HIDDEN),
        ("up", FEED_FORWARD, HIDDEN),
        ("down", HIDDEN, FEED_FORWARD),
    ];
    let make = |(stream, (name, rows, cols)): (u64, (&'static str, usize, usize))| {
        // Products keep the size of what they are given.
        let scale = if rows == 1 { 1.0 } else { (cols as f64).sqrt().recip() };
        (name, normal(stream, rows, cols, scale))
    };
    (1..).zip(shapes).map(make).collect()
}

fn normal<N: Number>(stream: u64, rows: usize, cols: usize, scale: f64) -> Vec<N> {
    let values = Fill::Normal.values(DType::F32, 7, stream, (rows, cols));
    values.into_iter().map(|value| N::of((value * scale) as f32)).collect()
}

/// Who computes an op: the library in f32, or the oracles in f64.
trait Computer {
    /// The type of elements.
    type Number: Number;

    /// One op; `outputs` are as long as its results.
    fn run(
        &mut self,
        part: &'static str,
        case: &str,
        inputs: &[&[Self::Number]],
        outputs: &mut [&mut [Self::Number]],
    ) -> Result<(), Box<dyn Error>>;
}

/// An op by its name, and the case with every axis and attribute.
fn find(case: &str) -> Result<(&'static Entry, Case), Box<dyn Error>> {
    let case: Case = case.parse()?;
    let entry = proofmark_ops::find(&case.op).ok_or_else(|| format!("no op `{}`", case.op))?;
    Ok((entry, complete_case(entry.op, &case)))
}

/// The library, with the time of each part.
struct Library {
    pool: Pool,
    threads: usize,
    parts: Vec<(&'static str, Duration)>,
}

impl Computer for Library {
    type Number = f32;

    fn run(
        &mut self,
        part: &'static str,
        case: &str,
        inputs: &[&[f32]],
        outputs: &mut [&mut [f32]],
    ) -> Result<(), Box<dyn Error>> {
        let (entry, case) = find(case)?;
        let inputs: Vec<Slice<'_>> = inputs.iter().map(|input| (*input).into()).collect();
        let mut outputs: Vec<SliceMut<'_>> =
            outputs.iter_mut().map(|output| (&mut **output).into()).collect();
        let start = Instant::now();
        library::run(entry, &case, &inputs, &mut outputs, &self.pool, self.threads)?;
        let took = start.elapsed();
        match self.parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, total)) => *total += took,
            None => self.parts.push((part, took)),
        }
        Ok(())
    }
}

/// The oracles.
struct Oracles;

impl Computer for Oracles {
    type Number = f64;

    fn run(
        &mut self,
        _part: &'static str,
        case: &str,
        inputs: &[&[f64]],
        outputs: &mut [&mut [f64]],
    ) -> Result<(), Box<dyn Error>> {
        let (entry, case) = find(case)?;
        let mut tensors: Vec<Vec<f64>> = inputs.iter().map(|input| input.to_vec()).collect();
        tensors.resize(inputs.len() + outputs.len(), Vec::new());
        let values = Values { tensors };
        for (k, output) in outputs.iter_mut().enumerate() {
            output.copy_from_slice(&entry.op.oracle(&case, &values, k, &Want::all()).value);
        }
        Ok(())
    }
}

/// Keys and values of the positions so far, each head's apart.
struct Cache<N> {
    keys: Vec<Vec<N>>,
    values: Vec<Vec<N>>,
}

impl<N: Number> Cache<N> {
    fn new() -> Cache<N> {
        let empty = || (0..KV_HEADS).map(|_| Vec::new()).collect();
        Cache { keys: empty(), values: empty() }
    }

    fn len(&self) -> usize {
        self.keys[0].len() / WIDTH
    }
}

/// The layer on `x`, `[tokens, HIDDEN]`, at the positions after those in the cache.
fn layer<C: Computer>(
    by: &mut C,
    weights: &Weights<C::Number>,
    x: &[C::Number],
    cache: &mut Cache<C::Number>,
) -> Result<Vec<C::Number>, Box<dyn Error>> {
    let tokens = x.len() / HIDDEN;
    let zeros = |count: usize| vec![C::Number::default(); count];
    let w = |name: &str| weights[name].as_slice();
    let norm_case = format!("rms_norm:f32[b=1,s={tokens},d={HIDDEN}]");
    let product = |n: usize, k: usize| format!("matmul:f32[b=1,m={tokens},n={n},k={k};layout=nt]");

    let mut normed = zeros(tokens * HIDDEN);
    by.run("rms_norm", &norm_case, &[x, w("attention_norm")], &mut [&mut normed])?;
    let mut query = zeros(tokens * HEADS * WIDTH);
    let mut key = zeros(tokens * KV_HEADS * WIDTH);
    let mut value = zeros(tokens * KV_HEADS * WIDTH);
    for (name, into) in [("query", &mut query), ("key", &mut key), ("value", &mut value)] {
        let case = product(into.len() / tokens, HIDDEN);
        by.run("matmul q k v", &case, &[&normed, w(name)], &mut [into])?;
    }

    let (mut query_normed, mut key_normed) = (zeros(query.len()), zeros(key.len()));
    let case = format!("qk_norm:f32[b=1,s={tokens},h={HEADS},kv={KV_HEADS},d={WIDTH}]");
    by.run(
        "qk_norm",
        &case,
        &[&query, &key, w("query_norm"), w("key_norm")],
        &mut [&mut query_normed, &mut key_normed],
    )?;
    let (cosines, sines) = angles::<C::Number>(cache.len(), tokens);
    for (heads, from, to) in [(HEADS, &query_normed, &mut query), (KV_HEADS, &key_normed, &mut key)]
    {
        let case = format!("rope:f32[b=1,s={tokens},h={heads},d={WIDTH};angles=table]");
        by.run("rope", &case, &[from, &cosines, &sines], &mut [to])?;
    }

    let query = heads_apart(&query, HEADS);
    for (heads, positions) in [(&mut cache.keys, &key), (&mut cache.values, &value)] {
        let apart = heads_apart(positions, KV_HEADS);
        for (head, new) in heads.iter_mut().zip(apart.chunks_exact(tokens * WIDTH)) {
            head.extend_from_slice(new);
        }
    }
    let mut mixed = zeros(query.len());
    let length = cache.len();
    let case = format!(
        "attention:f32[b=1,h={HEADS},kv={KV_HEADS},q={tokens},t={length},d={WIDTH};mask=causal]"
    );
    let (keys, values) = (cache.keys.concat(), cache.values.concat());
    by.run("attention", &case, &[&query, &keys, &values], &mut [&mut mixed])?;
    let mixed = heads_together(&mixed, HEADS);

    let mut attended = zeros(tokens * HIDDEN);
    let case = product(HIDDEN, HEADS * WIDTH);
    by.run("matmul out", &case, &[&mixed, w("out")], &mut [&mut attended])?;
    let mut residual = zeros(tokens * HIDDEN);
    let case = format!("add_rms_norm:f32[b=1,s={tokens},d={HIDDEN}]");
    by.run(
        "add_rms_norm",
        &case,
        &[&attended, x, w("feed_norm")],
        &mut [&mut residual, &mut normed],
    )?;

    let (mut gate, mut up) = (zeros(tokens * FEED_FORWARD), zeros(tokens * FEED_FORWARD));
    for (name, into) in [("gate", &mut gate), ("up", &mut up)] {
        let case = product(FEED_FORWARD, HIDDEN);
        by.run("matmul gate up", &case, &[&normed, w(name)], &mut [into])?;
    }
    let mut gated = zeros(gate.len());
    let case = format!("swiglu:f32[b=1,s={tokens},d={FEED_FORWARD}]");
    by.run("swiglu", &case, &[&gate, &up], &mut [&mut gated])?;
    let mut fed = zeros(tokens * HIDDEN);
    by.run("matmul down", &product(HIDDEN, FEED_FORWARD), &[&gated, w("down")], &mut [&mut fed])?;
    let mut y = zeros(tokens * HIDDEN);
    let case = format!("add:f32[b=1,s={tokens},d={HIDDEN}]");
    by.run("add", &case, &[&residual, &fed], &mut [&mut y])?;
    Ok(y)
}

/// Cosines and sines of the rotations at the positions from `first` on, as f32 tables.
fn angles<N: Number>(first: usize, tokens: usize) -> (Vec<N>, Vec<N>) {
    let pairs = WIDTH / 2;
    let angle = |at: usize| {
        let frequency = 1e6f64.powf(-((at % pairs) as f64) / pairs as f64);
        (first + at / pairs) as f64 * frequency
    };
    let table =
        |of: fn(f64) -> f64| (0..tokens * pairs).map(|at| N::of(of(angle(at)) as f32)).collect();
    (table(f64::cos), table(f64::sin))
}

/// `[tokens, heads, WIDTH]` as `[heads, tokens, WIDTH]`.
fn heads_apart<N: Number>(x: &[N], heads: usize) -> Vec<N> {
    exchange(x, x.len() / (heads * WIDTH), heads)
}

/// `[heads, tokens, WIDTH]` as `[tokens, heads, WIDTH]`.
fn heads_together<N: Number>(x: &[N], heads: usize) -> Vec<N> {
    exchange(x, heads, x.len() / (heads * WIDTH))
}

/// Exchanges the first two axes of `[outer, inner, WIDTH]`.
fn exchange<N: Number>(x: &[N], outer: usize, inner: usize) -> Vec<N> {
    let row = |i: usize, j: usize| &x[(i * inner + j) * WIDTH..][..WIDTH];
    (0..inner).flat_map(|j| (0..outer).flat_map(move |i| row(i, j))).copied().collect()
}

/// Prefill, then one token after the other, each of which is the layer's last result.
fn run<C: Computer>(
    by: &mut C,
    mut after: impl FnMut(&mut C, usize, Duration),
) -> Result<[Vec<C::Number>; 2], Box<dyn Error>> {
    let weights = weights::<C::Number>();
    let prompt: Vec<C::Number> = normal(0, PROMPT, HIDDEN, 1.0);
    let mut cache = Cache::new();
    let mut timed = |by: &mut C, x: &[C::Number]| {
        let start = Instant::now();
        let y = layer(by, &weights, x, &mut cache);
        after(by, x.len() / HIDDEN, start.elapsed());
        y
    };
    let prefill = timed(by, &prompt)?;
    let mut decoded = Vec::new();
    for token in 0..TOKENS {
        // Independent tokens: errors of a layer would else be errors of the next one's input.
        let x: Vec<C::Number> = normal(100 + token as u64, 1, HIDDEN, 1.0);
        decoded.extend(timed(by, &x)?);
    }
    Ok([prefill, decoded])
}

/// Root mean square of the difference over that of the truth.
fn relative_error(got: &[f32], truth: &[f64]) -> f64 {
    let sum = |terms: &mut dyn Iterator<Item = f64>| terms.map(|term| term * term).sum::<f64>();
    let differences = got.iter().zip(truth).map(|(&got, truth)| f64::from(got) - truth);
    (sum(&mut { differences }) / sum(&mut truth.iter().copied())).sqrt()
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut threads, mut dump) = (1, None);
    let mut words = std::env::args().skip(1);
    while let (Some(word), value) = (words.next(), words.next()) {
        match (word.as_str(), value) {
            ("--threads", Some(count)) => threads = count.parse()?,
            ("--dump", Some(folder)) => dump = Some(PathBuf::from(folder)),
            _ => return Err(format!("`{word}`: --threads N and --dump FOLDER are known").into()),
        }
    }
    let mut library = Library { pool: Pool::new(threads), threads, parts: Vec::new() };
    // The first run warms the pool and the caches; the second is shown.
    run(&mut library, |_, _, _| ())?;
    library.parts.clear();
    let mut decoding = Duration::ZERO;
    let [prefill, decoded] = run(&mut library, |library, tokens, took| {
        if tokens == PROMPT {
            report("prefill", PROMPT, took, &library.parts);
            library.parts.clear();
        } else {
            decoding += took;
        }
    })?;
    report("decode", TOKENS, decoding, &library.parts);
    let [prefill_truth, decoded_truth] = run(&mut Oracles, |_, _, _| ())?;
    let errors =
        [relative_error(&prefill, &prefill_truth), relative_error(&decoded, &decoded_truth)];
    println!("\nerror against the oracles: prefill {:.2e}, decode {:.2e}", errors[0], errors[1]);
    if let Some(folder) = dump {
        write(&folder, &prefill, &decoded)?;
    }
    // A layer of about ten roundings and sums of up to 3072 terms, in f32.
    if errors.iter().any(|&error| error.is_nan() || error > 1e-5) {
        return Err("the layer differs from its oracles".into());
    }
    Ok(())
}

fn report(name: &str, tokens: usize, took: Duration, parts: &[(&str, Duration)]) {
    let each = |time: Duration| time.as_secs_f64() * 1e6 / tokens as f64;
    let sum: Duration = parts.iter().map(|(_, time)| *time).sum();
    println!("\n{name}, {tokens} tokens: {:.1} us a token", each(took));
    for (part, time) in parts {
        let share = 100.0 * time.as_secs_f64() / took.as_secs_f64();
        println!("  {part:<16} {:>9.1} us {share:>5.1} %", each(*time));
    }
    let share = 100.0 * sum.as_secs_f64() / took.as_secs_f64();
    println!("  {:<16} {:>9.1} us {share:>5.1} %", "sum of parts", each(sum));
}

/// Everything as raw little-endian f32, one file a tensor.
fn write(folder: &std::path::Path, prefill: &[f32], decoded: &[f32]) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let save = |name: &str, values: &[f32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(folder.join(name), bytes)
    };
    for (name, values) in weights::<f32>() {
        save(name, &values)?;
    }
    save("prompt", &normal::<f32>(0, PROMPT, HIDDEN, 1.0))?;
    let tokens = (0..TOKENS as u64).map(|token| normal::<f32>(100 + token, 1, HIDDEN, 1.0));
    save("tokens", &tokens.collect::<Vec<_>>().concat())?;
    save("prefill", prefill)?;
    save("decoded", decoded)?;
    Ok(())
}
