//! The workflows that are shipped.

use std::fs;
use std::path::Path;

#[test]
fn the_shipped_workflows_are_pinned_and_give_no_rights_to_a_fork() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci");
    for name in ["proofmark.yml", "advisories.yml"] {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let used: Vec<&str> = lines().filter_map(|line| line.split("uses: ").nth(1)).collect();
        assert!(!used.is_empty(), "{name}");
        for action in used {
            let (commit, version) = action.split_once('@').unwrap().1.split_once(" # ").unwrap();
            let is_hash = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
            assert!(is_hash && version.starts_with('v'), "{name}: {action}");
        }
        assert!(text.contains("\npermissions: {}\n"), "{name} gives no rights by itself");
        for word in ["pull_request_target", "secrets.", "write", "actions/cache"] {
            assert!(!lines().any(|line| line.contains(word)), "{word} in {name}");
        }
        let checkouts = text.matches("actions/checkout@").count();
        assert_eq!(text.matches("persist-credentials: false").count(), checkouts, "{name}");
    }
}
