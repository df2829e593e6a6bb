//! Images: decoding what callers send, holding pixels, encoding what callers get.

mod decode;
mod frames;
mod picture;
mod vector;

pub(crate) use decode::{decode, pages};
pub(crate) use picture::{Picture, Pixels};
pub(crate) use vector::fonts;
