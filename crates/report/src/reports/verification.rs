//! The report of a verified run: whether it holds, and what stands behind its numbers.

use crate::document::{Cell, Column, Document};
use proofmark_schema::CodeFile;
use proofmark_schema::origin::Origin;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const DAMAGED: [Column; 2] = [Column::left("file", 0), Column::text("what differs", 0)];

const ORIGINS: [Column; 6] = [
    Column::left("contender", 0),
    Column::right("numbers", 1),
    Column::text("program", 0),
    Column::text("libraries", 0),
    Column::text("seeds", 1),
    Column::left("isolation", 0),
];

/// The verification of a run.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedRun<'a> {
    /// The run.
    pub run: &'a str,
    /// Files that are not as they should be: name and reason.
    pub damaged: &'a [(String, String)],
    /// Numbers and rulings that were computed again.
    pub recomputed: usize,
    /// Those that came out different, in words.
    pub different: &'a [String],
    /// What stands behind each number.
    pub origins: &'a [Origin],
}

/// The document of a verification.
pub fn verification(verified: &VerifiedRun<'_>) -> Document {
    let VerifiedRun { run, damaged, recomputed, different, origins } = *verified;
    let holds = damaged.is_empty() && different.is_empty();
    let files: Vec<_> =
        damaged.iter().map(|(file, reason)| json!({ "file": file, "reason": reason })).collect();
    let data = json!({
        "run": run,
        "holds": holds,
        "damaged": files,
        "recomputed": recomputed,
        "different": different,
        "numbers": origins,
    });
    let mut document = Document::new(format!("Verification of run {run}"), data, "numbers");
    if !damaged.is_empty() {
        let row = |(file, reason): &(String, String)| vec![Cell::plain(file), Cell::plain(reason)];
        document.table("", &DAMAGED, damaged.iter().map(row).collect());
        document.text("The run is not as it was sealed. Nothing that it says can be trusted.");
        return document;
    }
    document.table("What stands behind the numbers", &ORIGINS, rows(origins));
    let same = recomputed - different.len();
    document.text(format!(
        "Every byte is as it was sealed. {same} of {recomputed} numbers and rulings come out the \
         same from their slices."
    ));
    for what in different {
        document.text(format!("different: {what}"));
    }
    if origins.iter().any(|origin| origin.program.is_none()) {
        document.note(
            "Records without a program are older than the field: they name their version only.",
        );
    }
    document.note(
        "`--format json` has every library with its SHA-256 and the seed of every trial; where a \
         contender has many libraries, the table has the SHA-256 of their list.",
    );
    document
}

/// One row for each contender, and one more if its files or its isolation are not the same in all
/// of its numbers.
fn rows(origins: &[Origin]) -> Vec<Vec<Cell>> {
    let mut groups: BTreeMap<_, Vec<&Origin>> = BTreeMap::new();
    for origin in origins {
        let key = (
            origin.contender.to_string(),
            (&origin.program, &origin.libraries),
            origin.isolation.name(),
        );
        groups.entry(key).or_default().push(origin);
    }
    let row = |((contender, (program, libraries), isolation), numbers): (_, Vec<&Origin>)| {
        let contender: String = contender;
        let program: &Option<CodeFile> = program;
        let libraries: &Vec<CodeFile> = libraries;
        let stated = format!("version {}", numbers[0].version);
        vec![
            Cell::plain(contender),
            Cell::plain(numbers.len().to_string()),
            Cell::plain(program.as_ref().map_or(stated, short)),
            match (libraries.len(), own(libraries)) {
                (0, _) => Cell::nothing(),
                (count, own) if own.is_empty() => Cell::plain(count.to_string()),
                (count, own) => Cell::plain(format!("{count}: {own}")),
            },
            Cell::plain(seeds(&numbers)),
            Cell::plain(isolation),
        ]
    };
    groups.into_iter().map(row).collect()
}

/// A file by its name and the beginning of its hash.
fn short(file: &CodeFile) -> String {
    let hash = if file.sha256.is_empty() { "unread" } else { &file.sha256 };
    format!("{} {}", file.name, hash.get(..12).unwrap_or(hash))
}

