//! The report of a profile: hottest functions and lines, and a flame graph.

use crate::document::{Cell, Column, Document};
use crate::plain::{percent, plain};
use proofmark_analyze::{Profile, Share};
use proofmark_schema::quantity::{Bytes, Nanos, three_digits};
use proofmark_schema::{Case, ContenderId};
use serde_json::json;
use std::collections::BTreeMap;

/// What was sampled.
#[derive(Clone, Debug)]
pub struct ProfiledCase<'a> {
    /// The case.
    pub case: &'a Case,
    /// The contender.
    pub contender: &'a ContenderId,
    /// Nanoseconds of a call.
    pub call_ns: f64,
    /// Heap allocations of a call, and their bytes.
    pub allocations: (f64, f64),
    /// Whether the worker took the samples, and not the kernel.
    pub is_own: bool,
    /// Samples a second of all threads together.
    pub per_second: f64,
    /// Samples for which there was no room.
    pub lost: u64,
}

const FUNCTIONS: [Column; 3] =
    [Column::right("own", 0), Column::right("with inlined", 1), Column::text("function", 0)];

const LINES: [Column; 2] = [Column::right("own", 0), Column::left("line", 0)];

/// Rows of each table.
const MOST: usize = 12;

/// The document of a profile.
pub fn profile(of: &ProfiledCase<'_>, profile: &Profile) -> Document {
    let (case, contender) = (of.case, of.contender);
    let data = json!({
        "case": case.to_string(),
        "contender": contender.to_string(),
        "call_ns": of.call_ns,
        "allocations_per_call": of.allocations.0,
        "allocated_bytes_per_call": of.allocations.1,
        "sampler": if of.is_own { "own" } else { "perf" },
        "samples": profile.samples,
        "samples_per_second": of.per_second,
        "samples_lost": of.lost,
        "functions": profile.functions,
        "lines": profile.lines,
    });
    let title = format!("Where the time of {contender} on {case} goes");
    let mut document = Document::new(title, data, "functions");
    let share = |count: u64| percent(100.0 * count as f64 / profile.samples.max(1) as f64);
    let function = |it: &Share| {
        vec![Cell::plain(share(it.own)), Cell::plain(share(it.total)), Cell::plain(short(&it.name))]
    };
    let line = |it: &Share| vec![Cell::plain(share(it.own)), Cell::plain(&it.name)];
    let (functions, lines) = (profile.functions.iter(), profile.lines.iter());
    document.table("Functions", &FUNCTIONS, functions.take(MOST).map(function).collect());
    document.table("Lines", &LINES, lines.take(MOST).map(line).collect());
    // A library without debug lines has functions only.
    let hottest = [profile.lines.first(), profile.functions.first()];
    if let Some(hottest) = hottest.into_iter().flatten().find(|it| it.own * 10 >= profile.samples) {
        document.text(format!(
            "{} of the time is at {}; a call takes {}.",
            share(hottest.own),
            short(&hottest.name),
            Nanos(of.call_ns)
        ));
    }
    document.note(match of.allocations {
        (0.0, _) => "a call allocates nothing on the heap".to_owned(),
        (count, bytes) => format!(
            "a call makes {} heap allocations of {} in all; the places are not recorded",
            three_digits(count),
            Bytes(bytes as u64)
        ),
    });
    document.note(format!(
        "{} samples of the worker's threads, {} a second, by {}; a sample is put down to the \
         function that the compiler made, and to those inlined there; callers are not recorded",
        profile.samples,
        three_digits(of.per_second),
        match of.is_own {
            true => "a timer of its own, at most one a tick of each thread",
            false => "the kernel's clock event",
        }
    ));
    if profile.lines.is_empty() && profile.samples > 0 {
        document.note(
            "there are no lines, because the sampled code has no debug information here; \
             docs/install.md#symbols says how to get that of proofmark",
        );
    }
    if of.lost > 0 {
        document.note(format!("{} more were lost for want of room: give less --hertz", of.lost));
    }
    document
}

