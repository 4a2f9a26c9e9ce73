//! Text for terminals: tables that fit, and records as lines where no table does.

use super::picture::{elsewhere, picture};
use super::spark::with_sparklines;
use super::{Renderer, Style};
use crate::plain::plain;
use crate::{Align, Cell, Column, Document, Emphasis, Section, Table};
use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, Width};

pub(super) const RENDERER: Renderer =
    Renderer { name: "term", summary: "text for a terminal", render };

/// Narrower terminals are treated as this wide: words do not fit below.
const LEAST_WIDTH: usize = 20;
/// Columns below which broken sentences cannot be read.
const LEAST_SENTENCE: usize = 24;

fn render(document: &Document, style: &Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..*style };
    let mut out = wrapped(&document.title, "", style.width);
    if !document.subtitle.is_empty() {
        out.push_str(&wrapped(&document.subtitle, "", style.width));
    }
    let mut sections = document.sections.iter().peekable();
    let mut after_details = false;
    while let Some(section) = sections.next() {
        let part = match section {
            Section::Heading(text) => heading(text, &style),
            Section::Text(text) => wrapped(text, "", style.width),
            Section::Note(text) => wrapped(&format!("note: {text}"), "      ", style.width),
            Section::RedFlags(flags) => flags.iter().map(|text| red_flag(text, &style)).collect(),
            Section::Command(text) => format!("  $ {}\n", plain(text)),
            Section::Table(table) if table.is_map => map_text(table, &style),
            Section::Table(table) => table_text(table, &style),
            Section::Plot(plot) => match picture(plot, style.width) {
                Some(text) => wrapped(&plot.title, "  ", style.width) + &text,
                None => wrapped(&format!("note: {}", elsewhere(plot)), "      ", style.width),
            },
            // The sentence beside them says the same.
            Section::KeyFigures(_) => continue,
            Section::Details(details) => {
                let text = format!("more: {}", details.summary);
                let is_same = |next: &&Section| match next {
                    Section::Details(next) => next.command == details.command,
                    _ => false,
                };
                let is_last = sections.peek().is_none_or(|next| !is_same(next));
                let command = is_last.then(|| format!("  $ {}\n", plain(&details.command)));
                wrapped(&text, "      ", style.width) + &command.unwrap_or_default()
            }
        };
        // A command belongs to the paragraph before it; everything else stands apart.
        let is_next = after_details && matches!(section, Section::Details(_));
        if !is_next && !matches!(section, Section::Command(_)) {
            out.push('\n');
        }
        after_details = matches!(section, Section::Details(_));
        out.push_str(&part);
    }
    out
}

/// A map as a table, if all of it fits: a part of it would hide contenders.
fn map_text(table: &Table, style: &Style) -> String {
    let kept: Vec<usize> = (0..table.columns.len()).collect();
    let needed = grid(table, &kept, false).column_max_content_widths();
    let width: usize = needed.iter().map(|&column| usize::from(column) + 2).sum();
    if width <= style.width {
        return table_text(table, style);
    }
    let (rows, columns) = (table.rows.len(), table.columns.len() - 1);
    let text =
        format!("note: a map of {rows} cases and {columns} contenders is drawn with --format html");
    wrapped(&text, "      ", style.width)
}

/// A paragraph that stands out with and without colour.
fn red_flag(text: &str, style: &Style) -> String {
    let lines = wrapped(&format!("RED FLAG: {text}"), "          ", style.width);
    if style.colour { format!("\u{1b}[31m{}\u{1b}[0m\n", lines.trim_end()) } else { lines }
}

/// A line that stands out with and without colour.
fn heading(text: &str, style: &Style) -> String {
    let line = wrapped(&format!("== {text} =="), "", style.width);
    if style.colour { format!("\u{1b}[1m{}\u{1b}[0m\n", line.trim_end()) } else { line }
}

