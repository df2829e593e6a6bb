//! How the text of a setting becomes a value, and back.

use std::{fmt, path::PathBuf, time::Duration};

/// A value a setting can have.
pub(crate) trait Value: Sized {
    /// What may stand there, for docs and messages.
    const KIND: &'static str;

    /// Reads the text of a variable or a flag.
    fn read(text: &str) -> Result<Self, String>;

    /// The text that reads back as this value.
    fn show(&self) -> String;
}

fn expected<T: Value>(text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    format!("{shown:?} is not {}", T::KIND)
}

macro_rules! whole_numbers {
    ($($kind:ty),+) => { $(
        impl Value for $kind {
            const KIND: &'static str = "a whole number";

            fn read(text: &str) -> Result<Self, String> {
                let number = text.replace('_', "");
                number.parse().map_err(|_| match number.parse::<i128>() {
                    Ok(_) => format!("{number} is out of range: {} to {}", Self::MIN, Self::MAX),
                    Err(_) => expected::<Self>(text),
                })
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+ };
}
whole_numbers!(u16, u32, u64);

impl Value for bool {
    const KIND: &'static str = "true or false";

    fn read(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(expected::<Self>(text)),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const KIND: &'static str = "a text";

    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            Err("must not be empty".to_owned())
        } else {
            Ok(text.to_owned())
        }
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl Value for PathBuf {
    const KIND: &'static str = "a path";

    fn read(text: &str) -> Result<Self, String> {
        String::read(text).map(Self::from)
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

/// Absent, or a value. An empty variable is absent.
impl<T: Value> Value for Option<T> {
    const KIND: &'static str = T::KIND;

    fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            Ok(None)
        } else {
            T::read(text).map(Some)
        }
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(String::new, Value::show)
    }
}

/// A length of time, in seconds.
impl Value for Duration {
    const KIND: &'static str = "a number of seconds";

    fn read(text: &str) -> Result<Self, String> {
        text.parse::<f64>()
            .ok()
            .and_then(|seconds| Self::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| expected::<Self>(text))
    }

    fn show(&self) -> String {
        self.as_secs_f64().to_string()
    }
}

/// A number of bytes: `1048576`, `1MiB`, `1 MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub u64);

const UNITS: &[(&str, u64)] = &[
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("b", 1),
];

impl Value for Bytes {
    const KIND: &'static str = "a number of bytes, such as 1048576 or 1MiB";

    fn read(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| {
                lower
                    .strip_suffix(name)
                    .map(|rest| (rest.trim_end(), *unit))
            })
            .unwrap_or((lower.as_str(), 1));
        number
            .replace('_', "")
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(unit))
            .map(Self)
            .ok_or_else(|| expected::<Self>(text))
    }

    fn show(&self) -> String {
        for (name, unit) in [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
            if self.0 > 0 && self.0.is_multiple_of(unit) {
                return format!("{}{name}", self.0 / unit);
            }
        }
        self.0.to_string()
    }
}

/// A share, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share(pub f64);

impl Value for Share {
    const KIND: &'static str = "a number from 0 to 1";

    fn read(text: &str) -> Result<Self, String> {
        text.parse::<f64>()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share))
            .map(Self)
            .ok_or_else(|| expected::<Self>(text))
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// A text that never prints.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub String);

impl Value for Secret {
    const KIND: &'static str = "a secret";

    fn read(text: &str) -> Result<Self, String> {
        String::read(text).map(Self)
    }

    fn show(&self) -> String {
        "(hidden)".to_owned()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// One of some words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $kind:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$vdoc])* $variant),+ }

        impl Value for $name {
            const KIND: &'static str = $kind;

            fn read(text: &str) -> Result<Self, String> {
                match text.to_ascii_lowercase().as_str() {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(expected::<Self>(text)),
                }
            }

            fn show(&self) -> String {
                match self { $(Self::$variant => $word.to_owned()),+ }
            }
        }
    };
}

words! {
    /// How log lines are written.
    LogFormat, "text or json" {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

words! {
    /// Which bus carries events.
    EdaAdapter, "sqlite, postgres, redis, kafka or memory" {
        /// The tables beside the extractions in the embedded store.
        Sqlite = "sqlite",
        /// The tables beside the extractions in PostgreSQL.
        Postgres = "postgres",
        /// Streams of a Redis server, fed from the outbox in the database.
        Redis = "redis",
        /// Topics of Kafka brokers, fed from the outbox in the database.
        Kafka = "kafka",
        /// Queues in the process: `up` alone.
        Memory = "memory",
    }
}

words! {
    /// How connections to Kafka are secured.
    KafkaSecurity, "plaintext, ssl, sasl_plaintext or sasl_ssl" {
        /// Not at all.
        Plaintext = "plaintext",
        /// TLS.
        Ssl = "ssl",
        /// A password without TLS.
        SaslPlaintext = "sasl_plaintext",
        /// A password inside TLS.
        SaslSsl = "sasl_ssl",
    }
}

words! {
    /// Where files are parsed.
    Isolation, "process or none" {
        /// In child processes with ceilings.
        Process = "process",
        /// In this process: for trusted input.
        None = "none",
    }
}

words! {
    /// What turns office documents into PDFs.
    OfficeConverter, "none, gotenberg or libreoffice" {
        /// Nothing does: text and tables are read and laid out.
        None = "none",
        /// A Gotenberg server.
        Gotenberg = "gotenberg",
        /// LibreOffice as a process.
        Libreoffice = "libreoffice",
    }
}

words! {
    /// Who reads the words of images.
    OcrEngine, "tesseract or none" {
        /// The program `tesseract`.
        Tesseract = "tesseract",
        /// Nobody.
        None = "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_in_their_usual_forms() {
        for (text, bytes) in [
            ("1024", 1024),
            ("1KiB", 1024),
            ("2 mb", 2_000_000),
            ("1_000b", 1000),
        ] {
            assert_eq!(Bytes::read(text), Ok(Bytes(bytes)), "{text}");
        }
        assert_eq!(Bytes(100 << 20).show(), "100MiB");
        assert!(Bytes::read("many").is_err() && Bytes::read("-1").is_err());
    }

    #[test]
    fn what_is_shown_reads_back() {
        assert_eq!(
            Duration::read(&Duration::from_millis(1500).show()),
            Ok(Duration::from_millis(1500))
        );
        assert_eq!(
            Share::read("1.5"),
            Err("\"1.5\" is not a number from 0 to 1".to_owned())
        );
        assert_eq!(Option::<String>::read(""), Ok(None));
        assert_eq!(format!("{:?}", Secret("x".to_owned())), "Secret(hidden)");
    }
}
