//! The known word nearest to what was typed.

/// The known word nearest to what was typed, if one is near enough to be meant.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let begins = |word: &&&str| typed.len() > 1 && word.starts_with(typed);
    let is_part = |word: &&&str| typed.len() > 1 && word.contains(typed);
    if let Some(whole) = known.iter().find(begins).or_else(|| known.iter().find(is_part)) {
        return Some(whole);
    }
    let best = known.iter().map(|word| (distance(typed, word), *word)).min_by_key(|pair| pair.0);
    let is_near = |distance: usize, word: &str| distance <= 1 + word.len().max(typed.len()) / 4;
    best.filter(|&(distance, word)| is_near(distance, word)).map(|(_, word)| word)
}

/// Levenshtein's distance, with one row kept.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
