//! Text as the reader compares it: folded, cut into pieces, with a tolerance for misread letters.

mod distance;
mod fold;
mod pieces;

pub(crate) use distance::similar;
pub(crate) use fold::fold;
pub(crate) use pieces::{Piece, phrase_pieces, pieces_of};
