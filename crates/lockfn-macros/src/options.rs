//! The attribute's keys.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{
    Error, Expr, ExprLit, ExprUnary, Lit, LitStr, Meta, MetaNameValue, Result, Token, UnOp,
    parse::Parser, punctuated::Punctuated, spanned::Spanned,
};

const KEYS: &str =
    "mode, delay, timeout, cooldown, key, name, path, scope, on_error, on_abandoned or reentrant";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Skip,
    Wait,
    Try,
}

/// What the attribute says. Durations are expressions of type `Duration`.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    pub(crate) delay: Option<TokenStream>,
    pub(crate) timeout: Option<TokenStream>,
    pub(crate) cooldown: Option<TokenStream>,
    pub(crate) key: Option<Expr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) path: Option<Expr>,
    pub(crate) system: bool,
    pub(crate) panics: bool,
    pub(crate) refuse_abandoned: bool,
    pub(crate) reentrant: bool,
}

impl Options {
    pub(crate) fn parse(arguments: TokenStream) -> Result<Self> {
        let metas = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(arguments)?;
        let mut options = Self::default();
        let mut seen = Vec::new();
        for meta in &metas {
            let key = meta
                .path()
                .get_ident()
                .map(ToString::to_string)
                .unwrap_or_default();
            options.set(&key, meta)?;
            if seen.contains(&key) {
                return Err(Error::new(meta.span(), format!("`{key}` is given twice")));
            }
            seen.push(key);
        }
        options.check(&metas)?;
        Ok(options)
    }

    fn set(&mut self, key: &str, meta: &Meta) -> Result<()> {
        if key == "reentrant" {
            self.reentrant = flag(meta)?;
            return Ok(());
        }
        if !is_known(key) {
            return Err(Error::new(
                meta.span(),
                format!("unknown option; expected {KEYS}"),
            ));
        }
        let Meta::NameValue(MetaNameValue { value, .. }) = meta else {
            return Err(Error::new(
                meta.span(),
                format!("`{key}` needs a value: `{key} = ...`"),
            ));
        };
        match key {
            "mode" => {
                self.mode = match one_of(value, &["wait", "skip", "try"], "mode")?.as_str() {
                    "wait" => Mode::Wait,
                    "try" => Mode::Try,
                    _ => Mode::Skip,
                }
            }
            "delay" => self.delay = Some(duration(value)?),
            "timeout" => self.timeout = Some(duration(value)?),
            "cooldown" => self.cooldown = Some(duration(value)?),
            "key" => self.key = Some(value.clone()),
            "name" => self.name = Some(name(value)?),
            "path" => self.path = Some(value.clone()),
            "scope" => self.system = one_of(value, &["user", "system"], "scope")? == "system",
            "on_error" => self.panics = one_of(value, &["return", "panic"], "on_error")? == "panic",
            _ => {
                self.refuse_abandoned =
                    one_of(value, &["run", "error"], "on_abandoned")? == "error";
            }
        }
        Ok(())
    }

    /// Keys that contradict each other.
    fn check(&self, metas: &Punctuated<Meta, Token![,]>) -> Result<()> {
        let at = |key: &str| {
            metas
                .iter()
                .find(|meta| meta.path().is_ident(key))
                .map_or_else(Span::call_site, Spanned::span)
        };
        if self.path.is_some() && self.key.is_some() {
            return Err(Error::new(
                at("key"),
                "`path` names the lock file itself: put the key into the path",
            ));
        }
        if self.path.is_some() && self.system {
            return Err(Error::new(
                at("scope"),
                "`path` names the lock file itself: it has no scope",
            ));
        }
        if self.mode == Mode::Try && self.delay.is_some() {
            return Err(Error::new(
                at("delay"),
                "mode \"try\" never waits: `delay` has no meaning",
            ));
        }
        if self.mode == Mode::Try && self.timeout.is_some() {
            return Err(Error::new(
                at("timeout"),
                "mode \"try\" never waits: `timeout` has no meaning",
            ));
        }
        if self.mode == Mode::Skip && self.timeout.is_some() && self.delay.is_none() {
            return Err(Error::new(
                at("timeout"),
                "mode \"skip\" without `delay` never waits: `timeout` has no meaning",
            ));
        }
        Ok(())
    }
}

