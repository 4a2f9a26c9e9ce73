//! Markdown, as code hosts show it; names of contenders stay text whatever they contain.

use super::picture::{elsewhere, picture};
use super::{Renderer, Style};
use crate::plain::plain;
use crate::{Align, Document, Section, Table};

pub(super) const RENDERER: Renderer =
    Renderer { name: "markdown", summary: "Markdown with tables", render };

/// Characters of a line of code that code hosts show without scrolling.
const PICTURE_WIDTH: usize = 100;

fn render(document: &Document, _style: &Style) -> String {
    let mut out = format!("# {}\n", escaped(&document.title));
    if !document.subtitle.is_empty() {
        out.push_str(&format!("\n{}\n", escaped(&document.subtitle)));
    }
    let is_heading = |section: &Section| matches!(section, Section::Heading(_));
    let depth = if document.sections.iter().any(is_heading) { "###" } else { "##" };
    push_sections(&mut out, &document.sections, depth);
    out
}

fn push_sections(out: &mut String, sections: &[Section], depth: &str) {
    for section in sections {
        // The sentence beside them says the same.
        if matches!(section, Section::KeyFigures(_)) {
            continue;
        }
        out.push('\n');
        match section {
            Section::Heading(text) => out.push_str(&format!("## {}\n", escaped(text))),
            Section::Text(text) => out.push_str(&(escaped(text) + "\n")),
            Section::Note(text) => out.push_str(&format!("_Note:_ {}\n", escaped(text))),
            Section::RedFlags(flags) => flags.iter().for_each(|text| {
                out.push_str(&format!("- **Red flag:** {}\n", escaped(text)));
            }),
            Section::KeyFigures(_) => {}
            // Indented code needs no escaping: only a line break could end it.
            Section::Command(text) => out.push_str(&format!("    {}\n", plain(text))),
            Section::Table(table) => push_table(out, table, depth),
            Section::Plot(plot) => {
                out.push_str(&format!("{depth} {}\n\n", escaped(&plot.title)));
                match picture(plot, PICTURE_WIDTH) {
                    Some(text) => text.lines().for_each(|line| {
                        out.push_str(&format!("    {line}\n"));
                    }),
                    None => out.push_str(&format!("_Note:_ {}\n", escaped(&elsewhere(plot)))),
                }
            }
            Section::Details(details) => {
                let summary = escaped(&details.summary);
                out.push_str(&format!("<details><summary>{summary}</summary>\n"));
                push_sections(out, &details.sections, depth);
                out.push_str("\n</details>\n");
            }
        }
    }
}

fn push_table(out: &mut String, table: &Table, depth: &str) {
    if !table.title.is_empty() {
        out.push_str(&format!("{depth} {}\n\n", escaped(&table.title)));
    }
    push_row(out, table.columns.iter().map(|column| escaped(&column.name)));
    let rule = |align| if align == Align::Right { "---:" } else { "---" };
    push_row(out, table.columns.iter().map(|column| rule(column.align).to_owned()));
    for row in &table.rows {
        push_row(out, row.iter().map(|cell| escaped(&cell.text)));
    }
}

fn push_row(out: &mut String, cells: impl Iterator<Item = String>) {
    out.push_str(&format!("| {} |\n", cells.collect::<Vec<_>>().join(" | ")));
}

/// Text in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in plain(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '[' | ']' | '~' | '#' | '!' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Column};
    use serde_json::Value;

    #[test]
    fn tables_and_hostile_names_stay_what_they_are() {
        let mut document = Document::new("T", Value::Null, "");
        let columns = [Column::left("name", 0), Column::right("time", 0)];
        let name = "<script>alert(1)</script>|\u{1b}[31m";
        document.table("by name", &columns, vec![vec![Cell::plain(name), Cell::plain("1 ns")]]);
        document.note("a *b*");
        document.command("run `this`\nand that");
        assert_eq!(
            render(&document, &Style::default()),
            "# T\n\n## by name\n\n| name | time |\n| --- | ---: |\n\
             | &lt;script&gt;alert(1)&lt;/script&gt;\\|\\[31m | 1 ns |\n\n\
             _Note:_ a \\*b\\*\n\n    run `this` and that\n"
        );
    }
}
