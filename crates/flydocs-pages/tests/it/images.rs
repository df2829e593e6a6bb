//! Images as one-page documents.

use std::io::Cursor;

use flydocs_contract::ErrorCode;
use flydocs_pages::{ImageFormat, ImageSize, OcrEngine, Options, Pages, Reader, Row};
use image::{DynamicImage, ExtendedColorType, GrayImage, ImageEncoder, Luma, Rgba, RgbaImage};
use tokio_util::sync::CancellationToken;

use crate::made::{png, row, source};

fn without_ocr() -> Pages {
    Pages::new(Options {
        ocr_engine: OcrEngine::None,
        ..Options::default()
    })
}

/// Dark in its upper left quarter.
fn corner(width: u32, height: u32) -> GrayImage {
    GrayImage::from_fn(width, height, |x, y| {
        Luma([if x < width / 2 && y < height / 2 {
            0
        } else {
            255
        }])
    })
}

async fn drawn(pages: &Pages, row: &Row) -> GrayImage {
    let image = pages
        .image(
            row,
            1,
            ImageSize::Dpi(200.0),
            ImageFormat::Png,
            &CancellationToken::new(),
        )
        .await
        .expect("it is drawn");
    image::load_from_memory(&image.bytes)
        .expect("a PNG")
        .into_luma8()
}

#[tokio::test]
async fn every_format_becomes_one_page() {
    let pages = without_ocr();
    let picture = DynamicImage::ImageLuma8(corner(40, 20)).into_rgb8();
    for (format, media_type) in [
        (image::ImageFormat::Png, "image/png"),
        (image::ImageFormat::Jpeg, "image/jpeg"),
        (image::ImageFormat::WebP, "image/webp"),
        (image::ImageFormat::Gif, "image/gif"),
        (image::ImageFormat::Bmp, "image/bmp"),
        (image::ImageFormat::Tiff, "image/tiff"),
    ] {
        let mut bytes = Cursor::new(Vec::new());
        picture
            .write_to(&mut bytes, format)
            .expect("it can be written");
        let row = row(&pages, "named.pdf", bytes.into_inner()).await;
        assert_eq!((row.media_type.as_str(), row.page_count), (media_type, 1));
        let image = drawn(&pages, &row).await;
        assert_eq!(image.dimensions(), (40, 20), "{media_type}");
        assert!(image.get_pixel(5, 5).0[0] < 40, "{media_type}");
        assert!(image.get_pixel(35, 15).0[0] > 215, "{media_type}");
    }
}

#[tokio::test]
async fn an_avif_is_refused_with_what_is_missing_and_what_to_send() {
    let never = CancellationToken::new();
    let file = b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf\0\0\0\x08mdat".to_vec();
    let error = without_ocr()
        .load(source("photo.avif", file), &never)
        .await
        .expect_err("no decoder");
    assert_eq!(error.code(), ErrorCode::UnsupportedFile);
    let said = error.to_string();
    assert!(
        said.contains("AVIF") && said.contains("send a JPEG or PNG"),
        "{said}"
    );
}

#[tokio::test]
async fn the_orientation_a_camera_noted_is_applied() {
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 95);
    // big-endian TIFF header, one entry: orientation (0x0112) = 6, turn right
    let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
    encoder.set_exif_metadata(exif).expect("a block of EXIF");
    encoder
        .write_image(corner(40, 20).as_raw(), 40, 20, ExtendedColorType::L8)
        .expect("a JPEG");
    let pages = without_ocr();
    let row = row(&pages, "photo.jpg", bytes).await;
    let image = drawn(&pages, &row).await;
    assert_eq!(image.dimensions(), (20, 40));
    assert!(
        image.get_pixel(15, 5).0[0] < 60,
        "the dark corner is top right now"
    );
    assert!(image.get_pixel(5, 5).0[0] > 200);
}

#[tokio::test]
async fn transparency_is_white() {
    let picture = RgbaImage::from_fn(20, 10, |x, _| Rgba([0, 0, 0, if x < 10 { 0 } else { 255 }]));
    let mut bytes = Cursor::new(Vec::new());
    picture
        .write_to(&mut bytes, image::ImageFormat::Png)
        .expect("a PNG");
    let pages = without_ocr();
    let row = row(&pages, "t.png", bytes.into_inner()).await;
    let image = drawn(&pages, &row).await;
    assert_eq!(
        (image.get_pixel(2, 2).0[0], image.get_pixel(15, 2).0[0]),
        (255, 0)
    );
}

#[tokio::test]
async fn a_truncated_image_is_refused_when_its_pixels_are_needed() {
    let pages = without_ocr();
    let whole = png(64, 64, |x, y| (x * 7 + y * 13) as u8);
    let error = match pages
        .load(
            source("cut.png", whole[..20].to_vec()),
            &CancellationToken::new(),
        )
        .await
    {
        Err(error) => error,
        Ok(rows) => panic!("{rows:?}"),
    };
    assert_eq!(error.code(), ErrorCode::ImageConversionFailed);
}

#[tokio::test]
async fn without_ocr_an_image_has_no_words() {
    let pages = without_ocr();
    let row = row(&pages, "p.png", png(20, 20, |_, _| 255)).await;
    let words = pages
        .words(&row, 1, None, &CancellationToken::new())
        .await
        .expect("none");
    assert!(words.words.is_empty());
}

#[tokio::test]
async fn every_frame_of_a_tiff_is_a_page() {
    use tiff::encoder::{TiffEncoder, colortype::Gray8};
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes).expect("a TIFF");
    for (width, height) in [(30, 10), (10, 40), (20, 20)] {
        encoder
            .write_image::<Gray8>(width, height, &vec![200; (width * height) as usize])
            .expect("a frame");
    }
    let pages = without_ocr();
    let row = row(&pages, "fax.tif", bytes.into_inner()).await;
    assert_eq!(row.page_count, 3);
    let never = CancellationToken::new();
    for (page, size) in [(1, (30, 10)), (2, (10, 40)), (3, (20, 20))] {
        let image = pages
            .image(&row, page, ImageSize::Dpi(1.0), ImageFormat::Png, &never)
            .await
            .expect("it is drawn");
        assert_eq!((image.width, image.height), size);
    }
    let beyond = pages
        .image(&row, 4, ImageSize::Dpi(1.0), ImageFormat::Png, &never)
        .await;
    assert!(beyond.is_err());
}

#[tokio::test]
async fn an_svg_is_drawn_without_looking_elsewhere() {
    let svg =
        br#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
        width="200" height="100"><rect width="100" height="100" fill="black"/>
        <image xlink:href="file:///etc/passwd" width="9" height="9"/></svg>"#;
    let pages = without_ocr();
    let row = row(&pages, "x.svg", svg.to_vec()).await;
    assert_eq!(row.media_type, "image/svg+xml");
    let image = drawn(&pages, &row).await;
    let (width, height) = image.dimensions();
    assert_eq!(width, height * 2);
    assert_eq!(image.get_pixel(width / 4, height / 2).0[0], 0);
    assert_eq!(image.get_pixel(width * 3 / 4, height / 2).0[0], 255);
}
