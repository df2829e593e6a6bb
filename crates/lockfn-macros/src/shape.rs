//! Functions that the attribute refuses: those whose work is not done when they return.

use quote::ToTokens;
use syn::{
    Error, GenericArgument, ItemFn, PathArguments, Result, ReturnType, Type, TypeParamBound,
};

const LAZY: &str = "this function returns before its work is done (a future, a stream or a lazy iterator): the lock would already be released. Write an `async fn`, or collect first";

/// Traits whose values still have their work to do.
const LAZY_TRAITS: &[&str] = &[
    "Future",
    "IntoFuture",
    "Stream",
    "TryStream",
    "TryFuture",
    "Iterator",
    "DoubleEndedIterator",
    "ExactSizeIterator",
    "IntoIterator",
];

/// Types known to hide one of them.
const LAZY_TYPES: &[&str] = &["BoxFuture", "LocalBoxFuture", "BoxStream", "LocalBoxStream"];

pub(crate) fn check(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if let Some(word) = &signature.constness {
        return Err(Error::new_spanned(
            word,
            "#[lock_function] cannot be used on a `const fn`: it may run in the compiler",
        ));
    }
    if let Some(variadic) = &signature.variadic {
        return Err(Error::new_spanned(
            variadic,
            "#[lock_function] cannot be used on a variadic function",
        ));
    }
    if let ReturnType::Type(_, output) = &signature.output
        && is_lazy(output)
    {
        return Err(Error::new_spanned(output, LAZY));
    }
    Ok(())
}

/// Why this is not a function with a body.
pub(crate) fn not_a_function(item: &proc_macro2::TokenStream, error: Error) -> Error {
    if syn::parse2::<syn::TraitItemFn>(item.clone()).is_ok_and(|method| method.default.is_none()) {
        return Error::new_spanned(
            item,
            "#[lock_function] needs a body: put it on the methods that implement this one",
        );
    }
    if syn::parse2::<syn::Item>(item.clone()).is_ok() {
        let what = item.to_token_stream();
        return Error::new_spanned(what, "#[lock_function] goes on a function or a method");
    }
    error
}

fn is_lazy(output: &Type) -> bool {
    match output {
        Type::ImplTrait(opaque) => opaque.bounds.iter().any(is_lazy_bound),
        Type::TraitObject(object) => object.bounds.iter().any(is_lazy_bound),
        Type::Path(path) => path.path.segments.iter().any(|segment| {
            LAZY_TYPES.contains(&segment.ident.to_string().as_str())
                || has_lazy_argument(&segment.arguments)
        }),
        Type::Tuple(tuple) => tuple.elems.iter().any(is_lazy),
        Type::Array(array) => is_lazy(&array.elem),
        Type::Slice(slice) => is_lazy(&slice.elem),
        Type::Reference(reference) => is_lazy(&reference.elem),
        Type::Paren(inner) => is_lazy(&inner.elem),
        Type::Group(inner) => is_lazy(&inner.elem),
        _ => false,
    }
}

fn is_lazy_bound(bound: &TypeParamBound) -> bool {
    matches!(bound, TypeParamBound::Trait(bound) if bound.path.segments.last().is_some_and(|last| {
        LAZY_TRAITS.contains(&last.ident.to_string().as_str())
    }))
}

fn has_lazy_argument(arguments: &PathArguments) -> bool {
    match arguments {
        PathArguments::AngleBracketed(list) => list.args.iter().any(|argument| match argument {
            GenericArgument::Type(argument) => is_lazy(argument),
            _ => false,
        }),
        _ => false,
    }
}
