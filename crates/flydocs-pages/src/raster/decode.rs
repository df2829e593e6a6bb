//! From the bytes of an image to upright pixels on white; the header is held against the limit first.

use std::io::Cursor;

use bytes::Bytes;
use flydocs_contract::ErrorCode;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, metadata::Orientation};

use super::{Picture, Pixels};
use crate::{
    error::{Error, Result},
    options::{Limit, Options},
    sniff::Kind,
};

/// Width and height of the upright image, and whether they are within the limit.
pub(crate) fn dimensions(
    filename: &str,
    content: &Bytes,
    kind: Kind,
    options: &Options,
) -> Result<(u32, u32)> {
    let mut decoder = decoder(filename, content, kind, options)?;
    let (width, height) = decoder.dimensions();
    if turns(orientation(&mut decoder)) {
        return Ok((height, width));
    }
    Ok((width, height))
}

/// Decodes the (first frame of the) image.
pub(crate) fn decode(
    filename: &str,
    content: &Bytes,
    kind: Kind,
    options: &Options,
) -> Result<Picture> {
    let mut decoder = decoder(filename, content, kind, options)?;
    let orientation = orientation(&mut decoder);
    let mut image =
        DynamicImage::from_decoder(decoder).map_err(|e| undecodable(filename, &e.to_string()))?;
    image.apply_orientation(orientation);
    Ok(on_white(image))
}

fn decoder<'a>(
    filename: &str,
    content: &'a Bytes,
    kind: Kind,
    options: &Options,
) -> Result<impl ImageDecoder + 'a> {
    let mut reader = ImageReader::new(Cursor::new(content.as_ref()));
    reader.set_format(
        format(kind)
            .ok_or_else(|| Error::internal(format!("{} is no image", kind.media_type())))?,
    );
    let mut limits = Limits::default();
    // eight bytes a pixel is 16-bit RGBA, the largest there is
    limits.max_alloc = Some(options.max_page_pixels.saturating_mul(8));
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(|e| {
        // a header that names a size beyond what could be allocated is refused by the decoder itself
        if matches!(e, image::ImageError::Limits(_)) {
            return Error::limit(
                filename,
                Limit::ImagePixels,
                options.max_page_pixels,
                u64::MAX,
            );
        }
        undecodable(filename, &e.to_string())
    })?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > options.max_page_pixels {
        return Err(Error::limit(
            filename,
            Limit::ImagePixels,
            options.max_page_pixels,
            pixels,
        ));
    }
    if pixels == 0 {
        return Err(undecodable(filename, "it has no pixels"));
    }
    Ok(decoder)
}

fn format(kind: Kind) -> Option<image::ImageFormat> {
    Some(match kind {
        Kind::Png => image::ImageFormat::Png,
        Kind::Jpeg => image::ImageFormat::Jpeg,
        Kind::Gif => image::ImageFormat::Gif,
        Kind::WebP => image::ImageFormat::WebP,
        Kind::Bmp => image::ImageFormat::Bmp,
        Kind::Tiff => image::ImageFormat::Tiff,
        Kind::Pdf => return None,
    })
}

/// A broken EXIF block turns nothing.
fn orientation(decoder: &mut impl ImageDecoder) -> Orientation {
    decoder.orientation().unwrap_or(Orientation::NoTransforms)
}

fn turns(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    )
}

pub(super) fn undecodable(filename: &str, why: &str) -> Error {
    Error::refused(
        ErrorCode::ImageConversionFailed,
        filename,
        format!("{filename} cannot be decoded: {why}"),
    )
}

/// Transparency becomes white, 16 bits become 8, grey stays grey.
pub(super) fn on_white(image: DynamicImage) -> Picture {
    let (width, height) = (image.width(), image.height());
    let pixels = match image {
        DynamicImage::ImageLuma8(grey) => Pixels::Grey(grey.into_raw()),
        DynamicImage::ImageLuma16(_) => Pixels::Grey(image.into_luma8().into_raw()),
        DynamicImage::ImageRgb8(rgb) => Pixels::Rgb(rgb.into_raw()),
        image if image.color().has_alpha() => {
            let mut rgba = image.into_rgba8().into_raw();
            let (pixels, _) = rgba.as_chunks_mut::<4>();
            for pixel in pixels {
                let alpha = u32::from(pixel[3]);
                let [colors @ .., _] = pixel;
                for color in colors {
                    let over = u32::from(*color) * alpha + 255 * (255 - alpha);
                    *color = ((over + 127) / 255) as u8;
                }
                pixel[3] = 255;
            }
            return Picture::from_rgba(width, height, &rgba);
        }
        image => Pixels::Rgb(image.into_rgb8().into_raw()),
    };
    Picture {
        width,
        height,
        pixels,
    }
}