/// The table with all columns, else with those of low rank, else record by record.
fn table_text(table: &Table, style: &Style) -> String {
    let drawn = style.sparklines.then(|| with_sparklines(table)).flatten();
    let table = drawn.as_ref().unwrap_or(table);
    let title = match table.title.as_str() {
        "" => String::new(),
        title => wrapped(title, "  ", style.width),
    };
    let highest = table.columns.iter().map(|column| column.rank).max().unwrap_or(0);
    for rank in (0..=highest).rev() {
        let kept: Vec<usize> =
            (0..table.columns.len()).filter(|&i| table.columns[i].rank <= rank).collect();
        let mut grid = grid(table, &kept, style.colour);
        if fits(&mut grid, table, &kept, style.width) {
            let text: String = grid.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
            return title + &text + &left_out(&table.columns, rank, style.width);
        }
    }
    title + &stacked(table, style.width)
}

/// Whether the grid is narrow enough, or can be made so by breaking its sentences into lines.
fn fits(grid: &mut comfy_table::Table, table: &Table, kept: &[usize], width: usize) -> bool {
    /// A space on either side of every cell.
    const PADDING: usize = 2;
    let needed = grid.column_max_content_widths();
    let total: usize = needed.iter().map(|&column| usize::from(column) + PADDING).sum();
    if total <= width {
        return true;
    }
    let wrapping: Vec<usize> = (0..kept.len()).filter(|&i| table.columns[kept[i]].wraps).collect();
    let breakable: usize = wrapping.iter().map(|&i| usize::from(needed[i])).sum();
    let room = width.saturating_sub(total - breakable);
    if wrapping.is_empty() || room / wrapping.len() < LEAST_SENTENCE {
        return false;
    }
    // Sentences that are short enough keep their width; the longest share what is left.
    let mut left = room;
    let mut by_need = wrapping;
    by_need.sort_by_key(|&i| needed[i]);
    let count = by_need.len();
    for (done, &i) in by_need.iter().enumerate() {
        let share = usize::from(needed[i]).min(left / (count - done));
        left -= share;
        let fixed = Width::Fixed((share + PADDING) as u16);
        if let Some(column) = grid.column_mut(i) {
            column.set_constraint(ColumnConstraint::Absolute(fixed));
        }
    }
    grid.set_content_arrangement(ContentArrangement::Dynamic);
    grid.set_width(width.min(usize::from(u16::MAX)) as u16);
    true
}

fn left_out(columns: &[Column], rank: u8, width: usize) -> String {
    let names: Vec<&str> =
        columns.iter().filter(|column| column.rank > rank).map(|column| &*column.name).collect();
    if names.is_empty() {
        return String::new();
    }
    let text = format!("(too narrow for: {}; JSON has everything)", names.join(", "));
    wrapped(&text, " ", width)
}