/// A name without the modules of its generic arguments, and not endless.
pub(super) fn short(name: &str) -> String {
    const MOST_LETTERS: usize = 160;
    let (head, arguments) = name.split_at(name.find('<').unwrap_or(name.len()));
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut text = head.to_owned();
    for word in arguments.split_inclusive(|c| !is_word(c)) {
        text += word.rsplit("::").next().unwrap_or(word);
    }
    match text.char_indices().nth(MOST_LETTERS) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// Stacks in the form that flame graph tools read: `outer;inner 42`, one a line.
pub fn folded(profile: &Profile) -> String {
    let line = |(path, samples): &(String, u64)| format!("{} {samples}\n", plain(path));
    profile.folded.iter().map(line).collect()
}

/// A node of the flame graph.
#[derive(Default)]
struct Node {
    samples: u64,
    inner: BTreeMap<String, Node>,
}

const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
/// Rectangles narrower than this are left out.
const LEAST: f64 = 0.4;

/// A flame graph as one SVG file without scripts: a title on every rectangle tells its share.
pub fn flame_graph(title: &str, profile: &Profile) -> String {
    let mut root = Node { samples: profile.samples, inner: BTreeMap::new() };
    let mut depth = 1;
    for (path, samples) in &profile.folded {
        let mut node = &mut root;
        let names = path.split(';');
        depth = depth.max(names.clone().count() + 1);
        for name in names {
            node = node.inner.entry(name.to_owned()).or_default();
            node.samples += samples;
        }
    }
    let height = ROW * depth as f64 + 40.0;
    let mut body = String::new();
    draw(&mut body, "all", &root, 0.0, 30.0, profile.samples.max(1));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\" role=\"img\">\n\
         <style>rect{{stroke:#fff;stroke-width:.5}}svg{{background:#fff}}</style>\n\
         <text x=\"4\" y=\"18\" font-size=\"14\">{}</text>\n{body}</svg>\n",
        escaped(title)
    )
}

/// Draws a node with what it holds below it, and gives its width.
fn draw(body: &mut String, name: &str, node: &Node, x: f64, y: f64, all: u64) -> f64 {
    let width = WIDTH * node.samples as f64 / all as f64;
    if width < LEAST {
        return width;
    }
    let share = percent(100.0 * node.samples as f64 / all as f64);
    let letters = (width / 7.0) as usize;
    let last = short(name);
    let last = last.split('<').next().and_then(|head| head.rsplit("::").next()).unwrap_or("");
    let shown: String = if letters >= 3 { last.chars().take(letters).collect() } else { "".into() };
    *body += &format!(
        "<g><title>{} ({share})</title><rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" \
         height=\"{ROW}\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>\n",
        escaped(name),
        colour(name),
        x + 2.0,
        y + 13.0,
        escaped(&shown)
    );
    let mut at = x;
    for (name, inner) in &node.inner {
        at += draw(body, name, inner, at, y + ROW, all);
    }
    width
}

/// Warm, and the same for the same name.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(17u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte));
    format!("hsl({} 80% {}%)", hash % 50, 62 + hash / 64 % 16)
}

fn escaped(text: &str) -> String {
    let text = plain(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Style, find};

    fn example() -> Profile {
        let share = |name: &str, own| Share { name: name.to_owned(), own, total: own };
        Profile {
            samples: 10,
            functions: vec![share("gemm", 7), share("<script>alert(1)</script>", 3)],
            lines: vec![share("crates/ops/src/gemm.rs:7", 7)],
            folded: vec![("gemm;fmadd".to_owned(), 7), ("<script>alert(1)</script>".to_owned(), 3)],
        }
    }

    #[test]
    fn the_hottest_functions_and_lines_are_told_with_their_shares() {
        let (case, contender) = ("add:f32[b=1,s=1,d=9]", "native/simd@avx2");
        let of = ProfiledCase {
            case: &case.parse().unwrap(),
            contender: &contender.parse().unwrap(),
            call_ns: 1200.0,
            allocations: (0.0, 0.0),
            is_own: true,
            per_second: 250.0,
            lost: 3,
        };
        let document = profile(&of, &example());
        let text = (find("term").unwrap().render)(
            &document,
            &Style { width: 120, colour: false, ..Style::default() },
        );
        assert!(text.contains("70 %") && text.contains("gemm.rs:7"), "{text}");
        assert!(text.contains("a call allocates nothing"), "{text}");
        assert!(text.contains("250 a second, by a timer of its own"), "{text}");
        assert!(text.contains("3 more were lost"), "{text}");
        assert!(!text.contains("no debug information"), "{text}");

        let stripped = profile(&of, &Profile { lines: vec![], ..example() });
        let style = Style { width: 120, colour: false, ..Style::default() };
        let text = (find("term").unwrap().render)(&stripped, &style);
        assert!(text.contains("no debug information"), "{text}");
    }

    #[test]
    fn names_lose_the_modules_of_their_arguments_only() {
        let long = "ops::row::run<proofmark_ops::softmax::Softmax, f32, proofmark_simd::Avx512>";
        assert_eq!(short(long), "ops::row::run<Softmax, f32, Avx512>");
        assert_eq!(short("a::b"), "a::b");
        assert!(short(&"x".repeat(500)).ends_with('…'));
    }

    #[test]
    fn a_flame_graph_has_a_rectangle_for_each_frame_and_runs_no_script() {
        let svg = flame_graph("a < b", &example());
        assert_eq!(svg.matches("<rect").count(), 4, "{svg}");
        assert!(svg.contains("fmadd (70 %)") && svg.contains("a &lt; b"), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
        assert_eq!(folded(&example()).lines().next(), Some("gemm;fmadd 7"));
    }
}
