//! Candidates of one field: typed values near its labels, text beside them, and what usually stands unlabelled.

use flydocs_contract::{FieldValue, request::Field};

use super::{
    Reader,
    address::addresses,
    boolean::booleans,
    candidate::{Candidate, Evidence, Place, rank},
    option::marked_option,
    party::parties,
    prose::sentences,
    relation::relate,
    section::role_beside,
    text::text_values,
};
use crate::local::{
    label::{Kind, Label, Query, Role},
    layout::Span,
    pool::{Typed, number},
    recognise::{DayOrder, person_score},
    text::{fold, similar},
};

/// The remark on a value below its label in the same drawn box.
const IN_ITS_BOX: &str = "in the box of its label";

/// The candidates of a field, best first.
pub(crate) fn candidates(
    reader: &Reader<'_>,
    index: usize,
    field: &Field,
    query: &Query,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    match query.kind {
        Kind::Date => dates(reader, index, query, &mut found),
        Kind::Amount | Kind::Integer | Kind::Percent => amounts(reader, index, query, &mut found),
        Kind::Currency => currency(reader, index, query, &mut found),
        Kind::Iban => typed(reader, index, query, &reader.pool.ibans, 0.75, &mut found),
        Kind::Bic => typed(reader, index, query, &reader.pool.bics, 0.6, &mut found),
        Kind::Vat => {
            typed(reader, index, query, &reader.pool.vats, 0.6, &mut found);
            if found.is_empty() {
                identifiers(reader, index, query, &mut found);
            }
        }
        Kind::TaxNumber => {
            typed(
                reader,
                index,
                query,
                &reader.pool.tax_numbers,
                0.0,
                &mut found,
            );
            identifiers(reader, index, query, &mut found);
            text(reader, index, query, 1, 0.5, &mut found);
        }
        Kind::Email => typed(reader, index, query, &reader.pool.emails, 0.6, &mut found),
        Kind::Phone => typed(reader, index, query, &reader.pool.phones, 0.3, &mut found),
        Kind::Url => typed(reader, index, query, &reader.pool.urls, 0.55, &mut found),
        Kind::Time => typed(reader, index, query, &reader.pool.times, 0.35, &mut found),
        Kind::Identifier => {
            identifiers(reader, index, query, &mut found);
            if query.concept.is_none() {
                let mut words = Vec::new();
                text(reader, index, query, 1, 0.6, &mut words);
                words.retain(|c| c.text.split(' ').count() <= 3);
                found.append(&mut words);
            }
        }
        Kind::Party => parties(reader, index, query, &mut found),
        Kind::Person => {
            text(reader, index, query, 1, 0.9, &mut found);
            for candidate in &mut found {
                // A family name alone in its box looks like no person, and is one.
                let least = if candidate.evidence.notes.contains(&IN_ITS_BOX) {
                    0.8
                } else {
                    0.0
                };
                candidate.score *= 0.5 + 0.5 * person_score(&candidate.text).max(least);
            }
        }
        Kind::Address => addresses(reader, index, query, &mut found),
        Kind::Boolean => booleans(reader, index, &mut found),
        Kind::Choice => choices(reader, index, field, query, &mut found),
        Kind::Text => {
            sentences(reader, query, &mut found);
            text(reader, index, query, 4, 1.0, &mut found);
        }
    }
    if query.kind == Kind::Date {
        sentences(reader, query, &mut found);
    }
    constrain(field, &mut found);
    rank(&mut found);
    found
}

