//! Fonts of this machine for what a PDF does not carry: Chinese, Japanese and Korean characters. The fourteen
//! standard fonts are built in.

use std::sync::{Arc, OnceLock};

use hayro_cmap::CidFamily;
use hayro_interpret::{
    InterpreterSettings,
    font::{FontData, FontQuery},
};
use resvg::usvg::fontdb;
use skrifa::MetadataProvider;

use super::completed::completed;

/// Families that hold all of a script, best first; any other font that has the character comes after them.
const KNOWN: [&str; 5] = [
    "Noto Sans CJK",
    "Source Han Sans",
    "Noto Serif CJK",
    "WenQuanYi",
    "Droid Sans Fallback",
];
/// Where the Latin characters come from that a font lacks, best first.
const LATIN: [&str; 3] = ["Liberation Sans", "DejaVu Sans", "Noto Sans"];

/// A font and its number in its file.
type Face = (FontData, u32);

/// How pages are drawn: with the fonts in the file, the built-in ones, and those of this machine.
pub(super) fn settings() -> InterpreterSettings {
    let settings = InterpreterSettings::default();
    let built_in = settings.font_resolver.clone();
    InterpreterSettings {
        font_resolver: Arc::new(move |query| {
            if let FontQuery::Fallback(wanted) = query
                && let Some(collection) = &wanted.character_collection
                && let Some(face) = face_for(&collection.family)
            {
                return Some(face);
            }
            built_in(query)
        }),
        ..settings
    }
}

fn face_for(family: &CidFamily) -> Option<Face> {
    static JAPAN: OnceLock<Option<Face>> = OnceLock::new();
    static CHINA: OnceLock<Option<Face>> = OnceLock::new();
    static TAIWAN: OnceLock<Option<Face>> = OnceLock::new();
    static KOREA: OnceLock<Option<Face>> = OnceLock::new();
    // a character only fonts for that script have, and the family's own name for it
    let (found, probe, script) = match family {
        CidFamily::AdobeJapan1 => (&JAPAN, '\u{3042}', "JP"),
        CidFamily::AdobeGB1 => (&CHINA, '\u{8fd9}', "SC"),
        CidFamily::AdobeCNS1 => (&TAIWAN, '\u{9019}', "TC"),
        CidFamily::AdobeKorea1 => (&KOREA, '\u{d55c}', "KR"),
        CidFamily::AdobeIdentity | CidFamily::Custom { .. } => return None,
    };
    found.get_or_init(|| find(probe, script)).clone()
}

/// The best installed face that has a character.
fn find(probe: char, script: &str) -> Option<Face> {
    let fonts = crate::raster::fonts();
    let rank = |face: &fontdb::FaceInfo| {
        let family = face.families.first().map_or("", |(name, _)| name.as_str());
        let known = KNOWN.iter().position(|known| family.starts_with(known));
        let regular = face.style == fontdb::Style::Normal && face.weight == fontdb::Weight::NORMAL;
        (
            known.unwrap_or(KNOWN.len()),
            !regular,
            !family.ends_with(script),
        )
    };
    let mut faces: Vec<&fontdb::FaceInfo> = fonts.faces().collect();
    faces.sort_by_key(|face| rank(face));
    faces.into_iter().find_map(|face| {
        fonts.with_face_data(face.id, |data, index| {
            let font = skrifa::FontRef::from_index(data, index).ok()?;
            font.charmap().map(probe)?;
            // some hold nothing else, and what they lack would be drawn as another character
            if font.charmap().map('0').is_none() {
                let data: FontData = Arc::new(with_latin(&fonts, data, index)?);
                return Some((data, 0));
            }
            let data: FontData = Arc::new(data.to_vec());
            Some((data, index))
        })?
    })
}

fn with_latin(fonts: &fontdb::Database, base: &[u8], index: u32) -> Option<Vec<u8>> {
    let mut faces: Vec<(usize, fontdb::ID)> = fonts
        .faces()
        .filter(|face| face.style == fontdb::Style::Normal)
        .filter(|face| face.weight == fontdb::Weight::NORMAL)
        .filter(|face| face.stretch == fontdb::Stretch::Normal)
        .filter_map(|face| {
            let family = face.families.first()?.0.as_str();
            Some((LATIN.iter().position(|latin| *latin == family)?, face.id))
        })
        .collect();
    faces.sort_unstable_by_key(|(rank, _)| *rank);
    faces.into_iter().find_map(|(_, id)| {
        fonts.with_face_data(id, |data, at| {
            let latin = skrifa::FontRef::from_index(data, at).ok()?;
            completed(base, index, &latin)
        })?
    })
}
