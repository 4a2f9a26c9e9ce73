//! Markers in a page: finds them and replaces the lines between them.

use crate::Failure;

const OPEN: &str = "<!-- docs: ";
const CLOSE: &str = "-->";
const END: &str = "<!-- docs: end -->";

/// The page with the lines between each pair of markers replaced by what `make` gives for the
/// words of the first marker.
pub(super) fn fill(
    page: &str,
    make: &dyn Fn(&[&str]) -> Result<String, Failure>,
) -> Result<String, Failure> {
    let mut filled = String::new();
    let mut rest = page;
    while let Some(begin) = rest.find(OPEN) {
        let words_begin = begin + OPEN.len();
        let close = rest[words_begin..].find(CLOSE).ok_or("a marker is not closed")?;
        let marker_end = words_begin + close + CLOSE.len();
        let words: Vec<&str> = rest[words_begin..words_begin + close].split_whitespace().collect();
        if words == ["end"] {
            return Err("a marker ends a table that no marker begins".to_owned());
        }
        let after = &rest[marker_end..];
        let end =
            after.find(END).ok_or_else(|| format!("table `{}` has no end", words.join(" ")))?;
        if after[..end].contains(OPEN) {
            return Err(format!("table `{}` has no end", words.join(" ")));
        }
        filled += &rest[..marker_end];
        filled += &format!("\n\n{}\n\n{END}", make(&words)?.trim_end());
        rest = &after[end + END.len()..];
    }
    Ok(filled + rest)
}

/// The first line in which two texts differ: its number, and the line of each text.
pub(super) fn difference<'a>(kept: &'a str, made: &'a str) -> Option<(usize, &'a str, &'a str)> {
    if kept == made {
        return None;
    }
    let (mut ours, mut theirs) = (kept.lines(), made.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (ours.next(), theirs.next()) {
            (Some(a), Some(b)) if a == b => {}
            // Texts that differ only in how the last line ends have no line that differs.
            (a, b) => return Some((number, a.unwrap_or_default(), b.unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(page: &str) -> Result<String, Failure> {
        fill(page, &|words| Ok(format!("{}\n", words.join("+"))))
    }

    #[test]
    fn only_the_lines_between_markers_are_replaced() {
        let page = "before\n<!-- docs: peers\na.json -->\nold\n<!-- docs: end -->\nafter\n";
        let expected = "before\n<!-- docs: peers\na.json -->\n\npeers+a.json\n\n\
                        <!-- docs: end -->\nafter\n";
        assert_eq!(filled(page).as_deref(), Ok(expected));
        assert_eq!(filled(expected).as_deref(), Ok(expected));
        assert_eq!(filled("no marker\n").as_deref(), Ok("no marker\n"));
    }

    #[test]
    fn markers_that_do_not_pair_are_refused() {
        for page in [
            "<!-- docs: ops -->\n",
            "<!-- docs: ops",
            "<!-- docs: end -->\n",
            "<!-- docs: ops -->\n<!-- docs: duel -->\n<!-- docs: end -->\n",
        ] {
            assert!(filled(page).is_err(), "{page}");
        }
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n"), Some((2, "b", "c")));
        assert_eq!(difference("a\n", "a\nc\n"), Some((2, "", "c")));
        assert!(difference("a\n", "a").is_some());
    }
}
