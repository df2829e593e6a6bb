//! EML and MSG: the body as text, and the attachments.

use bytes::Bytes;
use flydocs_contract::ErrorCode;
use mail_parser::{Address, MessageParser, MimeHeaders, PartType};

use super::{Budget, Member, broken};
use crate::{error::Result, laid_out::html_to_text};

/// Smaller inline pictures are logos and signatures.
const LOGO_BYTES: usize = 20 * 1024;
/// Columns an HTML body is wrapped at.
const BODY_COLUMNS: usize = 85;

pub(super) fn eml(filename: &str, content: &Bytes, budget: &mut Budget) -> Result<Vec<Member>> {
    let message = MessageParser::default()
        .parse(content.as_ref())
        .ok_or_else(|| broken(filename, "it is no mail"))?;
    let mut head = String::new();
    for (name, address) in [
        ("From", message.from()),
        ("To", message.to()),
        ("Cc", message.cc()),
    ] {
        if let Some(address) = address {
            head += &format!("{name}: {}\n", people(address));
        }
    }
    if let Some(date) = message.date() {
        head += &format!("Date: {}\n", date.to_rfc3339());
    }
    if let Some(subject) = message.subject() {
        head += &format!("Subject: {subject}\n");
    }
    let body = match (
        message
            .text_body
            .first()
            .and_then(|at| message.part(*at))
            .map(|p| &p.body),
        message
            .html_body
            .first()
            .and_then(|at| message.part(*at))
            .map(|p| &p.body),
    ) {
        (Some(PartType::Text(text)), _) => text.to_string(),
        (_, Some(PartType::Html(html))) => html_to_text(html.as_bytes(), BODY_COLUMNS),
        _ => String::new(),
    };
    let mut members = Vec::new();
    let mut number = 0;
    for part in message.attachments() {
        number += 1;
        let content = part.contents();
        let inline = matches!(part.body, PartType::InlineBinary(_));
        if inline && content.len() < LOGO_BYTES {
            continue;
        }
        budget.count(filename)?;
        budget.take(filename, content.len() as u64)?;
        let declared = part.content_type().map(|t| {
            format!("{}/{}", t.ctype(), t.subtype().unwrap_or_default()).to_ascii_lowercase()
        });
        let path = match part.attachment_name() {
            Some(name) => plain_name(name),
            None if matches!(part.body, PartType::Message(_)) => format!("message-{number}.eml"),
            None => format!("attachment-{number}"),
        };
        let content = match &part.body {
            PartType::Message(inner) => Bytes::copy_from_slice(inner.raw_message()),
            _ => Bytes::copy_from_slice(content),
        };
        members.push(Member {
            path,
            content,
            declared,
        });
    }
    with_body(filename, &head, &body, members, budget)
}

pub(super) fn msg(filename: &str, content: &Bytes, budget: &mut Budget) -> Result<Vec<Member>> {
    let bytes: &[u8] = content.as_ref();
    // this parser panics where the tables of the file are damaged
    let message = std::panic::catch_unwind(|| msg_parser::Outlook::from_slice(bytes))
        .map_err(|_| broken(filename, "its tables are damaged"))?
        .map_err(|e| broken(filename, e))?;
    let person = |p: &msg_parser::Person| format!("{} <{}>", p.name, p.email);
    let mut head = format!("From: {}\n", person(&message.sender));
    for (name, people) in [("To", &message.to), ("Cc", &message.cc)] {
        if !people.is_empty() {
            let people: Vec<String> = people.iter().map(person).collect();
            head += &format!("{name}: {}\n", people.join(", "));
        }
    }
    if !message.client_submit_time.is_empty() {
        head += &format!("Date: {}\n", message.client_submit_time);
    }
    head += &format!("Subject: {}\n", message.subject);
    let body = if !message.body.trim().is_empty() {
        message.body.clone()
    } else if !message.html.trim().is_empty() {
        html_to_text(message.html.as_bytes(), BODY_COLUMNS)
    } else {
        message
            .html_from_rtf()
            .map(|html| html_to_text(html.as_bytes(), BODY_COLUMNS))
            .unwrap_or_default()
    };
    let mut members = Vec::new();
    for (index, attachment) in message.attachments.iter().enumerate() {
        let content = &attachment.payload_bytes;
        let inline = !attachment.content_id.is_empty();
        if content.is_empty() || (inline && content.len() < LOGO_BYTES) {
            continue;
        }
        budget.count(filename)?;
        budget.take(filename, content.len() as u64)?;
        let name = [
            &attachment.long_file_name,
            &attachment.file_name,
            &attachment.display_name,
        ]
        .into_iter()
        .find(|n| !n.trim().is_empty());
        members.push(Member {
            path: name.map_or_else(|| format!("attachment-{}", index + 1), |n| plain_name(n)),
            content: Bytes::copy_from_slice(content),
            declared: Some(attachment.mime_tag.to_ascii_lowercase()).filter(|t| !t.is_empty()),
        });
    }
    with_body(filename, &head, &body, members, budget)
}

/// The body goes first; a mail that only carries attachments has none.
fn with_body(
    filename: &str,
    head: &str,
    body: &str,
    mut members: Vec<Member>,
    budget: &mut Budget,
) -> Result<Vec<Member>> {
    if body.trim().is_empty() && (!members.is_empty() || head.trim().is_empty()) {
        if members.is_empty() {
            return Err(crate::Error::refused(
                ErrorCode::EmptyFile,
                filename,
                format!("{filename} has neither text nor attachments"),
            ));
        }
        return Ok(members);
    }
    budget.count(filename)?;
    let text = format!("{head}\n{body}");
    budget.take(filename, text.len() as u64)?;
    members.insert(
        0,
        Member {
            path: "body.txt".to_owned(),
            content: text.into_bytes().into(),
            declared: Some("text/plain".to_owned()),
        },
    );
    Ok(members)
}

fn people(address: &Address<'_>) -> String {
    let people: Vec<String> = address
        .iter()
        .map(|a| match (a.name(), a.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (name, address) => name.or(address).unwrap_or_default().to_owned(),
        })
        .collect();
    people.join(", ")
}

/// The last part of a name: what a mail calls its attachment is never a path.
fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let clean: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
    match clean.trim() {
        "" | "." | ".." => "attachment".to_owned(),
        name => name.to_owned(),
    }
}
