//! What a change edits in the file of rules: key by key, and whether it loosens them.

use proofmark_analyze::policy::{Edit, Policy};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// The keys of the list sections that tell one entry from another.
const IDENTITY: [(&str, &[&str]); 3] = [
    ("accept", &["case", "contender"]),
    ("tag", &["name"]),
    ("target", &["op", "case", "contender", "metric", "to"]),
];

/// The edits that lead from one file to another. A file that is no TOML counts as empty.
pub(super) fn edits(before: &str, after: &str) -> Vec<Edit> {
    let table = |text: &str| text.parse::<Table>().unwrap_or_default();
    let (before, after) = (table(before), table(after));
    let mut all = Vec::new();
    for section in keys(&before, &after) {
        match (before.get(section), after.get(section)) {
            (was, is) if is_list(was) || is_list(is) => entries(section, was, is, &mut all),
            (was, is) => values(section, was, is, &mut all),
        }
    }
    all
}

fn keys<'a>(before: &'a Table, after: &'a Table) -> BTreeSet<&'a str> {
    before.keys().chain(after.keys()).map(String::as_str).collect()
}

fn is_list(section: Option<&Value>) -> bool {
    section.is_some_and(Value::is_array)
}

/// The edits of `[check]` and `[policy]`.
fn values(section: &str, was: Option<&Value>, is: Option<&Value>, all: &mut Vec<Edit>) {
    let empty = Table::new();
    let table = |value: Option<&'_ Value>| value.and_then(Value::as_table).cloned();
    let (was, is) = (table(was).unwrap_or(empty.clone()), table(is).unwrap_or(empty));
    for key in keys(&was, &is) {
        let (before, after) = (was.get(key), is.get(key));
        if is_same(before, after) {
            continue;
        }
        all.push(Edit {
            what: format!("{section}.{key}"),
            before: before.map(Value::to_string),
            after: after.map(Value::to_string),
            loosens: match section {
                "policy" => policy_loosens(key, before, after),
                _ => check_loosens(before, after),
            },
        });
    }
}

/// The edits of `[[accept]]`, `[[tag]]` and `[[target]]`. An entry that changes is one edit.
fn entries(section: &str, was: Option<&Value>, is: Option<&Value>, all: &mut Vec<Edit>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let (mut gone, mut fresh) = (list(was), list(is));
    gone.retain(|entry| match fresh.iter().position(|other| other == entry) {
        Some(at) => {
            fresh.remove(at);
            false
        }
        None => true,
    });
    let same = IDENTITY.iter().find(|(name, _)| *name == section).map_or(&[][..], |it| it.1);
    for entry in gone {
        let is_it = |other: &Value| same.iter().all(|key| entry.get(key) == other.get(key));
        let after = fresh.iter().position(is_it).map(|at| fresh.remove(at));
        all.push(entry_edit(section, Some(&entry), after.as_ref()));
    }
    all.extend(fresh.iter().map(|entry| entry_edit(section, None, Some(entry))));
}

fn entry_edit(section: &str, before: Option<&Value>, after: Option<&Value>) -> Edit {
    let loosens = match section {
        // An entry explains a regression; a tag or a target can only be missed.
        "accept" => after.is_some(),
        _ => before.is_some(),
    };
    let (before, after) = (before.map(Value::to_string), after.map(Value::to_string));
    Edit { what: section.to_owned(), before, after, loosens }
}

fn number(value: Option<&Value>) -> Option<f64> {
    let value = value?;
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}

/// `5` and `5.0` are the same.
fn is_same(before: Option<&Value>, after: Option<&Value>) -> bool {
    before == after
        || (before.is_some() && number(before).is_some_and(|n| number(after) == Some(n)))
}

