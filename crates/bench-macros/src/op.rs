//! A generic function as the reference of an op, and the op itself.

use crate::parameters::{Parameter, symbol};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, ItemFn, LitStr};

/// The form of the function's arguments; the symbol has it, so that another form is not called.
const FORM: &str = "proofmark_reference_1";

/// `#[proofmark::op(r#"…"#)]`.
pub(crate) fn op(text: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let function: ItemFn = syn::parse2(item)?;
    let toml: LitStr = syn::parse2(text).map_err(|_| {
        let reason =
            "write the lines of an op.toml as one text: `#[proofmark::op(r#\"axes = …\"#)]`";
        Error::new_spanned(&function.sig, reason)
    })?;
    let signature = &function.sig;
    let generics: Vec<&Ident> = signature.generics.type_params().map(|it| &it.ident).collect();
    let [number] = generics[..] else {
        let reason =
            "a reference has one generic type for its numbers: `fn name<T: proofmark::Real>`";
        return Err(Error::new_spanned(signature, reason));
    };
    let parameters: Vec<Parameter> =
        signature.inputs.iter().map(Parameter::of).collect::<Result<_, _>>()?;
    let name = signature.ident.to_string();
    let symbol = format_ident!("{}", symbol(&format!("{FORM}_{name}")));
    let symbol_text = symbol.to_string();
    let names = parameters.iter().map(Parameter::name);
    let mut before = TokenStream::new();
    let mut passed = TokenStream::new();
    let mut after = TokenStream::new();
    for (place, parameter) in parameters.iter().enumerate() {
        let bound = parameter.bound(place, number)?;
        before.extend(bound.before);
        passed.extend(bound.passed);
        after.extend(bound.after);
    }
    let function_name = &signature.ident;
    let as_kernel = as_kernel(&function, &name)?;
    let generic = quote! {
        struct Generic;
        impl ::proofmark::__private::Reference for Generic {
            fn call<#number: ::proofmark::Real>(
                bound: &mut ::proofmark::__private::Bound<#number>,
            ) {
                #before
                #function_name::<#number>(#passed);
                #after
            }
        }
    };
    Ok(quote! {
        #function
        const _: () = {
            #generic
            // SAFETY: only the process of a reference calls it, by the form in its name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn #symbol(
                arguments: *const ::proofmark::__private::Argument,
                count: usize,
                seed: u64,
                unit: f64,
            ) -> u64 {
                use ::proofmark::__private::reference;
                // SAFETY: the judge passes as many arguments as are listed here.
                unsafe { reference::<Generic>(arguments, count, seed, unit) }
            }
            ::proofmark::__private::inventory::submit! {
                ::proofmark::__private::Op {
                    name: #name,
                    toml: #toml,
                    symbol: #symbol_text,
                    parameters: &[#(#names),*],
                }
            }
            #as_kernel
        };
    })
}

/// The reference in f32 as a kernel, to be measured beside.
fn as_kernel(function: &ItemFn, op: &str) -> Result<TokenStream, Error> {
    let options = quote! {
        op = #op, name = "reference_f32", types(f32), summary = "the reference in f32, as it is written"
    };
    crate::kernel::described(options, function)
}
