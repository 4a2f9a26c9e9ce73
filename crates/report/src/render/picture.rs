//! Plots as text: bars, maps and lines of few points; the rest needs a real picture.

use crate::plain::{plain, quantity};
use crate::plot::{distinct, stacked};
use crate::{Plot, PlotAxis, PlotKind, Point, Series};

/// Cells of the longest bar.
const BAR: usize = 32;
/// Cells of the line on which intervals stand, at most and at least.
const STRIP: usize = 32;
const LEAST_STRIP: usize = 12;
/// Rows beyond which a table of points is no picture any more.
const MOST_ROWS: usize = 24;

/// The plot as lines of at most `width` characters; `None` where that would not be readable.
pub(super) fn picture(plot: &Plot, width: usize) -> Option<String> {
    let text = match plot.kind {
        PlotKind::Bars => bars(plot, width),
        PlotKind::Stacks => stacks(plot, width),
        PlotKind::HeatMap => {
            let unit = plot.value.as_ref().map_or("", |axis| axis.unit.as_str());
            let points = plot.points().filter_map(|point| Some((point.x, point.y, point.value?)));
            let points: Vec<(f64, f64, f64)> = points.collect();
            let columns = distinct(points.iter().map(|point| point.0));
            let cell = |x: f64, y: f64| {
                let at = points.iter().find(|point| (point.0, point.1) == (x, y))?;
                Some(quantity(at.2, unit))
            };
            let row = |y: f64| {
                let name = quantity(y, &plot.y.unit);
                (name, columns.iter().map(|&x| cell(x, y)).collect())
            };
            let rows = distinct(points.iter().map(|point| point.1)).into_iter().map(row);
            let corner = format!("{} \\ {}", plot.y.name, plot.x.name);
            grid(corner, &columns, &plot.x, rows.collect())
        }
        // Contenders are rows and sizes are columns, because names are long and sizes few.
        PlotKind::Lines => {
            let columns = distinct(plot.points().map(|point| point.x));
            let at = |series: &Series, x: f64| {
                let point = series.points.iter().find(|point| point.x == x)?;
                Some(quantity(point.y, &plot.y.unit))
            };
            let row = |series: &Series| {
                (plain(&series.name), columns.iter().map(|&x| at(series, x)).collect())
            };
            let rows = plot.series.iter().filter(|series| !series.is_limit).map(row);
            grid(plot.x.title(), &columns, &plot.x, rows.collect())
        }
        PlotKind::Intervals => return intervals(plot, width),
        PlotKind::Scatter | PlotKind::Distribution | PlotKind::Roofline => String::new(),
    };
    let rows = text.lines().count();
    let fits = text.lines().all(|line| line.chars().count() <= width);
    (fits && rows > 0 && rows <= MOST_ROWS + 1).then_some(text)
}

/// What to do to see a plot that text cannot show.
pub(super) fn elsewhere(plot: &Plot) -> String {
    format!("a plot, `{}`, is drawn with --format html or svg; JSON has its points", plot.title)
}

/// Rows of intervals that are shown; the greatest ratios come first.
const INTERVALS: usize = 40;

