//! How a Kafka broker is reached, and what every client of it is set to.

use std::{fmt, path::PathBuf, time::Duration};

use rdkafka::{
    ClientConfig,
    error::{KafkaError, RDKafkaErrorCode},
};

use crate::error::{Error, Result};

/// Where the brokers are and who we are to them.
#[derive(Clone)]
pub struct KafkaOptions {
    /// `host:9092,host:9092`.
    pub bootstrap_servers: String,
    /// `plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`.
    pub security_protocol: String,
    /// `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`, with a protocol that begins with `sasl`.
    pub sasl_mechanism: Option<String>,
    /// Who.
    pub sasl_username: Option<String>,
    /// The password.
    pub sasl_password: Option<String>,
    /// The certificate of the authority that signed the brokers' (PEM); the system's when `None`.
    pub ca_file: Option<PathBuf>,
    /// Before the name of every topic and of every consumer group.
    pub prefix: String,
    /// How many partitions a topic gets that is not there yet: no more consumers than that work in parallel.
    pub partitions: i32,
    /// How long a consumer may be silent before its work goes to others.
    pub session_timeout: Duration,
}

impl Default for KafkaOptions {
    fn default() -> Self {
        Self {
            bootstrap_servers: "127.0.0.1:9092".to_owned(),
            security_protocol: "plaintext".to_owned(),
            sasl_mechanism: None,
            sasl_username: None,
            sasl_password: None,
            ca_file: None,
            prefix: String::new(),
            partitions: 12,
            session_timeout: Duration::from_secs(10),
        }
    }
}

impl fmt::Debug for KafkaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaOptions")
            .field("bootstrap_servers", &self.bootstrap_servers)
            .field("security_protocol", &self.security_protocol)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl KafkaOptions {
    /// The name of the topic on the broker.
    pub(super) fn topic(&self, destination: &str) -> String {
        format!("{}{destination}", self.prefix)
    }

    /// The topic of what nobody could handle.
    pub(super) fn dead(&self, destination: &str) -> String {
        format!("{}{destination}.DLT", self.prefix)
    }

    /// The destination of a topic.
    pub(super) fn destination<'t>(&self, topic: &'t str) -> &'t str {
        topic.strip_prefix(&self.prefix).unwrap_or(topic)
    }

    /// The consumer group of those of a group that handle one type: whoever handles others does not count this one
    /// as handled.
    pub(super) fn group_id(&self, group: &str, event_type: &str) -> String {
        format!("{}{group}.{event_type}", self.prefix)
    }

    fn client(&self) -> Result<ClientConfig> {
        let protocol = self.security_protocol.to_lowercase();
        self.check(cfg!(feature = "kafka-tls"))?;
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.bootstrap_servers)
            .set("security.protocol", protocol)
            .set("client.id", "flydocs")
            .set("socket.keepalive.enable", "true")
            .set("reconnect.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", "2000")
            .set("topic.metadata.refresh.interval.ms", "30000");
        for (name, value) in [
            ("sasl.mechanism", &self.sasl_mechanism),
            ("sasl.username", &self.sasl_username),
            ("sasl.password", &self.sasl_password),
        ] {
            if let Some(value) = value {
                config.set(name, value);
            }
        }
        if let Some(file) = &self.ca_file {
            config.set("ssl.ca.location", file.display().to_string());
        }
        Ok(config)
    }

    /// What a build without TLS cannot do is said before librdkafka says it in its words.
    fn check(&self, built_with_tls: bool) -> Result<()> {
        let protocol = self.security_protocol.to_lowercase();
        if built_with_tls || !(protocol.ends_with("ssl") || self.is_scram()) {
            return Ok(());
        }
        Err(Error::BrokerSetting {
            setting: "FLYDOCS_KAFKA_SECURITY_PROTOCOL",
            detail: "TLS and SCRAM need flydocs to be built with the cargo feature kafka-tls"
                .to_owned(),
        })
    }

    fn is_scram(&self) -> bool {
        let mechanism = self.sasl_mechanism.as_deref().unwrap_or_default();
        mechanism.to_uppercase().starts_with("SCRAM")
    }

    /// One record is acknowledged by every replica, once, in its order.
    pub(super) fn producer(&self) -> Result<ClientConfig> {
        let mut config = self.client()?;
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("linger.ms", "1")
            .set("message.timeout.ms", "8000");
        Ok(config)
    }

    /// Offsets are committed by hand.
    pub(super) fn consumer(&self, group_id: &str, from_the_end: bool) -> Result<ClientConfig> {
        let session = self.session_timeout.as_millis();
        let mut config = self.client()?;
        config
            .set("group.id", group_id)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", session.to_string())
            .set("heartbeat.interval.ms", (session / 4).max(1).to_string())
            .set(
                "auto.offset.reset",
                if from_the_end { "latest" } else { "earliest" },
            )
            .set("fetch.wait.max.ms", "100")
            .set("queued.max.messages.kbytes", "16384");
        Ok(config)
    }

    /// Reads a topic from its beginning to its end, outside every group.
    pub(super) fn reader(&self) -> Result<ClientConfig> {
        let mut config = self.client()?;
        config
            .set("group.id", format!("{}flydocs-looks", self.prefix))
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .set("auto.offset.reset", "earliest");
        Ok(config)
    }
}

/// Gives a driver's failure the operation and the subject it was about.
pub(super) fn while_doing(
    operation: &'static str,
    subject: impl Into<String>,
) -> impl FnOnce(KafkaError) -> Error {
    let subject = subject.into();
    move |source| Error::Broker {
        operation,
        subject,
        broker: "kafka",
        transient: is_transient(&source),
        source: Box::new(source),
    }
}

fn is_transient(error: &KafkaError) -> bool {
    if matches!(
        error,
        KafkaError::ClientConfig(..) | KafkaError::ClientCreation(_)
    ) {
        return false;
    }
    !matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::SaslAuthenticationFailed
                | RDKafkaErrorCode::TopicAuthorizationFailed
                | RDKafkaErrorCode::GroupAuthorizationFailed
                | RDKafkaErrorCode::ClusterAuthorizationFailed
                | RDKafkaErrorCode::MessageSizeTooLarge
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_for_tls_its_name_is_said() {
        let options = |protocol: &str, mechanism: Option<&str>| KafkaOptions {
            security_protocol: protocol.to_owned(),
            sasl_mechanism: mechanism.map(str::to_owned),
            ..KafkaOptions::default()
        };
        for secured in [
            options("SSL", None),
            options("sasl_ssl", Some("PLAIN")),
            options("sasl_plaintext", Some("scram-sha-256")),
        ] {
            let said = secured.check(false).unwrap_err().to_string();
            assert!(said.contains("kafka-tls"), "{said}");
            secured.check(true).unwrap();
        }
        options("plaintext", None).check(false).unwrap();
        options("sasl_plaintext", Some("PLAIN"))
            .check(false)
            .unwrap();
    }
}
