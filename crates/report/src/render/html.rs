//! HTML: one file that needs no network, with tables that sort and plots that answer.

use super::{Renderer, Style, svg};
use crate::plain::markup;
use crate::{Align, Cell, Column, Document, Emphasis, KeyFigure, Samples, Section, Shade, Table};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

pub(super) const RENDERER: Renderer =
    Renderer { name: "html", summary: "a page of its own, with plots", render };

const PAGE_STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// Columns from which a table is printed on a page of its own, across.
const MANY: usize = 12;

/// The style of a page and its plots, for other pages that look like it.
pub fn page_style() -> String {
    format!("{}{PAGE_STYLE}", svg::STYLE)
}

/// The page while it is written.
#[derive(Default)]
struct Page<'a> {
    body: String,
    /// Titles of parts, for the table of contents.
    parts: Vec<&'a str>,
    samples: Vec<&'a Samples>,
    is_open: bool,
}

fn render(document: &Document, _style: &Style) -> String {
    let mut page = Page::default();
    document.sections.iter().for_each(|section| page.push(section));
    page.close();
    let style = page_style();
    let title = markup(&document.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{style}</style></head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the report</a>\n\
         <svg width=\"0\" height=\"0\" aria-hidden=\"true\" class=\"skip\">{}</svg>\n\
         <header><h1>{title}</h1>{}</header>\n",
        integrity(&style),
        integrity(SCRIPT),
        svg::SHAPES,
        match document.subtitle.as_str() {
            "" => String::new(),
            subtitle => format!("<p class=\"sub\">{}</p>", markup(subtitle)),
        }
    );
    if page.parts.len() > 1 {
        // The answer comes first, so the list of parts stands beside it and not before it.
        let mut nav = String::from("<nav aria-label=\"Parts of the report\"><ol>");
        for (index, part) in page.parts.iter().enumerate() {
            let _ = write!(nav, "<li><a href=\"#part-{index}\">{}</a></li>", markup(part));
        }
        nav.push_str("</ol></nav>\n");
        let first = page.body.find("<section").unwrap_or(0);
        page.body.insert_str(first, &nav);
    }
    let samples: Vec<Value> = page.samples.iter().map(|samples| flat(samples)).collect();
    // Within a script only `<` can end it.
    let samples = Value::from(samples).to_string().replace('<', "\\u003c");
    let _ = write!(
        out,
        "<main id=\"main\">\n{}</main>\n<footer>Made by proofmark. The page asks no network for \
         anything; numbers with a dotted line show the slices behind them.</footer>\n\
         <dialog id=\"raw\" aria-labelledby=\"raw-title\"></dialog>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n\
         <script type=\"application/json\" id=\"samples\">{samples}</script>\n\
         <script>{SCRIPT}</script>\n</body></html>\n",
        page.body
    );
    out
}

impl<'a> Page<'a> {
    fn push(&mut self, section: &'a Section) {
        match section {
            Section::Heading(text) => {
                self.close();
                let index = self.parts.len();
                self.parts.push(text);
                let _ = write!(
                    self.body,
                    "<section aria-labelledby=\"part-{index}\">\n<h2 id=\"part-{index}\">{}</h2>\n",
                    markup(text)
                );
                self.is_open = true;
            }
            Section::Text(text) => {
                let class = if self.parts.is_empty() { " class=\"lead\"" } else { "" };
                let _ = writeln!(self.body, "<p{class}>{}</p>", markup(text));
            }
            Section::Note(text) => {
                let _ = writeln!(self.body, "<p class=\"note\">{}</p>", markup(&whole(text)));
            }
            Section::Command(text) => {
                self.body.push_str("<div class=\"c\"><pre tabindex=\"0\"><code>");
                let _ = writeln!(self.body, "{}</code></pre></div>", markup(text));
            }
            Section::Table(table) => self.table(table),
            Section::Plot(plot) => {
                let _ = writeln!(self.body, "<figure>{}</figure>", svg::elements(plot));
            }
            Section::RedFlags(flags) => {
                let noun = if flags.len() == 1 { "red flag" } else { "red flags" };
                let _ = write!(
                    self.body,
                    "<div class=\"flags\" role=\"note\"><strong>\u{2691} {} {noun}</strong>, to be looked \
                     at before a number is used:<ul>",
                    flags.len()
                );
                for flag in flags {
                    let _ = write!(self.body, "<li>{}</li>", markup(flag));
                }
                self.body.push_str("</ul></div>\n");
            }
            Section::KeyFigures(figures) => self.figures(figures),
            Section::Details(details) => {
                let summary = markup(&details.summary);
                let _ = writeln!(self.body, "<details><summary>{summary}</summary>");
                details.sections.iter().for_each(|section| self.push(section));
                self.body.push_str("</details>\n");
            }
        }
    }

