//! The command line: names, arguments and their help. What they do is in `commands/`.

use std::path::PathBuf;

use clap::{
    Args, Parser, Subcommand, ValueEnum, builder::styling::AnsiColor, builder::styling::Styles,
};

use crate::exit;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Documents in, fields with boxes out.
#[derive(Debug, Parser)]
#[command(
    name = "flydocs",
    version,
    styles = STYLES,
    after_long_help = exit::HELP,
    propagate_version = true,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// What else is set, for every command.
    #[command(flatten)]
    pub global: Global,
}

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Set a setting, stronger than its environment variable [example: --set FLYDOCS_MAX_PAGES=50]
    #[arg(long = "set", value_name = "NAME=VALUE", global = true, value_parser = assignment)]
    pub set: Vec<(String, String)>,

    /// Say more on stderr (-v info, -vv debug)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Say nothing on stderr but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read fields from documents, here and now: no server, no key, no store
    Extract(ExtractArgs),
    /// Run everything in one process on the embedded store
    Up(ListenArgs),
    /// Run the HTTP API
    Serve(ListenArgs),
    /// Run an extraction worker
    Worker,
    /// Run a worker that grounds boxes
    BboxWorker,
    /// Bring the database schema up to date
    Migrate,
    /// Hand documents to a server
    Submit(SubmitArgs),
    /// Show one extraction of a server
    Get(IdArgs),
    /// Wait until an extraction settled
    Wait(WaitArgs),
    /// Show the result of an extraction
    Result(ResultArgs),
    /// List the extractions of a server
    List(ListArgs),
    /// Stop an extraction
    Cancel(IdArgs),
    /// Show what a file is made of: pages, words, boxes
    Inspect(InspectArgs),
    /// Help with types files
    Types {
        /// What to do.
        #[command(subcommand)]
        action: TypesAction,
    },
    /// Explain an error code
    Explain {
        /// The code, such as encrypted_pdf; without one, all are listed
        code: Option<String>,
    },
    /// Look at the settings
    Config {
        /// What to do with them.
        #[command(subcommand)]
        action: ConfigAction,
    },
    /// Ask the database itself: orphans, dead letters, locks, the bus
    Ops {
        /// What to ask.
        #[command(subcommand)]
        action: OpsAction,
    },
    /// Look at webhooks, send them again, and help to write a receiver
    Webhooks {
        /// What to do with them.
        #[command(subcommand)]
        action: WebhooksAction,
    },
    /// Check what this machine has and what it lacks
    Doctor,
    /// Print the OpenAPI document
    Openapi,
    /// Read one hostile file in a process of its own
    #[command(name = "__pages-child", hide = true)]
    PagesChild,
}

/// `extract`.
#[derive(Debug, Args)]
#[command(after_long_help = exit::HELP)]
pub(crate) struct ExtractArgs {
    /// The documents: PDF, images, text, office files, mail, archives
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// What to look for: a JSON file with document_types (and rules, options), or a list of types
    #[arg(short, long, value_name = "TYPES")]
    pub types: PathBuf,

    /// How to print
    #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,

    /// Write one JSON file a document into this folder, and a line a document to stdout
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Show how each document was read: stages and times; for each field its label, the candidates
    /// with their scores, and why one won
    #[arg(long)]
    pub explain: bool,

    /// The engine, such as local:layout
    #[arg(short, long, value_name = "PROVIDER:NAME")]
    pub model: Option<String>,

    /// How many documents at once [default: one a processor]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
}

/// `up` and `serve`.
#[derive(Debug, Args)]
pub(crate) struct ListenArgs {
    /// The address to listen on (FLYDOCS_HOST)
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,

    /// The port to listen on, 0 for any free one (FLYDOCS_PORT)
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// The database (FLYDOCS_DATABASE_URL), such as sqlite:///var/lib/flydocs/flydocs.db
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
}

/// What every client command needs.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The server (FLYDOCS_SERVER)
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,

    /// How to print
    #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
}

/// `submit`.
#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// The documents; together they are one extraction
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// What to look for, as for `extract`
    #[arg(short, long, value_name = "TYPES")]
    pub types: PathBuf,

    /// Wait until it settled and print the result
    #[arg(long)]
    pub wait: bool,

    /// Give up waiting after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,

    /// A later call with the same key and body gets the same extraction
    #[arg(long, value_name = "KEY", value_parser = header_value)]
    pub idempotency_key: Option<String>,

    /// Where to send webhooks
    #[arg(long, value_name = "URL")]
    pub callback_url: Option<String>,

    /// Whose it is
    #[arg(long, value_name = "TENANT", value_parser = header_value)]
    pub tenant: Option<String>,

    /// Where and how.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `get` and `cancel`.
#[derive(Debug, Args)]
pub(crate) struct IdArgs {
    /// The extraction
    pub id: String,

    /// Where and how.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `wait`.
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// The extraction
    pub id: String,

    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,

    /// Where and how.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `result`.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// The extraction
    pub id: String,

    /// Wait until its boxes are settled
    #[arg(long)]
    pub wait_for_bboxes: bool,

    /// Where and how.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only these, between commas: queued, running, succeeded, failed, cancelled
    #[arg(long, value_name = "STATUS")]
    pub status: Option<String>,

    /// Only those with their boxes here, between commas: pending, running, succeeded, failed
    #[arg(long, value_name = "STATUS")]
    pub post_processing_status: Option<String>,

    /// Submitted then or later
    #[arg(long, value_name = "TIME")]
    pub created_after: Option<String>,

    /// Submitted then or earlier
    #[arg(long, value_name = "TIME")]
    pub created_before: Option<String>,

    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,

    /// Pass over so many
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: u64,

