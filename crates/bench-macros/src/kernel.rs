//! A function as a kernel: the function that C calls, and the lines of the kernel's file.

use crate::options::{Options, quoted};
use crate::parameters::{Parameter, Replaced, Sizes, symbol};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Error, Expr, ExprLit, GenericParam, ItemFn, Lit, Meta, Safety};

/// `#[proofmark::kernel(op = "…")]`.
pub(crate) fn kernel(options: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let function: ItemFn = syn::parse2(item)?;
    let described = described(options, &function)?;
    Ok(quote! {
        #function
        const _: () = { #described };
    })
}

/// The functions that C calls for a kernel, and its description.
pub(crate) fn described(options: TokenStream, function: &ItemFn) -> Result<TokenStream, Error> {
    let options = Options::parse(options)?;
    let Named { op, name } = Named::of(&options, function)?;
    let (wrappers, calls) = calls(&options, function, &op, "kernel")?;
    let mut keys = options.keys.clone();
    if let (false, Some(summary)) = (options.has_summary, summary(&function.attrs)) {
        keys += &format!("summary = {}\n", quoted(&summary));
    }
    let promises = &options.promises;
    Ok(quote! {
        #wrappers
        ::proofmark::__private::inventory::submit! {
            ::proofmark::__private::Kernel {
                op: #op,
                name: #name,
                calls: &[#(#calls),*],
                keys: #keys,
                promises: #promises,
            }
        }
    })
}

/// `#[proofmark::setup(op = "…", name = "…", packed_bytes = "…")]`.
pub(crate) fn setup(options: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let options = Options::parse(options)?;
    let function: ItemFn = syn::parse2(item)?;
    let Named { op, name } = Named::of(&options, &function)?;
    let Some(packed_bytes) = &options.packed_bytes else {
        let reason = "say how many bytes it packs: `packed_bytes = \"4 * k * n\"`";
        return Err(Error::new_spanned(&function.sig, reason));
    };
    if options.name.is_none() {
        let reason = "say which kernel it packs for: `name = \"…\"`";
        return Err(Error::new_spanned(&function.sig, reason));
    }
    let (wrappers, calls) = calls(&options, &function, &op, "setup")?;
    Ok(quote! {
        #function
        const _: () = {
            #wrappers
            ::proofmark::__private::inventory::submit! {
                ::proofmark::__private::Setup {
                    op: #op,
                    kernel: #name,
                    calls: &[#(#calls),*],
                    packed_bytes: #packed_bytes,
                }
            }
        };
    })
}

struct Named {
    op: String,
    name: String,
}

impl Named {
    fn of(options: &Options, function: &ItemFn) -> Result<Named, Error> {
        let Some(op) = &options.op else {
            return Err(Error::new_spanned(&function.sig, "say which op it does: `op = \"…\"`"));
        };
        let own = || function.sig.ident.to_string();
        let name = options.name.as_ref().map_or_else(own, syn::LitStr::value);
        Ok(Named { op: op.value(), name })
    }
}

/// The functions that C calls, and their signatures.
fn calls(
    options: &Options,
    function: &ItemFn,
    op: &str,
    part: &str,
) -> Result<(TokenStream, Vec<String>), Error> {
    let signature = &function.sig;
    for (refused, what) in [
        (signature.asyncness.is_some(), "asynchronous"),
        (signature.variadic.is_some(), "variadic"),
    ] {
        if refused {
            return Err(Error::new_spanned(signature, format!("a kernel is not {what}")));
        }
    }
    let parameters: Vec<Parameter> =
        signature.inputs.iter().map(Parameter::of).collect::<Result<_, _>>()?;
    let has = |name: String| parameters.iter().any(|it| it.name() == name);
    let slices = || parameters.iter().filter(|it| it.is_slice()).map(Parameter::name);
    if let Some(name) = slices().find(|name| has(format!("{name}_len"))) {
        let reason = format!("`{name}` is a slice and has its length: leave `{name}_len` out");
        return Err(Error::new_spanned(signature, reason));
    }
    let strided = slices().filter(|name| has(format!("{name}_stride"))).collect();
    let packed = options.packed_bytes.as_ref().map(syn::LitStr::value);
    let workspace = options.workspace_bytes.as_deref();
    let sizes = Sizes { strided, packed: packed.as_deref(), workspace };
    let mut wrappers = TokenStream::new();
    let mut texts = Vec::new();
    for replaced in replacements(options, function)? {
        let suffix = replaced.map_or_else(String::new, |(_, by)| format!("_{by}"));
        let symbol = symbol(&format!("proofmark_{part}_{op}_{}{suffix}", signature.ident));
        wrappers.extend(wrapper(function, &symbol, &parameters, replaced));
        let described: Vec<String> =
            parameters.iter().map(|it| it.described(replaced, &sizes)).collect::<Result<_, _>>()?;
        texts.push(format!("{symbol}({}) -> i32", described.join(", ")));
    }
    Ok((wrappers, texts))
}

/// The types that a generic function is made for; one nothing for a function that is not generic.
fn replacements<'a>(
    options: &'a Options,
    function: &'a ItemFn,
) -> Result<Vec<Replaced<'a>>, Error> {
    let generics = &function.sig.generics;
    let types: Vec<&Ident> = generics.type_params().map(|it| &it.ident).collect();
    let others = generics.params.iter().filter(|it| matches!(it, GenericParam::Const(_))).count();
    match (&types[..], &options.types[..]) {
        ([], []) if others == 0 => Ok(vec![None]),
        ([parameter], [_, ..]) if others == 0 => {
            Ok(options.types.iter().map(|by| Some((*parameter, by))).collect())
        }
        ([_], []) => {
            Err(Error::new_spanned(generics, "say for which types it is made: `types(f32, f64)`"))
        }
        _ => Err(Error::new_spanned(
            &function.sig,
            "a kernel has at most one generic type, and `types(…)` for it",
        )),
    }
}

fn wrapper(
    function: &ItemFn,
    symbol: &str,
    parameters: &[Parameter],
    replaced: Replaced<'_>,
) -> TokenStream {
    let (name, symbol) = (&function.sig.ident, format_ident!("{symbol}"));
    let taken = parameters.iter().map(|it| it.taken(replaced));
    let passed = parameters.iter().map(Parameter::passed);
    let turbofish = replaced.map(|(_, by)| quote!(::<#by>));
    let call = quote!(#name #turbofish (#(#passed),*));
    let is_unsafe = matches!(function.sig.safety, Safety::Unsafe(_));
    // SAFETY: whoever marks an unsafe function as a kernel says that operands of the op suit it.
    let call = if is_unsafe { quote!(unsafe { #call }) } else { call };
    // SAFETY: only a worker calls it, by the signature that is described beside it.
    quote! {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::not_unsafe_ptr_arg_deref, clippy::too_many_arguments)]
        unsafe extern "C" fn #symbol(#(#taken),*) -> i32 {
            // SAFETY: operands are as long as the signature says, and outputs overlap nothing.
            ::proofmark::__private::Finished::code(#call)
        }
    }
}

/// The first line of the documentation.
fn summary(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                Some(text.value().trim().trim_end_matches('.').to_owned())
                    .filter(|it| !it.is_empty())
            }
            _ => None,
        },
        _ => None,
    })
}