    fn figures(&mut self, figures: &[KeyFigure]) {
        self.body.push_str("<ul class=\"figures\">");
        for figure in figures {
            let class = figure.emphasis.map_or("", class);
            let _ = write!(
                self.body,
                "<li><b class=\"{class}\">{}</b> <span>{}</span></li>",
                markup(&figure.value),
                markup(&figure.label)
            );
        }
        self.body.push_str("</ul>\n");
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.body.push_str("</section>\n");
        }
    }

    fn table(&mut self, table: &'a Table) {
        if table.is_map {
            self.key();
        }
        let holder = match table.columns.len() {
            _ if table.is_map => "t map",
            many if many > MANY => "t many",
            _ => "t",
        };
        // A table that is wider than the page scrolls, by keys too.
        let name = if table.title.is_empty() { "Table" } else { &table.title };
        let _ = write!(
            self.body,
            "<div class=\"{holder}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>",
            markup(name)
        );
        if !table.title.is_empty() {
            let _ = write!(self.body, "<caption>{}</caption>", markup(&table.title));
        }
        self.body.push_str("<thead><tr>");
        for column in &table.columns {
            let class = if column.align == Align::Right { " class=\"r\"" } else { "" };
            let name = markup(&column.name);
            let _ = write!(self.body, "<th scope=\"col\"{class}><span>{name}</span></th>");
        }
        self.body.push_str("</tr></thead><tbody>\n");
        for row in &table.rows {
            self.body.push_str("<tr>");
            for (index, (column, cell)) in table.columns.iter().zip(row).enumerate() {
                self.cell(column, cell, index == 0);
            }
            self.body.push('\n');
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// What the shades of a map mean.
    fn key(&mut self) {
        self.body.push_str("<p class=\"shades\">");
        for (index, (_, words)) in Shade::STEPS.iter().enumerate() {
            let _ = write!(self.body, "<span class=\"q{index}\">{}</span> ", markup(words));
        }
        self.body.push_str("<span class=\"b\">refused: no time</span></p>\n");
    }

    fn cell(&mut self, column: &Column, cell: &'a Cell, is_name: bool) {
        let mut classes: Vec<String> = Vec::new();
        classes.extend((column.align == Align::Right).then(|| "r".to_owned()));
        classes.extend(column.wraps.then(|| "w".to_owned()));
        classes.extend(cell.emphasis.map(|emphasis| class(emphasis).to_owned()));
        classes.extend(cell.shade.map(|shade| format!("q{}", shade.index())));
        let class = match classes.len() {
            0 => String::new(),
            1 => format!(" class={}", classes[0]),
            _ => format!(" class=\"{}\"", classes.join(" ")),
        };
        let hint = match cell.hint.as_str() {
            "" => String::new(),
            hint => format!(" title=\"{}\"", markup(hint)),
        };
        let text = markup(&cell.text);
        let start = if is_name { "<th scope=row" } else { "<td" };
        let _ = write!(self.body, "{start}{class}{hint}>");
        match &cell.samples {
            Some(samples) => {
                let index = self.sample(samples);
                let _ = write!(
                    self.body,
                    "<button type=button title=\"show its slices\" data-raw={index}>{text}</button>"
                );
            }
            None => self.body.push_str(&text),
        }
    }

    /// The place of some slices among those of the page; slices that two cells show are kept once.
    fn sample(&mut self, samples: &'a Samples) -> usize {
        let known = self.samples.iter().position(|known| known.name == samples.name);
        known.unwrap_or_else(|| {
            self.samples.push(samples);
            self.samples.len() - 1
        })
    }
}

fn class(emphasis: Emphasis) -> &'static str {
    match emphasis {
        Emphasis::Good => "g",
        Emphasis::Bad => "b",
        Emphasis::Dim => "d",
    }
}

/// Samples as the script reads them; four digits are more than a picture shows.
fn flat(samples: &Samples) -> Value {
    let short = |value: &f64| -> Value {
        let rounded = format!("{value:.3e}").parse().unwrap_or(0.0);
        // Whole numbers need no `.0`.
        if f64::fract(rounded) == 0.0 && rounded.abs() < 1e15 {
            json!(rounded as i64)
        } else {
            json!(rounded)
        }
    };
    let trials: Vec<Vec<Value>> =
        samples.trials.iter().map(|trial| trial.iter().map(short).collect()).collect();
    let interval: Vec<Value> = samples.interval.iter().map(short).collect();
    json!({ "n": samples.name, "m": samples.measured, "i": interval, "t": trials })
}

/// The hash by which the content security policy names an inline text, so that no other script or
/// style ever takes effect.
fn integrity(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::from("sha256-");
    for group in Sha256::digest(text.as_bytes()).chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63] as char;
            out.push(if place <= group.len() { digit } else { '=' });
        }
    }
    out
}