/// The libraries that are not the system's usual ones: by name, or if they are many by the SHA-256
/// of the list of all, as `sha256sum` would write it.
fn own(libraries: &[CodeFile]) -> String {
    const SYSTEM: [&str; 8] =
        ["ld-", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libgcc_s.", "libstdc++."];
    let is_own = |file: &&CodeFile| !SYSTEM.iter().any(|name| file.name.starts_with(name));
    let names: Vec<String> = libraries.iter().filter(is_own).map(short).collect();
    match names.len() {
        0..=2 => names.join(", "),
        _ => {
            let line = |file: &CodeFile| format!("{}  {}\n", file.sha256, file.name);
            let list: String = libraries.iter().map(line).collect();
            let hash = Sha256::digest(list.as_bytes());
            hash[..6].iter().fold("list ".to_owned(), |text, byte| format!("{text}{byte:02x}"))
        }
    }
}

/// The seeds of a contender's proofs and races, which are the same for most of a run.
fn seeds(numbers: &[&Origin]) -> String {
    let proofs: BTreeMap<u64, ()> = numbers.iter().map(|of| (of.proof_seed, ())).collect();
    let trials: usize = numbers.iter().map(|of| of.trial_seeds.len()).sum();
    let proofs: Vec<String> = proofs.keys().map(u64::to_string).collect();
    format!("proof {}; {trials} trials", proofs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::render::{Style, find};

    fn origin(program: &str) -> Origin {
        let record = fixture::compared();
        let file =
            |name: &str, hash: &str| CodeFile { name: name.to_owned(), sha256: hash.repeat(32) };
        Origin {
            item: 0,
            contender: record.contender.clone(),
            case: record.case.clone(),
            threads: 1,
            wall_ns: record.judged.performance().unwrap().wall_ns,
            version: "1".to_owned(),
            program: Some(file("proofmark", program)),
            libraries: vec![file("libacme.so", "cd"), file("libc.so.6", "ef")],
            proof_seed: 7,
            race_seed: Some(7),
            trial_seeds: vec![1, 2, 3],
            isolation: record.isolation,
        }
    }

    fn text(verified: &VerifiedRun<'_>) -> String {
        let style = Style { width: 160, colour: false, ..Style::default() };
        (find("term").unwrap().render)(&verification(verified), &style)
    }

    #[test]
    fn a_run_that_holds_names_what_is_behind_each_contender() {
        let origins = [origin("ab"), origin("ab"), origin("12")];
        let (damaged, different) = (&[], &[]);
        let verified =
            VerifiedRun { run: "r", damaged, recomputed: 3, different, origins: &origins };
        let shown = text(&verified);
        for words in [
            "proofmark abababababab",
            "proofmark 121212121212",
            "2: libacme.so cdcdcdcdcdcd",
            "proof 7; 6 trials",
            "T1",
            "Every byte is as it was sealed. 3 of 3 numbers",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        let mut many = origin("ab");
        many.libraries.extend(
            ["x", "y"]
                .map(|name| CodeFile { name: format!("lib{name}.so"), sha256: "00".repeat(32) }),
        );
        let listed = text(&VerifiedRun { origins: &[many], ..verified });
        assert!(listed.contains("4: list "), "{listed}");
        let data = verification(&verified).data;
        assert_eq!(data["holds"], true);
        assert_eq!(data["numbers"][0]["libraries"][1]["name"], "libc.so.6");
        assert_eq!(data["numbers"][2]["trial_seeds"], json!([1, 2, 3]));
    }

    #[test]
    fn a_damaged_run_names_its_files_and_vouches_for_no_number() {
        let damaged = [("journal".to_owned(), "it has changed since it was sealed".to_owned())];
        let verified = VerifiedRun {
            run: "r",
            damaged: &damaged,
            recomputed: 0,
            different: &[],
            origins: &[],
        };
        let shown = text(&verified);
        assert!(shown.contains("journal") && shown.contains("has changed"), "{shown}");
        assert!(!shown.contains("as it was sealed. 0"), "{shown}");
        assert_eq!(verification(&verified).data["holds"], false);
    }
}
