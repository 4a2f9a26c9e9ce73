//! What can be asked of the engine, one file or folder each. A verb goes through the phases and
//! knows no other verb; only `check` compares.

pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod costs;
pub(crate) mod coverage;
pub(crate) mod devices;
pub(crate) mod found;
pub(crate) mod import;
pub(crate) mod judge;
pub(crate) mod merge;
pub(crate) mod opening;
pub(crate) mod prove;
pub(crate) mod replay;
pub(crate) mod sandbox;
pub(crate) mod scale;
pub(crate) mod selftest;
pub(crate) mod submission;
pub(crate) mod timing;
pub(crate) mod tune;
