//! The commands, one file each, and how each is started: which need settings, a log, a runtime.

mod calls;
mod config;
mod doctor;
mod explain;
mod extract;
mod inspect;
mod ops;
pub(crate) mod pages_child;
mod run;
mod types;
mod webhooks;

use crate::{
    Outcome,
    cli::{Cli, Command, ConfigAction, Global, ListenArgs, TypesAction},
    exit::Exit,
    failure::Failure,
    output::{Out, Say},
    roles,
    settings::{self, Loaded},
};

/// Runs the command.
pub(crate) fn run(cli: Cli, say: Say) -> Outcome {
    let Cli { command, global } = cli;
    let mut out = Out::new();
    match command {
        Command::Explain { code } => explain::run(code.as_deref(), &mut out),
        Command::Openapi => {
            out.text(&flydocs_api::openapi::text())?;
            Ok(Exit::Done)
        }
        // taken before the command line is parsed
        Command::PagesChild => Ok(Exit::Done),
        Command::Config { action } => config(&action, &global, say, &mut out),
        Command::Extract(args) => {
            let mut flags = Vec::new();
            flags.extend(
                args.model
                    .clone()
                    .map(|model| ("FLYDOCS_MODEL".to_owned(), model)),
            );
            let loaded = load(&global, flags, say)?;
            roles::log::start(&loaded.settings, &global, roles::log::For::Command)?;
            roles::runtime()?.block_on(extract::run(args, loaded.settings, say, out))
        }
        Command::Inspect(args) => {
            let loaded = load(&global, Vec::new(), say)?;
            roles::log::start(&loaded.settings, &global, roles::log::For::Command)?;
            roles::runtime()?.block_on(inspect::run(args, loaded.settings, &mut out))
        }
        Command::Types {
            action: TypesAction::Infer(args),
        } => {
            let loaded = load(&global, Vec::new(), say)?;
            roles::log::start(&loaded.settings, &global, roles::log::For::Command)?;
            roles::runtime()?.block_on(types::infer(args, loaded.settings, say, &mut out))
        }
        Command::Ops { action } => {
            let url = action.database().database_url.clone();
            let flags = url.map(|url| ("FLYDOCS_DATABASE_URL".to_owned(), url));
            let loaded = load(&global, flags.into_iter().collect(), say)?;
            roles::log::start(&loaded.settings, &global, roles::log::For::Command)?;
            roles::runtime()?.block_on(ops::run(action, loaded.settings, &mut out))
        }
        Command::Webhooks { action } => {
            let server = action.server().and_then(|args| args.server.clone());
            let loaded = client(&global, server.as_deref(), say)?;
            roles::runtime()?.block_on(webhooks::run(action, loaded.settings, say, &mut out))
        }
        Command::Doctor => {
            let loaded = load(&global, Vec::new(), say)?;
            roles::runtime()?.block_on(doctor::run(loaded.settings, &mut out))
        }
        Command::Up(args) => service(&global, &args, say, out, roles::Role::Up),
        Command::Serve(args) => service(&global, &args, say, out, roles::Role::Serve),
        Command::Worker => service(&global, &ListenArgs::none(), say, out, roles::Role::Worker),
        Command::BboxWorker => service(
            &global,
            &ListenArgs::none(),
            say,
            out,
            roles::Role::BboxWorker,
        ),
        Command::Migrate => service(&global, &ListenArgs::none(), say, out, roles::Role::Migrate),
        Command::Submit(args) => {
            let loaded = client(&global, args.server.server.as_deref(), say)?;
            roles::runtime()?.block_on(calls::submit(args, loaded.settings, say, &mut out))
        }
        Command::Get(args) => {
            let loaded = client(&global, args.server.server.as_deref(), say)?;
            roles::runtime()?.block_on(calls::get(args, loaded.settings, &mut out))
        }
        Command::Wait(args) => {
            let loaded = client(&global, args.server.server.as_deref(), say)?;
            roles::runtime()?.block_on(calls::wait(args, loaded.settings, say, &mut out))
        }
        Command::Result(args) => {
            let loaded = client(&global, args.server.server.as_deref(), say)?;
            roles::runtime()?.block_on(calls::result(args, loaded.settings, &mut out))
        }
        Command::List(args) => {
            let loaded = client(&global, args.server.server.as_deref(), say)?;
            roles::runtime()?.block_on(calls::list(args, loaded.settings, &mut out))
        }
        Command::Cancel(args) => {
            let loaded = client(&global, args.server.server.as_deref(), say)?;
            roles::runtime()?.block_on(calls::cancel(args, loaded.settings, &mut out))
        }
    }
}

/// Reads the settings and says what is worth saying about them.
fn load(global: &Global, flags: Vec<(String, String)>, say: Say) -> Result<Loaded, Failure> {
    let mut all = global.set.clone();
    all.extend(flags);
    let loaded = settings::read(settings::environment(), &all)?;
    for warning in &loaded.warnings {
        say.warn(warning);
    }
    Ok(loaded)
}

fn client(global: &Global, server: Option<&str>, say: Say) -> Result<Loaded, Failure> {
    let flags = server.map(|url| ("FLYDOCS_SERVER".to_owned(), url.to_owned()));
    load(global, flags.into_iter().collect(), say)
}

fn service(global: &Global, args: &ListenArgs, say: Say, out: Out, role: roles::Role) -> Outcome {
    let loaded = load(global, args.flags(), say)?;
    // dropped after the runtime: the last traces are sent
    let _log = roles::log::start(&loaded.settings, global, roles::log::For::Service)?;
    roles::runtime()?.block_on(run::run(role, loaded.settings, say, out))
}

fn config(action: &ConfigAction, global: &Global, say: Say, out: &mut Out) -> Outcome {
    match action {
        ConfigAction::Markdown => {
            out.text(&settings::markdown())?;
            Ok(Exit::Done)
        }
        ConfigAction::Check => {
            let loaded = load(global, Vec::new(), say)?;
            config::check(&loaded, out)
        }
        ConfigAction::Show => {
            let loaded = load(global, Vec::new(), say)?;
            config::show(&loaded, out)
        }
    }
}

impl ListenArgs {
    const fn none() -> Self {
        Self {
            host: None,
            port: None,
            database_url: None,
        }
    }

    fn flags(&self) -> Vec<(String, String)> {
        [
            ("FLYDOCS_HOST", self.host.clone()),
            ("FLYDOCS_PORT", self.port.map(|p| p.to_string())),
            ("FLYDOCS_DATABASE_URL", self.database_url.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
    }
}