/// The evidence of a label for a span, when it stands to it in some way.
pub(crate) fn labelled(
    reader: &Reader<'_>,
    query: &Query,
    label: &Label,
    span: &Span,
    form: f64,
) -> Option<(f64, Evidence)> {
    let (place, place_score) = relate(reader.document, reader.labels, label, span)?;
    let strength = label.strength();
    let floor = if matches!(query.kind, Kind::Amount | Kind::Integer) {
        0.2
    } else {
        0.45
    };
    let mut score = strength * place_score * (floor + (1.0 - floor) * form);
    let mut notes = Vec::new();
    if let Some(role) = query.role {
        let (factor, note) = role_factor(reader, query, role, label, span);
        score *= factor;
        notes.extend(note);
    }
    Some((
        score,
        Evidence {
            label: Some(
                label
                    .parts
                    .iter()
                    .map(|p| p.text(reader.document))
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
            label_strength: strength,
            place,
            place_score,
            form,
            checked: false,
            notes,
        },
    ))
}

/// How well a place fits the party the field is about.
pub(crate) fn role_factor(
    reader: &Reader<'_>,
    query: &Query,
    role: Role,
    label: &Label,
    span: &Span,
) -> (f64, Option<&'static str>) {
    if let Some(beside) = role_beside(reader.document, reader.lexicon, reader.labels, label) {
        return if beside == role {
            (1.15, Some("its label names the party"))
        } else {
            (0.15, Some("its label names another party"))
        };
    }
    if only_of_its_kind(reader, query, label, span) {
        return (0.75, Some("the only one of its kind"));
    }
    role_place(reader, query, role, span)
}

/// The seller's only tax number may stand in a block of facts beside the buyer's address. One that stands in the
/// column under the heading of another party stays that party's.
fn only_of_its_kind(reader: &Reader<'_>, query: &Query, label: &Label, span: &Span) -> bool {
    let vats = &reader.pool.vats;
    if query.kind != Kind::Vat
        || query.role_name() != "seller"
        || label.strength() < 0.6
        || !vats.iter().any(|v| v.span == *span && v.form > 0.6)
        || vats.iter().any(|v| v.value != vats[0].value)
    {
        return false;
    }
    let document = reader.document;
    reader
        .sections
        .heading_of(document, span)
        .is_some_and(|(role, _, heading)| {
            let em = document.em(span.first);
            Some(role) != query.role
                && document.tokens[heading.first().first].row
                    != document.tokens[label.first().first].row
                && label.rect.xmin > heading.rect.xmax + 8.0 * em
        })
}

/// The same without a label.
pub(crate) fn role_place(
    reader: &Reader<'_>,
    query: &Query,
    role: Role,
    span: &Span,
) -> (f64, Option<&'static str>) {
    let seller = query.role_name() == "seller";
    match reader.sections.role_at(reader.document, span) {
        Some((r, close)) if r == role => (0.95 + 0.15 * close, Some("in the part about the party")),
        Some((_, close)) if close > 0.55 => (0.25, Some("in the part about another party")),
        _ if seller => (0.9, None),
        _ => (0.3, None),
    }
}

fn dates(reader: &Reader<'_>, index: usize, query: &Query, found: &mut Vec<Candidate>) {
    let order = reader.order;
    let concept = query.concept_name();
    for (nth, date) in reader.pool.dates.iter().enumerate() {
        let Some(value) = date.value.read(order) else {
            continue;
        };
        let iso = FieldValue::String(value.format("%Y-%m-%d").to_string());
        let spans = vec![date.span];
        for label in &reader.labels.of_query[index] {
            if let Some((mut score, evidence)) =
                labelled(reader, query, label, &date.span, date.form)
            {
                // "of", "vom", "le" and their like are no labels by themselves.
                if label.letters < 4 && !label.closed {
                    score *= 0.55;
                }
                found.extend(Candidate::new(
                    reader.document,
                    spans.clone(),
                    iso.clone(),
                    score,
                    evidence,
                ));
            }
        }
        if concept == "issue_date"
            && let Some(label) = reader.numbered_before(&date.span)
        {
            let mut evidence = Evidence::unlabelled(Place::Right, date.form);
            evidence.label = Some(label.first().text(reader.document));
            evidence.label_strength = 0.8;
            evidence.notes.push("follows the number of the document");
            found.extend(Candidate::new(
                reader.document,
                spans.clone(),
                iso.clone(),
                0.86 * date.form,
                evidence,
            ));
        }
        if matches!(concept, "issue_date" | "effective_date") && !query.quoted && date.form > 0.4 {
            let first = if nth == 0 {
                0.42
            } else {
                0.34 - 0.01 * nth.min(10) as f64
            };
            let taken = reader.claimed_by_other(query, &date.span);
            let timed = reader.pool.times.iter().any(|t| {
                reader.document.tokens[t.span.first].row
                    == reader.document.tokens[date.span.first].row
            });
            let score =
                first * date.form * if taken { 0.4 } else { 1.0 } + if timed { 0.08 } else { 0.0 };
            found.extend(Candidate::new(
                reader.document,
                spans,
                iso,
                score,
                Evidence::unlabelled(Place::Unlabelled, date.form),
            ));
        }
    }
}

fn amounts(reader: &Reader<'_>, index: usize, query: &Query, found: &mut Vec<Candidate>) {
    let document = reader.document;
    let integer = query.kind == Kind::Integer;
    let money = matches!(
        query.concept_name(),
        "total" | "net_total" | "tax_total" | "amount_due"
    );
    for amount in &reader.pool.amounts {
        let a = &amount.value;
        if a.percent != (query.kind == Kind::Percent) && (money || a.percent) && !integer {
            continue;
        }
        if integer && a.decimals > 0 {
            continue;
        }
        let mut form = amount.form;
        if form < 0.1 || reader.ordinals.contains(&amount.span.first) {
            continue;
        }
        // A year that stands alone is seldom an amount.
        if a.currency.is_none()
            && a.decimals == 0
            && (1990.0..=2040.0).contains(&a.value)
            && !integer
        {
            form *= 0.55;
        }
        if (query.kind == Kind::Integer || !money) && a.currency.is_none() && a.decimals == 0 {
            // A whole number is as good as one with cents when no money is asked for.
            form = 0.9 * (form / 0.6).min(1.0);
        }
        let value = number(a.value, integer);
        let row = document.tokens[amount.span.first].row;
        let last_in_row = !reader.pool.amounts.iter().any(|o| {
            document.tokens[o.span.first].row == row
                && o.span.first > amount.span.last
                && o.form > 0.5
                && !o.value.percent
        });
        for label in &reader.labels.of_query[index] {
            let Some((mut score, mut evidence)) =
                labelled(reader, query, label, &amount.span, form)
            else {
                continue;
            };
            if evidence.place == Place::Right && money {
                // The words between are other columns of the same row.
                if !last_in_row {
                    score *= 0.8;
                }
            }
            if evidence.place == Place::Below && money {
                if let Some(bonus) = reader.totals_row(row, amount.span.first) {
                    score = score.max(label.strength() * bonus * (0.45 + 0.55 * form));
                    evidence.place = Place::Column;
                } else {
                    let header = document.tokens[label.first().first].row;
                    score *= if reader.header_rows.contains(&header) {
                        0.6
                    } else {
                        0.85
                    };
                }
            }
            if money && a.currency.is_some() {
                score *= 1.03;
            }
            if money && a.value < 0.0 {
                score *= 0.7;
            }
            found.extend(Candidate::new(
                document,
                vec![amount.span],
                value.clone(),
                score,
                evidence,
            ));
        }
        if query.concept_name() == "total" && amount.form > 0.4 && a.value > 0.0 {
            for (name, weight) in [("net_total", 0.5), ("amount_due", 0.62)] {
                if name == "net_total" && reader.asked.contains(&name) {
                    continue;
                }
                let Some((concept, _)) = reader.lexicon.get(name) else {
                    continue;
                };
                for label in reader.labels.of_concept[concept].iter().take(12) {
                    if let Some((score, evidence)) =
                        labelled(reader, query, label, &amount.span, form)
                    {
                        found.extend(Candidate::new(
                            document,
                            vec![amount.span],
                            value.clone(),
                            weight * score,
                            evidence,
                        ));
                    }
                }
            }
        }
    }
    if query.concept_name() == "total" {
        change_given(reader, found);
    }
}

/// What was given less the change is what was paid: a total that keeps this is raised.
fn change_given(reader: &Reader<'_>, found: &mut [Candidate]) {
    let values = |name: &str| -> Vec<f64> {
        let Some((concept, _)) = reader.lexicon.get(name) else {
            return Vec::new();
        };
        let mut values = Vec::new();
        for label in reader.labels.of_concept[concept]
            .iter()
            .filter(|l| !l.hidden && l.opens)
            .take(6)
        {
            let best = reader
                .pool
                .amounts
                .iter()
                .filter(|a| a.form > 0.3 && a.value.decimals == 2)
                .filter_map(|a| {
                    relate(reader.document, reader.labels, label, &a.span)
                        .map(|(place, s)| (place, s, a))
                })
                .filter(|(place, s, _)| *place == Place::Right && *s > 0.3)
                .max_by(|a, b| a.1.total_cmp(&b.1));
            values.extend(best.map(|(_, _, a)| a.value.value));
        }
        values
    };
    let (given, change) = (values("cash_given"), values("change_given"));
    let paid: Vec<f64> = given
        .iter()
        .flat_map(|g| {
            change
                .iter()
                .map(move |c| g - c)
                .chain(change.is_empty().then_some(*g))
        })
        .filter(|p| *p > 0.0)
        .collect();
    for candidate in found {
        if let Some(value) = super::arithmetic::value(candidate)
            && paid.iter().any(|p| (p - value).abs() < 0.006)
        {
            candidate.score =
                (candidate.score + if change.is_empty() { 0.08 } else { 0.25 }).min(1.0);
            candidate.evidence.checked = !change.is_empty();
            candidate
                .evidence
                .notes
                .push("what was given less the change");
        }
    }
}

fn currency(reader: &Reader<'_>, index: usize, query: &Query, found: &mut Vec<Candidate>) {
    let document = reader.document;
    let pool = &reader.pool.currencies;
    let total = pool.len().max(1) as f64;
    for hit in pool {
        let same = pool
            .iter()
            .filter(|o| o.value == hit.value)
            .map(|o| o.form)
            .sum::<f64>();
        let value = FieldValue::String(hit.value.to_owned());
        for label in &reader.labels.of_query[index] {
            if let Some((score, evidence)) = labelled(reader, query, label, &hit.span, hit.form) {
                found.extend(Candidate::new(
                    document,
                    vec![hit.span],
                    value.clone(),
                    score,
                    evidence,
                ));
            }
        }
        let score = hit.form * (0.45 + 0.45 * same / total);
        found.extend(Candidate::new(
            document,
            vec![hit.span],
            value,
            score,
            Evidence::unlabelled(Place::Unlabelled, hit.form),
        ));
    }
}

/// Values whose form says nearly everything.
fn typed(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    pool: &[Typed<String>],
    prior: f64,
    found: &mut Vec<Candidate>,
) {
    for hit in pool {
        let value = FieldValue::String(hit.value.clone());
        let mut unlabelled = true;
        for label in &reader.labels.of_query[index] {
            if let Some((score, evidence)) = labelled(reader, query, label, &hit.span, hit.form) {
                unlabelled &= score < prior * hit.form;
                found.extend(Candidate::new(
                    reader.document,
                    vec![hit.span],
                    value.clone(),
                    score,
                    evidence,
                ));
            }
        }
        if unlabelled && prior > 0.0 {
            let mut score = prior * hit.form;
            let mut evidence = Evidence::unlabelled(Place::Unlabelled, hit.form);
            if let Some(role) = query.role
                && !matches!(query.kind, Kind::Iban | Kind::Bic)
            {
                let (factor, note) = role_place(reader, query, role, &hit.span);
                score *= factor;
                evidence.notes.extend(note);
            }
            if reader.claimed_by_other(query, &hit.span) {
                score *= 0.5;
            }
            found.extend(Candidate::new(
                reader.document,
                vec![hit.span],
                value,
                score,
                evidence,
            ));
        }
    }
}

fn identifiers(reader: &Reader<'_>, index: usize, query: &Query, found: &mut Vec<Candidate>) {
    let document = reader.document;
    for label in &reader.labels.of_query[index] {
        // The nearest word with a digit, and those that go on with it.
        for hit in &reader.pool.identifiers {
            if document.tokens[hit.span.first].page != label.page
                || reader.ordinals.contains(&hit.span.first)
            {
                continue;
            }
            let Some((mut score, evidence)) = labelled(reader, query, label, &hit.span, hit.form)
            else {
                continue;
            };
            let span = extended(reader, hit.span);
            if evidence.place == Place::Below {
                score *= 0.9;
            }
            if reader.claimed_by_other(query, &hit.span) {
                score *= 0.5;
            }
            found.extend(Candidate::text(document, vec![span], score, evidence));
        }
    }
}

/// An identifier goes on over `#`, `-` and `/` that stand alone beside it.
fn extended(reader: &Reader<'_>, span: Span) -> Span {
    let document = reader.document;
    let mut out = span;
    let joins = |t: &str| matches!(t, "-" | "/" | "#");
    while out.last + 2 < document.tokens.len()
        && document.tokens[out.last + 2].run == document.tokens[out.last].run
        && joins(&document.tokens[out.last + 1].text)
        && document.tokens[out.last + 2]
            .text
            .chars()
            .any(|c| c.is_ascii_digit())
    {
        out.last += 2;
        out.tail = document.tokens[out.last].text.len();
    }
    if out.head == 0
        && out.first > 0
        && document.tokens[out.first - 1].text == "#"
        && document.tokens[out.first - 1].row == document.tokens[out.first].row
        && out.first > 1
        && !document.tokens[out.first - 2]
            .text
            .ends_with(char::is_alphabetic)
    {
        out.first -= 1;
    }
    out
}

/// Whether what stands beside a label is the rest of the label: "Place and date", "Street and number".
fn goes_on(reader: &Reader<'_>, label: &Label, spans: &[Span]) -> bool {
    let document = reader.document;
    let (Some(first), last) = (spans.first().map(|s| s.first), label.last().last) else {
        return false;
    };
    !label.closed
        && first == last + 1
        && document.tokens[first].run == document.tokens[last].run
        && matches!(
            document.tokens[first].text.as_str(),
            "and" | "or" | "und" | "oder" | "et" | "ou" | "y" | "e" | "en" | "i" | "&"
        )
}

/// Text beside the labels, as printed.
pub(crate) fn text(
    reader: &Reader<'_>,
    index: usize,
    query: &Query,
    lines: usize,
    factor: f64,
    found: &mut Vec<Candidate>,
) {
    for label in &reader.labels.of_query[index] {
        if label.hidden && !query.quoted {
            continue;
        }
        for (spans, place, place_score) in text_values(reader.document, &reader.stops, label, lines)
        {
            let strength = label.strength();
            let in_its_box = place == Place::Below
                && spans.iter().all(|s| {
                    let rect = s.rect(reader.document);
                    reader.document.shares_cell(label.page, &label.rect, &rect)
                });
            let place_score = if in_its_box {
                f64::max(place_score, 0.9)
            } else {
                place_score
            };
            let mut score = strength * place_score * factor;
            let mut notes = Vec::new();
            if in_its_box {
                notes.push(IN_ITS_BOX);
            }
            if place == Place::Right && goes_on(reader, label, &spans) {
                score *= 0.3;
            }
            if let (Some(role), Some(span)) = (query.role, spans.first()) {
                let (f, note) = role_factor(reader, query, role, label, span);
                score *= f;
                notes.extend(note);
            }
            if !label.opens && !label.closed {
                score *= 0.6;
            }
            let run = &reader.document.runs[reader.document.tokens[label.last().last].run];
            if reader.prose.is_prose() && run.tokens.len() > 9 && !query.quoted {
                // A word of a sentence, not a label.
                score *= 0.35;
            }
            let evidence = Evidence {
                label: Some(
                    label
                        .parts
                        .iter()
                        .map(|p| p.text(reader.document))
                        .collect::<Vec<_>>()
                        .join(" "),
                ),
                label_strength: strength,
                place,
                place_score,
                form: 0.6,
                checked: false,
                notes,
            };
            found.extend(Candidate::text(reader.document, spans, score, evidence));
        }
    }
}

/// One of the listed values: near a label, or anywhere when it is a telling word.
fn choices(
    reader: &Reader<'_>,
    index: usize,
    field: &Field,
    query: &Query,
    found: &mut Vec<Candidate>,
) {
    if let Some(marked) = marked_option(reader, index, field) {
        found.push(marked);
        return;
    }
    let document = reader.document;
    let mut beside = Vec::new();
    text(reader, index, query, 1, 1.0, &mut beside);
    for allowed in field.allowed.iter().flatten() {
        let printed = match allowed {
            serde_json::Value::String(s) => s.clone(),
            other => other.to_string(),
        };
        let Some(value) = value_of(allowed) else {
            continue;
        };
        let wanted = fold(&printed);
        for candidate in &beside {
            let read = fold(&candidate.text);
            let fit =
                similar(&read, &wanted).max(if !wanted.is_empty() && read.contains(&wanted) {
                    0.85
                } else {
                    0.0
                });
            if fit > 0.0 {
                let mut hit = candidate.clone();
                hit.value = value.clone();
                hit.score *= fit;
                found.push(hit);
            }
        }
        if wanted.len() < 3 {
            continue;
        }
        let words: Vec<&str> = wanted.split(' ').collect();
        for start in 0..document.tokens.len().saturating_sub(words.len() - 1) {
            let fits = words.iter().enumerate().all(|(i, w)| {
                fold(
                    document.tokens[start + i]
                        .text
                        .trim_matches(|c: char| !c.is_alphanumeric()),
                ) == *w
            });
            if fits {
                let span = Span::whole(document, start, start + words.len() - 1);
                let evidence = Evidence::unlabelled(Place::Unlabelled, 0.7);
                found.extend(Candidate::new(
                    document,
                    vec![span],
                    value.clone(),
                    0.4,
                    evidence,
                ));
            }
        }
    }
}

pub(crate) fn value_of(json: &serde_json::Value) -> Option<FieldValue> {
    Some(match json {
        serde_json::Value::String(s) => FieldValue::String(s.clone()),
        serde_json::Value::Bool(b) => FieldValue::Boolean(*b),
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(i) => FieldValue::Integer(i),
            None => FieldValue::Number(n.as_f64()?),
        },
        _ => return None,
    })
}

