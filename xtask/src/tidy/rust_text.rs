//! Splits Rust source into code and comments, so that a rule never trips over a string.

/// A source text twice: everything that is not code, or not comment, is blanked out.
///
/// Lines stay where they were, so that line numbers hold in both.
pub(super) struct RustText {
    /// Code without comments and without the contents of string and character literals.
    pub(super) code: String,
    /// Comments alone, with their markers.
    pub(super) comments: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl RustText {
    pub(super) fn parse(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut split = Self { code: String::new(), comments: String::new() };
        let mut at = 0;
        while at < chars.len() {
            let (kind, end) = token(&chars, at);
            for &letter in &chars[at..end] {
                split.push(letter, kind);
            }
            at = end;
        }
        split
    }

    fn push(&mut self, letter: char, kind: Kind) {
        let blank = if letter == '\n' { '\n' } else { ' ' };
        self.code.push(if kind == Kind::Code { letter } else { blank });
        self.comments.push(if kind == Kind::Comment { letter } else { blank });
    }
}

/// The kind and the end of what begins at `at`.
fn token(chars: &[char], at: usize) -> (Kind, usize) {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => (Kind::Comment, find(chars, at, |letter| letter == '\n')),
        '/' if next == Some('*') => (Kind::Comment, block_comment_end(chars, at)),
        '"' => (Kind::Literal, string_end(chars, at + 1)),
        'r' if !follows_word(chars, at) => match raw_string_end(chars, at + 1) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, at + 1),
        },
        'b' | 'c' if next == Some('r') && !follows_word(chars, at) => {
            match raw_string_end(chars, at + 2) {
                Some(end) => (Kind::Literal, end),
                None => (Kind::Code, at + 1),
            }
        }
        '\'' => match char_end(chars, at) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, at + 1),
        },
        _ => (Kind::Code, at + 1),
    }
}

fn find(chars: &[char], from: usize, is_end: impl Fn(char) -> bool) -> usize {
    (from..chars.len()).find(|&at| is_end(chars[at])).unwrap_or(chars.len())
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn follows_word(chars: &[char], at: usize) -> bool {
    at > 0 && is_word(chars[at - 1])
}

fn block_comment_end(chars: &[char], begin: usize) -> usize {
    let mut depth = 0;
    let mut at = begin;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(chars.len())
}

fn string_end(chars: &[char], first: usize) -> usize {
    let mut at = first;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of a raw string whose hashes begin at `at`; none if it is no raw string.
fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    let quote = find(chars, at, |letter| letter != '#');
    if chars.get(quote) != Some(&'"') {
        return None;
    }
    let hashes = quote - at;
    let closes = |end: &usize| {
        chars[*end] == '"'
            && chars
                .get(end + 1..end + 1 + hashes)
                .is_some_and(|tail| tail.iter().all(|&c| c == '#'))
    };
    Some((quote + 1..chars.len()).find(closes).map_or(chars.len(), |end| end + 1 + hashes))
}

/// The end of a character literal; none for a lifetime or a label.
fn char_end(chars: &[char], at: usize) -> Option<usize> {
    match chars.get(at + 1)? {
        '\\' => {
            let close = find(chars, at + 3, |letter| letter == '\'');
            Some((close + 1).min(chars.len()))
        }
        _ if chars.get(at + 2) == Some(&'\'') => Some(at + 3),
        _ => None,
    }
}

/// Byte offsets at which `word` stands in `text` as a whole word.
pub(super) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let is_free = |letter: Option<char>| !letter.is_some_and(is_word);
        is_free(text[..at].chars().next_back()) && is_free(text[at + word.len()..].chars().next())
    })
}

/// The number of the line that holds byte `at`, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        RustText::parse(text).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        assert_eq!(code("a(); // unsafe\nb()"), "a(); b()");
        assert_eq!(code("a(/* x /* y */ z */ b)"), "a( b)");
        assert_eq!(code(r#"a("unsafe \" {", b)"#), "a( , b)");
        assert_eq!(code("a(r#\"say \"unsafe\" \"#, br\"x\", b)"), "a( , , b)");
        assert_eq!(code(r"a('\'', '{', b)"), "a( , , b)");
    }

    #[test]
    fn lifetimes_and_identifiers_stay_code() {
        assert_eq!(code("fn f<'a>(x: &'a str) -> &'a str"), "fn f<'a>(x: &'a str) -> &'a str");
        assert_eq!(code("for r in bar"), "for r in bar");
        assert_eq!(code("r#type"), "r#type");
    }

    #[test]
    fn comments_keep_their_lines() {
        let split = RustText::parse("let x = 1; // why\nlet y = \"// no\";\n");
        assert_eq!(split.comments.lines().next().map(str::trim), Some("// why"));
        assert_eq!(split.comments.lines().nth(1).map(str::trim), Some(""));
        assert_eq!(split.code.lines().count(), 2);
    }

    #[test]
    fn a_file_that_ends_inside_a_literal_or_a_comment_is_still_split() {
        for text in ["\"open", "/* open", "r#\"open", "'\\", "\"\\"] {
            assert_eq!(RustText::parse(text).code.trim(), "", "{text}");
        }
    }

    #[test]
    fn only_whole_words_are_found() {
        assert_eq!(words("unsafe_code unsafe x_unsafe unsafe{", "unsafe").count(), 2);
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }
}
