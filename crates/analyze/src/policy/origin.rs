//! Where the rules of a check come from, and what the change edits in them.

/// The origin of the rules that judge a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The file and its revision, in words.
    pub place: String,
    /// What the change edits in the rules and in the files that run the check.
    pub edits: Vec<Edit>,
}

/// One edit of what judges a change, made by the change itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// A key of the file of rules, as `policy.slower`, or the path of a file.
    pub what: String,
    /// What stood there; none if it is new.
    pub before: Option<String>,
    /// What stands there now; none if it is gone.
    pub after: Option<String>,
    /// Whether a change that fails could pass with it.
    pub loosens: bool,
}

impl Origin {
    /// Whether an edit could let a change pass that fails.
    pub fn is_loosened(&self) -> bool {
        self.edits.iter().any(|edit| edit.loosens)
    }
}
