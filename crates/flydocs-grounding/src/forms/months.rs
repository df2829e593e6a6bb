//! Month names, long and short, January first, folded; languages by their ISO 639-1 code.
//!
//! Genitive and other inflected names stand beside the plain ones where dates use them.

/// The names of the months in one language; several tables may share a language.
pub(super) struct Months {
    pub(super) language: &'static str,
    pub(super) names: [&'static str; 12],
}

const fn table(language: &'static str, names: [&'static str; 12]) -> Months {
    Months { language, names }
}

/// Every table.
pub(super) const MONTHS: &[Months] = &[
    table("en", ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]),
    table("en", ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    table("en", ["jan", "feb", "mar", "apr", "may", "june", "july", "aug", "sept", "oct", "nov", "dec"]),
    table("es", ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"]),
    table("es", ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"]),
    table("es", ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"]),
    table("fr", ["janvier", "f\u{e9}vrier", "mars", "avril", "mai", "juin", "juillet", "ao\u{fb}t", "septembre", "octobre", "novembre", "d\u{e9}cembre"]),
    table("fr", ["janv", "f\u{e9}vr", "mars", "avr", "mai", "juin", "juil", "aout", "sept", "oct", "nov", "d\u{e9}c"]),
    table("fr", ["jan", "fevrier", "mar", "avr", "mai", "jun", "jul", "aou", "sep", "oct", "nov", "decembre"]),
    table("de", ["januar", "februar", "m\u{e4}rz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "dezember"]),
    table("de", ["j\u{e4}nner", "feber", "maerz", "apr", "mai", "jun", "jul", "aug", "sept", "okt", "nov", "dez"]),
    table("de", ["jan", "feb", "m\u{e4}r", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"]),
    table("it", ["gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"]),
    table("it", ["gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"]),
    table("pt", ["janeiro", "fevereiro", "mar\u{e7}o", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"]),
    table("pt", ["jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"]),
    table("nl", ["januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober", "november", "december"]),
    table("nl", ["jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"]),
    table("ca", ["gener", "febrer", "mar\u{e7}", "abril", "maig", "juny", "juliol", "agost", "setembre", "octubre", "novembre", "desembre"]),
    table("ca", ["gen", "febr", "mar\u{e7}", "abr", "maig", "juny", "jul", "ag", "set", "oct", "nov", "des"]),
    table("eu", ["urtarrila", "otsaila", "martxoa", "apirila", "maiatza", "ekaina", "uztaila", "abuztua", "iraila", "urria", "azaroa", "abendua"]),
    table("eu", ["urtarrilaren", "otsailaren", "martxoaren", "apirilaren", "maiatzaren", "ekainaren", "uztailaren", "abuztuaren", "irailaren", "urriaren", "azaroaren", "abenduaren"]),
    table("gl", ["xaneiro", "febreiro", "marzo", "abril", "maio", "xu\u{f1}o", "xullo", "agosto", "setembro", "outubro", "novembro", "decembro"]),
    table("gl", ["xan", "feb", "mar", "abr", "mai", "xu\u{f1}", "xul", "ago", "set", "out", "nov", "dec"]),
    table("pl", ["stycznia", "lutego", "marca", "kwietnia", "maja", "czerwca", "lipca", "sierpnia", "wrze\u{15b}nia", "pa\u{17a}dziernika", "listopada", "grudnia"]),
    table("pl", ["stycze\u{144}", "luty", "marzec", "kwiecie\u{144}", "maj", "czerwiec", "lipiec", "sierpie\u{144}", "wrzesie\u{144}", "pa\u{17a}dziernik", "listopad", "grudzie\u{144}"]),
    table("pl", ["sty", "lut", "mar", "kwi", "maj", "cze", "lip", "sie", "wrz", "pa\u{17a}", "lis", "gru"]),
    table("ru", ["\u{44f}\u{43d}\u{432}\u{430}\u{440}\u{44f}", "\u{444}\u{435}\u{432}\u{440}\u{430}\u{43b}\u{44f}", "\u{43c}\u{430}\u{440}\u{442}\u{430}", "\u{430}\u{43f}\u{440}\u{435}\u{43b}\u{44f}", "\u{43c}\u{430}\u{44f}", "\u{438}\u{44e}\u{43d}\u{44f}", "\u{438}\u{44e}\u{43b}\u{44f}", "\u{430}\u{432}\u{433}\u{443}\u{441}\u{442}\u{430}", "\u{441}\u{435}\u{43d}\u{442}\u{44f}\u{431}\u{440}\u{44f}", "\u{43e}\u{43a}\u{442}\u{44f}\u{431}\u{440}\u{44f}", "\u{43d}\u{43e}\u{44f}\u{431}\u{440}\u{44f}", "\u{434}\u{435}\u{43a}\u{430}\u{431}\u{440}\u{44f}"]),
    table("ru", ["\u{44f}\u{43d}\u{432}", "\u{444}\u{435}\u{432}", "\u{43c}\u{430}\u{440}", "\u{430}\u{43f}\u{440}", "\u{43c}\u{430}\u{439}", "\u{438}\u{44e}\u{43d}", "\u{438}\u{44e}\u{43b}", "\u{430}\u{432}\u{433}", "\u{441}\u{435}\u{43d}", "\u{43e}\u{43a}\u{442}", "\u{43d}\u{43e}\u{44f}", "\u{434}\u{435}\u{43a}"]),
    table("ar", ["\u{64a}\u{646}\u{627}\u{64a}\u{631}", "\u{641}\u{628}\u{631}\u{627}\u{64a}\u{631}", "\u{645}\u{627}\u{631}\u{633}", "\u{623}\u{628}\u{631}\u{64a}\u{644}", "\u{645}\u{627}\u{64a}\u{648}", "\u{64a}\u{648}\u{646}\u{64a}\u{648}", "\u{64a}\u{648}\u{644}\u{64a}\u{648}", "\u{623}\u{63a}\u{633}\u{637}\u{633}", "\u{633}\u{628}\u{62a}\u{645}\u{628}\u{631}", "\u{623}\u{643}\u{62a}\u{648}\u{628}\u{631}", "\u{646}\u{648}\u{641}\u{645}\u{628}\u{631}", "\u{62f}\u{64a}\u{633}\u{645}\u{628}\u{631}"]),
];