/// A row a point: its label, the interval on a line with 1, the ratio and what stands beside it.
fn intervals(plot: &Plot, width: usize) -> Option<String> {
    let mut rows: Vec<&Point> = plot.points().collect();
    rows.sort_by(|a, b| a.x.total_cmp(&b.x));
    let logs = rows.iter().map(|point| point.y.ln()).chain([0.0]);
    let (low, high) =
        logs.fold((0.0, 0.0), |(low, high): (f64, f64), log| (low.min(log), high.max(log)));
    let shown = &rows[..rows.len().min(INTERVALS)];
    let cells = |text: &str| text.chars().count();
    let labels = shown.iter().map(|point| cells(&plain(&point.label))).max()?;
    let beside = |point: &Point| plain(&point.beside.join(" against "));
    // A space at the start, two between columns, and eight for the ratio.
    let fixed = 1 + labels + 2 + 2 + 8;
    let strip = width.saturating_sub(fixed).min(STRIP);
    let notes = shown.iter().map(|point| cells(&beside(point))).max().unwrap_or(0);
    let has_notes = fixed + strip + 2 + notes <= width;
    if strip < LEAST_STRIP {
        return None;
    }
    let place = |value: f64| {
        let share = (value.ln() - low) / (high - low).max(f64::MIN_POSITIVE);
        (share.clamp(0.0, 1.0) * (strip - 1) as f64).round() as usize
    };
    let mut out = String::new();
    for point in shown {
        let mut line = vec![' '; strip];
        line[place(1.0)] = '│';
        if let (Some(low), Some(high)) = (point.low, point.high) {
            line[place(low)..=place(high)].fill('─');
        }
        line[place(point.y)] = '●';
        let (label, strip) = (plain(&point.label), line.iter().collect::<String>());
        let ratio = quantity(point.y, "×").replace(' ', "");
        let fill = " ".repeat(labels - cells(&label));
        let note = if has_notes { beside(point) } else { String::new() };
        let row = format!(" {label}{fill}  {strip}  {ratio:>6}  {note}");
        out.push_str(row.trim_end());
        out.push('\n');
    }
    if let Some(last) = rows.get(INTERVALS..).and_then(<[_]>::last) {
        let more = rows.len() - INTERVALS;
        let least = quantity(last.y, "");
        out.push_str(&format!(" and {more} more, down to {least}×; JSON and HTML have all\n"));
    }
    Some(out)
}

fn bars(plot: &Plot, width: usize) -> String {
    let rows: Vec<(String, f64)> = plot
        .points()
        .map(|point| (plain(&point.label), point.y))
        .filter(|(_, value)| *value >= 0.0)
        .collect();
    let most = rows.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let room = width.saturating_sub(names + 14).min(BAR) as f64;
    let line = |(name, value): &(String, f64)| {
        let cells = if most > 0.0 { (room * value / most).round() as usize } else { 0 };
        let fill = " ".repeat(names - name.chars().count());
        format!(" {name}{fill}  {} {}\n", "█".repeat(cells), quantity(*value, &plot.y.unit))
    };
    rows.iter().map(line).collect()
}

/// What the parts of a stack are made of; the parts beyond the third share the last.
const FILLS: [char; 4] = ['█', '▓', '▒', '░'];

fn stacks(plot: &Plot, width: usize) -> String {
    let stacks = stacked(plot);
    let total = |parts: &[(usize, &Point)]| parts.iter().map(|(_, point)| point.y).sum::<f64>();
    let most = stacks.iter().map(|(_, parts)| total(parts)).fold(0.0, f64::max);
    let names = stacks.iter().map(|(name, _)| plain(name).chars().count()).max().unwrap_or(0);
    let room = width.saturating_sub(names + 14).min(2 * BAR) as f64;
    let mut out = String::new();
    for (name, parts) in &stacks {
        let (name, mut done, mut bar) = (plain(name), 0.0, String::new());
        for (index, point) in parts {
            done += point.y;
            let end = if most > 0.0 { (room * done / most).round() as usize } else { 0 };
            let fill = FILLS[(*index).min(FILLS.len() - 1)];
            bar.extend(std::iter::repeat_n(fill, end.saturating_sub(bar.chars().count())));
        }
        let fill = " ".repeat(names - name.chars().count());
        out += &format!(" {name}{fill}  {bar} {}\n", quantity(done, &plot.y.unit));
    }
    let named = plot.series.iter().take(FILLS.len() - 1).map(|series| plain(&series.name));
    let mut keys: Vec<String> = named.collect();
    match plot.series.get(FILLS.len() - 1..).unwrap_or_default() {
        [] => {}
        [last] => keys.push(plain(&last.name)),
        _ => keys.push("the rest".to_owned()),
    }
    let keys = FILLS.iter().zip(keys).map(|(fill, name)| format!("{fill} {name}"));
    out + " " + &keys.collect::<Vec<_>>().join("  ") + "\n"
}

