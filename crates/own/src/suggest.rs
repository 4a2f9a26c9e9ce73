//! The known word nearest to what was typed.

use strsim::levenshtein;

/// The known word nearest to what was typed, if one is near enough to be meant.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let begins = |word: &&&str| typed.len() > 1 && word.starts_with(typed);
    let is_part = |word: &&&str| typed.len() > 1 && word.contains(typed);
    if let Some(whole) = known.iter().find(begins).or_else(|| known.iter().find(is_part)) {
        return Some(whole);
    }
    let best = known.iter().map(|word| (levenshtein(typed, word), *word));
    let best = best.min_by_key(|pair| pair.0);
    let is_near = |distance: usize, word: &str| distance <= 1 + word.len().max(typed.len()) / 4;
    best.filter(|&(distance, word)| is_near(distance, word)).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_noise_finds_none() {
        let known = ["add_rms_norm", "rms_norm", "softmax", "matmul", "add"];
        assert_eq!(nearest("rmsnorm", &known), Some("rms_norm"));
        assert_eq!(nearest("sofmtax", &known), Some("softmax"));
        assert_eq!(nearest("norm", &known), Some("add_rms_norm"));
        assert_eq!(nearest("rms", &known), Some("rms_norm"));
        assert_eq!(nearest("convolution", &known), None);
    }
}
