//! `top`: the link and its flows, and what holds each back, live on a terminal.
//!
//! It is a client of the gateway that runs: it asks for totals and flows again and again, and
//! computes rates by itself. The `model` follows from answers, the `view` from the model and the
//! terminal's size; `terminal` alone has threads, keys and a clock.

mod listing;
mod look;
mod model;
mod once;
mod screen;
mod terminal;
mod units;
mod view;

pub(super) use look::Question;

use look::{Ask, Look, LookError};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

/// What is shown, and how often.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The time between two looks
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = parse_interval)]
    every: Duration,
    /// Print one look and end; its rates are those of the time between two looks
    #[arg(long)]
    once: bool,
    /// As JSON, with all figures
    #[arg(long, requires = "once")]
    json: bool,
}

/// Why there is nothing to be seen.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// The gateway's answers.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The output is no terminal.
    #[error("standard input or output is no terminal: `--once` prints one look")]
    NoTerminal,
    /// The terminal.
    #[error("the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// The shortest and the longest time between two looks.
const INTERVALS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(60)];

fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let [shortest, longest] = INTERVALS;
    if (shortest..=longest).contains(&interval) {
        Ok(interval)
    } else {
        Err(format!("from {shortest:?} to {longest:?}"))
    }
}

/// Shows what the gateway answers.
pub(super) fn run(arguments: &Arguments, ask: Ask) -> Result<ExitCode, TopError> {
    let Arguments { every, once, json } = *arguments;
    if once {
        io::stdout().write_all(once::look(ask, every, json)?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(TopError::NoTerminal);
    }
    // Before the screen changes: without a gateway there is a line, and an end.
    let look = Look::take(ask, false)?;
    Ok(terminal::run(ask, look, every)?)
}
