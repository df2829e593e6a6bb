//! What can be set about reading, with the defaults of the contract, and the limits by name.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// Everything that can be set about reading.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Largest file, in bytes (`FLYDOCS_MAX_BYTES`).
    pub max_bytes: u64,
    /// Most pages a file may have (`FLYDOCS_MAX_PAGES`).
    pub max_pages: u32,
    /// Most pixels a page image may have (`FLYDOCS_MAX_PAGE_PIXELS`).
    pub max_page_pixels: u64,
    /// How deep containers may nest (`FLYDOCS_BINARY_MAX_RECURSION_DEPTH`).
    pub max_depth: u32,
    /// Most members all containers of a file may have together (`FLYDOCS_BINARY_MAX_EXPANDED_FILES`).
    pub max_expanded_files: u32,
    /// Most bytes all members may unpack to together (`FLYDOCS_BINARY_MAX_EXPANDED_BYTES`).
    pub max_expanded_bytes: u64,
    /// A PDF page with fewer words than this goes to OCR (`FLYDOCS_BBOX_REFINE_MIN_TEXT_WORDS`).
    pub min_text_words: u32,
    /// Which OCR engine reads images (`FLYDOCS_BBOX_REFINE_OCR_ENGINE`).
    pub ocr_engine: OcrEngine,
    /// Resolution at which a PDF page is drawn for OCR (`FLYDOCS_BBOX_REFINE_OCR_DPI`).
    pub ocr_dpi: u32,
    /// Languages always read, as tesseract names them, joined by `+` (`FLYDOCS_BBOX_REFINE_TESSERACT_LANG`).
    pub tesseract_lang: String,
    /// The tesseract program (`FLYDOCS_TESSERACT_PATH`).
    pub tesseract_path: PathBuf,
    /// Longest time OCR may take for one page, in seconds (`FLYDOCS_OCR_PAGE_TIMEOUT_S`).
    pub ocr_page_timeout_s: u64,
    /// How many pages are worked on at once (`FLYDOCS_PAGES_CONCURRENCY`).
    pub concurrency: usize,
    /// Memory the word cache may hold, in bytes (`FLYDOCS_PAGES_CACHE_BYTES`).
    pub cache_bytes: u64,
    /// What turns office documents into PDFs (`FLYDOCS_OFFICE_CONVERTER`).
    pub office_converter: OfficeConverter,
    /// Where Gotenberg answers (`FLYDOCS_GOTENBERG_URL`).
    pub gotenberg_url: String,
    /// The LibreOffice program (`FLYDOCS_LIBREOFFICE_PATH`).
    pub libreoffice_path: PathBuf,
    /// Longest time a conversion may take, in seconds (`FLYDOCS_OFFICE_TIMEOUT_S`).
    pub office_timeout_s: u64,
    /// Whether files are read in child processes (`FLYDOCS_ISOLATION`). A program that switches this on calls
    /// [`child_main`](crate::isolated::child_main) when its first argument is
    /// [`CHILD_ARGUMENT`](crate::isolated::CHILD_ARGUMENT).
    pub isolation: Isolation,
    /// The program that is started as a child; none means this one.
    pub isolation_program: Option<PathBuf>,
    /// Memory a child may address, in bytes (`FLYDOCS_ISOLATION_MEMORY_BYTES`).
    pub isolation_memory_bytes: u64,
    /// Longest time one piece of work on a file may take, in seconds (`FLYDOCS_ISOLATION_TIMEOUT_S`).
    pub isolation_timeout_s: u64,
}

/// What turns office documents into PDFs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfficeConverter {
    /// Nothing does: text and tables are read and laid out.
    None,
    /// A Gotenberg server, over HTTP.
    Gotenberg,
    /// LibreOffice, as a process.
    Libreoffice,
}

/// Where files are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In this process: for trusted input.
    None,
    /// In child processes with ceilings for memory and time.
    Process,
}

/// An engine that reads the words of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OcrEngine {
    /// The `tesseract` program.
    Tesseract,
    /// Images have no words.
    None,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_bytes: 100 * MIB,
            max_pages: 2000,
            max_page_pixels: 100_000_000,
            max_depth: 3,
            max_expanded_files: 50,
            max_expanded_bytes: 512 * MIB,
            min_text_words: 5,
            ocr_engine: OcrEngine::Tesseract,
            ocr_dpi: 200,
            tesseract_lang: "eng".to_owned(),
            tesseract_path: PathBuf::from("tesseract"),
            ocr_page_timeout_s: 120,
            concurrency: std::thread::available_parallelism().map_or(2, usize::from),
            cache_bytes: 64 * MIB,
            office_converter: OfficeConverter::None,
            gotenberg_url: "http://127.0.0.1:3000".to_owned(),
            libreoffice_path: PathBuf::from("soffice"),
            office_timeout_s: 60,
            isolation: Isolation::None,
            isolation_program: None,
            isolation_memory_bytes: 1024 * MIB,
            isolation_timeout_s: 60,
        }
    }
}

impl Options {
    pub(crate) fn ocr_page_timeout(&self) -> Duration {
        Duration::from_secs(self.ocr_page_timeout_s)
    }
}

const MIB: u64 = 1024 * 1024;

/// A limit a file can be over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Pages of a file.
    Pages,
    /// Pixels of a page when it is drawn.
    PagePixels,
    /// Pixels of an image.
    ImagePixels,
    /// Bytes a container unpacks to.
    ExpandedBytes,
    /// Members of containers.
    ExpandedFiles,
    /// Containers inside containers.
    Depth,
    /// Time a file may cost.
    Time,
    /// Memory a file may cost.
    Memory,
}

impl Limit {
    /// The limit as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::PagePixels => "page_pixels",
            Self::ImagePixels => "image_pixels",
            Self::ExpandedBytes => "expanded_bytes",
            Self::ExpandedFiles => "expanded_files",
            Self::Depth => "depth",
            Self::Time => "time",
            Self::Memory => "memory",
        }
    }

    /// The setting that moves it.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Pages => "FLYDOCS_MAX_PAGES",
            Self::PagePixels | Self::ImagePixels => "FLYDOCS_MAX_PAGE_PIXELS",
            Self::ExpandedBytes => "FLYDOCS_BINARY_MAX_EXPANDED_BYTES",
            Self::ExpandedFiles => "FLYDOCS_BINARY_MAX_EXPANDED_FILES",
            Self::Depth => "FLYDOCS_BINARY_MAX_RECURSION_DEPTH",
            Self::Time => "FLYDOCS_ISOLATION_TIMEOUT_S",
            Self::Memory => "FLYDOCS_ISOLATION_MEMORY_BYTES",
        }
    }

    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::PagePixels => "pixels on a page",
            Self::ImagePixels => "pixels in the image",
            Self::ExpandedBytes => "unpacked bytes",
            Self::ExpandedFiles => "unpacked files",
            Self::Depth => "containers inside each other",
            Self::Time => "seconds",
            Self::Memory => "bytes of memory",
        }
    }
}
