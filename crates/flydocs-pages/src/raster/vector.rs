//! SVG to pixels. Nothing outside of the file is read: pictures it refers to are left out, unless they are in it.

use std::sync::{Arc, OnceLock};

use resvg::{tiny_skia, usvg};

use super::{Picture, decode::undecodable};
use crate::{
    error::{Error, Result},
    options::{Limit, Options},
};

/// Pixels a point of the drawing becomes: about 200 dpi.
const SCALE: f32 = 2.0;
/// Small drawings are enlarged to this, large ones are not reduced.
const MIN_SIDE: f32 = 1200.0;

/// The fonts of this machine, looked up once.
pub(crate) fn fonts() -> Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    FONTS
        .get_or_init(|| {
            let mut fonts = usvg::fontdb::Database::new();
            fonts.load_system_fonts();
            Arc::new(fonts)
        })
        .clone()
}

fn parse(filename: &str, content: &[u8]) -> Result<usvg::Tree> {
    let options = usvg::Options {
        fontdb: fonts(),
        font_family: "DejaVu Sans".to_owned(),
        image_href_resolver: usvg::ImageHrefResolver {
            resolve_data: usvg::ImageHrefResolver::default_data_resolver(),
            resolve_string: Box::new(|_, _| None),
        },
        ..usvg::Options::default()
    };
    usvg::Tree::from_data(content, &options).map_err(|e| undecodable(filename, &e.to_string()))
}

fn target(filename: &str, tree: &usvg::Tree, options: &Options) -> Result<(u32, u32, f32)> {
    let size = tree.size();
    let longest = size.width().max(size.height()).max(1.0);
    let scale = SCALE.max(MIN_SIDE / longest).min(8.0);
    let (width, height) = (size.width() * scale, size.height() * scale);
    let pixels = f64::from(width) * f64::from(height);
    if pixels > options.max_page_pixels as f64 {
        return Err(Error::limit(
            filename,
            Limit::ImagePixels,
            options.max_page_pixels,
            pixels as u64,
        ));
    }
    Ok((
        width.ceil().max(1.0) as u32,
        height.ceil().max(1.0) as u32,
        scale,
    ))
}

pub(super) fn check(filename: &str, content: &[u8], options: &Options) -> Result<()> {
    target(filename, &parse(filename, content)?, options).map(|_| ())
}

pub(super) fn draw(filename: &str, content: &[u8], options: &Options) -> Result<Picture> {
    let tree = parse(filename, content)?;
    let (width, height, scale) = target(filename, &tree, options)?;
    let mut pixmap = tiny_skia::Pixmap::new(width, height)
        .ok_or_else(|| undecodable(filename, "it has no area"))?;
    pixmap.fill(tiny_skia::Color::WHITE);
    resvg::render(
        &tree,
        tiny_skia::Transform::from_scale(scale, scale),
        &mut pixmap.as_mut(),
    );
    Ok(Picture::from_rgba(width, height, pixmap.data()))
}
