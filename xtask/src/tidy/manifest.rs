//! Every crate says what it is, takes the lints of the workspace and has what a registry asks for.

use super::{SourceFile, Violation};

/// What a registry asks of a crate, or shows of it.
const ASKED: &[&str] = &["license", "repository", "readme", "keywords", "categories"];

pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    let folders: Vec<&str> = file.folders().collect();
    if file.path == "Cargo.toml" {
        return versions(file);
    }
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
    let is_published = get("package", "publish").and_then(toml::Value::as_bool) != Some(false);
    for key in ASKED.iter().filter(|key| is_published && get("package", key).is_none()) {
        let hint = "add it, or take that of the workspace: `NAME.workspace = true`";
        violations.push(complain(&format!("has no `{key}`"), hint));
    }
    violations
}

/// Cargo packages a crate only if each crate that it needs has a version: that of the workspace.
fn versions(file: &SourceFile) -> Vec<Violation> {
    let Ok(table) = file.text.parse::<toml::Table>() else {
        return vec![Violation::new(&file.path, 1, "does not parse", "make it valid TOML")];
    };
    let workspace = table.get("workspace");
    let section = |name: &str| workspace?.get(name)?.as_table();
    let version = section("package").and_then(|package| package.get("version"));
    let ours =
        section("dependencies").into_iter().flatten().filter(|(_, it)| it.get("path").is_some());
    ours.filter(|(_, dependency)| dependency.get("version") != version)
        .map(|(name, _)| {
            let message = format!("`{name}` does not have the version of the workspace");
            let hint = "write `version` beside its `path`, equal to `workspace.package.version`";
            Violation::new(&file.path, 1, message, hint)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "license.workspace = true\nrepository.workspace = true\n\
        readme.workspace = true\nkeywords.workspace = true\ncategories.workspace = true\n";

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&SourceFile::new(path, text)).into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn refuses_a_crate_without_lints_or_description() {
        let path = "crates/gate/Cargo.toml";
        let lints = "[lints]\nworkspace = true\n";
        let empty = format!("[package]\ndescription = \"\"\n{WHOLE}{lints}");
        assert_eq!(found(path, &empty), ["has no description"]);
        let none = format!("[package]\n{WHOLE}{lints}");
        assert_eq!(found(path, &none), ["has no description"]);
        assert_eq!(
            found(path, &format!("[package]\ndescription = \"Judges.\"\n{WHOLE}")),
            ["does not take the lints of the workspace"]
        );
        assert_eq!(found(path, "[package").len(), 1);
        let whole = format!("[package]\ndescription = \"Judges.\"\n{WHOLE}{lints}");
        assert!(found(path, &whole).is_empty());
    }

    #[test]
    fn asks_a_published_crate_for_what_a_registry_shows() {
        let path = "crates/gate/Cargo.toml";
        let lints = "[lints]\nworkspace = true\n";
        let part = WHOLE.replace("keywords.workspace = true\n", "");
        let text = format!("[package]\ndescription = \"Judges.\"\n{part}{lints}");
        assert_eq!(found(path, &text), ["has no `keywords`"]);
        let private = format!("[package]\ndescription = \"It.\"\npublish = false\n{lints}");
        assert!(found("xtask/Cargo.toml", &private).is_empty());
    }

    #[test]
    fn asks_for_versions_of_the_crates_of_the_workspace() {
        let text = |version: &str| {
            format!(
                "[workspace.package]\nversion = \"0.2.0\"\n[workspace.dependencies]\n\
                 serde = \"1\"\nproofmark-gate = {{ path = \"crates/gate\"{version} }}\n"
            )
        };
        assert!(found("Cargo.toml", &text(", version = \"0.2.0\"")).is_empty());
        assert_eq!(found("Cargo.toml", &text(", version = \"0.1.0\"")).len(), 1);
        assert_eq!(found("Cargo.toml", &text("")).len(), 1);
    }

    #[test]
    fn asks_only_crates_of_the_workspace() {
        assert!(found("Cargo.toml", "[workspace]\n").is_empty());
        assert!(found("peers/faer/Cargo.toml", "[package]\n").is_empty());
    }
}
