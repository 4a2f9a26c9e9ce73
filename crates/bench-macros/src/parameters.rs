//! The parameters of a kernel: how each is passed through C, and how the file describes it.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, FnArg, Pat, PatType, PointerMutability, Type};

/// Types that an operand may have.
const ELEMENTS: &[&str] = &["f64", "f32", "f16", "bf16", "u16", "i64", "i32", "u32", "i8", "u8"];

/// Types that a number may have.
const NUMBERS: &[&str] = &["usize", "isize", "i32", "u32", "i64", "u64", "f32", "f64", "bool"];

/// Memory that has a size of its own, as the file states it.
const MEMORIES: &[&str] = &["packed", "workspace"];

/// A type parameter, and the type that stands for it.
pub(crate) type Replaced<'a> = Option<(&'a Ident, &'a Ident)>;

/// A parameter that C can pass.
pub(crate) struct Parameter {
    name: Ident,
    kind: Kind,
}

enum Kind {
    Slice { element: Type, writes: bool },
    Pointer { element: Type, writes: bool },
    Number(Ident),
    Word,
}

/// What a reference is given for a parameter: lines before and after the call, and the argument.
#[derive(Default)]
pub(crate) struct Bound {
    pub(crate) before: TokenStream,
    pub(crate) passed: TokenStream,
    pub(crate) after: TokenStream,
}

/// How long slices are: the sizes in bytes of memories that are no operands, and operands whose
/// rows do not lie densely.
pub(crate) struct Sizes<'a> {
    pub(crate) strided: Vec<String>,
    pub(crate) packed: Option<&'a str>,
    pub(crate) workspace: Option<&'a str>,
}

