//! From the bytes of an image to upright pixels on white; the header is held against the limit first.

use std::io::Cursor;

use flydocs_contract::ErrorCode;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, metadata::Orientation};

use super::{Picture, Pixels, frames, vector};
use crate::{
    error::{Error, Result},
    options::{Limit, Options},
    sniff::Kind,
};

/// How many pages an image has. Every header is held against the limit and the first page is decoded: a file
/// that cannot be read is found out when it comes in, not when its words are needed.
pub(crate) fn pages(filename: &str, content: &[u8], kind: Kind, options: &Options) -> Result<u32> {
    match kind {
        Kind::Svg => vector::check(filename, content, options)?,
        Kind::Tiff => {
            let most = options.max_pages as usize;
            let directories = frames::directories(content, most);
            if directories.len() > most {
                return Err(Error::limit(
                    filename,
                    Limit::Pages,
                    most as u64,
                    directories.len() as u64,
                ));
            }
            for (index, offset) in directories.iter().enumerate() {
                let frame = frames::starting_at(content, *offset);
                if index == 0 {
                    decode_raster(filename, &frame, kind, options)?;
                } else {
                    decoder(filename, &frame, kind, options)?;
                }
            }
            if directories.is_empty() {
                return Err(undecodable(filename, "it has no image"));
            }
            return Ok(directories.len() as u32);
        }
        _ => drop(decode(filename, content, kind, 1, options)?),
    }
    Ok(1)
}

/// Decodes a page; of an animation the first frame.
pub(crate) fn decode(
    filename: &str,
    content: &[u8],
    kind: Kind,
    page: u32,
    options: &Options,
) -> Result<Picture> {
    let missing = |pages: usize| Error::NoSuchPage {
        filename: filename.to_owned(),
        pages: pages as u32,
        page,
    };
    if kind == Kind::Tiff {
        let directories = frames::directories(content, options.max_pages as usize);
        let offset = (page as usize)
            .checked_sub(1)
            .and_then(|at| directories.get(at));
        let offset = offset.ok_or_else(|| missing(directories.len()))?;
        let frame = frames::starting_at(content, *offset);
        return decode_raster(filename, &frame, kind, options);
    }
    if page != 1 {
        return Err(missing(1));
    }
    match kind {
        Kind::Svg => vector::draw(filename, content, options),
        Kind::Heic => heic(filename, content, options),
        Kind::Avif => Err(Error::unsupported(
            filename,
            kind.noun(),
            "and this build has no decoder for it: send a JPEG or PNG",
        )),
        _ => decode_raster(filename, content, kind, options),
    }
}

fn decode_raster(filename: &str, content: &[u8], kind: Kind, options: &Options) -> Result<Picture> {
    let mut decoder = decoder(filename, content, kind, options)?;
    // a broken EXIF block turns nothing
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image =
        DynamicImage::from_decoder(decoder).map_err(|e| undecodable(filename, &e.to_string()))?;
    image.apply_orientation(orientation);
    Ok(on_white(image))
}

fn heic(filename: &str, content: &[u8], options: &Options) -> Result<Picture> {
    let failed = |why: heic_rs::Error| undecodable(filename, &why.to_string());
    let info = heic_rs::probe(content).map_err(failed)?;
    check_pixels(filename, info.width, info.height, options)?;
    let image = heic_rs::decode(
        content,
        &heic_rs::DecodeOptions {
            max_pixels: Some(options.max_page_pixels),
            threads: Some(1),
            ..heic_rs::DecodeOptions::default()
        },
    )
    .map_err(failed)?;
    let picture = image::RgbImage::from_raw(image.width, image.height, image.data)
        .ok_or_else(|| undecodable(filename, "its pixels are cut off"))?;
    Ok(on_white(DynamicImage::ImageRgb8(picture)))
}

fn decoder<'a>(
    filename: &str,
    content: &'a [u8],
    kind: Kind,
    options: &Options,
) -> Result<impl ImageDecoder + 'a> {
    let mut reader = ImageReader::new(Cursor::new(content));
    let format =
        format(kind).ok_or_else(|| Error::internal(format!("{} is no image", kind.noun())))?;
    reader.set_format(format);
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
    if kind == Kind::Gif && !gif_has_blocks(content) {
        return Err(undecodable(
            filename,
            "nothing of an image follows its header",
        ));
    }
    check_pixels(filename, width, height, options)?;
    Ok(decoder)
}

/// Something that begins like a GIF is one when a block of one follows the header and its colours.
fn gif_has_blocks(content: &[u8]) -> bool {
    let flags = content.get(10).copied().unwrap_or(0);
    let colors = if flags & 0x80 == 0 {
        0
    } else {
        3 << ((flags & 7) + 1)
    };
    matches!(content.get(13 + colors), Some(0x21 | 0x2c | 0x3b))
}

fn check_pixels(filename: &str, width: u32, height: u32, options: &Options) -> Result<()> {
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
    Ok(())
}

fn format(kind: Kind) -> Option<image::ImageFormat> {
    Some(match kind {
        Kind::Png => image::ImageFormat::Png,
        Kind::Jpeg => image::ImageFormat::Jpeg,
        Kind::Gif => image::ImageFormat::Gif,
        Kind::WebP => image::ImageFormat::WebP,
        Kind::Bmp => image::ImageFormat::Bmp,
        Kind::Tiff => image::ImageFormat::Tiff,
        _ => return None,
    })
}

pub(super) fn undecodable(filename: &str, why: &str) -> Error {
    Error::refused(
        ErrorCode::ImageConversionFailed,
        filename,
        format!("{filename} cannot be decoded: {why}"),
    )
}

/// Transparency becomes white, 16 bits become 8, grey stays grey.
fn on_white(image: DynamicImage) -> Picture {
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
