//! `bentpipe presets`: what the TCP presets mean.

use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::presets::{ConfigError, KEYS, PRESETS};
use bentpipe_terminal::table::{Align, Table};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::process::ExitCode;

/// Shows the TCP configurations that go by a name, and what their parameters are.
///
/// Without a TCP: the presets. With one: all its parameters, and which values each takes.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe presets
  bentpipe presets windows-95
  bentpipe presets linux,iw=4,recovery=newreno
  bentpipe presets --parameters      what can be set, and what it does
  bentpipe presets --json
")]
pub(crate) struct Arguments {
    /// A preset, and what is to be different from it: linux,iw=4
    #[arg(value_name = "TCP")]
    tcp: Option<String>,
    /// List the parameters: what each does, what it takes and where it comes from
    #[arg(long, conflicts_with_all = ["tcp", "json"])]
    parameters: bool,
    /// Print JSON: every preset (or the one TCP) with all its parameters
    #[arg(long)]
    json: bool,
}

/// Why `bentpipe presets` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The TCP that was asked for.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Prints them.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let config = arguments.tcp.as_deref().map(str::parse).transpose()?;
    let mut out = io::stdout().lock();
    if arguments.parameters {
        print_keys(&mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    match (config, arguments.json) {
        (Some(config), false) => print_parameters(&mut out, &config)?,
        (Some(config), true) => print_json(&mut out, &Value::Object(parameters(&config)))?,
        (None, false) => print_presets(&mut out)?,
        (None, true) => print_json(&mut out, &every_preset()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print_presets(out: &mut impl Write) -> io::Result<()> {
    for preset in PRESETS {
        writeln!(out, "{}\n    {}", preset.name, preset.about)?;
        writeln!(out, "    {}", preset.text.replace(',', " "))?;
        writeln!(out, "    Source: {}\n", preset.source)?;
    }
    writeln!(out, "All parameters of one: bentpipe presets NAME")
}

fn print_parameters(out: &mut impl Write, config: &ConnectionConfig) -> io::Result<()> {
    let mut table = Table::new([Align::Left, Align::Left, Align::Left]);
    for key in KEYS {
        table.row([key.name.to_owned(), format!("= {}", key.value(config)), key.takes.to_owned()]);
    }
    write!(out, "{table}")
}

fn print_keys(out: &mut impl Write) -> io::Result<()> {
    let default = ConnectionConfig::default();
    for key in KEYS {
        writeln!(out, "{} = {}", key.name, key.value(&default))?;
        writeln!(out, "    {}", key.about)?;
        writeln!(out, "    Takes {}\n    Source: {}\n", key.takes, key.source)?;
    }
    Ok(())
}

fn print_json(out: &mut impl Write, value: &Value) -> io::Result<()> {
    writeln!(out, "{value:#}")
}

fn every_preset() -> Result<Value, ConfigError> {
    let presets = PRESETS.iter().map(|preset| {
        let parameters = parameters(&ConnectionConfig::preset(preset.name)?);
        Ok(json!({
            "name": preset.name,
            "about": preset.about,
            "source": preset.source,
            "text": preset.text,
            "parameters": parameters,
        }))
    });
    presets.collect()
}

fn parameters(config: &ConnectionConfig) -> Map<String, Value> {
    KEYS.iter().map(|key| (key.name.to_owned(), key.value(config).into())).collect()
}