/// A remark as a sentence of its own: a terminal has `note:` before it, and a page has not.
fn whole(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    // A name of a contender, an option or a command keeps its letters.
    let is_word = first.chars().all(char::is_alphabetic);
    let mut letters = text.chars();
    let begin = letters.next().filter(|_| is_word).map(|letter| letter.to_uppercase().to_string());
    let text = begin.map_or_else(|| text.to_owned(), |begin| begin + letters.as_str());
    let is_open =
        text.ends_with(|last: char| last.is_alphanumeric() || [')', '`', '%'].contains(&last));
    if is_open { text + "." } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plot, PlotAxis, PlotKind, Point, Series};
    use std::sync::Arc;

    const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";

    fn sample() -> Document {
        let mut document = Document::new(HOSTILE, Value::Null, "");
        document.text(HOSTILE);
        document.heading(HOSTILE);
        document.heading("second");
        document.note(HOSTILE);
        document.command(HOSTILE);
        let samples = Samples {
            name: HOSTILE.to_owned(),
            measured: 3,
            trials: vec![vec![1234.56, 0.12345], vec![2e9]],
            interval: [1.0, 2.0, f64::NAN],
        };
        let cell = Cell { samples: Some(Arc::new(samples)), ..Cell::plain(HOSTILE) };
        let row = vec![Cell::with(HOSTILE, Emphasis::Bad), cell];
        let columns = [Column::left("name", 0), Column::right("time", 0)];
        document.table(HOSTILE, &columns, vec![row]);
        let plot =
            Plot::new(HOSTILE, PlotKind::Lines, PlotAxis::log(HOSTILE, ""), PlotAxis::default());
        document.plot(plot.with(Series::new(HOSTILE, vec![Point::at(1.0, 1.0, HOSTILE)])));
        document
    }

    #[test]
    fn a_note_is_a_whole_sentence_and_names_keep_their_letters() {
        assert_eq!(whole("each row is one case"), "Each row is one case.");
        assert_eq!(whole("It is said."), "It is said.");
        assert_eq!(whole("native/simd is one"), "native/simd is one.");
        assert_eq!(whole(""), "");
    }

    #[test]
    fn hostile_names_stay_text_wherever_they_stand() {
        let page = render(&sample(), &Style::default());
        assert_eq!(page.matches("<script").count(), 2, "only its own two");
        assert_eq!(page.matches("</script").count(), 2);
        assert!(!page.contains("<img"), "{page}");
        assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    }

    #[test]
    fn the_page_has_landmarks_and_a_policy_that_lets_nothing_else_in() {
        let page = render(&sample(), &Style::default());
        for part in ["<main ", "<nav ", "<header>", "<footer>", "<caption>", "default-src 'none'"] {
            assert!(page.contains(part), "{part}");
        }
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("http://") && !outside.contains("https://"));
        assert!(page.contains(&integrity(SCRIPT)));
    }

    #[test]
    fn flags_figures_maps_and_details_are_there_without_a_script() {
        let mut document = Document::new("t", Value::Null, "");
        document.subtitle = HOSTILE.to_owned();
        document.sections.push(Section::RedFlags(vec![HOSTILE.to_owned()]));
        let (value, label) = (HOSTILE.to_owned(), HOSTILE.to_owned());
        document.sections.push(Section::KeyFigures(vec![KeyFigure {
            value,
            label,
            emphasis: None,
        }]));
        let cell = Cell { shade: Shade::of(3.0), hint: HOSTILE.to_owned(), ..Cell::plain("3.0") };
        let columns = vec![Column::left("case", 0), Column::right("", 0).named(HOSTILE)];
        document.map("a map", columns, vec![vec![Cell::plain("a case"), cell]]);
        document.details(HOSTILE, |inner| inner.text("inside"));
        document.details("empty", |_| ());
        let page = render(&document, &Style::default());
        assert_eq!(page.matches("<script").count(), 2, "only its own two");
        assert!(!page.contains("<img"), "{page}");
        for part in [
            "1 red flag</strong>",
            "<ul class=\"figures\">",
            "<th scope=row>a case",
            "<td class=\"r q4\" title=",
            "<p class=\"shades\"><span class=\"q0\">fastest</span>",
            "<p class=\"lead\">inside</p>\n</details>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert_eq!(page.matches("<details>").count(), 1);
    }

    #[test]
    fn integrity_is_base64_of_sha_256() {
        let want = "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";
        assert_eq!(integrity("abc"), want);
    }

    #[test]
    fn samples_lose_digits_that_nobody_sees() {
        let Section::Table(table) = &sample().sections[5] else { panic!("a table") };
        let samples = flat(table.rows[0][1].samples.as_ref().unwrap());
        assert_eq!(samples["t"], json!([[1235, 0.1235], [2_000_000_000_i64]]));
    }
}
