//! Drawing a page, its pixels counted before the first one is allocated.

use bytes::Bytes;
use hayro::{PixmapSettings, RenderCache, RenderSettings};
use hayro_syntax::page::Page;
use kurbo::Affine;

use crate::{
    error::{Error, Result},
    options::{Limit, Options},
    raster::Picture,
    reader::ImageSize,
};

/// A side of a drawing is counted in 16 bits.
const MAX_SIDE: f64 = 65_000.0;

/// Draws a page upright on white.
pub(crate) fn render(
    filename: &str,
    content: &Bytes,
    number: u32,
    size: ImageSize,
    options: &Options,
) -> Result<Picture> {
    let pdf = super::open(filename, content)?;
    let page = super::page(filename, &pdf, number)?;
    let (width, height) = super::size(page);
    let scale = match size {
        ImageSize::Dpi(dpi) => dpi.clamp(1.0, 2400.0) / 72.0,
        ImageSize::Width(pixels) => f64::from(pixels.max(1)) / width,
    };
    let (across, down) = (width * scale, height * scale);
    let pixels = across.ceil() * down.ceil();
    if pixels > options.max_page_pixels as f64 || across.max(down) > MAX_SIDE {
        return Err(Error::limit(
            filename,
            Limit::PagePixels,
            options.max_page_pixels,
            pixels as u64,
        ));
    }
    let (user_width, user_height) = page.render_dimensions();
    // hayro cuts off the fraction of a pixel: aim at the middle of the one that is meant
    let target = (across.round().max(1.0) + 0.01, down.round().max(1.0) + 0.01);
    let settings = PixmapSettings {
        x_scale: (target.0 / f64::from(user_width)) as f32,
        y_scale: (target.1 / f64::from(user_height)) as f32,
        bg_color: hayro::vello_cpu::color::palette::css::WHITE,
    };
    let drawn = |page: &Page<'_>| {
        hayro::render(
            page,
            &RenderCache::new(),
            &super::installed::settings(),
            &RenderSettings::default(),
            &settings,
        )
    };
    let pixmap = drawn(page);
    let (width, height) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
    let to_page = Affine::new(page.initial_transform(true).as_coeffs());
    let values = super::fields::words(page, to_page);
    if values.is_empty() {
        return Ok(Picture::from_rgba(width, height, pixmap.data_as_u8_slice()));
    }
    // the words read there are to be seen, too
    let user_size = (f64::from(user_width), f64::from(user_height));
    let overlay = super::open(filename, &super::fields::drawn(&values, user_size).into())?;
    let overlay = drawn(super::page(filename, &overlay, 1)?);
    let mut pixels = pixmap.data_as_u8_slice().to_vec();
    for (pixel, over) in pixels.iter_mut().zip(overlay.data_as_u8_slice()) {
        *pixel = (*pixel).min(*over);
    }
    Ok(Picture::from_rgba(width, height, &pixels))
}

/// The size at which a page is drawn for OCR: `dpi`, less where a side would pass `max_side` pixels.
pub(crate) fn ocr_size(
    filename: &str,
    content: &Bytes,
    number: u32,
    dpi: f64,
    max_side: u32,
) -> Result<ImageSize> {
    let pdf = super::open(filename, content)?;
    let page = super::page(filename, &pdf, number)?;
    let (width, height) = super::size(page);
    let longest = width.max(height) * dpi / 72.0;
    Ok(ImageSize::Dpi(if longest > f64::from(max_side) {
        dpi * f64::from(max_side) / longest
    } else {
        dpi
    }))
}
