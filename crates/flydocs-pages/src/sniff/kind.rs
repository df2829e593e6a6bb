//! The kinds of file that are told apart.

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($( $name:ident = $media_type:literal, $group:ident, $noun:literal; )+) => {
        /// A kind of file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub(crate) enum Kind { $( $name, )+ }

        impl Kind {
            const ALL: &'static [Self] = &[ $( Self::$name, )+ ];

            pub(crate) const fn media_type(self) -> &'static str {
                match self { $( Self::$name => $media_type, )+ }
            }

            pub(crate) const fn group(self) -> Group {
                match self { $( Self::$name => Group::$group, )+ }
            }

            /// The kind in a sentence.
            pub(crate) const fn noun(self) -> &'static str {
                match self { $( Self::$name => $noun, )+ }
            }
        }
    };
}

/// What is done with a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Read as it is.
    Pdf,
    /// Decoded to pixels.
    Image,
    /// Laid out on pages.
    Text,
    /// Converted, or laid out from its text.
    Office,
    /// Taken apart.
    Container,
}

kinds! {
    Pdf = "application/pdf", Pdf, "a PDF";
    Png = "image/png", Image, "a PNG image";
    Jpeg = "image/jpeg", Image, "a JPEG image";
    Gif = "image/gif", Image, "a GIF image";
    WebP = "image/webp", Image, "a WebP image";
    Bmp = "image/bmp", Image, "a BMP image";
    Tiff = "image/tiff", Image, "a TIFF image";
    Heic = "image/heic", Image, "a HEIC image";
    Avif = "image/avif", Image, "an AVIF image";
    Svg = "image/svg+xml", Image, "an SVG image";
    Text = "text/plain", Text, "a text";
    Markdown = "text/markdown", Text, "a Markdown text";
    Csv = "text/csv", Text, "a CSV table";
    Html = "text/html", Text, "an HTML page";
    Docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document", Office, "a Word document";
    Xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", Office, "an Excel workbook";
    Pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation", Office, "a PowerPoint presentation";
    Odt = "application/vnd.oasis.opendocument.text", Office, "an OpenDocument text";
    Ods = "application/vnd.oasis.opendocument.spreadsheet", Office, "an OpenDocument spreadsheet";
    Odp = "application/vnd.oasis.opendocument.presentation", Office, "an OpenDocument presentation";
    Rtf = "application/rtf", Office, "an RTF document";
    Doc = "application/msword", Office, "a Word 97 document";
    Xls = "application/vnd.ms-excel", Office, "an Excel 97 workbook";
    Ppt = "application/vnd.ms-powerpoint", Office, "a PowerPoint 97 presentation";
    Zip = "application/zip", Container, "a ZIP archive";
    Tar = "application/x-tar", Container, "a TAR archive";
    Gzip = "application/gzip", Container, "a GZIP file";
    SevenZip = "application/x-7z-compressed", Container, "a 7z archive";
    Eml = "message/rfc822", Container, "a mail";
    Msg = "application/vnd.ms-outlook", Container, "an Outlook message";
}

impl Kind {
    pub(crate) fn of_media_type(media_type: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.media_type() == media_type)
    }

    /// The ending a converter knows the kind by; no two kinds that are laid out share one.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Odp => "odp",
            Self::Rtf => "rtf",
            Self::Doc => "doc",
            Self::Xls => "xls",
            Self::Ppt => "ppt",
            Self::Text => "txt",
            Self::Markdown => "md",
            Self::Csv => "csv",
            Self::Html => "html",
            _ => "bin",
        }
    }
}