impl Parameter {
    pub(crate) fn of(argument: &FnArg) -> Result<Parameter, Error> {
        let typed = match argument {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                return Err(Error::new_spanned(receiver, "a kernel is a function without `self`"));
            }
        };
        let PatType { pat, ty, .. } = typed;
        let Pat::Ident(pattern) = &**pat else {
            return Err(Error::new_spanned(pat, "a parameter has the name of what it is given"));
        };
        Ok(Parameter { name: pattern.ident.clone(), kind: Kind::of(ty)? })
    }

    pub(crate) fn name(&self) -> String {
        // `r#type` is the attribute `type`.
        self.name.to_string().trim_start_matches("r#").to_owned()
    }

    pub(crate) fn is_slice(&self) -> bool {
        matches!(self.kind, Kind::Slice { .. })
    }

    /// Its name in the function that C calls. A parameter may have the name of the kernel.
    fn inner(&self) -> Ident {
        format_ident!("__{}", self.name())
    }

    fn length(&self) -> Ident {
        format_ident!("__{}_len", self.name())
    }

    /// The parameters of the function that C calls.
    pub(crate) fn taken(&self, replaced: Replaced<'_>) -> TokenStream {
        let name = &self.inner();
        match &self.kind {
            Kind::Slice { element, writes } => {
                let (pointer, length) = (pointer(element, *writes, replaced), self.length());
                quote!(#name: #pointer, #length: usize)
            }
            Kind::Pointer { element, writes } => {
                let pointer = pointer(element, *writes, replaced);
                quote!(#name: #pointer)
            }
            Kind::Number(kind) => quote!(#name: #kind),
            Kind::Word => quote!(#name: *const ::core::ffi::c_char),
        }
    }

    /// What the kernel is given for it.
    pub(crate) fn passed(&self) -> TokenStream {
        let (name, length) = (&self.inner(), self.length());
        match &self.kind {
            // SAFETY: the worker passes the address and the number of elements of one operand.
            Kind::Slice { writes: false, .. } => {
                quote!(unsafe { ::proofmark::__private::slice(#name, #length) })
            }
            // SAFETY: the same, and operands that are written overlap no other.
            Kind::Slice { writes: true, .. } => {
                quote!(unsafe { ::proofmark::__private::slice_mut(#name, #length) })
            }
            Kind::Pointer { .. } | Kind::Number(_) => quote!(#name),
            // SAFETY: the worker passes words that end in 0 and live as long as the kernel.
            Kind::Word => quote!(unsafe { ::proofmark::__private::word(#name) }),
        }
    }

    /// How a reference is given it, whose numbers have the type `number`.
    pub(crate) fn bound(&self, place: usize, number: &Ident) -> Result<Bound, Error> {
        let (name, mut bound) = (&self.inner(), Bound::default());
        match &self.kind {
            Kind::Slice { element, writes } => match (is_it(element, number), writes) {
                (true, false) => {
                    bound.before = quote!(let #name = bound.real(#place););
                    bound.passed = quote!(&#name,);
                }
                (true, true) => {
                    bound.before = quote!(let mut #name = bound.output(#place););
                    bound.passed = quote!(&mut #name,);
                    bound.after = quote!(bound.written(#place, #name););
                }
                (false, false) => {
                    let whole = quote!(bound.whole(#place).iter().map(|it| *it as #element));
                    bound.before = quote!(let #name: ::std::vec::Vec<#element> = #whole.collect(););
                    bound.passed = quote!(&#name,);
                }
                (false, true) => {
                    let reason = format!("a reference writes its generic type: `&mut [{number}]`");
                    return Err(Error::new(self.name.span(), reason));
                }
            },
            Kind::Number(kind) if kind == "bool" => {
                bound.passed = quote!(bound.number(#place) != 0.0,);
            }
            Kind::Number(kind) => bound.passed = quote!(bound.number(#place) as #kind,),
            Kind::Pointer { .. } | Kind::Word => {
                let reason = "a reference takes operands as slices, and numbers";
                return Err(Error::new(self.name.span(), reason));
            }
        }
        Ok(bound)
    }

    /// Its text in the signature of the kernel's file.
    pub(crate) fn described(
        &self,
        replaced: Replaced<'_>,
        sizes: &Sizes<'_>,
    ) -> Result<String, Error> {
        let name = self.name();
        Ok(match &self.kind {
            Kind::Slice { element, writes } => {
                let element = element_name(element, replaced)?;
                let kind = if *writes { "*mut" } else { "*const" };
                // Operands have a length of their own; memories have one in bytes.
                let size = match name.as_str() {
                    "packed" => sizes.packed,
                    "workspace" => sizes.workspace,
                    _ => None,
                };
                let length = match size {
                    Some(bytes) => format!(" = ({bytes}) / {}", bytes_of(&element)),
                    None if MEMORIES.contains(&name.as_str()) => {
                        let reason =
                            format!("say how large it is: `{name}_bytes = \"…\"` in the attribute");
                        return Err(Error::new(self.name.span(), reason));
                    }
                    None => String::new(),
                };
                let what = if sizes.strided.contains(&name) { "span" } else { "len" };
                format!("{name}: {kind} {element}, {name}_{what}: usize{length}")
            }
            Kind::Pointer { element, writes } => {
                let kind = if *writes { "*mut" } else { "*const" };
                format!("{name}: {kind} {}", element_name(element, replaced)?)
            }
            Kind::Number(kind) => format!("{name}: {kind}"),
            Kind::Word => format!("{name}: *const c_char"),
        })
    }
}

impl Kind {
    fn of(kind: &Type) -> Result<Kind, Error> {
        match kind {
            Type::Reference(reference) => match &*reference.elem {
                Type::Slice(slice) => Ok(Kind::Slice {
                    element: (*slice.elem).clone(),
                    writes: reference.mutability.is_some(),
                }),
                Type::Path(path) if path.path.is_ident("str") => Ok(Kind::Word),
                _ => Err(unknown(kind)),
            },
            Type::Ptr(pointer) => Ok(Kind::Pointer {
                element: (*pointer.elem).clone(),
                writes: matches!(pointer.mutability, PointerMutability::Mut(_)),
            }),
            Type::Path(path) => {
                let number =
                    path.path.get_ident().filter(|it| NUMBERS.iter().any(|known| it == known));
                number.cloned().map(Kind::Number).ok_or_else(|| unknown(kind))
            }
            _ => Err(unknown(kind)),
        }
    }
}

fn unknown(kind: &Type) -> Error {
    let numbers = NUMBERS.join(", ");
    let reason = format!(
        "a kernel takes operands as slices (`&[f32]`, `&mut [f32]`) or pointers, words as `&str`, \
         and numbers: {numbers}"
    );
    Error::new_spanned(kind, reason)
}

/// Whether a type is this type parameter.
fn is_it(kind: &Type, parameter: &Ident) -> bool {
    matches!(kind, Type::Path(path) if path.path.is_ident(parameter))
}

/// A name that linkers accept.
pub(crate) fn symbol(text: &str) -> String {
    text.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' }).collect()
}

fn pointer(element: &Type, writes: bool, replaced: Replaced<'_>) -> TokenStream {
    let element = match replaced {
        Some((parameter, by)) if is_it(element, parameter) => quote!(#by),
        _ => quote!(#element),
    };
    if writes { quote!(*mut #element) } else { quote!(*const #element) }
}

/// The name of an element type, by the last part of its path.
fn element_name(element: &Type, replaced: Replaced<'_>) -> Result<String, Error> {
    let unknown = || {
        let reason = format!("elements are one of {}", ELEMENTS.join(", "));
        Error::new_spanned(element, reason)
    };
    let Type::Path(path) = element else { return Err(unknown()) };
    let last = &path.path.segments.last().ok_or_else(unknown)?.ident;
    let name = match replaced {
        Some((parameter, by)) if path.path.is_ident(parameter) => by.to_string(),
        _ => last.to_string(),
    };
    if ELEMENTS.contains(&name.as_str()) { Ok(name) } else { Err(unknown()) }
}

fn bytes_of(element: &str) -> usize {
    match element {
        "f64" | "i64" => 8,
        "f32" | "i32" | "u32" => 4,
        "f16" | "bf16" | "u16" => 2,
        _ => 1,
    }
}
