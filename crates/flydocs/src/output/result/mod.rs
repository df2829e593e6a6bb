//! A result for people: every document with its fields, values, confidence, page, box and marks; rows of a list
//! as an indented table.

use console::measure_text_width;
use flydocs_contract::{
    ExtractedField, ExtractionResult, FieldValue,
    result::{Document, FileSummary, ResultStatus, TraceStatus},
};

mod list;
mod words;

use list::{is_rows, mark};
use words::{counted, only, page_list, percent, place, rule_word, wrap_indented};
pub(crate) use words::{shown, size};

use super::{
    Paint,
    rows::{Lean, pad, wrap},
};

/// How a result is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Columns.
    pub width: usize,
    /// Colour.
    pub paint: Paint,
    /// Stages, times and remarks too.
    pub explain: bool,
}

const NAME: usize = 26;
const CONFIDENCE: usize = 5;
const PAGE: usize = 4;
const BOX: usize = 19;
const MARK: usize = 1;
const GAP: usize = 2;

/// The whole result as text.
pub(crate) fn render(result: &ExtractionResult, look: Look) -> String {
    let mut page = Page {
        look,
        lines: Vec::new(),
        tally: Tally::default(),
    };
    for file in &result.files {
        page.file(file);
        let mine = |d: &&Document| d.source_file == file.filename;
        for document in result.documents.iter().filter(mine) {
            page.document(document);
        }
        for document in result.discovered_documents.iter().filter(mine) {
            page.unmatched(document);
        }
    }
    page.rules(result);
    page.foot(result);
    if look.explain {
        page.trace(result);
    }
    page.lines.join("\n") + "\n"
}

#[derive(Debug, Default)]
struct Tally {
    fields: usize,
    found: usize,
    wrong: usize,
}

struct Page {
    look: Look,
    lines: Vec<String>,
    tally: Tally,
}

impl Page {
    fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn file(&mut self, file: &FileSummary) {
        let paint = self.look.paint;
        if !self.lines.is_empty() {
            self.push("");
        }
        let pages = counted(file.page_count as usize, "page");
        self.push(format!(
            "{}  {}",
            paint.bold(&file.filename),
            paint.dim(&format!(
                "{} · {pages} · {}",
                file.media_type,
                size(file.bytes)
            ))
        ));
        if self.look.explain
            && let Some(classification) = &file.classification
        {
            let mut text = format!(
                "taken for {} ({})",
                classification
                    .document_type
                    .as_deref()
                    .unwrap_or("nothing known"),
                percent(classification.confidence)
            );
            if let Some(notes) = &classification.notes {
                text.push_str(": ");
                text.push_str(notes);
            }
            self.remark(2, &text);
        }
    }

    fn unmatched(&mut self, document: &Document) {
        let paint = self.look.paint;
        let pages = page_list(&document.pages);
        self.push(format!(
            "  {}  {}",
            paint.warn("no declared type fits"),
            paint.dim(&pages)
        ));
        for text in [&document.description, &document.notes]
            .into_iter()
            .flatten()
        {
            self.remark(4, text);
        }
    }

    fn document(&mut self, document: &Document) {
        let paint = self.look.paint;
        let mut facts = page_list(&document.pages);
        if document.missing {
            facts.push_str(" · missing");
        }
        self.push(format!(
            "  {}  {}  {}",
            paint.name(&document.type_id),
            paint.graded(document.confidence, &percent(document.confidence)),
            paint.dim(&facts)
        ));
        if self.look.explain
            && let Some(notes) = &document.notes
        {
            self.remark(4, notes);
        }
        let columns = Columns::fit(document, self.look.width);
        let head = columns.line(["", "", "conf", "page", "box, % of page", ""]);
        self.push(paint.dim(&head));
        for group in &document.field_groups {
            if group.fields.len() == 1 && group.fields.first().is_some_and(|f| f.name == group.name)
            {
                // a group of one field of the same name says nothing
            } else {
                self.push(format!("  {}", paint.bold(&group.name)));
            }
            for field in &group.fields {
                self.field(field, 4, &columns);
            }
        }
        for check in &document.authenticity.visual {
            let mark = if check.passed {
                paint.good("✓")
            } else {
                paint.bad("✗")
            };
            self.push(format!("  {mark} {}", check.name));
        }
    }

    fn field(&mut self, field: &ExtractedField, indent: usize, columns: &Columns) {
        match &field.value {
            Some(FieldValue::Fields(children)) if is_rows(field, children) => {
                self.tally.fields += 1;
                self.tally.found += usize::from(!children.is_empty());
                let value = counted(children.len(), "row");
                self.leaf(field, &value, indent, columns);
                self.table(children, indent + 2);
            }
            Some(FieldValue::Fields(members)) => {
                self.leaf(field, "", indent, columns);
                for member in members {
                    self.field(member, indent + 2, columns);
                }
            }
            Some(value) => {
                self.tally.fields += 1;
                self.tally.found += 1;
                self.leaf(field, &shown(value), indent, columns);
            }
            None => {
                self.tally.fields += 1;
                self.leaf(field, "—", indent, columns);
            }
        }
    }

