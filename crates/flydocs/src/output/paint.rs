//! Colour: few, with a meaning, and none when nobody sees them. Marks are readable without.

use console::Style;

/// Paints, or does not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    colour: bool,
}

impl Paint {
    /// With colour or without.
    pub(crate) const fn new(colour: bool) -> Self {
        Self { colour }
    }

    /// As stdout wants it (a terminal, and no NO_COLOR).
    pub(crate) fn stdout() -> Self {
        Self::new(console::colors_enabled())
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.colour && !text.trim().is_empty() {
            style.force_styling(true).apply_to(text).to_string()
        } else {
            text.to_owned()
        }
    }

    /// A heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// Beside the point.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with(Style::new().dim(), text)
    }

    /// As it should be.
    pub(crate) fn good(self, text: &str) -> String {
        self.with(Style::new().green(), text)
    }

    /// To be looked at.
    pub(crate) fn warn(self, text: &str) -> String {
        self.with(Style::new().yellow(), text)
    }

    /// Wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.with(Style::new().red().bold(), text)
    }

    /// A name.
    pub(crate) fn name(self, text: &str) -> String {
        self.with(Style::new().cyan(), text)
    }

    /// A share by how good it is.
    pub(crate) fn graded(self, share: f64, text: &str) -> String {
        if share >= 0.9 {
            self.good(text)
        } else if share >= 0.6 {
            self.warn(text)
        } else {
            self.bad(text)
        }
    }
}
