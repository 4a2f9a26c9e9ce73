//! Splits Rust source into code and comments, so that a rule never trips over a string.

use proc_macro2::{TokenStream, TokenTree};

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
    /// Splits a text; one that has no tokens is left to the compiler, and is all code here.
    pub(super) fn parse(text: &str) -> Self {
        // What no token covers is space or a comment.
        let mut kinds = vec![Kind::Comment; text.len()];
        match text.parse() {
            Ok(tokens) => mark(tokens, text, &mut kinds),
            Err(_) => kinds.fill(Kind::Code),
        }
        let mut split = Self { code: String::new(), comments: String::new() };
        for (at, letter) in text.char_indices() {
            split.push(letter, kinds[at]);
        }
        split
    }

    fn push(&mut self, letter: char, kind: Kind) {
        let blank = if letter == '\n' { '\n' } else { ' ' };
        self.code.push(if kind == Kind::Code { letter } else { blank });
        self.comments.push(if kind == Kind::Comment { letter } else { blank });
    }
}

/// Marks the bytes of every token.
fn mark(tokens: TokenStream, text: &str, kinds: &mut [Kind]) {
    for token in tokens {
        let place = token.span().byte_range();
        let source = &text[place.clone()];
        match token {
            // A comment of the documentation is tokens to the compiler; it stays a comment.
            _ if source.starts_with("//") || source.starts_with("/*") => {}
            TokenTree::Group(group) => {
                kinds[group.span_open().byte_range()].fill(Kind::Code);
                kinds[group.span_close().byte_range()].fill(Kind::Code);
                mark(group.stream(), text, kinds);
            }
            TokenTree::Literal(_) if !source.starts_with(|first: char| first.is_ascii_digit()) => {
                kinds[place].fill(Kind::Literal);
            }
            _ => kinds[place].fill(Kind::Code),
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
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
    fn documentation_is_a_comment() {
        let split = RustText::parse("//! Says unsafe.\n/// So too.\nfn f() {} /** And here. */");
        assert_eq!(split.code.trim(), "fn f() {}");
        assert!(split.comments.contains("/// So too.") && split.comments.contains("/** And"));
    }

    #[test]
    fn a_text_without_tokens_is_all_code() {
        for text in ["\"open", "/* open", "r#\"open", "fn f() {"] {
            assert_eq!(RustText::parse(text).code, text);
        }
    }

    #[test]
    fn only_whole_words_are_found() {
        assert_eq!(words("unsafe_code unsafe x_unsafe unsafe{", "unsafe").count(), 2);
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }
}
