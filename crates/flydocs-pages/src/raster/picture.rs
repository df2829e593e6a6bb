//! Pixels in memory, grey where the page is grey.

use bytes::Bytes;
use image::{ImageEncoder, codecs::jpeg::JpegEncoder, imageops};

use crate::{
    error::{Error, Result},
    reader::ImageFormat,
};

const JPEG_QUALITY: u8 = 85;

/// An upright picture on white.
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pixels: Pixels,
}

/// Its pixels, row by row from the top.
#[derive(Debug, Clone)]
pub(crate) enum Pixels {
    /// One byte each.
    Grey(Vec<u8>),
    /// Red, green, blue.
    Rgb(Vec<u8>),
}

impl Picture {
    /// From opaque RGBA; grey when every pixel is.
    pub(crate) fn from_rgba(width: u32, height: u32, rgba: &[u8]) -> Self {
        let (pixels, _) = rgba.as_chunks::<4>();
        let is_grey = pixels.iter().all(|[r, g, b, _]| r == g && g == b);
        let pixels = if is_grey {
            Pixels::Grey(pixels.iter().map(|[r, ..]| *r).collect())
        } else {
            Pixels::Rgb(
                pixels
                    .iter()
                    .flat_map(|[r, g, b, _]| [*r, *g, *b])
                    .collect(),
            )
        };
        Self {
            width,
            height,
            pixels,
        }
    }

    /// The grey values, for OCR.
    pub(crate) fn into_grey(self) -> Self {
        let pixels = match self.pixels {
            Pixels::Grey(grey) => grey,
            Pixels::Rgb(rgb) => {
                let (pixels, _) = rgb.as_chunks::<3>();
                pixels.iter().map(|p| luma(*p)).collect()
            }
        };
        Self {
            pixels: Pixels::Grey(pixels),
            ..self
        }
    }

    /// Resampled to a width, the height following.
    pub(crate) fn scaled_to_width(self, width: u32) -> Self {
        self.resampled(width, imageops::FilterType::Triangle)
    }

    /// Enlarged for OCR: edges of letters stay sharp.
    pub(crate) fn enlarged_to_width(self, width: u32) -> Self {
        self.resampled(width, imageops::FilterType::Lanczos3)
    }

    fn resampled(self, width: u32, filter: imageops::FilterType) -> Self {
        if width == self.width || self.width == 0 {
            return self;
        }
        let height = (f64::from(self.height) * f64::from(width) / f64::from(self.width))
            .round()
            .max(1.0) as u32;
        let (from_width, from_height) = (self.width, self.height);
        let pixels = match self.pixels {
            Pixels::Grey(grey) => image::GrayImage::from_raw(from_width, from_height, grey)
                .map(|i| Pixels::Grey(imageops::resize(&i, width, height, filter).into_raw())),
            Pixels::Rgb(rgb) => image::RgbImage::from_raw(from_width, from_height, rgb)
                .map(|i| Pixels::Rgb(imageops::resize(&i, width, height, filter).into_raw())),
        };
        Self {
            width,
            height,
            pixels: pixels.unwrap_or_else(|| Pixels::Grey(Vec::new())),
        }
    }

    /// Encoded for a caller.
    pub(crate) fn encode(&self, format: ImageFormat) -> Result<Bytes> {
        let mut out = Vec::new();
        let outcome = match format {
            ImageFormat::Png => self.write_png(&mut out).map_err(|e| e.to_string()),
            ImageFormat::Jpeg => {
                let (bytes, color) = match &self.pixels {
                    Pixels::Grey(grey) => (grey, image::ExtendedColorType::L8),
                    Pixels::Rgb(rgb) => (rgb, image::ExtendedColorType::Rgb8),
                };
                JpegEncoder::new_with_quality(&mut out, JPEG_QUALITY)
                    .write_image(bytes, self.width, self.height, color)
                    .map_err(|e| e.to_string())
            }
        };
        outcome.map_err(|e| Error::internal(format!("a page image cannot be encoded: {e}")))?;
        Ok(out.into())
    }

    fn write_png(&self, out: &mut Vec<u8>) -> std::result::Result<(), png::EncodingError> {
        let (bytes, color) = match &self.pixels {
            Pixels::Grey(grey) => (grey, png::ColorType::Grayscale),
            Pixels::Rgb(rgb) => (rgb, png::ColorType::Rgb),
        };
        let mut encoder = png::Encoder::new(out, self.width, self.height);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(bytes)?;
        writer.finish()
    }
}

fn luma([red, green, blue]: [u8; 3]) -> u8 {
    ((u32::from(red) * 299 + u32::from(green) * 587 + u32::from(blue) * 114 + 500) / 1000) as u8
}