    fn leaf(&mut self, field: &ExtractedField, value: &str, indent: usize, columns: &Columns) {
        let paint = self.look.paint;
        let empty = field.value.is_none();
        let container = matches!(field.value, Some(FieldValue::Fields(_)));
        let name = format!("{}{}", " ".repeat(indent), field.name);
        let names = wrap_indented(&name, columns.name, indent);
        let values = wrap(value, columns.value);
        let confidence = if empty || (container && field.confidence == 0.0) {
            String::new()
        } else {
            percent(field.confidence)
        };
        let page = field.pages.first().map_or_else(String::new, u32::to_string);
        let place = field.bbox.as_ref().map_or_else(String::new, place);
        let (mark, wrong) = mark(field, paint);
        self.tally.wrong += usize::from(wrong);
        let height = names.len().max(values.len());
        for i in 0..height {
            let first = i == 0;
            let text = values.get(i).map_or("", String::as_str);
            let value_cell = pad(text, columns.value, Lean::Left);
            let cells = [
                pad(
                    names.get(i).map_or("", String::as_str),
                    columns.name,
                    Lean::Left,
                ),
                if empty || container {
                    paint.dim(&value_cell)
                } else {
                    value_cell
                },
                only(first, || {
                    paint.graded(field.confidence, &pad(&confidence, CONFIDENCE, Lean::Right))
                }),
                only(first, || pad(&page, PAGE, Lean::Right)),
                only(first, || paint.dim(&pad(&place, BOX, Lean::Left))),
                only(first, || mark.clone()),
            ];
            let gap = " ".repeat(GAP);
            self.push(cells.join(&gap).trim_end().to_owned());
        }
        for error in &field.validation.errors {
            let warning = error.message.ends_with(" [warning]");
            let rule = rule_word(error.rule);
            let text = format!("{rule}: {}", error.message);
            for line in wrap(&text, self.look.width.saturating_sub(indent + 4)) {
                let painted = if warning {
                    paint.warn(&line)
                } else {
                    paint.bad(&line)
                };
                self.push(format!("{}{painted}", " ".repeat(indent + 2)));
            }
        }
        if self.look.explain
            && let Some(notes) = &field.notes
        {
            self.remark(indent + 2, notes);
        }
    }

    fn rules(&mut self, result: &ExtractionResult) {
        let paint = self.look.paint;
        if result.rule_results.is_empty() {
            return;
        }
        self.push("");
        self.push(paint.bold("rules"));
        for rule in &result.rule_results {
            let output = rule
                .output
                .as_ref()
                .map_or_else(|| "—".to_owned(), ToString::to_string);
            self.push(format!("  {}  {output}", paint.name(&rule.rule_id)));
            if let Some(summary) = &rule.summary {
                self.remark(4, summary);
            }
        }
    }

    fn foot(&mut self, result: &ExtractionResult) {
        let paint = self.look.paint;
        self.push("");
        for error in &result.pipeline.errors {
            let text = format!("{}: {}: {}", error.node, error.code, error.message);
            for line in wrap(&text, self.look.width) {
                self.push(paint.warn(&line));
            }
        }
        let status = match result.status {
            ResultStatus::Success => paint.good("success"),
            ResultStatus::Partial => paint.warn("partial"),
        };
        let tally = &self.tally;
        let wrong = if tally.wrong == 0 {
            String::new()
        } else {
            format!(" · {}", paint.bad(&format!("{} not valid", tally.wrong)))
        };
        let line = format!(
            "{status} {}{wrong} {}",
            paint.dim(&format!("· {} of {} fields", tally.found, tally.fields)),
            paint.dim(&format!(
                "· {} · {:.2} s",
                result.pipeline.model,
                result.pipeline.latency_ms / 1000.0
            ))
        );
        self.push(line);
    }

    fn trace(&mut self, result: &ExtractionResult) {
        let paint = self.look.paint;
        self.push("");
        self.push(paint.bold("stages"));
        for entry in &result.pipeline.trace {
            let (word, time) = match entry.status {
                TraceStatus::Success => (paint.good("done"), format!("{:.2} ms", entry.latency_ms)),
                TraceStatus::Failed => (paint.bad("failed"), format!("{:.2} ms", entry.latency_ms)),
                TraceStatus::Skipped => (paint.dim("off"), String::new()),
            };
            self.push(
                format!(
                    "  {}  {}  {}",
                    pad(&entry.node, 20, Lean::Left),
                    pad(&time, 12, Lean::Right),
                    word
                )
                .trim_end()
                .to_owned(),
            );
        }
        if let Some(usage) = &result.pipeline.usage {
            self.push(format!(
                "  {} tokens in, {} out, {:.4} USD",
                usage.total_input_tokens, usage.total_output_tokens, usage.total_cost_usd
            ));
        }
    }

    fn remark(&mut self, indent: usize, text: &str) {
        let paint = self.look.paint;
        for line in wrap(text, self.look.width.saturating_sub(indent)) {
            self.push(format!("{}{}", " ".repeat(indent), paint.dim(&line)));
        }
    }
}

struct Columns {
    name: usize,
    value: usize,
}

impl Columns {
    fn fit(document: &Document, width: usize) -> Self {
        let mut name = 0;
        for group in &document.field_groups {
            widest_name(&group.fields, 4, &mut name);
        }
        let name = name.clamp(12, NAME);
        let fixed = name + CONFIDENCE + PAGE + BOX + MARK + 5 * GAP;
        Self {
            name,
            value: width.saturating_sub(fixed).max(8),
        }
    }

    fn line(&self, cells: [&str; 6]) -> String {
        let [name, value, confidence, page, place, mark] = cells;
        let gap = " ".repeat(GAP);
        [
            pad(name, self.name, Lean::Left),
            pad(value, self.value, Lean::Left),
            pad(confidence, CONFIDENCE, Lean::Right),
            pad(page, PAGE, Lean::Right),
            pad(place, BOX, Lean::Left),
            mark.to_owned(),
        ]
        .join(&gap)
        .trim_end()
        .to_owned()
    }
}

fn widest_name(fields: &[ExtractedField], indent: usize, widest: &mut usize) {
    for field in fields {
        *widest = (*widest).max(indent + measure_text_width(&field.name));
        if let Some(FieldValue::Fields(members)) = &field.value
            && !is_rows(field, members)
        {
            widest_name(members, indent + 2, widest);
        }
    }
}
