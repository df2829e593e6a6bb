//! Embedded CJK fonts that do not say what their characters are: the collection their glyphs are numbered in
//! (Adobe-Japan1, -GB1, -CNS1, -Korea1) says it.

use std::{collections::HashMap, rc::Rc};

use hayro_cmap::{BfString, CMap, CMapName, CidFamily};
use hayro_syntax::{
    object::{Array, Dict, Name, Object, Stream, String as PdfString},
    page::Page,
};

/// Forms inside forms that are looked through for fonts.
const MAX_DEPTH: usize = 4;
/// Most resources looked through on a page.
const MAX_RESOURCES: usize = 200;

/// The fonts of a page that number their glyphs so, by the name they go by.
#[derive(Default)]
pub(super) struct Collections {
    fonts: HashMap<String, Numbered>,
    characters: HashMap<CidFamily, Option<Rc<CMap>>>,
}

struct Numbered {
    encoding: CMap,
    characters: Rc<CMap>,
}

impl Collections {
    /// Looks through the fonts of a page; those already known are kept.
    pub(super) fn add(&mut self, page: &Page<'_>) {
        let resources = page.resources();
        let mut left = MAX_RESOURCES;
        self.fonts_in(&resources.fonts);
        self.forms_in(&resources.x_objects, MAX_DEPTH, &mut left);
    }

    /// What a code shown in a font stands for.
    pub(super) fn character(&self, font: &str, code: u32) -> Option<String> {
        let font = self.fonts.get(font)?;
        let cid = [2, 1, 3, 4]
            .into_iter()
            .find_map(|length| font.encoding.lookup_cid_code(code, length))?;
        match font.characters.lookup_bf_string(cid)? {
            BfString::Char(ch) => Some(ch.to_string()),
            BfString::String(text) => Some(text),
        }
    }

    fn forms_in(&mut self, objects: &Dict<'_>, depth: usize, left: &mut usize) {
        if depth == 0 {
            return;
        }
        for name in objects.keys() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            let resources = objects
                .get::<Stream<'_>>(&name)
                .and_then(|form| form.dict().get::<Dict<'_>>("Resources"));
            let Some(resources) = resources else {
                continue;
            };
            if let Some(fonts) = resources.get::<Dict<'_>>("Font") {
                self.fonts_in(&fonts);
            }
            if let Some(inner) = resources.get::<Dict<'_>>("XObject") {
                self.forms_in(&inner, depth - 1, left);
            }
        }
    }

    fn fonts_in(&mut self, fonts: &Dict<'_>) {
        for name in fonts.keys().take(MAX_RESOURCES) {
            let Some(font) = fonts.get::<Dict<'_>>(&name) else {
                continue;
            };
            let Some(base) = font.get::<Name<'_>>("BaseFont") else {
                continue;
            };
            let base = without_subset_tag(base.as_str());
            if self.fonts.contains_key(base) || font.contains_key("ToUnicode") {
                continue;
            }
            if let Some(numbered) = self.numbered(&font) {
                self.fonts.insert(base.to_owned(), numbered);
            }
        }
    }

    fn numbered(&mut self, font: &Dict<'_>) -> Option<Numbered> {
        let encoding = match font.get::<Object<'_>>("Encoding")? {
            Object::Name(name) => match name.as_str() {
                "Identity-H" => CMap::identity_h(),
                "Identity-V" => CMap::identity_v(),
                other => embedded(CMapName::from_bytes(other.as_bytes()))?,
            },
            Object::Stream(stream) => {
                CMap::parse(&stream.decoded_data().ok()?, hayro_cmap::load_embedded)?
            }
            _ => return None,
        };
        let named = encoding
            .metadata()
            .character_collection
            .as_ref()
            .map(|collection| collection.family.clone())
            .filter(|family| *family != CidFamily::AdobeIdentity);
        let family = named.or_else(|| {
            let descendant = font
                .get::<Array<'_>>("DescendantFonts")?
                .iter::<Dict<'_>>()
                .next()?;
            let info = descendant.get::<Dict<'_>>("CIDSystemInfo")?;
            let registry = info.get::<PdfString<'_>>("Registry")?;
            let ordering = info.get::<PdfString<'_>>("Ordering")?;
            Some(CidFamily::from_registry_ordering(
                registry.as_bytes(),
                ordering.as_bytes(),
            ))
        })?;
        let characters = self
            .characters
            .entry(family.clone())
            .or_insert_with(|| family.ucs2_cmap().and_then(embedded).map(Rc::new))
            .clone()?;
        Some(Numbered {
            encoding,
            characters,
        })
    }
}

fn embedded(name: CMapName<'_>) -> Option<CMap> {
    CMap::parse(hayro_cmap::load_embedded(name)?, hayro_cmap::load_embedded)
}

/// `ABCDEF+Name` is `Name`.
fn without_subset_tag(name: &str) -> &str {
    match name.split_once('+') {
        Some((tag, rest)) if tag.len() == 6 => rest,
        _ => name,
    }
}