fn is_known(key: &str) -> bool {
    KEYS.split([',', ' ']).any(|known| known == key) && key != "or"
}

fn flag(meta: &Meta) -> Result<bool> {
    match meta {
        Meta::Path(_) => Ok(true),
        Meta::NameValue(MetaNameValue {
            value: Expr::Lit(ExprLit {
                lit: Lit::Bool(on), ..
            }),
            ..
        }) => Ok(on.value),
        _ => Err(Error::new(meta.span(), "say `reentrant` or leave it out")),
    }
}

fn text(value: &Expr) -> Option<&LitStr> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text),
        _ => None,
    }
}

fn one_of(value: &Expr, words: &[&str], key: &str) -> Result<String> {
    let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    let (last, first) = quoted
        .split_last()
        .map_or((String::new(), String::new()), |(last, first)| {
            (last.clone(), first.join(", "))
        });
    let Some(text) = text(value) else {
        return Err(Error::new(
            value.span(),
            format!("`{key}` is {first} or {last}"),
        ));
    };
    if words.contains(&text.value().as_str()) {
        return Ok(text.value());
    }
    Err(Error::new(
        text.span(),
        format!(
            "unknown {key} {:?}; expected {first} or {last}",
            text.value()
        ),
    ))
}

fn name(value: &Expr) -> Result<LitStr> {
    match text(value) {
        Some(name) if !name.value().is_empty() => Ok(name.clone()),
        Some(name) => Err(Error::new(name.span(), "a lock's name cannot be empty")),
        None => Err(Error::new(
            value.span(),
            "`name` is a string literal; what depends on the arguments goes into `key`",
        )),
    }
}

/// `2`, `0.25`, `"250ms"`, `"1m"`: checked now. Anything else is an expression of type `Duration`.
fn duration(value: &Expr) -> Result<TokenStream> {
    let refused = || Error::new(value.span(), "a duration must be finite and not negative");
    let seconds = match value {
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_digits().parse::<f64>(),
        Expr::Lit(ExprLit {
            lit: Lit::Float(number),
            ..
        }) => number.base10_digits().parse::<f64>(),
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Ok(with_unit(text)?),
        Expr::Lit(_) => {
            return Err(Error::new(
                value.span(),
                "a duration is a number of seconds, a text such as \"250ms\", or an expression of type `Duration`",
            ));
        }
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_), ..
        }) => return Err(refused()),
        expression => {
            return Ok(quote_spanned!(expression.span()=> {
                let __lockfn_duration: ::core::time::Duration = #expression;
                __lockfn_duration
            }));
        }
    };
    let seconds = seconds.map_err(|_| refused())?;
    let duration = std::time::Duration::try_from_secs_f64(seconds).map_err(|_| refused())?;
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    Ok(quote!(::core::time::Duration::new(#seconds, #nanos)))
}

fn with_unit(text: &LitStr) -> Result<f64> {
    let value = text.value();
    let cut = value
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(value.len());
    let (number, unit) = value.split_at_checked(cut).unwrap_or((&value, ""));
    let factor = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" => 60.0,
        "h" => 3600.0,
        unit if unit.starts_with('-') => {
            return Err(Error::new(
                text.span(),
                "a duration must be finite and not negative",
            ));
        }
        unit => {
            return Err(Error::new(
                text.span(),
                format!("unknown unit {unit:?}; expected us, ms, s, m or h"),
            ));
        }
    };
    let number: f64 = number.parse().map_err(|_| {
        Error::new(
            text.span(),
            "expected a duration such as 2, 0.5, \"250ms\" or \"2s\"",
        )
    })?;
    Ok(number * factor)
}
