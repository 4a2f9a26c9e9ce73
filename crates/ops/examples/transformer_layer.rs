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

use proofmark_contract::{Values, Want, complete_case};
use proofmark_ops::attention::{self, Mask};
use proofmark_ops::matmul::matmul;
use proofmark_ops::{Context, Mat, MatMut, rope};
use proofmark_ops::{add_rms_norm, elementwise, qk_norm, rms_norm};
use proofmark_tensor::Fill;
use proofmark_terms::{Case, DType};
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

/// The parts of a layer, computed by the library in f32 or by the oracles in f64. Rows are tokens.
trait Computer {
    /// The type of elements.
    type Number: Number;

    fn rms_norm(&mut self, x: &[Self::Number], w: &[Self::Number], y: &mut [Self::Number]) -> Done;

    /// `y = x · wᵀ`; the part is for the table of times.
    fn product(
        &mut self,
        part: &'static str,
        x: &[Self::Number],
        w: &[Self::Number],
        y: &mut [Self::Number],
    ) -> Done;

    /// Queries, keys and their weights into normalised queries and keys.
    fn qk_norm(
        &mut self,
        inputs: [&[Self::Number]; 2],
        weights: [&[Self::Number]; 2],
        outputs: [&mut [Self::Number]; 2],
    ) -> Done;

    /// Turns heads by the angles of their positions.
    fn rotate(&mut self, positions: &[u32], x: &[Self::Number], y: &mut [Self::Number]) -> Done;

    /// Causal attention; heads stand below each other.
    fn attend(&mut self, inputs: [&[Self::Number]; 3], o: &mut [Self::Number]) -> Done;

    /// The sum of `x` and `residual`, and its normalised rows.
    fn add_rms_norm(
        &mut self,
        inputs: [&[Self::Number]; 2],
        w: &[Self::Number],
        outputs: [&mut [Self::Number]; 2],
    ) -> Done;

    fn swiglu(&mut self, inputs: [&[Self::Number]; 2], y: &mut [Self::Number]) -> Done;

    fn add(&mut self, inputs: [&[Self::Number]; 2], y: &mut [Self::Number]) -> Done;
}

type Done = Result<(), Box<dyn Error>>;

/// The base of the rotations' frequencies.
const THETA: f64 = 1e6;

/// Rows of this many elements.
fn rows(x: &[f32], cols: usize) -> Mat<'_, f32> {
    Mat::new(x, x.len() / cols, cols)
}

fn rows_mut(x: &mut [f32], cols: usize) -> MatMut<'_, f32> {
    let count = x.len() / cols;
    MatMut::new(x, count, cols)
}

/// The library, with the time of each part.
struct Library {
    context: Context,
    parts: Vec<(&'static str, Duration)>,
}

impl Library {
    fn timed(
        &mut self,
        part: &'static str,
        call: impl FnOnce(&Context) -> Result<(), proofmark_ops::Error>,
    ) -> Done {
        let start = Instant::now();
        call(&self.context)?;
        let took = start.elapsed();
        match self.parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, total)) => *total += took,
            None => self.parts.push((part, took)),
        }
        Ok(())
    }
}

impl Computer for Library {
    type Number = f32;

    fn rms_norm(&mut self, x: &[f32], w: &[f32], y: &mut [f32]) -> Done {
        let (x, y) = (rows(x, w.len()), rows_mut(y, w.len()));
        self.timed("rms_norm", |context| rms_norm::rms_norm(context, x, w, y))
    }

    fn product(&mut self, part: &'static str, x: &[f32], w: &[f32], y: &mut [f32]) -> Done {
        let tokens = product_rows(x, w, y);
        let (terms, wide) = (x.len() / tokens, y.len() / tokens);
        let (x, w, y) = (rows(x, terms), rows(w, terms).transposed(), rows_mut(y, wide));
        self.timed(part, |context| matmul(context, x, w, y))
    }

    fn qk_norm(
        &mut self,
        [q, k]: [&[f32]; 2],
        weights: [&[f32]; 2],
        [yq, yk]: [&mut [f32]; 2],
    ) -> Done {
        let positions = q.len() / (HEADS * WIDTH);
        let inputs = [rows(q, WIDTH), rows(k, WIDTH)];
        let outputs = [rows_mut(yq, WIDTH), rows_mut(yk, WIDTH)];
        self.timed("qk_norm", |context| {
            qk_norm::qk_norm(context, positions, inputs, weights, 1e-6, outputs)
        })
    }