/// A limit that is raised, or a rule that is switched off. A key that is not written has its
/// default.
fn policy_loosens(key: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    let usual = Policy::default();
    let usual = match key {
        "slower" => usual.slower,
        "critical" => usual.critical,
        "memory" => usual.memory,
        "allocations" => {
            let is_on =
                |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(usual.allocations);
            return is_on(before) && !is_on(after);
        }
        // A wide interval fails nothing.
        _ => return false,
    };
    number(after).unwrap_or(usual) > number(before).unwrap_or(usual)
}

/// Any change of what is raced may let the check show less. Only a list that keeps all of its items
/// shows more.
fn check_loosens(before: Option<&Value>, after: Option<&Value>) -> bool {
    let items = |value: Option<&Value>| value.and_then(Value::as_array).cloned();
    match (items(before), items(after)) {
        (Some(before), Some(after)) if !before.is_empty() => {
            before.iter().any(|item| !after.contains(item))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "[check]\ncases = [\"a\", \"b\"]\nseconds = 20\n\
        [policy]\nslower = 5\n\
        [[accept]]\ncase = \"a\"\nup_to = 8\nreason = \"r\"\ndate = 2026-01-01\n\
        [[tag]]\nname = \"critical\"\nops = [\"add\"]\n\
        [[target]]\nmetric = \"allocations\"\nmax = 0\n";

    #[test]
    fn words_that_change_nothing_are_no_edit() {
        let after = format!("# a comment\n{}", BEFORE.replace("slower = 5", "slower  =  5.0"));
        assert_eq!(edits(BEFORE, &after), []);
    }

    #[test]
    fn every_edit_is_told_with_its_key_and_whether_it_loosens() {
        for (from, to, what, loosens) in [
            ("slower = 5", "slower = 50", "policy.slower", true),
            ("slower = 5", "slower = 2", "policy.slower", false),
            ("slower = 5\n", "", "policy.slower", false),
            ("slower = 5", "slower = 5\nallocations = false", "policy.allocations", true),
            ("slower = 5", "slower = 5\nvariance = 90", "policy.variance", false),
            ("slower = 5", "slower = 5\ncritical = 11", "policy.critical", true),
            ("slower = 5", "slower = 5\nmemory = 19", "policy.memory", false),
            ("\"a\", \"b\"", "\"a\"", "check.cases", true),
            ("\"a\", \"b\"", "\"b\", \"a\", \"c\"", "check.cases", false),
            ("seconds = 20", "seconds = 0.1", "check.seconds", true),
            ("seconds = 20", "seconds = 20\nops = [\"add\"]", "check.ops", true),
            ("up_to = 8", "up_to = 80", "accept", true),
            ("case = \"a\"", "case = \"*\"", "accept", true),
            ("name = \"critical\"", "name = \"other\"", "tag", true),
            ("max = 0", "max = 9", "target", true),
        ] {
            let found = edits(BEFORE, &BEFORE.replacen(from, to, 1));
            assert!(!found.is_empty() && found.iter().all(|edit| edit.what == what), "{found:?}");
            assert_eq!(found.iter().any(|edit| edit.loosens), loosens, "{from} -> {to}: {found:?}");
        }
    }

    #[test]
    fn an_entry_that_changes_is_one_edit_with_both_sides() {
        let found = edits(BEFORE, &BEFORE.replace("up_to = 8", "up_to = 80"));
        let [Edit { before: Some(before), after: Some(after), .. }] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(before.contains("up_to = 8,") && after.contains("up_to = 80,"), "{found:?}");
        // Rules that are gone altogether are looser, but for the entry that explained something.
        let gone = edits(BEFORE, "");
        let stricter = gone.iter().filter(|edit| !edit.loosens).map(|edit| edit.what.as_str());
        let mut stricter: Vec<&str> = stricter.collect();
        stricter.sort_unstable();
        assert_eq!(stricter, ["accept", "policy.slower"]);
        let fresh = edits("", BEFORE);
        let looser = fresh.iter().filter(|edit| edit.loosens).map(|edit| edit.what.as_str());
        assert_eq!(looser.collect::<Vec<_>>(), ["accept", "check.cases", "check.seconds"]);
    }
}
