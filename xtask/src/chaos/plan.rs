//! What one run is to be: the flags, and the few figures everything else is derived from.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

/// Kills processes of a fleet while it works, then audits what became of every document.
#[derive(Debug, Clone, Parser)]
#[command(name = "cargo xtask chaos")]
pub(super) struct Plan {
    /// The database of the fleet, started by the run itself
    #[arg(long, value_enum, default_value_t = Store::Postgres)]
    pub store: Store,
    /// The bus; without it that of the database
    #[arg(long, value_enum)]
    pub eda: Option<Eda>,
    /// Put PgBouncer in transaction mode between the fleet and PostgreSQL
    #[arg(long)]
    pub pooler: bool,
    /// Extraction workers
    #[arg(long, default_value_t = 4)]
    pub workers: usize,
    /// Bbox workers
    #[arg(long, default_value_t = 2)]
    pub bbox_workers: usize,
    /// Extractions at once in each worker
    #[arg(long, default_value_t = 2)]
    pub concurrency: usize,
    /// How long to submit and to kill
    #[arg(long, default_value_t = 120)]
    pub seconds: u64,
    /// Submissions a second
    #[arg(long, default_value_t = 4.0)]
    pub rate: f64,
    /// At most so long until everything has settled afterwards
    #[arg(long, default_value_t = 240)]
    pub settle: u64,
    /// What every random choice follows from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The flydocs program; without it, it is built
    #[arg(long)]
    pub binary: Option<PathBuf>,
    /// Measure 400 one-second extractions instead, and kill nobody
    #[arg(long)]
    pub throughput: bool,
    /// Measure how long a drain pass holds its lock over 10 000 events instead
    #[arg(long)]
    pub drain: bool,
    /// Keep logs and database files
    #[arg(long)]
    pub keep: bool,
}

/// The databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Store {
    /// A server of its own
    Postgres,
    /// A file
    Sqlite,
}

/// The buses: the words of `FLYDOCS_EDA_ADAPTER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Eda {
    /// On PostgreSQL
    Postgres,
    /// On the embedded store
    Sqlite,
    /// A Redis server of its own, fed from the database
    Redis,
    /// A broker of its own that speaks Kafka's protocol, fed from the database
    Kafka,
}

impl Store {
    /// Its word.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }
}

impl Eda {
    /// The value of `FLYDOCS_EDA_ADAPTER`.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
            Self::Redis => "redis",
            Self::Kafka => "kafka",
        }
    }
}

impl Plan {
    /// How long the storm lasts.
    pub(super) const fn storm(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// The words that name this run.
    pub(super) fn title(&self) -> String {
        format!(
            "chaos: {}{}{}, {} workers, {} bbox workers, {} s, seed {}",
            self.store.as_str(),
            self.eda
                .map(|eda| format!(", bus {}", eda.as_str()))
                .unwrap_or_default(),
            if self.pooler { " behind PgBouncer" } else { "" },
            self.workers,
            self.bbox_workers,
            self.seconds,
            self.seed,
        )
    }
}
