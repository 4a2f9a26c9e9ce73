//! Patterns in which a star stands for any run of characters.

/// Whether a text matches a pattern in which `*` stands for any run of characters.
pub fn is_match(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len())
                .filter(|&start| tail.is_char_boundary(start))
                .any(|start| is_match(rest, &tail[start..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_run() {
        for (pattern, text, expected) in [
            ("native/*", "native/simd", true),
            ("native/s*", "native/simd", true),
            ("native/s*r", "native/scalar", true),
            ("native/p*", "native/simd", false),
            ("*", "anything", true),
            ("native/simd", "native/simd2", false),
            ("add:*[b=1,*]", "add:f32[b=1,s=2]", true),
        ] {
            assert_eq!(is_match(pattern, text), expected, "{pattern} on {text}");
        }
    }
}
