//! Makes a drawn document look as if it came from a scanner: a little askew, grey, noisy, JPEG.

use anyhow::Context as _;
use flydocs_pages::{ImageFormat, ImageSize, Pages, Reader as _, Row, Source};
use image::{GrayImage, Luma, codecs::jpeg::JpegEncoder, codecs::png::PngEncoder};
use krilla::{Document, geom::Size, image::Image, page::PageSettings};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio_util::sync::CancellationToken;

const DPI: f64 = 170.0;
const SKEW_DEGREES: f32 = 0.5;
const JPEG_QUALITY: u8 = 45;

/// A PDF whose pages are pictures of the given PDF's pages.
pub(crate) async fn of(name: &str, pdf: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let mut document = Document::new();
    for page in pages(name, pdf).await? {
        let (width, height) = (
            page.width() as f32 * 72.0 / DPI as f32,
            page.height() as f32 * 72.0 / DPI as f32,
        );
        let mut jpeg = Vec::new();
        JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY).encode_image(&page)?;
        let picture =
            Image::from_jpeg(jpeg.into(), false).map_err(|error| anyhow::anyhow!("{error}"))?;
        let mut sheet = document
            .start_page_with(PageSettings::from_wh(width, height).context("a page has an area")?);
        let mut surface = sheet.surface();
        surface.draw_image(
            picture,
            Size::from_wh(width, height).context("a page has an area")?,
        );
        surface.finish();
        sheet.finish();
    }
    document
        .finish()
        .map_err(|error| anyhow::anyhow!("the PDF cannot be written: {error:?}"))
}

/// The first page as a picture.
pub(crate) async fn first_page_png(name: &str, pdf: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let page = pages(name, pdf)
        .await?
        .into_iter()
        .next()
        .context("a document has a page")?;
    let mut png = Vec::new();
    page.write_with_encoder(PngEncoder::new(&mut png))?;
    Ok(png)
}

async fn pages(name: &str, pdf: Vec<u8>) -> anyhow::Result<Vec<GrayImage>> {
    let reader = Pages::new(flydocs_pages::Options::default());
    let cancel = CancellationToken::new();
    let source = Source {
        filename: name.to_owned(),
        content: pdf.into(),
        declared_media_type: None,
    };
    let rows = reader.load(source, &cancel).await?;
    let row: &Row = rows.first().context("a PDF is one row")?;
    // The same noise each time, so that the files change only when the drawing does.
    let mut random = StdRng::seed_from_u64(1987);
    let mut pages = Vec::new();
    for page in 1..=row.page_count {
        let drawn = reader
            .image(row, page, ImageSize::Dpi(DPI), ImageFormat::Png, &cancel)
            .await?;
        pages.push(scanned(
            &image::load_from_memory(&drawn.bytes)?.to_luma8(),
            &mut random,
        ));
    }
    Ok(pages)
}

fn scanned(page: &GrayImage, random: &mut StdRng) -> GrayImage {
    let (sin, cos) = SKEW_DEGREES.to_radians().sin_cos();
    let (width, height) = page.dimensions();
    let (middle_x, middle_y) = (width as f32 / 2.0, height as f32 / 2.0);
    GrayImage::from_fn(width, height, |x, y| {
        let (dx, dy) = (x as f32 - middle_x, y as f32 - middle_y);
        let grey = sample(
            page,
            middle_x + dx * cos + dy * sin,
            middle_y - dx * sin + dy * cos,
        );
        let paper = grey * 0.88 + 22.0;
        Luma([(paper + random.random_range(-5.0..5.0)).clamp(0.0, 255.0) as u8])
    })
}

/// Bilinear; white outside.
fn sample(page: &GrayImage, x: f32, y: f32) -> f32 {
    let at = |x: i64, y: i64| {
        let inside =
            x >= 0 && y >= 0 && x < i64::from(page.width()) && y < i64::from(page.height());
        if inside {
            f32::from(page.get_pixel(x as u32, y as u32).0[0])
        } else {
            255.0
        }
    };
    let (left, top) = (x.floor(), y.floor());
    let (fx, fy) = (x - left, y - top);
    let (left, top) = (left as i64, top as i64);
    let upper = at(left, top) * (1.0 - fx) + at(left + 1, top) * fx;
    let lower = at(left, top + 1) * (1.0 - fx) + at(left + 1, top + 1) * fx;
    upper * (1.0 - fy) + lower * fy
}