    /// Where and how.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The file
    pub file: PathBuf,

    /// Only this page
    #[arg(long, value_name = "N")]
    pub page: Option<u32>,

    /// Draw the page (the first, or that of --page) with the boxes of its words into this file: green from the
    /// text layer, magenta where bold, orange from OCR; lines and frames blue
    #[arg(long, value_name = "PNG")]
    pub boxes: Option<PathBuf>,

    /// How to print
    #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
}

/// `types`.
#[derive(Debug, Subcommand)]
pub(crate) enum TypesAction {
    /// Propose a types file from documents: names, types and formats of what is labelled on them, to be edited
    Infer(InferArgs),
}

/// `types infer`.
#[derive(Debug, Args)]
pub(crate) struct InferArgs {
    /// Examples of the documents; those of one kind become one type
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Write the types file here instead of to stdout
    #[arg(long, value_name = "TYPES")]
    pub out: Option<PathBuf>,
}

/// `config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Check every setting and exit
    Check,
    /// Show every setting, its value and where it comes from; secrets are hidden
    Show,
    /// Print docs/configuration.md
    #[command(hide = true)]
    Markdown,
}

/// `ops`.
#[derive(Debug, Subcommand)]
pub(crate) enum OpsAction {
    /// List what the reapers look for: rows that nothing is going to deliver to
    Orphans {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
        /// How to print
        #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
        output: Format,
        /// Which database.
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// Make a running extraction, or its boxes, free for the next worker now
    Reclaim {
        /// The extraction
        id: String,
        /// How to print
        #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
        output: Format,
        /// Which database.
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// Events that a group of workers gave up on
    DeadLetters {
        /// What to do with them.
        #[command(subcommand)]
        action: DeadLettersAction,
    },
    /// Show who holds the drain lock of each group
    DrainLock {
        /// How to print
        #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
        output: Format,
        /// Which database.
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// The bus
    Bus {
        /// What to ask of it.
        #[command(subcommand)]
        action: BusAction,
    },
}

/// `ops dead-letters`.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadLettersAction {
    /// List them, the newest first
    List {
        /// Only of this group, such as flydocs-workers
        #[arg(long, value_name = "GROUP")]
        group: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
        /// How to print
        #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
        output: Format,
        /// Which database.
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// Send them back to their groups
    Requeue {
        /// Their ids
        #[arg(value_name = "ID", required = true)]
        ids: Vec<i64>,
        /// Which database.
        #[command(flatten)]
        database: DatabaseArgs,
    },
}

/// `ops bus`.
#[derive(Debug, Subcommand)]
pub(crate) enum BusAction {
    /// Show every group with what it owes
    Status {
        /// How to print
        #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
        output: Format,
        /// Which database.
        #[command(flatten)]
        database: DatabaseArgs,
    },
}

/// What every command needs that asks a database.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// The database (FLYDOCS_DATABASE_URL), such as postgres://flydocs@db/flydocs
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
}

impl OpsAction {
    /// Which database it asks.
    pub(crate) const fn database(&self) -> &DatabaseArgs {
        match self {
            Self::Orphans { database, .. }
            | Self::Reclaim { database, .. }
            | Self::DrainLock { database, .. }
            | Self::DeadLetters {
                action:
                    DeadLettersAction::List { database, .. }
                    | DeadLettersAction::Requeue { database, .. },
            }
            | Self::Bus {
                action: BusAction::Status { database, .. },
            } => database,
        }
    }
}

/// `webhooks`.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksAction {
    /// Show what was delivered about an extraction, and how each attempt went
    List(IdArgs),
    /// Send a webhook again: the same event, the same bytes
    Redeliver {
        /// The delivery, as `list` shows it
        id: String,
        /// Where and how.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Take webhooks on this machine, check their signatures and hand them on
    Listen(WebhooksListenArgs),
    /// Check the signature of a webhook that was received
    Verify(WebhooksVerifyArgs),
}

impl WebhooksAction {
    /// Which server it asks.
    pub(crate) const fn server(&self) -> Option<&ServerArgs> {
        match self {
            Self::List(args) => Some(&args.server),
            Self::Redeliver { server, .. } => Some(server),
            Self::Listen(_) | Self::Verify(_) => None,
        }
    }
}

/// `webhooks listen`.
#[derive(Debug, Args)]
pub(crate) struct WebhooksListenArgs {
    /// Where to hand them on to; what it answers is answered
    #[arg(long, value_name = "URL")]
    pub forward: Option<url::Url>,

    /// The address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8401")]
    pub listen: String,

    /// End after so many
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

/// `webhooks verify`; the secret is FLYDOCS_WEBHOOK_HMAC_SECRET.
#[derive(Debug, Args)]
pub(crate) struct WebhooksVerifyArgs {
    /// The body, byte for byte; - reads it from stdin
    #[arg(value_name = "FILE")]
    pub body: PathBuf,

    /// A header that came with it: X-Flydocs-Signature, or webhook-id, webhook-timestamp and webhook-signature
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", required = true, value_parser = header)]
    pub headers: Vec<(String, String)>,

    /// How far from now webhook-timestamp may be
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub tolerance: u64,
}

/// How a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs, indented
    Json,
    /// For programs, one line an item
    Jsonl,
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| "write NAME: VALUE".to_owned())?;
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}

/// What goes into a header of a call.
fn header_value(text: &str) -> Result<String, String> {
    reqwest::header::HeaderValue::from_str(text)
        .map(|_| text.to_owned())
        .map_err(|_| "write one line without control characters".to_owned())
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| "write NAME=VALUE".to_owned())?;
    Ok((name.to_owned(), value.to_owned()))
}