/// Patterns and bounds of the schema lower the candidates that break them.
fn constrain(field: &Field, found: &mut [Candidate]) {
    let pattern = field.pattern.as_deref().and_then(|p| {
        regex::RegexBuilder::new(&format!("^(?:{p})$"))
            .size_limit(1 << 20)
            .build()
            .ok()
    });
    for candidate in found {
        if let (Some(pattern), FieldValue::String(value)) = (&pattern, &candidate.value) {
            if pattern.is_match(value) {
                candidate.score = (candidate.score * 1.2).min(1.0);
                candidate.evidence.checked = true;
            } else {
                candidate.score *= 0.3;
            }
        }
        let value = match candidate.value {
            FieldValue::Number(n) => Some(n),
            FieldValue::Integer(n) => Some(n as f64),
            _ => None,
        };
        if let Some(n) = value
            && (field.minimum.is_some_and(|m| n < m) || field.maximum.is_some_and(|m| n > m))
        {
            candidate.score *= 0.3;
        }
    }
}

/// The order of day and month: what the dates show, else what the schema says.
pub(crate) fn order_of(
    shown: Option<DayOrder>,
    description: &str,
    country: Option<&str>,
    us_style: bool,
) -> DayOrder {
    if let Some(order) = shown {
        return order;
    }
    let said = fold(description);
    if said.contains("day first") || said.contains("day/month") || said.contains("dd/mm") {
        return DayOrder::DayFirst;
    }
    if said.contains("month first") || said.contains("month/day") || said.contains("mm/dd") {
        return DayOrder::MonthFirst;
    }
    match country {
        Some("US" | "PH" | "FM" | "PW") => DayOrder::MonthFirst,
        None if us_style => DayOrder::MonthFirst,
        _ => DayOrder::DayFirst,
    }
}
