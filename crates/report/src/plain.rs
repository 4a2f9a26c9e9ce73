//! Text that cannot act on a terminal, and numbers with the digits they earned.

use proofmark_schema::quantity::{Interval, Nanos, three_digits};

/// The text on one line, without control characters and without marks that reorder or hide.
///
/// An escape sequence loses its escape and stays as the harmless rest.
pub fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => Some(' '),
        c if c.is_control() => None,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => None,
        '\u{2028}' | '\u{2029}' => Some(' '),
        '\u{feff}' => None,
        c => Some(c),
    };
    text.chars().filter_map(shown).collect()
}

/// The text with nothing in it that XML and HTML read as markup, in elements and in attributes.
pub fn markup(text: &str) -> String {
    let mut out = String::new();
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A number with its unit, without zeros that say nothing.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    let trimmed = |text: String| match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match unit {
        "ns" => {
            let (number, unit) = Nanos(value).scaled();
            format!("{} {unit}", trimmed(three_digits(number)))
        }
        // Sizes and counts have earned all their digits.
        "" if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value}"),
        "" => trimmed(three_digits(value)),
        unit => format!("{} {unit}", trimmed(three_digits(value))),
    }
}

/// `12.3 µs ±0.8 %`.
pub(crate) fn time(interval: &Interval) -> String {
    format!("{} ±{}", Nanos(interval.estimate), percent(interval.relative_half_width() * 100.0))
}

/// A percentage: one decimal below 10, none above.
pub(crate) fn percent(value: f64) -> String {
    if !value.is_finite() {
        "? %".to_owned()
    } else if value != 0.0 && value.abs() < 0.05 {
        "<0.1 %".to_owned()
    } else if value.abs() < 9.95 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// `0.250× [0.240, 0.260]`, or `0.250× [?]` where the trials bound nothing.
pub(crate) fn ratio(interval: &Interval) -> String {
    let [estimate, low, high] = [interval.estimate, interval.low, interval.high].map(three_digits);
    match is_bounded(interval) {
        true => format!("{estimate}× [{low}, {high}]"),
        false => format!("{estimate}× [?]"),
    }
}

/// Whether the interval of a ratio says something: two or three trials of a noisy race bound
/// nothing.
pub(crate) fn is_bounded(interval: &Interval) -> bool {
    interval.high <= 100.0 * interval.low
}

/// How much longer something takes: `7.1 % longer`, `3.20× as long`.
pub(crate) fn longer(gain: f64) -> String {
    match gain {
        gain if gain < 0.0 => format!("{} less", percent(-100.0 * gain)),
        gain if gain < 1.0 => format!("{} longer", percent(100.0 * gain)),
        gain => format!("{}× as long", three_digits(1.0 + gain)),
    }
}

/// `1 thread`, `2 threads`.
pub(crate) fn threads(count: usize) -> String {
    counted(count, "thread")
}

/// A count with its noun.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Seconds that work takes or will take, for people to plan by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span(pub f64);

impl std::fmt::Display for Span {
    /// No more digits than an estimate earns: `0.6 s`, `12 s`, `4 min`, `2 h 10 min`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            ..9.95 => write!(f, "{:.1} s", self.0),
            ..99.5 => write!(f, "{:.0} s", self.0),
            ..5970.0 => write!(f, "{:.0} min", self.0 / 60.0),
            seconds => {
                let tens_of_minutes = (seconds / 600.0).round() as u64;
                write!(f, "{} h {} min", tens_of_minutes / 6, tens_of_minutes % 6 * 10)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_work_print_what_a_person_plans_by() {
        let said = [0.6, 12.3, 99.4, 240.0, 5400.0, 7790.0, 20_172.0].map(|s| Span(s).to_string());
        assert_eq!(said, ["0.6 s", "12 s", "99 s", "4 min", "90 min", "2 h 10 min", "5 h 40 min"]);
    }

    #[test]
    fn control_and_hidden_characters_are_dropped() {
        let hostile = "\u{1b}[31mred\u{7}\u{9b}1m\u{202e}x\u{200b}\r\ny";
        assert_eq!(plain(hostile), "[31mred1mx y");
    }

    #[test]
    fn nothing_is_left_of_markup() {
        assert_eq!(
            markup("<a b='c' d=\"e\">&\u{0}"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;"
        );
    }

    #[test]
    fn quantities_lose_zeros_that_say_nothing() {
        for (value, unit, want) in [
            (1000.0, "ns", "1 µs"),
            (12_340.0, "ns", "12.3 µs"),
            (4096.0, "", "4096"),
            (0.5, "×", "0.5 ×"),
            (100.0, "%", "100 %"),
        ] {
            assert_eq!(quantity(value, unit), want);
        }
    }

    #[test]
    fn a_ratio_that_the_trials_do_not_bound_has_no_bounds() {
        let of = |low, high| Interval { estimate: 1.0, low, high, confidence: 0.99 };
        assert_eq!(ratio(&of(0.98, 1.02)), "1.00× [0.980, 1.02]");
        assert_eq!(ratio(&of(0.0, f64::MAX)), "1.00× [?]");
    }

    #[test]
    fn numbers_carry_units_and_no_unearned_digits() {
        let interval =
            Interval { estimate: 12_340.0, low: 12_240.0, high: 12_440.0, confidence: 0.95 };
        assert_eq!(time(&interval), "12.3 µs ±0.8 %");
        assert_eq!(percent(0.01), "<0.1 %");
        assert_eq!(percent(9.96), "10 %");
        assert_eq!(percent(f64::NAN), "? %");
        let broken =
            Interval { estimate: f64::NAN, low: 0.0, high: f64::INFINITY, confidence: 0.95 };
        assert_eq!(time(&broken), "NaN ns ±? %");
        assert_eq!(ratio(&broken), "NaN× [?]");
    }
}
