//! Pull requests that forge what judges them, and honest ones that look like it.
//!
//! Every forgery comes with code that must not pass: a wrong kernel, or one that begins to allocate
//! or is far slower. `check` refuses each with exit code 4. The same edits without such code pass.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and git")]

mod honest;
mod place;
mod places;
mod rules;
mod workflow;
