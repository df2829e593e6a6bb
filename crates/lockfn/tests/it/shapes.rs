//! Shapes of functions that the attribute has to survive: the signature written is the one kept.

use std::{fmt::Display, future::Future, sync::Arc, time::Duration};

use lockfn::{LockError, Outcome, lock_function};

use crate::calls;

type R<T> = Result<T, LockError>;
const HOUR: Duration = Duration::from_hours(1);

/// Doc comments and other attributes stay.
#[lock_function(mode = "wait", delay = HOUR, timeout = HOUR * 2)]
#[must_use]
#[inline(never)]
pub(crate) fn generic<'a, T: Display + ?Sized, const N: usize>(
    x: &'a T,
    [a, b]: [u8; 2],
) -> R<(&'a T, u8)>
where
    [u8; N]: Clone,
{
    #![expect(unused_variables, reason = "an inner attribute stays inside")]
    let unused = N;
    Ok((x, a + b))
}

#[lock_function(mode = "wait")]
fn opaque(n: u8) -> Result<impl Display + use<>, LockError> {
    Ok(format!("{n}"))
}

#[lock_function(mode = "wait")]
fn coerced(n: u8) -> R<Box<dyn Display>> {
    if n == 0 {
        Ok(Box::new("zero"))
    } else {
        Ok(Box::new(n))
    }
}

#[lock_function(mode = "wait")]
fn borrowed(v: &mut Vec<u8>) -> R<&mut u8> {
    v.push(1);
    Ok(v.last_mut().unwrap())
}

#[lock_function(mode = "wait", key = (x as u64).wrapping_mul(3))]
#[expect(unsafe_code, reason = "a shape")]
unsafe fn unsafe_function(x: *const u8) -> R<u8> {
    // SAFETY: the caller's word.
    Ok(unsafe { *x })
}

#[lock_function(mode = "wait", on_error = "panic")]
extern "C" fn foreign() -> u8 {
    1
}

#[lock_function(mode = "wait", on_error = "panic")]
fn never_fails(x: u8) -> u8 {
    x
}

#[lock_function(on_error = "panic")]
fn unit() {}

#[lock_function(on_error = "panic", delay = 0.25)]
fn option(x: &str) -> Option<&str> {
    Some(x)
}

/// `?` and `return` with another error type.
#[lock_function]
fn boxed(x: &str) -> Result<Option<u8>, Box<dyn std::error::Error>> {
    if x.is_empty() {
        return Ok(None);
    }
    Ok(Some(x.parse()?))
}

#[lock_function(mode = "wait")]
async fn async_borrowed<'a>(v: &'a mut Vec<String>, s: &str) -> R<&'a String> {
    v.push(s.to_owned());
    Ok(&v[0])
}

#[lock_function(mode = "wait")]
async fn async_question(s: &str) -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
    if s.is_empty() {
        return Ok(0);
    }
    let n = s.parse()?;
    Ok(n)
}

#[lock_function(mode = "wait")]
async fn async_opaque() -> Result<impl Display, LockError> {
    Ok(1)
}

#[lock_function(on_error = "panic")]
async fn async_unit() {}

trait Service {
    fn handle(&self) -> impl Future<Output = R<u8>> + Send;
}

struct S(u8);

impl Service for S {
    #[lock_function(mode = "wait", key = self.0)]
    async fn handle(&self) -> R<u8> {
        Ok(self.0)
    }
}

impl S {
    #[lock_function(mode = "wait", name = "S-make")]
    fn make(x: u8) -> R<Self> {
        Ok(Self(x))
    }

    #[lock_function(mode = "wait")]
    fn consume(self) -> R<u8> {
        Ok(self.0)
    }

    #[lock_function(mode = "wait", key = format_args!("{}/{by}", self.0))]
    fn shared(self: Arc<Self>, by: u8) -> R<u8> {
        Ok(self.0 + by)
    }

    #[lock_function]
    async fn change(&mut self, by: u8) -> R<Outcome<u8>> {
        self.0 += by;
        Ok(Outcome::Ran(self.0))
    }
}

fn send<F: Future + Send>(future: F) -> F {
    future
}

#[tokio::test]
async fn all_shapes_work() {
    calls::locks();
    assert_eq!(generic::<_, 2>("x", [1, 2]).unwrap().1, 3);
    assert_eq!(format!("{}", opaque(3).unwrap()), "3");
    assert_eq!(coerced(0).unwrap().to_string(), "zero");
    let mut bytes = vec![];
    *borrowed(&mut bytes).unwrap() = 9;
    assert_eq!(bytes, [9]);
    #[expect(unsafe_code, reason = "a shape")]
    // SAFETY: a reference to a constant.
    let read = unsafe { unsafe_function(&7) };
    assert_eq!(read.unwrap(), 7);
    assert_eq!((foreign(), never_fails(4)), (1, 4));
    unit();
    assert_eq!(option("x"), Some("x"));
    assert_eq!(boxed("12").unwrap(), Some(12));
    assert_eq!(boxed("").unwrap(), None);
    assert!(boxed("x").is_err());
    let mut strings = vec![];
    assert_eq!(send(async_borrowed(&mut strings, "q")).await.unwrap(), "q");
    assert_eq!(send(async_question("12")).await.unwrap(), 12);
    assert!(async_question("x").await.is_err());
    assert_eq!(async_question("").await.unwrap(), 0);
    assert_eq!(async_opaque().await.unwrap().to_string(), "1");
    async_unit().await;
    let mut s = S::make(5).unwrap();
    assert_eq!(send(s.handle()).await.unwrap(), 5);
    assert_eq!(send(s.change(1)).await.unwrap().ran(), Some(6));
    assert_eq!(s.consume().unwrap(), 6);
    assert_eq!(Arc::new(S(1)).shared(2).unwrap(), 3);
}

#[test]
fn the_future_of_an_async_call_is_small() {
    assert!(
        size_of_val(&async_question("1")) < 1024,
        "{}",
        size_of_val(&async_question("1"))
    );
}

#[test]
fn the_previous_holders_death_can_be_an_error() {
    #[lock_function(mode = "wait", path = path, on_abandoned = "error")]
    fn careful(path: &std::path::Path) -> R<()> {
        Ok(())
    }
    let (_dir, lock) = crate::core::place();
    let mut holder = crate::actor::Actor::start("hold", &[&crate::core::text(&lock)]);
    holder.hears();
    let id = holder.id();
    holder.kill();
    let error = careful(lock.path()).unwrap_err();
    assert!(
        matches!(&error, LockError::Abandoned { holder, .. } if holder.pid == id),
        "{error}"
    );
    // Whoever was told has to put things right; the next call runs.
    careful(lock.path()).unwrap();
}
