//! divan's table: it has no other output.
//!
//! It shows four digits of each figure, so that a single figure may be off by 0.05 %. The ratio is
//! made of many, whose last digits differ.

/// Runs every benchmark once, to list them with their arguments.
pub(crate) const ONCE: [&str; 7] =
    ["--bench", "--color", "never", "--sample-count", "1", "--sample-size", "1"];

/// A row of the table that has figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// The names from the root, with `::` between them.
    pub(crate) path: String,
    /// Nanoseconds of one iteration, in the median.
    pub(crate) median_ns: f64,
}

/// The arguments that measure one benchmark once.
pub(crate) fn measuring(path: &str, seconds: f64) -> Vec<String> {
    // A number of threads is a row of its own, but no part of the name that filters are held to.
    let (name, last) = path.rsplit_once("::").unwrap_or(("", path));
    let filter = if last.starts_with("t=") { name } else { path };
    let words = ["--bench", "--color", "never", "--exact", filter, "--max-time"];
    words.iter().map(|word| (*word).to_owned()).chain([seconds.to_string()]).collect()
}

/// The median of a benchmark in a table.
pub(crate) fn median_ns(text: &str, path: &str) -> Option<f64> {
    rows(text).into_iter().find(|row| row.path == path).map(|row| row.median_ns)
}

/// All rows with figures.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let mut names: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        let Some((depth, rest)) = branch(line) else { continue };
        let mut columns = rest.split('│');
        let first = columns.next().unwrap_or_default();
        let (name, fastest) = first.trim_end().split_once("  ").unwrap_or((first.trim(), ""));
        names.truncate(depth);
        names.push(name.trim().to_owned());
        let median = columns.nth(1).and_then(nanoseconds);
        if let (false, Some(median_ns)) = (fastest.trim().is_empty(), median) {
            rows.push(Row { path: names.join("::"), median_ns });
        }
    }
    rows
}

/// How deep in the tree a line's name stands, and the line from its name on. Lines of further
/// figures, as throughput, have no name.
fn branch(line: &str) -> Option<(usize, &str)> {
    let (mut depth, mut rest) = (0, line);
    loop {
        if let Some(name) = rest.strip_prefix("├─ ").or_else(|| rest.strip_prefix("╰─ ")) {
            return Some((depth + 1, name));
        }
        match rest.strip_prefix("│  ").or_else(|| rest.strip_prefix("   ")) {
            Some(inner) => (depth, rest) = (depth + 1, inner),
            None => break,
        }
    }
    (depth == 0 && rest.contains("fastest")).then_some((0, rest))
}

/// `1.234 µs` in nanoseconds.
fn nanoseconds(cell: &str) -> Option<f64> {
    let (number, unit) = cell.trim().split_once(' ')?;
    let unit = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.replace(',', "").parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Timer precision: 22 ns
div        fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ sized                 │               │               │               │         │
│  ├─ 10   10.84 ns      │ 22.86 ns      │ 10.91 ns      │ 11.03 ns      │ 100     │ 25600
│  │       92.2 MB/s     │ 43.7 MB/s     │ 91.6 MB/s     │ 90.6 MB/s     │         │
│  ╰─ 100  183.2 ns      │ 185.6 ns      │ 184.2 ns      │ 184.2 ns      │ 100     │ 1600
╰─ sum300  778.5 ns      │ 3.746 µs      │ 1.25 µs       │ 820.3 ns      │ 100     │ 400
";

    #[test]
    fn the_table_is_read_with_its_arguments() {
        let rows: Vec<(String, f64)> =
            rows(TABLE).into_iter().map(|row| (row.path, row.median_ns)).collect();
        let row = |path: &str, ns| (path.to_owned(), ns);
        let expected = [
            row("div::sized::10", 10.91),
            row("div::sized::100", 184.2),
            row("div::sum300", 1250.0),
        ];
        assert_eq!(rows, expected);
        assert_eq!(median_ns(TABLE, "div::sum300"), Some(1250.0));
        assert_eq!(median_ns(TABLE, "div::sized"), None);
    }

    #[test]
    fn a_number_of_threads_is_no_part_of_a_filter() {
        assert!(measuring("div::a::t=2", 0.1).contains(&"div::a".to_owned()));
        assert!(measuring("div::a", 0.1).contains(&"div::a".to_owned()));
    }
}