    fn rotate(&mut self, positions: &[u32], x: &[f32], y: &mut [f32]) -> Done {
        let options = rope::Options { theta: THETA, ..rope::Options::default() };
        let (x, y) = (rows(x, WIDTH), rows_mut(y, WIDTH));
        self.timed("rope", |context| options.run(context, positions, x, y))
    }

    fn attend(&mut self, inputs: [&[f32]; 3], o: &mut [f32]) -> Done {
        let options = attention::Options {
            heads: HEADS,
            kv_heads: KV_HEADS,
            mask: Mask::Causal,
            ..attention::Options::default()
        };
        let ([q, k, v], o) = (inputs.map(|x| rows(x, WIDTH)), rows_mut(o, WIDTH));
        self.timed("attention", |context| options.run(context, q, k, v, o))
    }

    fn add_rms_norm(&mut self, inputs: [&[f32]; 2], w: &[f32], [sum, y]: [&mut [f32]; 2]) -> Done {
        let [x, residual] = inputs.map(|x| rows(x, w.len()));
        let (sum, y) = (rows_mut(sum, w.len()), rows_mut(y, w.len()));
        self.timed("add_rms_norm", |context| {
            add_rms_norm::add_rms_norm(context, x, residual, w, sum, y)
        })
    }

    fn swiglu(&mut self, [gate, up]: [&[f32]; 2], y: &mut [f32]) -> Done {
        self.timed("swiglu", |context| elementwise::swiglu(context, gate, up, y))
    }

    fn add(&mut self, [a, b]: [&[f32]; 2], y: &mut [f32]) -> Done {
        self.timed("add", |context| elementwise::add(context, a, b, y))
    }
}

/// The oracles, which read cases.
struct Oracles;

impl Oracles {
    fn run(case: &str, inputs: &[&[f64]], outputs: &mut [&mut [f64]]) -> Done {
        let case: Case = case.parse()?;
        let entry = proofmark_ops::find(&case.op).ok_or_else(|| format!("no op `{}`", case.op))?;
        let case = complete_case(entry.op, &case);
        let mut tensors: Vec<Vec<f64>> = inputs.iter().map(|input| input.to_vec()).collect();
        tensors.resize(inputs.len() + outputs.len(), Vec::new());
        let values = Values { tensors };
        for (k, output) in outputs.iter_mut().enumerate() {
            output.copy_from_slice(&entry.op.oracle(&case, &values, k, &Want::all()).value);
        }
        Ok(())
    }
}

impl Computer for Oracles {
    type Number = f64;

    fn rms_norm(&mut self, x: &[f64], w: &[f64], y: &mut [f64]) -> Done {
        let (s, d) = (x.len() / w.len(), w.len());
        Oracles::run(&format!("rms_norm:f32[b=1,s={s},d={d}]"), &[x, w], &mut [y])
    }

    fn product(&mut self, _part: &'static str, x: &[f64], w: &[f64], y: &mut [f64]) -> Done {
        let m = product_rows(x, w, y);
        let (n, k) = (y.len() / m, x.len() / m);
        let case = format!("matmul:f32[b=1,m={m},n={n},k={k};layout=nt]");
        Oracles::run(&case, &[x, w], &mut [y])
    }

    fn qk_norm(
        &mut self,
        [q, k]: [&[f64]; 2],
        [wq, wk]: [&[f64]; 2],
        [yq, yk]: [&mut [f64]; 2],
    ) -> Done {
        let s = q.len() / (HEADS * WIDTH);
        let case = format!("qk_norm:f32[b=1,s={s},h={HEADS},kv={KV_HEADS},d={WIDTH}]");
        Oracles::run(&case, &[q, k, wq, wk], &mut [yq, yk])
    }

    fn rotate(&mut self, positions: &[u32], x: &[f64], y: &mut [f64]) -> Done {
        let s = positions.len();
        let h = x.len() / (s * WIDTH);
        let case = format!("rope:f32[b=1,s={s},h={h},d={WIDTH};angles=exact,theta={THETA:?}]");
        let positions: Vec<f64> = positions.iter().map(|&at| f64::from(at)).collect();
        Oracles::run(&case, &[x, &positions], &mut [y])
    }

