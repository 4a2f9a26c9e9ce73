//! Plots as data: what is drawn, not how.

use serde::Serialize;

/// How the points of a plot are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlotKind {
    /// A line a series.
    Lines,
    /// Points alone.
    Scatter,
    /// A bar a point, named by its label.
    Bars,
    /// A bar a label, in which the points of the series with this label are laid end to end.
    Stacks,
    /// A cell a point, coloured by its value.
    HeatMap,
    /// Single measurements in the order in which they were made.
    Distribution,
    /// Points under lines that are limits.
    Roofline,
    /// A row a point, in the order of `x`: its label, its interval against 1, and its note.
    Intervals,
}

/// One axis of a plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlotAxis {
    /// What it shows.
    pub name: String,
    /// Its unit; empty for counts.
    pub unit: String,
    /// Whether equal ratios are equal distances.
    pub log: bool,
}

impl PlotAxis {
    /// An axis on which equal differences are equal distances.
    pub fn linear(name: impl Into<String>, unit: impl Into<String>) -> PlotAxis {
        PlotAxis { name: name.into(), unit: unit.into(), log: false }
    }

    /// An axis on which equal ratios are equal distances.
    pub fn log(name: impl Into<String>, unit: impl Into<String>) -> PlotAxis {
        PlotAxis { log: true, ..PlotAxis::linear(name, unit) }
    }

    /// `time (ms)`.
    pub fn title(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }
}

/// One point of a plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Where it lies.
    pub x: f64,
    /// Where it lies.
    pub y: f64,
    /// Low end of the interval of `y`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// High end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What colours it in a heat map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// What it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// What stands beside it, column by column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

impl Point {
    /// A point without an interval.
    pub fn at(x: f64, y: f64, label: impl Into<String>) -> Point {
        Point { x, y, label: label.into(), ..Point::default() }
    }

    /// Whether it can be drawn on these axes.
    pub(crate) fn is_drawable(&self, x: &PlotAxis, y: &PlotAxis) -> bool {
        let fits = |value: f64, axis: &PlotAxis| value.is_finite() && (!axis.log || value > 0.0);
        fits(self.x, x) && fits(self.y, y)
    }
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Whether it is a limit, drawn as a line without points.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_limit: bool,
    /// Its points, in the order of `x` where they are joined.
    pub points: Vec<Point>,
}

impl Series {
    /// A series of measurements.
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> Series {
        Series { name: name.into(), is_limit: false, points }
    }

    /// A limit.
    pub fn limit(name: impl Into<String>, points: Vec<Point>) -> Series {
        Series { is_limit: true, ..Series::new(name, points) }
    }
}

/// A plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// How it is read.
    pub kind: PlotKind,
    /// To the right.
    pub x: PlotAxis,
    /// Upwards.
    pub y: PlotAxis,
    /// What colours the cells of a heat map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<PlotAxis>,
    /// What it says, for a reader who does not see it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub says: String,
    /// What is drawn.
    pub series: Vec<Series>,
}

impl Plot {
    /// A plot without series.
    pub fn new(title: impl Into<String>, kind: PlotKind, x: PlotAxis, y: PlotAxis) -> Plot {
        let (title, says) = (title.into(), String::new());
        Plot { title, kind, x, y, value: None, says, series: Vec::new() }
    }

    /// The plot with one more series.
    #[must_use]
    pub fn with(mut self, series: Series) -> Plot {
        self.series.push(series);
        self
    }

    /// Every point that can be drawn.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        let points = self.series.iter().flat_map(|series| &series.points);
        points.filter(|point| point.is_drawable(&self.x, &self.y))
    }
}

/// The stacks of a plot in their order: the label, and the parts with the place of their series.
pub(crate) fn stacked(plot: &Plot) -> Vec<(&str, Vec<(usize, &Point)>)> {
    let mut stacks: Vec<(&str, Vec<(usize, &Point)>)> = Vec::new();
    for (index, series) in plot.series.iter().enumerate() {
        let parts = series.points.iter().filter(|point| point.y.is_finite() && point.y >= 0.0);
        for point in parts {
            match stacks.iter_mut().find(|(label, _)| *label == point.label) {
                Some((_, parts)) => parts.push((index, point)),
                None => stacks.push((&point.label, vec![(index, point)])),
            }
        }
    }
    stacks
}

/// Sorted values without repetition.
pub(crate) fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted
}
