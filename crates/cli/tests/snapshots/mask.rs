//! The mask: what it leaves of an output is the same on every machine and at every moment.

use std::path::Path;

/// How much of an output its snapshot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Everything that is not named after this machine or this moment: for outputs that follow
    /// from stored or fixed data.
    Exact,
    /// The words only: numbers with their units and the widths of columns are masked.
    Words,
    /// The words, and of each table only the header.
    Header,
    /// The title, and of each table the header and this many columns: for outputs whose other
    /// cells and sentences depend on the machine.
    Columns(usize),
}

/// The text without what differs between machines and moments: the `folder` it was made in, this
/// program's path and version, run ids, hashes, ages, days; and what `held` leaves out. No line
/// ends in blanks.
pub(crate) fn mask(text: &str, folder: &Path, held: Held) -> String {
    let text = text
        .replace(&*folder.to_string_lossy(), "[folder]")
        .replace(env!("CARGO_BIN_EXE_proofmark"), "[program]")
        .replace(concat!("proofmark ", env!("CARGO_PKG_VERSION")), "proofmark [version]");
    let text = without_days(&without_ages(&without_ids(&text)));
    let text = match held {
        Held::Exact => text,
        Held::Words => words(&text),
        Held::Header => words(&of_tables(&text, true, 0)),
        Held::Columns(count) => words(&of_tables(&text, false, count)),
    };
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The text with `[id]` for every run id and `[hash]` for every other long hexadecimal word.
fn without_ids(text: &str) -> String {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    const SHORT_HASH: usize = 12;
    let is_hex = |word: &str| word.chars().all(|letter| "0123456789abcdef".contains(letter));
    // A long number has digits only; of short hashes a few have too.
    let is_hash = |word: &str| {
        let has_letter = word.contains(|letter: char| letter.is_ascii_alphabetic());
        is_hex(word) && (word.len() == SHORT_HASH || word.len() > SHORT_HASH && has_letter)
    };
    let masked = |word: &str| {
        let groups: Vec<&str> = word.split('-').collect();
        let is_id = groups.iter().map(|group| group.len()).eq(GROUPS)
            && groups.iter().all(|group| is_hex(group));
        if is_id {
            "[id]".to_owned()
        } else if is_hash(word) {
            "[hash]".to_owned()
        } else {
            word.to_owned()
        }
    };
    let mut out = String::new();
    let mut word = String::new();
    for letter in text.chars() {
        if letter.is_alphanumeric() || letter == '-' {
            word.push(letter);
        } else {
            out.push_str(&masked(&std::mem::take(&mut word)));
            out.push(letter);
        }
    }
    out + &masked(&word)
}

/// The text with `[day]` for `17 November 2026`.
fn without_days(text: &str) -> String {
    const MONTHS: &str = "January February March April May June July August September October \
                          November December";
    let is_number = |word: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut text = text.to_owned();
    for month in MONTHS.split(' ') {
        let mut from = 0;
        while let Some(found) = text[from..].find(&format!(" {month} ")) {
            let at = from + found;
            let after = at + month.len() + 2;
            let day =
                text[..at].rfind(|letter: char| !letter.is_ascii_digit()).map_or(0, |i| i + 1);
            let year = text[after..].find(|letter: char| !letter.is_ascii_digit());
            let end = year.map_or(text.len(), |year| after + year);
            if is_number(&text[day..at], 1..=2) && is_number(&text[after..end], 4..=4) {
                text.replace_range(day..end, "[day]");
                from = day;
            } else {
                from = after;
            }
        }
    }
    text
}

/// The text with `[age] ago` for `3 min ago`.
fn without_ages(text: &str) -> String {
    let mut parts = text.split(" ago");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let unit = out.rfind(' ').unwrap_or(0);
        let number = out[..unit].rfind(' ').map_or(0, |at| at + 1);
        let is_age = out[number..unit].parse::<f64>().is_ok();
        if is_age {
            out.truncate(number);
            out.push_str("[age]");
        }
        out = out + " ago" + part;
    }
    out
}

/// Every line with `#` for each quantity, two blanks where there are more, and one before its first
/// word, except before a command.
fn words(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let cells: Vec<String> = line.split("  ").map(without_quantities).collect();
        let cells = cells.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
        let indent = match line {
            command if command.starts_with("  $") => "  ",
            row if row.starts_with(' ') => " ",
            _ => "",
        };
        format!("{indent}{}\n", cells.collect::<Vec<_>>().join("  "))
    });
    lines.collect()
}

/// Units that change with the size of the number before them.
const UNITS: [&str; 17] = [
    "ns", "µs", "ms", "s", "min", "h", "day", "days", "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB",
    "GB", "years",
];

/// A part of a line with `#` for each number and the unit after it, and `[place]` for each line of
/// source. A number that belongs to a name (`f32`) or a case (`add:f32[b=2,s=3,d=17]`) stays.
fn without_quantities(part: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    for word in part.split(' ') {
        let masked = match word {
            case if case.contains(":f32[") => case.to_owned(),
            place if place.contains(".rs:") => "[place]".to_owned(),
            other => without_numbers(other),
        };
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')', ']']);
        let tail = &word[bare.len()..];
        match out.last_mut() {
            Some(before) if before.ends_with('#') && UNITS.contains(&bare) => before.push_str(tail),
            _ => out.push(masked),
        }
    }
    out.join(" ")
}

