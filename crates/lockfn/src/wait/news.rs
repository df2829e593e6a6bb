//! What can be heard of a watched file.

/// What was heard of a file; the later one says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum News {
    /// Somebody wrote into it.
    Changed,
    /// Somebody closed it: a holder that is done (it unlocks first) or dead, or a caller that had
    /// only tried.
    Closed,
}
