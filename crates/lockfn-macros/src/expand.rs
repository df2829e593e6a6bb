//! From a function to the same function in its lock.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{AttrStyle, ItemFn, Result, ReturnType, Type, spanned::Spanned};

use crate::{
    options::{Mode, Options},
    shape,
};

pub(crate) fn expand(arguments: TokenStream, item: &TokenStream) -> Result<TokenStream> {
    let options = Options::parse(arguments)?;
    let function: ItemFn =
        syn::parse2(item.clone()).map_err(|error| shape::not_a_function(item, error))?;
    shape::check(&function)?;
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
    } = &function;
    let (outer, inner): (Vec<_>, Vec<_>) = attrs
        .iter()
        .partition(|attribute| matches!(attribute.style, AttrStyle::Outer));
    let statements = &block.stmts;
    let site = site(&options);
    let arguments = call_arguments(&options);
    let hold = hold(&options, &sig.output, sig.ident.span());
    let body = if sig.asyncness.is_some() {
        let pinned = pinned_type(&sig.output);
        quote! {
            #site
            // A statement of its own: nothing borrowed for the key lives across the await.
            let __lockfn_entering = ::lockfn::__private::enter_async(#arguments);
            let __lockfn_entered = __lockfn_entering.await;
            #hold
            #[allow(
                unreachable_code,
                clippy::diverging_sub_expression,
                clippy::empty_loop,
                clippy::let_unit_value,
                clippy::unused_unit,
                clippy::needless_return,
                reason = "gives the body's `?` and `return` the function's own type"
            )]
            let __lockfn_body = async move { #pinned #(#statements)* };
            ::lockfn::__private::InLock::new(__lockfn_hold, __lockfn_body).await
        }
    } else {
        quote! {
            #site
            let __lockfn_entered = ::lockfn::__private::enter(#arguments);
            #hold
            let __lockfn_hold = ::lockfn::__private::Hold::on_this_thread(__lockfn_hold);
            #(#statements)*
        }
    };
    Ok(quote! { #(#outer)* #vis #sig { #(#inner)* #body } })
}

fn site(options: &Options) -> TokenStream {
    let name = optional(options.name.as_ref().map(|name| quote!(#name)));
    let mode = match options.mode {
        Mode::Skip => quote!(Skip),
        Mode::Wait => quote!(Wait),
        Mode::Try => quote!(Try),
    };
    let Options {
        reentrant,
        system,
        refuse_abandoned,
        ..
    } = options;
    quote! {
        static __LOCKFN_SITE: ::lockfn::__private::Site =
            ::lockfn::__private::Site::new(::lockfn::__private::Config {
                name: #name,
                mode: ::lockfn::Mode::#mode,
                reentrant: #reentrant,
                system: #system,
                refuse_abandoned: #refuse_abandoned,
            });
        fn __lockfn_here() {}
    }
}

/// An expression of type `Option`.
fn optional(value: Option<TokenStream>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}

fn call_arguments(options: &Options) -> TokenStream {
    let key = optional(
        options
            .key
            .as_ref()
            .map(|key| quote_spanned!(key.span()=> &(#key) as &dyn ::core::fmt::Display)),
    );
    let path = optional(
        options
            .path
            .as_ref()
            .map(|path| quote_spanned!(path.span()=> ::lockfn::__private::path_from(#path))),
    );
    let zero = || quote!(::core::time::Duration::ZERO);
    let delay = options.delay.clone().unwrap_or_else(zero);
    let cooldown = options.cooldown.clone().unwrap_or_else(zero);
    let timeout = optional(options.timeout.clone());
    quote! {
        &__LOCKFN_SITE,
        ::lockfn::__private::path_of(&__lockfn_here),
        #key,
        #path,
        ::lockfn::__private::Times { delay: #delay, timeout: #timeout, cooldown: #cooldown }
    }
}

/// The lock, or an early return with what the return type has for "skipped" and "failed".
fn hold(options: &Options, output: &ReturnType, name: proc_macro2::Span) -> TokenStream {
    let span = match output {
        ReturnType::Type(_, output) => output.span(),
        ReturnType::Default => name,
    };
    let skipped = if options.mode == Mode::Skip {
        quote_spanned!(span=> return ::lockfn::FromSkip::from_skip(__lockfn_skipped))
    } else {
        quote!(::lockfn::__private::never_skips(&__lockfn_skipped))
    };
    let failed = if options.panics {
        quote!(::lockfn::__private::fail(&__lockfn_error))
    } else {
        quote_spanned!(span=> return ::lockfn::FromLockError::from_lock_error(__lockfn_error))
    };
    quote! {
        let __lockfn_hold = match __lockfn_entered {
            ::core::result::Result::Ok(::lockfn::__private::Entry::Run(__lockfn_hold)) => __lockfn_hold,
            ::core::result::Result::Ok(::lockfn::__private::Entry::Skip(__lockfn_skipped)) => #skipped,
            ::core::result::Result::Err(__lockfn_error) => #failed,
        };
    }
}

/// A dead branch that gives an async block the function's return type; `impl Trait` cannot be
/// written there, and is inferred.
fn pinned_type(output: &ReturnType) -> TokenStream {
    match output {
        ReturnType::Default => quote!(if false {
            let __lockfn_type: () = loop {};
            return __lockfn_type;
        }),
        ReturnType::Type(_, output) if is_opaque(output) => TokenStream::new(),
        ReturnType::Type(_, output) => quote!(if false {
            let __lockfn_type: #output = loop {};
            return __lockfn_type;
        }),
    }
}

fn is_opaque(output: &Type) -> bool {
    use quote::ToTokens;
    fn has_impl(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(word) => word == "impl",
            proc_macro2::TokenTree::Group(group) => has_impl(group.stream()),
            _ => false,
        })
    }
    has_impl(output.to_token_stream())
}
