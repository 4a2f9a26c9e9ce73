//! Pages about machines, and about runs that are kept apart.

use super::drawing::number;
use super::pages::{Host, PAGE, day, encoded, machine_name, page, series_file};
use super::view::View;
use crate::Series;
use proofmark_report::markup as escaped;
use std::fmt::Write as _;

/// Two machines side by side: what both measured, and how they differ.
pub(crate) fn beside(view: &View, one: &str, other: &str, at: usize) -> String {
    let pairs = view.beside(one, other);
    let pages = pairs.len().div_ceil(PAGE).max(1);
    let at = at.min(pages - 1);
    let names = [one, other].map(|class| escaped(&machine_name(view, class)));
    let mut body = choice(view, one, other);
    let _ = writeln!(
        body,
        "<p class=\"note\">{} series on both; page {} of {pages}.</p>\n<div class=\"t\"><table class=\"pair\">\n\
         <thead><tr><th>series</th><th class=\"r\">{}</th><th class=\"r\">{}</th>\
         <th class=\"r\">ratio</th></tr></thead>\n<tbody>",
        pairs.len(),
        at + 1,
        names[0],
        names[1],
    );
    for (left, right) in pairs.iter().skip(at * PAGE).take(PAGE) {
        let metric = left.key.metric;
        let value = |series: &Series| {
            let value = series.last_value.map_or("–".to_owned(), |value| number(metric, value));
            format!("<a href=\"{}\">{value}</a>", series_file(series.id))
        };
        let ratio = match (left.last_value, right.last_value) {
            (Some(left), Some(right)) if left > 0.0 => format!("{:.3}", right / left),
            _ => "–".to_owned(),
        };
        let _ = writeln!(
            body,
            "<tr><th class=\"name\"><a href=\"{}\">{}</a><br><span class=\"d\">{} · {}</span></th>\
             <td class=\"r\">{}</td><td class=\"r\">{}</td><td class=\"r\">{ratio}</td></tr>",
            series_file(left.id),
            escaped(&left.key.case),
            escaped(&left.key.contender),
            metric.name(),
            value(left),
            value(right),
        );
    }
    body += "</tbody></table></div>\n<p class=\"pages\">";
    let link = |page: usize| {
        format!("beside.html?a={}&amp;b={}&amp;page={page}", encoded(one), encoded(other))
    };
    if at > 0 {
        let _ = write!(body, "<a href=\"{}\">Previous</a> ", link(at - 1));
    }
    if at + 1 < pages {
        let _ = write!(body, "<a href=\"{}\">Next</a>", link(at + 1));
    }
    body += "</p>\n<p class=\"note\">Values are the latest of each series. The ratio is the second \
             machine over the first: below 1 the second takes less.</p>\n";
    page(view, "Two machines", &format!("{} beside {}", names[0], names[1]), &body)
}

/// The form that chooses two machines.
fn choice(view: &View, one: &str, other: &str) -> String {
    let list = |name: &str, chosen: &str| {
        let mut out = format!("<select name=\"{name}\">");
        for (class, machine) in &view.machines {
            let mark = if class == chosen { " selected" } else { "" };
            let class = escaped(class);
            let _ = write!(
                out,
                "<option value=\"{class}\"{mark}>{} ({class})</option>",
                escaped(&machine.cpu)
            );
        }
        out + "</select>"
    };
    format!(
        "<form class=\"bar-of-table\" action=\"beside.html\"><label>First {}</label> <label>Second {}\
         </label> <button class=\"go\">Side by side</button></form>\n",
        list("a", one),
        list("b", other)
    )
}

/// Runs that are kept apart.
pub(crate) fn quarantine(view: &View) -> String {
    let mut body = String::new();
    if view.quarantined.is_empty() {
        body += "<p>No run is kept apart.</p>\n";
    } else {
        body += "<div class=\"t\"><table><thead><tr><th>run</th><th>commit</th><th>branch</th>\
                 <th>started</th><th>processor</th><th class=\"r\">bytes</th></tr></thead><tbody>\n";
        for waiting in &view.quarantined {
            let run = waiting.details.as_ref();
            let text = |text: Option<&String>| text.map_or_else(String::new, |text| escaped(text));
            let _ = writeln!(
                body,
                "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td class=\"r\">{}</td></tr>",
                escaped(&waiting.run),
                text(run.and_then(|run| run.commit.as_ref())),
                text(run.and_then(|run| run.branch.as_ref())),
                run.map_or_else(String::new, |run| day(run.started)),
                text(run.map(|run| &run.environment.cpu)),
                waiting.bytes,
            );
        }
        body += "</tbody></table></div>\n<pre>proofmark history admit RUN --to PLACE</pre>\n";
    }
    let subtitle = "These runs are in no series and in no baseline until they are admitted.";
    page(view, "Quarantine", subtitle, &body)
}

/// The machines of the history.
pub(crate) fn machines(view: &View, host: Host) -> String {
    let mut body = String::from(
        "<div class=\"t\"><table><thead><tr><th>processor</th><th class=\"r\">processors</th>\
         <th class=\"r\">memory</th><th class=\"r\">runs</th><th class=\"r\">series</th><th>latest run</th>\
         <th>class</th></tr></thead><tbody>\n",
    );
    for (class, machine) in &view.machines {
        let _ = writeln!(
            body,
            "<tr><th>{}</th><td class=\"r\">{}</td><td class=\"r\">{:.1} GiB</td><td class=\"r\">{}</td>\
             <td class=\"r\">{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&machine.cpu),
            machine.cpus,
            machine.memory_bytes as f64 / (1u64 << 30) as f64,
            machine.runs,
            machine.series,
            day(machine.latest),
            escaped(class),
        );
    }
    body += "</tbody></table></div>\n<p class=\"note\">A series shows the same measurement on other \
             machines beside its own.</p>\n";
    if host == Host::Server && view.machines.len() > 1 {
        let classes: Vec<&String> = view.machines.keys().collect();
        body += "<section><h2>Side by side</h2>\n";
        body += &choice(view, classes[0], classes[1]);
        body += "</section>\n";
    }
    let subtitle = "A class is everything about a machine that changes speed. \
                    Series of different classes are never mixed.";
    page(view, "Machines", subtitle, &body)
}