/// The kept columns as a grid without lines.
fn grid(table: &Table, kept: &[usize], colour: bool) -> comfy_table::Table {
    let mut grid = comfy_table::Table::new();
    grid.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if colour {
        grid.enforce_styling();
    } else {
        grid.force_no_tty();
    }
    let columns: Vec<&Column> = kept.iter().map(|&i| &table.columns[i]).collect();
    grid.set_header(columns.iter().map(|column| {
        let cell = comfy_table::Cell::new(plain(&column.name)).set_alignment(side(column.align));
        if colour { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    for row in &table.rows {
        let cells = kept.iter().zip(&columns).map(|(&i, column)| {
            let cell = comfy_table::Cell::new(plain(&row[i].text));
            dressed(cell.set_alignment(side(column.align)), &row[i], colour)
        });
        grid.add_row(cells);
    }
    grid
}

fn side(align: Align) -> CellAlignment {
    match align {
        Align::Left => CellAlignment::Left,
        Align::Right => CellAlignment::Right,
    }
}

fn dressed(cell: comfy_table::Cell, source: &Cell, colour: bool) -> comfy_table::Cell {
    match source.emphasis.filter(|_| colour) {
        Some(Emphasis::Good) => cell.fg(Color::Green),
        Some(Emphasis::Bad) => cell.fg(Color::Red),
        Some(Emphasis::Dim) => cell.add_attribute(Attribute::Dim),
        None => cell,
    }
}

/// Every row as lines of `name: value`, with an empty line between rows; what is not there is left
/// out.
fn stacked(table: &Table, width: usize) -> String {
    let rows: Vec<String> = table
        .rows
        .iter()
        .map(|row| {
            let told = table.columns.iter().zip(row).filter(|(_, cell)| **cell != Cell::nothing());
            let lines = told.map(|(column, cell)| {
                wrapped(&format!("{}: {}", column.name, cell.text), "    ", width - 2)
            });
            lines.collect::<String>().lines().map(|line| format!("  {line}\n")).collect()
        })
        .collect();
    rows.join("\n")
}

/// The text in lines of at most `width` characters, where its words allow it; lines after the
/// first start with `indent`.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in plain(text).split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        let is_first = line.trim_start().is_empty();
        if !is_first && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{indent}{word}"));
        } else {
            line.push_str(if is_first { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn sample() -> Document {
        let mut document = Document::new("A title", Value::Null, "");
        let columns =
            [Column::left("name", 0), Column::right("time", 0), Column::right("memory", 1)];
        let row = |name: &str, time: &str| {
            vec![Cell::plain(name), Cell::with(time, Emphasis::Good), Cell::plain("1.50 MiB")]
        };
        let rows = vec![row("native/simd@avx2", "10.0 µs ±1.0 %"), row("evil\u{1b}[2J", "–")];
        document.table("table of two", &columns, rows);
        document.note("a remark");
        document.command("proofmark prove x --seed 7");
        document
    }

    fn at(width: usize) -> String {
        render(&sample(), &Style { width, colour: false, ..Style::default() })
    }

    #[test]
    fn a_wide_terminal_gets_every_column() {
        let text = at(100);
        let expected = "\
A title

table of two
 name                        time    memory
 native/simd@avx2  10.0 µs ±1.0 %  1.50 MiB
 evil[2J                        –  1.50 MiB

note: a remark
  $ proofmark prove x --seed 7
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_narrower_one_loses_columns_of_high_rank_and_says_which() {
        let text = at(40);
        assert!(!text.contains("1.50 MiB"), "{text}");
        assert!(text.contains("too narrow for: memory"), "{text}");
    }

    #[test]
    fn a_very_narrow_one_gets_lines_of_name_and_value() {
        let text = at(24);
        assert!(text.contains("  name: native/simd@avx2\n"), "{text}");
        assert!(text.contains("  memory: 1.50 MiB\n"), "{text}");
        let columns = [Column::left("a long name of a column", 0), Column::left("b", 0)];
        let table = Table {
            columns: columns.to_vec(),
            rows: vec![vec![Cell::plain("x"), Cell::nothing()]],
            ..Table::default()
        };
        assert_eq!(stacked(&table, 40), "  a long name of a column: x\n");
        let longest =
            text.lines().filter(|line| !line.starts_with("  $")).map(|line| line.chars().count());
        assert!(longest.max() <= Some(24), "{text}");
    }

    #[test]
    fn sentences_are_broken_before_a_table_is_given_up() {
        let mut document = Document::new("T", Value::Null, "");
        let columns = [Column::left("check", 0), Column::text("detail", 0)];
        let detail = "one two three four five six seven eight nine ten eleven twelve";
        document.table("", &columns, vec![vec![Cell::plain("load"), Cell::plain(detail)]]);
        let text = render(&document, &Style { width: 60, colour: false, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains(" load   one two three"), "{text}");
        assert!(detail.split(' ').all(|word| text.contains(word)), "{text}");
    }

    #[test]
    fn only_colour_brings_escapes() {
        for width in [10, 24, 40, 100] {
            assert!(!at(width).contains('\u{1b}'));
        }
        let coloured = render(&sample(), &Style { width: 100, colour: true, ..Style::default() });
        assert!(coloured.contains("\u{1b}["));
        assert!(!coloured.contains("\u{1b}[2J"));
    }
}
