//! Pages about a history: as files that any browser opens and any server serves, and as the answers
//! of `serve`.

mod drawing;
mod files;
pub(crate) mod machines;
pub(crate) mod pages;
mod view;

pub use files::write_site;
pub(crate) use files::{SCRIPT, style};
pub(crate) use pages::Host;
pub(crate) use view::{Stamp, View};

#[cfg(test)]
mod tests;