    fn attend(&mut self, [q, k, v]: [&[f64]; 3], o: &mut [f64]) -> Done {
        let (tokens, keys) = (q.len() / (HEADS * WIDTH), k.len() / (KV_HEADS * WIDTH));
        let sizes = format!("b=1,h={HEADS},kv={KV_HEADS},q={tokens},t={keys},d={WIDTH}");
        Oracles::run(&format!("attention:f32[{sizes};mask=causal]"), &[q, k, v], &mut [o])
    }

    fn add_rms_norm(
        &mut self,
        [x, residual]: [&[f64]; 2],
        w: &[f64],
        [sum, y]: [&mut [f64]; 2],
    ) -> Done {
        let (s, d) = (x.len() / w.len(), w.len());
        let case = format!("add_rms_norm:f32[b=1,s={s},d={d}]");
        Oracles::run(&case, &[x, residual, w], &mut [sum, y])
    }

    fn swiglu(&mut self, [gate, up]: [&[f64]; 2], y: &mut [f64]) -> Done {
        let d = y.len();
        Oracles::run(&format!("swiglu:f32[b=1,s=1,d={d}]"), &[gate, up], &mut [y])
    }

    fn add(&mut self, [a, b]: [&[f64]; 2], y: &mut [f64]) -> Done {
        let d = y.len();
        Oracles::run(&format!("add:f32[b=1,s=1,d={d}]"), &[a, b], &mut [y])
    }
}

/// Rows of `x` where `y = x · wᵀ`: `x` is `[m, k]`, `w` is `[n, k]` and `y` is `[m, n]`.
fn product_rows<N>(x: &[N], w: &[N], y: &[N]) -> usize {
    // m² = (m·k) · (m·n) / (n·k).
    (x.len() * y.len() / w.len()).isqrt()
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

    let mut normed = zeros(tokens * HIDDEN);
    by.rms_norm(x, w("attention_norm"), &mut normed)?;
    let mut query = zeros(tokens * HEADS * WIDTH);
    let mut key = zeros(tokens * KV_HEADS * WIDTH);
    let mut value = zeros(tokens * KV_HEADS * WIDTH);
    for (name, into) in [("query", &mut query), ("key", &mut key), ("value", &mut value)] {
        by.product("matmul q k v", &normed, w(name), into)?;
    }

    let (mut query_normed, mut key_normed) = (zeros(query.len()), zeros(key.len()));
    by.qk_norm(
        [&query, &key],
        [w("query_norm"), w("key_norm")],
        [&mut query_normed, &mut key_normed],
    )?;
    let positions: Vec<u32> = (0..tokens).map(|token| (cache.len() + token) as u32).collect();
    by.rotate(&positions, &query_normed, &mut query)?;
    by.rotate(&positions, &key_normed, &mut key)?;

    let query = heads_apart(&query, HEADS);
    for (heads, positions) in [(&mut cache.keys, &key), (&mut cache.values, &value)] {
        let apart = heads_apart(positions, KV_HEADS);
        for (head, new) in heads.iter_mut().zip(apart.chunks_exact(tokens * WIDTH)) {
            head.extend_from_slice(new);
        }
    }
    let mut mixed = zeros(query.len());
    let (keys, values) = (cache.keys.concat(), cache.values.concat());
    by.attend([&query, &keys, &values], &mut mixed)?;
    let mixed = heads_together(&mixed, HEADS);

    let mut attended = zeros(tokens * HIDDEN);
    by.product("matmul out", &mixed, w("out"), &mut attended)?;
    let mut residual = zeros(tokens * HIDDEN);
    by.add_rms_norm([&attended, x], w("feed_norm"), [&mut residual, &mut normed])?;

    let (mut gate, mut up) = (zeros(tokens * FEED_FORWARD), zeros(tokens * FEED_FORWARD));
    for (name, into) in [("gate", &mut gate), ("up", &mut up)] {
        by.product("matmul gate up", &normed, w(name), into)?;
    }
    let mut gated = zeros(gate.len());
    by.swiglu([&gate, &up], &mut gated)?;
    let mut fed = zeros(tokens * HIDDEN);
    by.product("matmul down", &gated, w("down"), &mut fed)?;
    let mut y = zeros(tokens * HIDDEN);
    by.add([&residual, &fed], &mut y)?;
    Ok(y)
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
        // Independent tokens; otherwise a layer's error would be an error of the next one's input.
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
    let context = Context::with_threads(threads)?;
    let mut library = Library { context, parts: Vec::new() };
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
