//! JSON: the document's data as one object, or its main list as one object a line.

use super::{Renderer, Style};
use crate::{Document, Plot};
use serde_json::{Value, json};

pub(super) const RENDERER: Renderer =
    Renderer { name: "json", summary: "one JSON object, indented", render: object };

pub(super) const LINES_RENDERER: Renderer =
    Renderer { name: "jsonl", summary: "one JSON object a line", render: lines };

fn object(document: &Document, _style: &Style) -> String {
    let plots: Vec<&Plot> = document.plots().collect();
    let mut data = document.data.clone();
    if let (Value::Object(members), false) = (&mut data, plots.is_empty()) {
        members.insert("plots".to_owned(), json!(plots));
    }
    format!("{data:#}\n")
}

fn lines(document: &Document, _style: &Style) -> String {
    match document.data.get(document.lines).and_then(Value::as_array) {
        Some(list) => list.iter().map(|line| format!("{line}\n")).collect(),
        None => format!("{}\n", document.data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlotAxis, PlotKind, Point, Series};

    #[test]
    fn plots_are_carried_with_their_points() {
        let mut document = Document::new("t", json!({"a": 1}), "");
        let plot = Plot::new("p", PlotKind::Lines, PlotAxis::log("d", ""), PlotAxis::default());
        document.plot(plot.with(Series::new("s", vec![Point::at(1.0, f64::NAN, "")])));
        let data: Value = serde_json::from_str(&object(&document, &Style::default())).unwrap();
        assert_eq!(data["plots"][0]["kind"], "lines");
        assert_eq!(data["plots"][0]["series"][0]["points"][0]["x"], 1.0);
        assert_eq!(data["a"], 1);
    }

    #[test]
    fn lines_hold_one_element_each_and_a_document_without_list_is_one_line() {
        let style = Style::default();
        let mut document = Document::new("t", json!({"list": [{"a": 1}, {"a": "x\ny"}]}), "list");
        assert_eq!(lines(&document, &style), "{\"a\":1}\n{\"a\":\"x\\ny\"}\n");
        document.lines = "";
        assert_eq!(lines(&document, &style).lines().count(), 1);
        let back: Value = serde_json::from_str(&object(&document, &style)).unwrap();
        assert_eq!(back, document.data);
    }
}
