//! Pages about a history, as files that any browser opens and any server serves.

mod drawing;
mod files;
mod pages;
mod view;

pub use files::write_site;

#[cfg(test)]
mod tests;
