//! Images: decoding what callers send, holding pixels, encoding what callers get.

mod decode;
mod picture;

pub(crate) use decode::{decode, dimensions};
pub(crate) use picture::{Picture, Pixels};
