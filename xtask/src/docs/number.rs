//! Numbers as the documents write them.

/// Three significant digits, without zeros at the end.
pub(super) fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let whole = value.abs().log10().floor() as i32 + 1;
    let decimals = usize::try_from(3 - whole).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A time in the largest unit of which it has at least one.
pub(super) fn time(milliseconds: f64) -> String {
    let units = [("ns", 1e6), ("µs", 1e3), ("ms", 1.0)];
    let unit = units.into_iter().find(|(_, factor)| milliseconds * factor < 999.5);
    let (unit, factor) = unit.unwrap_or(("s", 1e-3));
    format!("{} {unit}", significant(milliseconds * factor))
}

/// A quotient with two decimals, and fewer where they would say nothing.
pub(super) fn quotient(value: f64) -> String {
    match value {
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A share in per cent.
pub(super) fn percent(value: f64) -> String {
    format!("{value:.0} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit_that_fits() {
        for (milliseconds, text) in [
            (0.000_050_94, "50.9 ns"),
            (0.000_999_4, "999 ns"),
            (0.000_999_6, "1 µs"),
            (0.408, "408 µs"),
            (2.503, "2.5 ms"),
            (65.04, "65 ms"),
            (1234.0, "1.23 s"),
        ] {
            assert_eq!(time(milliseconds), text);
        }
    }

    #[test]
    fn quotients_keep_what_can_be_told_apart() {
        let texts = [0.005, 1.3, 9.999, 12.34, 148.97].map(quotient);
        assert_eq!(texts, ["0.01", "1.30", "10.0", "12.3", "149"]);
        assert_eq!(significant(0.0), "0");
    }
}
