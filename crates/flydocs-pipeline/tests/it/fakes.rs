//! A reader whose files are texts, an engine that reads `name: value` lines, a clock that ticks.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    ops::RangeInclusive,
    sync::{Arc, Mutex, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use flydocs_contract::{
    BoundingBox, BoxSource, ErrorCode, ExtractedField, ExtractionId, Field, FieldType, FieldValue,
    PageWords, Rect,
    page::{Word, WordSource},
    result::{
        ContentAuthenticity, ExtractedFieldGroup, ExtractionResult, IntegrityStatus, JudgeStatus,
        JudgeVerdict, RuleResult, TraceEntry, TraceStatus, VisualCheckResult,
    },
};
use flydocs_engines::{
    Answer, CallUsage, ClassifyAnswer, ClassifyQuestion, Engine, ExtractQuestion, JudgeQuestion,
    RulesQuestion, Segment, SplitQuestion, TransformQuestion, VisualQuestion,
};
use flydocs_pages::{ImageFormat, ImageSize, PageImage, Reader, Row, Source};
use flydocs_pipeline::{
    Clock, EngineSource, Input, InputFile, Mode, Options, Pipeline, Progress, RefineInput, Request,
    Silent,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Pages of a file are parted by a line of `---`; members of an archive by `=== name`. Some words mean trouble.
#[derive(Debug, Default)]
pub(crate) struct FakeReader {
    /// File and page of every page that was read, in order.
    pub(crate) read: Mutex<Vec<(String, u32)>>,
}

const REFUSED: &str = "REFUSED";
const HANGS: &str = "HANGS";
const SCAN: &str = "SCAN";
const PANICS: &str = "PANICS";

fn pages_of(content: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(content).unwrap();
    text.split("\n---\n").map(str::to_owned).collect()
}

#[async_trait]
impl Reader for FakeReader {
    async fn load(
        &self,
        source: Source,
        cancel: &CancellationToken,
    ) -> flydocs_pages::Result<Vec<Row>> {
        let text = std::str::from_utf8(&source.content).unwrap().to_owned();
        if text.starts_with(REFUSED) {
            return Err(flydocs_pages::Error::Refused {
                code: ErrorCode::EncryptedPdf,
                filename: source.filename.clone(),
                detail: format!("{} is locked", source.filename),
                facts: flydocs_contract::JsonObject::new(),
            });
        }
        if text.starts_with(HANGS) {
            cancel.cancelled().await;
            return Err(flydocs_pages::Error::Cancelled);
        }
        assert!(!text.starts_with(PANICS), "the reader panics");
        let row = |filename: String, content: &str| Row {
            filename,
            media_type: source
                .declared_media_type
                .clone()
                .unwrap_or_else(|| "application/pdf".to_owned()),
            page_count: pages_of(content.as_bytes()).len() as u32,
            bytes: content.len() as u64,
            sha256: content.to_owned(),
            content: Bytes::copy_from_slice(content.as_bytes()),
            warnings: if content.contains("WARNING") {
                vec!["a font is missing".to_owned()]
            } else {
                Vec::new()
            },
        };
        let Some(members) = text.strip_prefix("=== ") else {
            return Ok(vec![row(source.filename.clone(), &text)]);
        };
        let rows = members.split("\n=== ").filter(|m| !m.is_empty()).map(|m| {
            let (name, content) = m.split_once('\n').unwrap();
            row(format!("{}/{name}", source.filename), content)
        });
        Ok(rows.collect())
    }

    async fn words(
        &self,
        row: &Row,
        page: u32,
        _language_hint: Option<&str>,
        cancel: &CancellationToken,
    ) -> flydocs_pages::Result<Arc<PageWords>> {
        self.read.lock().unwrap().push((row.filename.clone(), page));
        let pages = pages_of(&row.content);
        let Some(text) = pages.get(page as usize - 1) else {
            return Err(flydocs_pages::Error::NoSuchPage {
                filename: row.filename.clone(),
                pages: row.page_count,
                page,
            });
        };
        let reads = self.read.lock().unwrap().len();
        if text.contains("HANGS AFTER 1") && reads > 1 {
            cancel.cancelled().await;
            return Err(flydocs_pages::Error::Cancelled);
        }
        if text.contains("TOO LARGE") {
            return Err(flydocs_pages::Error::Refused {
                code: ErrorCode::LimitExceeded,
                filename: row.filename.clone(),
                detail: format!("page {page} of {} is too large", row.filename),
                facts: flydocs_contract::JsonObject::new(),
            });
        }
        if text.contains(SCAN) {
            return Err(flydocs_pages::Error::OcrUnavailable {
                detail: "tesseract is not installed; install it".to_owned(),
            });
        }
        Ok(Arc::new(words_of(page, text)))
    }

    async fn image(
        &self,
        _row: &Row,
        _page: u32,
        _size: ImageSize,
        _format: ImageFormat,
        _cancel: &CancellationToken,
    ) -> flydocs_pages::Result<PageImage> {
        Ok(PageImage {
            bytes: Bytes::from_static(b"jpeg"),
            width: 1,
            height: 1,
        })
    }

    async fn slice(
        &self,
        row: &Row,
        _pages: RangeInclusive<u32>,
        _cancel: &CancellationToken,
    ) -> flydocs_pages::Result<Bytes> {
        Ok(row.content.clone())
    }
}

fn words_of(page: u32, text: &str) -> PageWords {
    let mut words = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let top = 0.05 + line as f64 * 0.03;
        let mut left = 0.05;
        for word in content.split_whitespace() {
            let width = word.chars().count() as f64 * 0.01;
            words.push(Word {
                text: word.to_owned(),
                rect: Rect::new(left, top, left + width, top + 0.02),
                line: line as u32,
                confidence: None,
                bold: false,
            });
            left += width + 0.01;
        }
    }
    PageWords {
        page,
        width: 600.0,
        height: 800.0,
        source: WordSource::PdfText,
        words,
        rulings: Vec::new(),
    }
}

/// What an engine does when it is asked a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Works,
    Fails,
    Refuses,
    Panics,
    Hangs,
    /// Fails when the document holds the word.
    FailsOn(&'static str),
    /// Hangs when it does.
    HangsOn(&'static str),
    CannotDoThat,
}

/// A question and the pages it was asked about.
type Asked = (&'static str, Vec<u32>);
type Rules = Arc<dyn Fn(&RulesQuestion, usize) -> Vec<RuleResult> + Send + Sync>;

/// Reads `name: value` lines.
#[derive(Clone)]
pub(crate) struct FakeEngine {
    pub(crate) model: String,
    pub(crate) behaviour: HashMap<&'static str, Behaviour>,
    /// Fields the judge rejects, by name.
    pub(crate) rejected: Vec<&'static str>,
    /// What it adds to every text it reads.
    pub(crate) suffix: &'static str,
    pub(crate) metered: bool,
    pub(crate) segments: Option<Vec<Segment>>,
    pub(crate) rules: Option<Rules>,
    pub(crate) checks: Vec<VisualCheckResult>,
    /// Every question, in order, with the pages it was asked about.
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
    pub(crate) at_once: Arc<Mutex<(usize, usize)>>,
}

impl fmt::Debug for FakeEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeEngine")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Default for FakeEngine {
    fn default() -> Self {
        Self {
            model: "fake:one".to_owned(),
            behaviour: HashMap::new(),
            rejected: Vec::new(),
            suffix: "",
            metered: false,
            segments: None,
            rules: None,
            checks: Vec::new(),
            asked: Arc::default(),
            at_once: Arc::default(),
        }
    }
}

impl FakeEngine {
    pub(crate) fn that(question: &'static str, behaviour: Behaviour) -> Self {
        Self::default().and(question, behaviour)
    }

    pub(crate) fn and(mut self, question: &'static str, behaviour: Behaviour) -> Self {
        self.behaviour.insert(question, behaviour);
        self
    }

    pub(crate) fn count(&self, question: &str) -> usize {
        self.asked
            .lock()
            .unwrap()
            .iter()
            .filter(|(q, _)| *q == question)
            .count()
    }

    async fn behave(
        &self,
        question: &'static str,
        pages: &[Arc<PageWords>],
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<()> {
        let numbers = pages.iter().map(|p| p.page).collect();
        self.asked.lock().unwrap().push((question, numbers));
        let has = |word: &str| pages.iter().any(|p| p.text().contains(word));
        let behaviour = self
            .behaviour
            .get(question)
            .copied()
            .unwrap_or(Behaviour::Works);
        match behaviour {
            Behaviour::Works => Ok(()),
            Behaviour::FailsOn(word) if !has(word) => Ok(()),
            Behaviour::HangsOn(word) if !has(word) => Ok(()),
            Behaviour::Fails | Behaviour::FailsOn(_) => Err(flydocs_engines::Error::Transient {
                model: self.model.clone(),
                detail: "status 503".to_owned(),
                retry_after: None,
            }),
            Behaviour::Refuses => Err(flydocs_engines::Error::Permanent {
                model: self.model.clone(),
                detail: "status 401".to_owned(),
            }),
            Behaviour::Panics => panic!("the engine panics on {question}"),
            Behaviour::Hangs | Behaviour::HangsOn(_) => {
                cancel.cancelled().await;
                Err(flydocs_engines::Error::Cancelled)
            }
            Behaviour::CannotDoThat => Err(flydocs_engines::Error::Unsupported {
                model: self.model.clone(),
                question,
            }),
        }
    }

    fn answer<T>(&self, value: T) -> Answer<T> {
        let usage = self.metered.then(|| CallUsage {
            model: self.model.clone(),
            input_tokens: 100,
            output_tokens: 10,
            cache_creation_tokens: 1,
            cache_read_tokens: 2,
            cost_usd: 0.5,
            latency_ms: 2.0,
        });
        Answer {
            value,
            usage: usage.into_iter().collect(),
        }
    }

    fn read(&self, spec: &Field, name: &str, pages: &[Arc<PageWords>]) -> ExtractedField {
        let mut found = lines(pages, &spec.name);
        if spec.field_type == FieldType::Array {
            let items = spec.items.as_deref().unwrap();
            let rows: Vec<_> = found
                .map(|(page, text)| self.leaf(items, &spec.name, page, &text))
                .collect();
            return ExtractedField {
                pages: rows.iter().flat_map(|r| r.pages.clone()).collect(),
                confidence: 0.8,
                value: (!rows.is_empty()).then_some(FieldValue::Fields(rows)),
                ..ExtractedField::empty(name)
            };
        }
        found.next().map_or_else(
            || ExtractedField::empty(name),
            |(page, text)| self.leaf(spec, name, page, &text),
        )
    }

    fn leaf(&self, spec: &Field, name: &str, page: u32, text: &str) -> ExtractedField {
        let value = match spec.field_type {
            FieldType::String => FieldValue::String(format!("{text}{}", self.suffix)),
            FieldType::Number => FieldValue::Number(text.parse().unwrap()),
            FieldType::Integer => FieldValue::Integer(text.parse().unwrap()),
            FieldType::Boolean => FieldValue::Boolean(text == "yes"),
            FieldType::Array => unreachable!("arrays of arrays are not read"),
            FieldType::Object => {
                let specs = spec.fields.iter().flatten();
                let members = specs.zip(text.split('|')).map(|(spec, text)| {
                    if text.trim().is_empty() {
                        ExtractedField::empty(spec.name.clone())
                    } else {
                        self.leaf(spec, &spec.name, page, text.trim())
                    }
                });
                FieldValue::Fields(members.collect())
            }
        };
        ExtractedField {
            value: Some(value),
            pages: vec![page],
            confidence: 0.8,
            bbox: Some(BoundingBox::unjudged(
                Rect::new(0.5, 0.5, 0.6, 0.52),
                BoxSource::Llm,
                None,
            )),
            ..ExtractedField::empty(name)
        }
    }
}

fn lines<'a>(
    pages: &'a [Arc<PageWords>],
    name: &'a str,
) -> impl Iterator<Item = (u32, String)> + 'a {
    pages.iter().flat_map(move |page| {
        let text = page.text();
        let found: Vec<_> = text
            .lines()
            .filter_map(|line| {
                Some(
                    line.strip_prefix(name)?
                        .strip_prefix(':')?
                        .trim()
                        .to_owned(),
                )
            })
            .filter(|value| !value.is_empty())
            .map(|value| (page.page, value))
            .collect();
        found
    })
}

fn leaves(path: &str, fields: &[ExtractedField], found: &mut Vec<(String, String)>) {
    for field in fields {
        let path = format!("{path}.{}", field.name);
        match &field.value {
            Some(FieldValue::Fields(rows)) if rows.iter().all(|r| r.name == field.name) => {
                for (i, row) in rows.iter().enumerate() {
                    match &row.value {
                        Some(FieldValue::Fields(members)) => {
                            leaves(&format!("{path}[{i}]"), members, found);
                        }
                        _ => found.push((format!("{path}[{i}]"), row.name.clone())),
                    }
                }
            }
            Some(FieldValue::Fields(members)) => leaves(&path, members, found),
            _ => found.push((path, field.name.clone())),
        }
    }
}

#[async_trait]
impl Engine for FakeEngine {
    fn model(&self) -> &str {
        &self.model
    }

    async fn classify(
        &self,
        question: ClassifyQuestion,
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<Answer<ClassifyAnswer>> {
        self.behave("classify", &question.pages, cancel).await?;
        let text: String = question.pages.iter().map(|p| p.text()).collect();
        let kind = lines(&question.pages, "kind").next().map(|(_, kind)| kind);
        let known = question
            .document_types
            .iter()
            .find(|t| Some(&t.id) == kind.as_ref());
        Ok(self.answer(ClassifyAnswer {
            document_type: kind.clone(),
            // Some engines say so of types nobody declared.
            matched: known.is_some() || text.contains("SURE"),
            confidence: 0.7,
            description: kind.map(|kind| format!("looks like {kind}")),
            notes: Some("by its kind line".to_owned()),
        }))
    }

    async fn split(
        &self,
        question: SplitQuestion,
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<Answer<Vec<Segment>>> {
        self.behave("split", &question.pages, cancel).await?;
        if let Some(segments) = &self.segments {
            return Ok(self.answer(segments.clone()));
        }
        let mut segments: Vec<Segment> = Vec::new();
        for page in &question.pages {
            let kind = lines(std::slice::from_ref(page), "kind").next();
            match (kind, segments.last_mut()) {
                (None, Some(last)) => last.page_end = page.page,
                (kind, _) => segments.push(Segment {
                    page_start: page.page,
                    page_end: page.page,
                    provisional_type: kind.map(|(_, kind)| kind),
                    description: Some(format!("starts on page {}", page.page)),
                    confidence: 0.6,
                }),
            }
        }
        Ok(self.answer(segments))
    }

    async fn extract(
        &self,
        question: ExtractQuestion,
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<Answer<Vec<ExtractedFieldGroup>>> {
        {
            let mut at_once = self.at_once.lock().unwrap();
            at_once.0 += 1;
            at_once.1 = at_once.1.max(at_once.0);
        }
        tokio::task::yield_now().await;
        let behaved = self.behave("extract", &question.pages, cancel).await;
        self.at_once.lock().unwrap().0 -= 1;
        behaved?;
        let groups = question.document_type.field_groups.iter();
        let groups = groups.map(|group| ExtractedFieldGroup {
            name: group.name.clone(),
            fields: group
                .fields
                .iter()
                .map(|spec| self.read(spec, &spec.name, &question.pages))
                .collect(),
        });
        Ok(self.answer(groups.collect()))
    }

    async fn judge(
        &self,
        question: JudgeQuestion,
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<Answer<Vec<(String, JudgeVerdict)>>> {
        self.behave("judge", &question.pages, cancel).await?;
        let mut found = Vec::new();
        for group in &question.field_groups {
            leaves(&group.name, &group.fields, &mut found);
        }
        let verdicts = found.into_iter().map(|(path, name)| {
            let status = if self.rejected.contains(&name.as_str()) {
                JudgeStatus::Fail
            } else {
                JudgeStatus::Pass
            };
            let verdict = JudgeVerdict {
                status,
                confidence: 0.9,
                ..JudgeVerdict::default()
            };
            (path, verdict)
        });
        let verdicts = verdicts.collect();
        Ok(self.answer(verdicts))
    }

    async fn check_visually(
        &self,
        question: VisualQuestion,
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<Answer<Vec<VisualCheckResult>>> {
        self.behave("check_visually", &question.pages, cancel)
            .await?;
        Ok(self.answer(self.checks.clone()))
    }

    async fn check_content(
        &self,
        question: VisualQuestion,
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<Answer<ContentAuthenticity>> {
        self.behave("check_content", &question.pages, cancel)
            .await?;
        Ok(self.answer(ContentAuthenticity {
            overall_integrity_status: IntegrityStatus::Valid,
            checks: Vec::new(),
        }))
    }

    async fn evaluate_rules(
        &self,
        question: RulesQuestion,
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<Answer<Vec<RuleResult>>> {
        self.behave("evaluate_rules", &[], cancel).await?;
        let round = self.count("evaluate_rules");
        let rules = self.rules.as_ref().expect("rules are scripted");
        Ok(self.answer(rules(&question, round)))
    }

    async fn transform(
        &self,
        question: TransformQuestion,
        cancel: &CancellationToken,
    ) -> flydocs_engines::Result<Answer<ExtractedFieldGroup>> {
        self.behave("transform", &[], cancel).await?;
        let mut group = question.group;
        for field in &mut group.fields {
            if let Some(FieldValue::String(text)) = &mut field.value {
                text.push_str(&question.intention);
            }
        }
        Ok(self.answer(group))
    }
}

/// Engines by name; the first is the default.
#[derive(Debug)]
pub(crate) struct Engines(pub(crate) Vec<FakeEngine>);

impl EngineSource for Engines {
    fn engine(&self, model: Option<&str>) -> flydocs_engines::Result<Arc<dyn Engine>> {
        let found = match model {
            None => self.0.first(),
            Some(model) => self.0.iter().find(|e| e.model == model),
        };
        let unknown = || flydocs_engines::Error::UnknownModel {
            model: model.unwrap_or_default().to_owned(),
            known: "fake:one".to_owned(),
        };
        found
            .map(|e| Arc::new(e.clone()) as Arc<dyn Engine>)
            .ok_or_else(unknown)
    }
}

/// Ticks 1.5 ms at every look.
#[derive(Debug, Default)]
pub(crate) struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now(&self) -> DateTime<Utc> {
        let looks = self.0.fetch_add(1, Ordering::Relaxed) as i64;
        DateTime::UNIX_EPOCH + TimeDelta::microseconds(1_500 * looks)
    }
}

/// Writes down what it is told.
#[derive(Debug, Default)]
pub(crate) struct Diary {
    pub(crate) started: Mutex<Vec<&'static str>>,
    pub(crate) finished: Mutex<Vec<(String, TraceStatus)>>,
    pub(crate) pages: Mutex<BTreeMap<&'static str, (u32, u32)>>,
}

impl Progress for Diary {
    fn stage_started(&self, node: &'static str) {
        self.started.lock().unwrap().push(node);
    }

    fn stage_finished(&self, entry: &TraceEntry) {
        self.finished
            .lock()
            .unwrap()
            .push((entry.node.clone(), entry.status));
    }

    fn pages_read(&self, node: &'static str, done: u32, total: u32) {
        self.pages.lock().unwrap().insert(node, (done, total));
    }
}

/// A pipeline on fakes, with what they saw.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) reader: Arc<FakeReader>,
    pub(crate) pipeline: Pipeline,
}

pub(crate) fn id() -> ExtractionId {
    ExtractionId::from_parts(1, 1)
}

pub(crate) fn short() -> Options {
    Options {
        stage_concurrency: 4.try_into().unwrap(),
        ..Options::default()
    }
}

pub(crate) fn house(engines: impl IntoIterator<Item = FakeEngine>) -> House {
    house_with(engines, short())
}

pub(crate) fn house_with(engines: impl IntoIterator<Item = FakeEngine>, options: Options) -> House {
    let reader = Arc::new(FakeReader::default());
    let engines = Engines(engines.into_iter().collect());
    let pipeline = Pipeline::new(
        Arc::clone(&reader) as Arc<dyn Reader>,
        Arc::new(engines),
        Arc::new(Ticks::default()),
        options,
    );
    House { reader, pipeline }
}

/// A file, with `@type` at the end of its name when it is pinned.
pub(crate) fn file(name: &str, content: &str) -> InputFile {
    let (name, expected_type) = match name.split_once('@') {
        Some((name, expected)) => (name, Some(expected.to_owned())),
        None => (name, None),
    };
    InputFile {
        source: Source {
            filename: name.to_owned(),
            content: Bytes::copy_from_slice(content.as_bytes()),
            declared_media_type: None,
        },
        expected_type,
    }
}

/// A request of one or both of two types, with options and rules on top.
pub(crate) fn request(types: &[&str], extra: Value) -> Request {
    let types: Vec<_> = types.iter().map(|id| document_type(id)).collect();
    let mut body = serde_json::json!({"document_types": types});
    for (key, value) in extra.as_object().unwrap() {
        body[key] = value.clone();
    }
    let request: flydocs_contract::ExtractRequest = serde_json::from_value(body).unwrap();
    Request::from(&request)
}

pub(crate) fn document_type(id: &str) -> Value {
    serde_json::json!({
        "id": id, "description": format!("the type {id}"),
        "visual_checks": [{"name": "stamp", "description": "a stamp"}, {"name": "signature", "description": "one"}],
        "field_groups": [
            {"name": "main", "fields": [
                {"name": "number", "required": true, "pattern": "[A-Z]-[0-9]+"},
                {"name": "total", "type": "number", "minimum": 0},
                {"name": "iban", "validators": [{"name": "iban", "severity": "warning"}]},
            ]},
            {"name": "parties", "fields": [
                {"name": "person", "type": "array", "items": {"type": "object", "fields": [
                    {"name": "dni"}, {"name": "name"}]}},
                {"name": "remark"},
            ]},
        ],
    })
}

impl House {
    pub(crate) async fn run(
        &self,
        request: &Request,
        files: &[InputFile],
    ) -> flydocs_pipeline::Result<ExtractionResult> {
        self.run_as(request, files, Mode::Sync).await
    }

    pub(crate) async fn run_as(
        &self,
        request: &Request,
        files: &[InputFile],
        mode: Mode,
    ) -> flydocs_pipeline::Result<ExtractionResult> {
        let input = Input {
            id: id(),
            request: request.clone(),
            files: files.to_vec(),
            mode,
        };
        let never = CancellationToken::new();
        self.pipeline.run(input, Arc::new(Silent), &never).await
    }

    pub(crate) async fn refine(
        &self,
        result: &ExtractionResult,
        request: &Request,
        files: &[InputFile],
    ) -> flydocs_pipeline::Result<ExtractionResult> {
        let input = RefineInput {
            result: result.clone(),
            request: request.clone(),
            files: files.to_vec(),
        };
        let never = CancellationToken::new();
        self.pipeline.refine(input, Arc::new(Silent), &never).await
    }

    pub(crate) fn pages_read(&self) -> Vec<(String, u32)> {
        let mut read = self.reader.read.lock().unwrap().clone();
        read.sort();
        read.dedup();
        read
    }
}

/// The field of a document.
pub(crate) fn field<'a>(
    result: &'a ExtractionResult,
    document: usize,
    name: &str,
) -> &'a ExtractedField {
    let groups = result.documents[document].field_groups.iter();
    groups
        .flat_map(|g| &g.fields)
        .find(|f| f.name == name)
        .unwrap()
}

pub(crate) fn text(value: &str) -> Option<FieldValue> {
    Some(FieldValue::String(value.to_owned()))
}

/// Node and code of every pipeline error.
pub(crate) fn errors(result: &ExtractionResult) -> Vec<(&str, &str)> {
    let errors = result.pipeline.errors.iter();
    errors.map(|e| (e.node.as_str(), e.code.as_str())).collect()
}

/// How a stage ended.
pub(crate) fn status(result: &ExtractionResult, node: &str) -> TraceStatus {
    let trace = &result.pipeline.trace;
    trace.iter().find(|e| e.node == node).unwrap().status
}

/// The result without times, which differ between two runs on one clock.
pub(crate) fn timeless(mut result: ExtractionResult) -> ExtractionResult {
    for entry in &mut result.pipeline.trace {
        entry.started_at = DateTime::UNIX_EPOCH;
        entry.completed_at = DateTime::UNIX_EPOCH;
        entry.latency_ms = 0.0;
    }
    result.pipeline.latency_ms = 0.0;
    result
}

/// A ceiling that passes at once on a clock that stands still.
pub(crate) const SOON: Duration = Duration::from_millis(50);
