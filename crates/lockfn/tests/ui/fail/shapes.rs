use std::{future::Future, pin::Pin};

use lockfn::lock_function;

#[lock_function(on_error = "panic")]
const fn constant() {}

#[lock_function(on_error = "panic", mode = "wait")]
fn future() -> impl Future<Output = ()> { async {} }

#[lock_function(on_error = "panic", mode = "wait")]
fn boxed_future() -> Pin<Box<dyn Future<Output = ()> + Send>> { Box::pin(async {}) }

#[lock_function(on_error = "panic", mode = "wait")]
fn iterator() -> Option<impl Iterator<Item = u8>> { Some(0..3) }

#[lock_function(on_error = "panic", mode = "wait")]
async fn lazy_in_async() -> Box<dyn Iterator<Item = u8>> { Box::new(0..3) }

#[lock_function]
struct NotAFunction;

trait Job {
    #[lock_function]
    fn without_body(&self);
}

fn main() {}
