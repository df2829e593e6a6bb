//! A progress bar on stderr for a batch, when a person watches.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Say;

/// A bar over so many documents; hidden for one, and when nobody watches.
pub(crate) fn bar(documents: usize, say: Say) -> ProgressBar {
    if documents < 2 || !say.is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(documents as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(
        "{bar:32.green/dim} {pos}/{len}  {elapsed} (eta {eta})  {wide_msg}",
    ) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A spinner while something is waited for.
pub(crate) fn spinner(message: String, say: Say) -> ProgressBar {
    if !say.is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    bar.set_message(message);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
