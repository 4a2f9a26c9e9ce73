//! Every crate says what it is and takes the lints of the workspace.

use super::{SourceFile, Violation};

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    let folders: Vec<&str> = file.folders().collect();
    let is_ours = file.name() == "Cargo.toml" && matches!(folders[..], ["crates", _] | ["xtask"]);
    if !is_ours {
        return Vec::new();
    }
    let complain = |message: &str, hint| Violation::new(&file.path, 1, message, hint);
    let table: toml::Table = match file.text.parse() {
        Ok(table) => table,
        Err(error) => return vec![complain(&error.to_string(), "make it valid TOML")],
    };
    let get = |section: &str, key: &str| table.get(section)?.get(key);
    let mut violations = Vec::new();
    if get("lints", "workspace").and_then(toml::Value::as_bool) != Some(true) {
        let hint = "add `[lints]` with `workspace = true`";
        violations.push(complain("does not take the lints of the workspace", hint));
    }
    let description = get("package", "description").and_then(toml::Value::as_str);
    if description.unwrap_or_default().trim().is_empty() {
        let hint = "write the crate's one sentence as `description`";
        violations.push(complain("has no description", hint));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&SourceFile::new(path, text)).into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn refuses_a_crate_without_lints_or_description() {
        let path = "crates/gate/Cargo.toml";
        let lints = "[lints]\nworkspace = true\n";
        let empty = format!("[package]\ndescription = \"\"\n{lints}");
        assert_eq!(found(path, &empty), ["has no description"]);
        assert_eq!(found(path, lints), ["has no description"]);
        assert_eq!(
            found(path, "[package]\ndescription = \"Judges.\"\n"),
            ["does not take the lints of the workspace"]
        );
        assert_eq!(found(path, "[package").len(), 1);
        let whole = format!("[package]\ndescription = \"Judges.\"\n{lints}");
        assert!(found(path, &whole).is_empty());
    }

    #[test]
    fn asks_only_crates_of_the_workspace() {
        assert!(found("Cargo.toml", "[workspace]\n").is_empty());
        assert!(found("peers/faer/Cargo.toml", "[package]\n").is_empty());
    }
}
