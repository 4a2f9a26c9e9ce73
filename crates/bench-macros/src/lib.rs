//! The macros of `proofmark-bench`: they describe kernels and ops, and build the shared library.

mod kernel;
mod library;
mod op;
mod options;
mod parameters;

use proc_macro::TokenStream;

/// Describes a function as a kernel of an op. See `proofmark::kernel`.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::kernel(options.into(), item.into())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Describes a function that packs weights for a kernel. See `proofmark::setup`.
#[proc_macro_attribute]
pub fn setup(options: TokenStream, item: TokenStream) -> TokenStream {
    kernel::setup(options.into(), item.into())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Defines an op by its reference. See `proofmark::op`.
#[proc_macro_attribute]
pub fn op(text: TokenStream, item: TokenStream) -> TokenStream {
    op::op(text.into(), item.into()).unwrap_or_else(|error| error.into_compile_error()).into()
}

/// Builds the program that is being compiled as a shared library too, and is the name of its file,
/// or why there is none.
/// `proofmark::main!` calls it.
#[proc_macro]
pub fn library(_: TokenStream) -> TokenStream {
    library::library().into()
}
