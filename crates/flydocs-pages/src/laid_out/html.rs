//! HTML to lines of text; nothing it refers to is fetched.

use html2text::render::TrivialDecorator;

/// The text of a page, tables as columns. A page that cannot be rendered gives its bare words.
pub(crate) fn html_to_text(html: &[u8], columns: usize) -> String {
    html2text::config::with_decorator(TrivialDecorator::new())
        .no_table_borders()
        .allow_width_overflow()
        .string_from_read(html, columns)
        .unwrap_or_else(|_| without_tags(&String::from_utf8_lossy(html)))
}

fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut inside = false;
    for ch in html.chars() {
        match ch {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                text.push(' ');
            }
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text
}