/// Numbers under sizes, each row with its name; a cell without a number is a dash.
fn grid(
    corner: String,
    columns: &[f64],
    axis: &PlotAxis,
    rows: Vec<(String, Vec<Option<String>>)>,
) -> String {
    let sizes = columns.iter().map(|&size| quantity(size, &axis.unit));
    let mut lines: Vec<Vec<String>> = vec![std::iter::once(corner).chain(sizes).collect()];
    for (name, cells) in rows {
        let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
        lines.push(std::iter::once(name).chain(cells).collect());
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len()).filter_map(width).collect();
    let line = |line: &Vec<String>| {
        let name = format!(" {:width$}", line[0], width = widths[0]);
        let cells = line.iter().zip(&widths).skip(1);
        let cells: String = cells.map(|(cell, &width)| format!("  {cell:>width$}")).collect();
        format!("{}\n", (name + &cells).trim_end())
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_lines_and_maps_become_text_where_they_fit() {
        let bars = Plot::new("t", PlotKind::Bars, PlotAxis::default(), PlotAxis::linear("y", "%"))
            .with(Series::new(
                "s",
                vec![Point::at(0.0, 50.0, "matmul"), Point::at(1.0, 25.0, "add\u{1b}")],
            ));
        let text = picture(&bars, 40).unwrap();
        assert!(text.contains(" matmul  ████████████████████ 50 %"), "{text}");
        assert!(text.contains(" add     ██████████ 25 %") && !text.contains('\u{1b}'), "{text}");
        let axes = (PlotAxis::log("d", ""), PlotAxis::log("time", "ns"));
        let lines = Plot::new("t", PlotKind::Lines, axes.0, axes.1)
            .with(Series::new("a", vec![Point::at(64.0, 1500.0, ""), Point::at(128.0, 3e3, "")]))
            .with(Series::new("b", vec![Point::at(128.0, 2e6, "")]));
        let want = " d      64   128\n a  1.5 µs  3 µs\n b       –  2 ms\n";
        assert_eq!(picture(&lines, 40).unwrap(), want);
        assert_eq!(picture(&lines, 10), None, "too narrow");
        let scatter = Plot { kind: PlotKind::Scatter, ..lines };
        assert_eq!(picture(&scatter, 80), None);
        assert!(elsewhere(&scatter).contains("--format html"));
    }

    #[test]
    fn intervals_become_a_line_each_with_the_greatest_ratio_first() {
        let point = |row: f64, ratio: f64, label: &str| Point {
            low: Some(0.9 * ratio),
            high: Some(1.1 * ratio),
            beside: vec!["2 µs".to_owned(), "acme 1 µs".to_owned()],
            ..Point::at(row, ratio, label)
        };
        let axes = (PlotAxis::default(), PlotAxis::log("ratio", "×"));
        let plot = |points| {
            Plot::new("t", PlotKind::Intervals, axes.0.clone(), axes.1.clone())
                .with(Series::new("", points))
        };
        let two = plot(vec![point(1.0, 0.5, "add"), point(0.0, 2.0, "mul\u{1b}")]);
        let text = picture(&two, 80).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with(" mul ") && lines[0].contains("│"), "{text}");
        assert!(lines[0].ends_with("●      2×  2 µs against acme 1 µs"), "{text}");
        assert!(lines[1].starts_with(" add  ●"), "{text}");
        assert_eq!(picture(&two, 20), None, "too narrow");
        let many = plot((0..50).map(|row| point(f64::from(row), 0.5, "add")).collect());
        let text = picture(&many, 80).unwrap();
        assert!(text.ends_with(" and 10 more, down to 0.5×; JSON and HTML have all\n"), "{text}");
    }
}
