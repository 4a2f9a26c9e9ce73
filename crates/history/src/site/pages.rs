//! The pages: pure functions from a view to HTML.

use super::drawing::{self, number};
use super::view::{Shown, View};
use crate::alerts::Alert;
use crate::{HistoryError, Series, SeriesId};
use proofmark_report::markup as escaped;
use std::fmt::Write as _;

/// Series on one page of the list.
pub(crate) const PAGE: usize = 50;

/// Points on either side of a change in the picture that is zoomed to it.
const ZOOM: usize = 15;

/// What answers when a link is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Files in one folder.
    Files,
    /// The server, which searches and zooms.
    Server,
}

impl Host {
    /// The address of a page of the list.
    fn list(self, search: &str, page: usize) -> String {
        match self {
            Host::Files => list_file(page),
            Host::Server => format!("index.html?q={}&amp;page={page}", encoded(search)),
        }
    }
}

/// Text within an address.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// The file of a page of the list.
pub(crate) fn list_file(page: usize) -> String {
    if page == 0 { "index.html".to_owned() } else { format!("list-{page}.html") }
}

/// The file of a series.
pub(crate) fn series_file(id: SeriesId) -> String {
    format!("series-{id}.html")
}

/// The file of an alert. Its name is that of its author, and is not trusted with paths.
pub(crate) fn alert_file(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let id = id.strip_prefix("alert-").unwrap_or(id);
    format!("alert-{}.html", id.chars().map(plain).take(80).collect::<String>())
}

