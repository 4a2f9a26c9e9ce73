//! Which layers this machine has.

use crate::files::Files;
use crate::{Permit, calls};
use proofmark_schema::isolation::Layer;
use std::path::Path;
use std::sync::OnceLock;

/// The layers that this machine lacks. The sandbox starts no worker unless there are none.
pub fn missing() -> Vec<Layer> {
    static MISSING: OnceLock<Vec<Layer>> = OnceLock::new();
    MISSING.get_or_init(look).clone()
}

fn look() -> Vec<Layer> {
    let mut missing = Vec::new();
    if Files::of(Path::new("/"), &Permit::default(), None).ruleset().is_err() {
        missing.push(Layer::Landlock);
    }
    if !calls::are_filtered() {
        missing.push(Layer::SystemCalls);
    }
    missing
}