/// A word with `#` for each number and its sign, if no letter stands before it.
fn without_numbers(word: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let mut out = String::new();
    let mut at = 0;
    while at < letters.len() {
        let name = out.strip_suffix('-').unwrap_or(&out);
        let is_in_name = name.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let is_sign = "+-".contains(letters[at]) && is_digit(at + 1) && !out.ends_with('#');
        if is_in_name || !(is_digit(at) || is_sign) {
            out.push(letters[at]);
            at += 1;
            continue;
        }
        at += usize::from(is_sign);
        while is_digit(at) || (letters.get(at) == Some(&'.') && is_digit(at + 1)) {
            at += 1;
        }
        if letters.get(at) == Some(&'e') && (is_digit(at + 1) || is_digit(at + 2)) {
            at += 2;
            while is_digit(at) {
                at += 1;
            }
        }
        out.push('#');
    }
    out
}

/// The text with the first columns of every table under its header, and without paragraphs after
/// the first unless `has_text`.
fn of_tables(text: &str, has_text: bool, columns: usize) -> String {
    let is_row = |line: &str| line.starts_with(' ') && !line.starts_with("  $");
    let mut blocks = Vec::new();
    for (number, block) in text.split("\n\n").enumerate() {
        let is_table = !block.starts_with("note:") && block.lines().take(2).any(is_row);
        let mut lines: Vec<String> = Vec::new();
        let mut has_header = false;
        for line in block.lines() {
            if is_table && has_header && is_row(line) {
                lines.extend(first_cells(line, columns));
            } else {
                lines.push(line.to_owned());
                has_header = has_header || is_row(line);
            }
        }
        if is_table || has_text || number == 0 {
            blocks.push(lines.join("\n"));
        }
    }
    blocks.join("\n\n")
}

/// The first cells of a table row; nothing where the line continues the cells above.
fn first_cells(line: &str, columns: usize) -> Option<String> {
    let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
    let kept: Vec<&str> = cells.take(columns).collect();
    (columns > 0 && !line.starts_with("  ")).then(|| format!(" {}", kept.join("  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str, held: Held) -> String {
        mask(text, Path::new("/tmp/x1"), held)
    }

    #[test]
    fn places_ids_hashes_ages_and_versions_are_masked_in_every_output() {
        let text = concat!("proofmark ", env!("CARGO_PKG_VERSION"), " wrote /tmp/x1/a.json");
        assert_eq!(masked(text, Held::Exact), "proofmark [version] wrote [folder]/a.json\n");
        let text = "run 01a1df84-7c1a-7abc-8def-0123456789ab of 0d053ca4a802, 3 min ago:";
        assert_eq!(masked(text, Held::Exact), "run [id] of [hash], [age] ago:\n");
        let text = "softmax, 7 May 2026: 3 May fly, of 17 November 2027";
        assert_eq!(masked(text, Held::Exact), "softmax, [day]: 3 May fly, of [day]\n");
        let text = "0123456789abcdef0 is no number, 18446744073709551615 is one";
        assert_eq!(masked(text, Held::Exact), "[hash] is no number, 18446744073709551615 is one\n");
        let text = concat!(env!("CARGO_BIN_EXE_proofmark"), " said so long ago");
        assert_eq!(masked(text, Held::Exact), "[program] said so long ago\n");
    }

    #[test]
    fn an_exact_output_keeps_its_numbers_and_columns_and_loses_trailing_blanks() {
        let text = " name   time  \n add    12.3 µs\n";
        assert_eq!(masked(text, Held::Exact), " name   time\n add    12.3 µs\n");
    }

    #[test]
    fn words_lose_quantities_whatever_their_size_and_width() {
        let short = " add:f32[b=2,s=3,d=17]     9.87 ns ±0.5 %   1 of 2";
        let long = " add:f32[b=2,s=3,d=17]   123.45 ms ±12.5 %  2 of 13";
        let both = " add:f32[b=2,s=3,d=17]  # ±# %  # of #\n";
        assert_eq!(masked(short, Held::Words), both);
        assert_eq!(masked(long, Held::Words), both);
        let text = "f32, sha-256: -1.5e-05 in (3 s), 7× [1.2, 1.3]; +12 MiB at src/a.rs:7;";
        let without = "f32, sha-256: # in (#), #× [#, #]; # at [place]\n";
        assert_eq!(masked(text, Held::Words), without);
    }

    #[test]
    fn of_a_table_the_header_or_the_first_columns_are_held() {
        let text = "Title 7\n\n check   state    detail\n load    fine     3 processes\n         \
                    and more\n clock   problem  at 3 GHz\n\nnote: a remark that is\n      broken\n";
        let header = "Title #\n\n check  state  detail\n\nnote: a remark that is\n broken\n";
        assert_eq!(masked(text, Held::Header), header);
        let first = "Title #\n\n check  state  detail\n load\n clock\n";
        assert_eq!(masked(text, Held::Columns(1)), first);
        let second = "Title #\n\n check  state  detail\n load  fine\n clock  problem\n";
        assert_eq!(masked(text, Held::Columns(2)), second);
        let commands = "To see it again:\n  $ proofmark a\n  $ proofmark b\n";
        assert_eq!(masked(commands, Held::Header), commands);
    }
}