/// A day and a time, from microseconds since 1970.
pub(super) fn day(time: i64) -> String {
    jiff::Timestamp::from_microsecond(time)
        .map_or_else(|_| "?".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}

pub(super) fn page(view: &View, title: &str, subtitle: &str, body: &str) -> String {
    let (version, inbox) = view.snapshot.version();
    let version = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
    let open = view.alerts.iter().filter(|alert| alert.is_open()).count();
    let quarantine = match view.quarantined.len() {
        0 => String::new(),
        count => format!("<li><a href=\"quarantine.html\">Quarantine ({count})</a></li>"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self'; \
         img-src data:; script-src 'self'; base-uri 'none'; form-action 'self'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"page.css\"></head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
         <nav aria-label=\"Pages\"><ol><li><a href=\"index.html\">Series</a></li><li>\
         <a href=\"alerts.html\">Alerts ({open})</a></li><li><a href=\"machines.html\">\
         Machines</a></li>{quarantine}</ol></nav>\n\
         <header><h1>{title}</h1><p class=\"sub\">{subtitle}</p></header>\n\
         <main id=\"main\">\n{body}</main>\n<footer>Made by proofmark from log entry {version} and \
         {inbox} runs beside it.</footer>\n<script src=\"page.js\"></script>\n</body></html>\n",
    )
}

fn figure(value: &str, label: &str) -> String {
    format!("<li><b>{value}</b><span>{label}</span></li>")
}

/// A page of the series that have every word of the text, with their shapes.
pub(crate) async fn list(
    view: &View,
    host: Host,
    search: &str,
    at: usize,
) -> Result<String, HistoryError> {
    let found = view.search(search);
    let pages = found.len().div_ceil(PAGE).max(1);
    let at = at.min(pages - 1);
    let open = view.alerts.iter().filter(|alert| alert.is_open()).count();
    let mut body = String::from("<ul class=\"figures\">");
    for (value, label) in [
        (view.series.len(), "series"),
        (view.runs.len(), "runs"),
        (view.machines.len(), "classes of machines"),
        (open, "open alerts"),
    ] {
        body += &figure(&value.to_string(), label);
    }
    body += "</ul>\n";
    match host {
        Host::Files => {
            body += "<p class=\"bar-of-table\"><label>Search in this page <input type=\"search\" \
                     id=\"find\" placeholder=\"softmax f32 native\"></label></p>\n";
        }
        Host::Server => {
            let _ = writeln!(
                body,
                "<form class=\"bar-of-table\" role=\"search\" action=\"index.html\"><label>Search \
                 <input type=\"search\" name=\"q\" value=\"{}\" placeholder=\"softmax f32 native\">\
                 </label> <button class=\"go\">Find</button></form>",
                escaped(search)
            );
        }
    }
    let _ = writeln!(
        body,
        "<p class=\"note\">{} series{}; page {} of {pages}.</p>\n<div class=\"t\"><table>\n\
         <thead><tr><th>series</th><th>shape</th><th class=\"r\">latest</th><th class=\"r\">points</th>\
         <th>machine</th><th>alerts</th></tr></thead>\n<tbody>",
        found.len(),
        if search.is_empty() { String::new() } else { format!(" with “{}”", escaped(search)) },
        at + 1,
    );
    let rows: Vec<&Series> = found.iter().skip(at * PAGE).take(PAGE).copied().collect();
    let shown = futures::future::try_join_all(rows.iter().map(|series| view.shown(series))).await?;
    for (series, shown) in rows.iter().zip(&shown) {
        body += &row(view, series, shown);
    }
    body += "</tbody></table></div>\n<p class=\"pages\">";
    if at > 0 {
        let _ = write!(body, "<a href=\"{}\">Previous</a> ", host.list(search, at - 1));
    }
    if at + 1 < pages {
        let _ = write!(body, "<a href=\"{}\">Next</a>", host.list(search, at + 1));
    }
    body += "</p>\n";
    Ok(page(view, "History of measurements", "What moved, when, and on which machines.", &body))
}

fn row(view: &View, series: &Series, shown: &Shown) -> String {
    let values: Vec<f64> = shown.points.iter().map(|point| point.value).collect();
    let places: Vec<usize> = shown.changes.iter().map(|change| change.place).collect();
    let latest = series.last_value.map_or("–".to_owned(), |v| number(series.key.metric, v));
    let alerts: Vec<String> = view
        .alerts_on(series.id)
        .take(3)
        .map(|alert| format!("<a href=\"{}\">{}</a>", alert_file(&alert.id), alert.state.name()))
        .collect();
    format!(
        "<tr><th class=\"name\"><a href=\"{}\">{}</a><br><span class=\"d\">{} · {}</span></th>\
         <td>{}</td><td class=\"r\">{latest}</td><td class=\"r\">{}</td><td>{}</td><td>{}</td></tr>\n",
        series_file(series.id),
        escaped(&series.key.case),
        escaped(&series.key.contender),
        series.key.metric.name(),
        drawing::sparkline(&values, &places),
        series.points,
        escaped(&machine_name(view, &series.key.environment)),
        alerts.join(", "),
    )
}

pub(super) fn machine_name(view: &View, class: &str) -> String {
    let cpu = view.machines.get(class).map_or("", |machine| machine.cpu.as_str());
    if cpu.is_empty() { class.to_owned() } else { cpu.to_owned() }
}

/// One series: the points around a commit if one is given, all points, each change from near, its
/// alerts, and the same on other machines.
pub(crate) async fn series(
    view: &View,
    host: Host,
    series: &Series,
    at: &str,
) -> Result<String, HistoryError> {
    let shown = view.shown(series).await?;
    let key = &series.key;
    let mut body = String::new();
    if host == Host::Server && !shown.points.is_empty() {
        let _ = writeln!(
            body,
            "<form class=\"bar-of-table\" action=\"{}\"><label>Zoom to a commit or run <input \
             type=\"search\" name=\"at\" value=\"{}\"></label> <button class=\"go\">Zoom</button></form>",
            series_file(series.id),
            escaped(at)
        );
        if !at.is_empty() {
            body += &zoomed(view, series, &shown, at);
        }
    }
    if shown.points.is_empty() {
        body += "<p>No point of this series has a number.</p>\n";
    } else {
        body += &both(series, &shown, (0, shown.points.len()), None);
        let basis = if shown.by_control { "the ratio to the control" } else { "the values" };
        let _ = writeln!(
            body,
            "<p class=\"note\">Circles are points with their intervals. The strip below has a colour \
             for each kernel of the system ({}). Ticks below it are new code. Changes are those of \
             {basis}; the shaded band is where a change began with 95 % confidence.</p>",
            escaped(&shown.environments.join(", "))
        );
    }
    for change in &shown.changes {
        let name = escaped(&shown.points[change.place].name);
        let (low, high) =
            (change.places.0.saturating_sub(1), change.places.1.min(shown.points.len() - 1));
        let _ = writeln!(
            body,
            "<section><h2 id=\"at-{name}\">{:+.2} % at {name}</h2>\n<p>The values moved by {:+.2} % \
             ({}). The change is after {} and not after {}. A series that does not change has one as \
             strong with probability {:.1e}.</p>",
            100.0 * change.shift.estimate.exp_m1(),
            100.0 * change.shift.estimate.exp_m1(),
            interval(change.shift.low, change.shift.high),
            escaped(&shown.points[low].name),
            escaped(&shown.points[high].name),
            change.p_value,
        );
        let from = change.place.saturating_sub(ZOOM);
        let to = (change.place + ZOOM).min(shown.points.len());
        body += &both(series, &shown, (from, to), None);
        body += "</section>\n";
    }
    body += "<section><h2>Alerts</h2>\n";
    let alerts: Vec<&Alert> = view.alerts_on(series.id).collect();
    body += &if alerts.is_empty() {
        "<p>There is no alert.</p>".to_owned()
    } else {
        alert_table(&alerts)
    };
    body += "</section>\n";
    let siblings = view.siblings(series);
    if !siblings.is_empty() {
        body += "<section><h2>The same on other machines</h2>\n<div class=\"sides\">";
        for sibling in siblings {
            let other = view.shown(sibling).await?;
            if other.points.is_empty() {
                continue;
            }
            let picture = drawing::series(
                key.metric,
                &other.points,
                &other.changes,
                (0, other.points.len()),
                None,
                460.0,
                "side",
            );
            let _ = write!(
                body,
                "<figure><figcaption><a href=\"{}\">{}</a></figcaption>{picture}</figure>",
                series_file(sibling.id),
                escaped(&machine_name(view, &sibling.key.environment)),
            );
        }
        body += "</div></section>\n";
    }
    body += &table_of_points(host, series, &shown);
    let subtitle = format!(
        "{} · {} · {} · {} · {} · {}",
        escaped(&key.contender),
        key.metric.name(),
        if key.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", key.threads) },
        escaped(&key.memory),
        escaped(&key.isolation),
        escaped(&machine_name(view, &key.environment)),
    );
    Ok(page(view, &escaped(&key.case), &subtitle, &body))
}

fn interval(low: f64, high: f64) -> String {
    if low.is_finite() && high.is_finite() {
        format!("{:+.2} to {:+.2} % at 95 %", 100.0 * low.exp_m1(), 100.0 * high.exp_m1())
    } else {
        "too few points for an interval".to_owned()
    }
}

/// A picture for wide pages and one for phones.
fn both(
    series: &Series,
    shown: &Shown,
    (from, to): (usize, usize),
    focus: Option<usize>,
) -> String {
    let draw = |from, width, class| {
        let metric = series.key.metric;
        drawing::series(metric, &shown.points, &shown.changes, (from, to), focus, width, class)
    };
    // On a phone, the latest points are drawn if there are more than can be told apart.
    let near = from.max(to.saturating_sub(120));
    format!("<figure>{}{}</figure>\n", draw(from, 960.0, "wide"), draw(near, 380.0, "narrow"))
}

/// The points around the first one whose commit or run has a name with this beginning.
fn zoomed(view: &View, series: &Series, shown: &Shown, at: &str) -> String {
    let is_meant = |run: &str| {
        let commit = view.runs.get(run).and_then(|run| run.commit.as_deref());
        run.starts_with(at) || commit.is_some_and(|commit| commit.starts_with(at))
    };
    let Some(place) = shown.kept.iter().position(|point| is_meant(&point.run)) else {
        return format!(
            "<p>No point of this series has a commit or a run that begins with “{}”.</p>\n",
            escaped(at)
        );
    };
    let (from, to) = (place.saturating_sub(ZOOM), (place + ZOOM + 1).min(shown.points.len()));
    let point = &shown.points[place];
    let link = |place: usize, word: &str| {
        let run = &shown.kept[place].run;
        format!("<a href=\"{}?at={}\">{word}</a> ", series_file(series.id), encoded(run))
    };
    let mut links = String::new();
    if place > 0 {
        links += &link(place.saturating_sub(ZOOM), "Earlier");
    }
    if place + 1 < shown.points.len() {
        links += &link((place + ZOOM).min(shown.points.len() - 1), "Later");
    }
    format!(
        "<section><h2>Around {}</h2>\n<p>{}, measured on {}. It is point {} of {}.</p>\n{}\
         <p class=\"pages\">{links}</p></section>\n<h2>All points</h2>\n",
        escaped(&point.name),
        number(series.key.metric, point.value),
        day(view.runs.get(&shown.kept[place].run).map_or(0, |run| run.started)),
        place + 1,
        shown.points.len(),
        both(series, shown, (from, to), Some(place)),
    )
}

fn table_of_points(host: Host, series: &Series, shown: &Shown) -> String {
    let mut out = String::from(
        "<section><h2>Points</h2>\n<details><summary>All numbers</summary><div class=\"t\"><table>\
         <thead><tr><th>commit</th><th>time</th><th class=\"r\">value</th><th class=\"r\">ratio to \
         the control</th><th>code</th><th>run</th></tr></thead><tbody>\n",
    );
    for (drawn, point) in shown.points.iter().zip(&shown.kept).rev() {
        let name = match host {
            Host::Files => escaped(&drawn.name),
            Host::Server => {
                let (file, run) = (series_file(series.id), encoded(&point.run));
                format!("<a href=\"{file}?at={run}\">{}</a>", escaped(&drawn.name))
            }
        };
        let _ = writeln!(
            out,
            "<tr><th>{name}</th><td>{}</td><td class=\"r\">{}</td><td class=\"r\">{}</td><td>{}</td><td>{}</td></tr>",
            day(point.commit_time),
            number(series.key.metric, drawn.value),
            point.control.map_or(String::new(), |ratio| format!("{ratio:.4}")),
            escaped(point.code.as_deref().unwrap_or("")),
            escaped(&point.run),
        );
    }
    out += "</tbody></table></div></details></section>\n";
    out
}

fn alert_table(alerts: &[&Alert]) -> String {
    let mut out = String::from(
        "<div class=\"t\"><table><thead><tr><th>alert</th><th>state</th><th class=\"r\">surest</th>\
         <th class=\"r\">worse</th><th class=\"r\">better</th><th>between</th><th>found</th></tr></thead>\
         <tbody>\n",
    );
    for alert in alerts {
        let commit = |commit: &Option<String>| -> String {
            escaped(&commit.as_deref().unwrap_or("?").chars().take(10).collect::<String>())
        };
        let surest = alert.surest().map_or(0.0, |member| member.shift);
        let _ = writeln!(
            out,
            "<tr><th><a href=\"{}\">{}</a></th><td><span class=\"state {1}\">{}</span></td>\
             <td class=\"r\">{:+.2} %</td><td class=\"r\">{}</td><td class=\"r\">{}</td>\
             <td>{} and {}</td><td>{}</td></tr>",
            alert_file(&alert.id),
            escaped(&alert.id),
            alert.state.name(),
            100.0 * surest,
            alert.finding.worse,
            alert.finding.better,
            commit(&alert.finding.commits.0),
            commit(&alert.finding.commits.1),
            day(alert.detected()),
        );
    }
    out += "</tbody></table></div>\n";
    out
}

/// All alerts, those that are open first.
pub(crate) fn alerts(view: &View) -> String {
    let (open, done): (Vec<&Alert>, Vec<&Alert>) = view.alerts.iter().partition(|a| a.is_open());
    let part = |title: &str, list: &[&Alert], none: &str| {
        let table = if list.is_empty() { format!("<p>{none}</p>") } else { alert_table(list) };
        format!("<section><h2>{title}</h2>\n{table}</section>\n")
    };
    let body = part("Open", &open, "There is no open alert.")
        + &part("Dealt with", &done, "No alert was dealt with.");
    let subtitle = "One alert for each change, however many series it moved.";
    page(view, "Alerts", subtitle, &body)
}

/// One alert with its members and all that was said.
pub(crate) fn alert(view: &View, alert: &Alert) -> String {
    let said = alert.events.first().map_or("", |event| event.text.as_str());
    let mut body = format!("<p class=\"lead\">{}</p>\n<section><h2>Series</h2>\n", escaped(said));
    body += "<div class=\"t\"><table><thead><tr><th>series</th><th class=\"r\">shift</th><th>at 95 %</th>\
             <th>origin</th></tr></thead><tbody>\n";
    for member in &alert.finding.members {
        let series = view.find(member.series);
        let name = series.map_or_else(|| member.series.to_string(), |s| s.key.to_string());
        let bounds = match (member.low, member.high) {
            (Some(low), Some(high)) => format!("{:+.2} to {:+.2} %", 100.0 * low, 100.0 * high),
            _ => "–".to_owned(),
        };
        let _ = writeln!(
            body,
            "<tr><th class=\"name\"><a href=\"{}\">{}</a></th><td class=\"r\">{:+.2} %</td><td>{bounds}</td>\
             <td class=\"w\">{}</td></tr>",
            series_file(member.series),
            escaped(&name),
            100.0 * member.shift,
            member.cause.sentence(),
        );
    }
    body +=
        "</tbody></table></div></section>\n<section><h2>What was said</h2>\n<ol class=\"said\">";
    for event in &alert.events {
        let _ = write!(
            body,
            "<li><span class=\"state {0}\">{0}</span> {1} by {2}: {3}</li>",
            event.state.name(),
            day(event.time),
            escaped(&event.actor),
            escaped(&event.text)
        );
    }
    body += "</ol></section>\n";
    body += "<section><h2>Answer it</h2>\n<pre>";
    for command in ["confirm {}", "accept {} --because '…'", "dismiss {} --because '…'"] {
        let command = command.replace("{}", &format!("{} --from PLACE", alert.id));
        let _ = writeln!(body, "proofmark history {}", escaped(&command));
    }
    body += "</pre></section>\n";
    page(view, &escaped(&alert.id), alert.state.name(), &body)
}
