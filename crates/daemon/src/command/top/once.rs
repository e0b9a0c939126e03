//! One look, as text for 80 columns and as JSON.

use super::listing::Listing;
use super::look::{Ask, Look, LookError, Unsplit};
use super::model::Model;
use super::model::flows::FlowRow;
use super::model::groups::{RemoteRow, SubscriberRow};
use super::model::link::LinkRow;
use super::model::unsplit::ReasonRow;
use super::view::{self, list};
use serde::Serialize;
use std::thread;
use std::time::Duration;

/// The columns of the text.
const WIDTH: usize = 80;

/// What `--once --json` prints. Keys of legs are those of `flows --json`.
#[derive(Serialize)]
struct Report<'a> {
    /// How long the gateway counted for the rates, by its own clock.
    interval_s: f64,
    link: &'a LinkRow,
    flows: &'a [FlowRow],
    subscribers: &'a [SubscriberRow],
    remotes: &'a [RemoteRow],
    not_split: NotSplit<'a>,
}

#[derive(Serialize)]
struct NotSplit<'a> {
    reasons: &'a [ReasonRow],
    last: &'a [Unsplit],
}

/// Looks twice, so that there are rates.
pub(super) fn look(ask: Ask, interval: Duration, json: bool) -> Result<String, LookError> {
    let mut model = Model::new(Look::take(ask, false)?, 1);
    let before = model.link.uptime_s;
    thread::sleep(interval);
    model.take(Look::take(ask, true)?);
    if !json {
        return Ok(text(&model));
    }
    let Model { link, flows, subscribers, remotes, reasons, unsplit, .. } = &model;
    let report = Report {
        interval_s: (link.uptime_s - before).max(0.0),
        link,
        flows,
        subscribers,
        remotes,
        not_split: NotSplit { reasons, last: unsplit },
    };
    Ok(serde_json::to_string(&report)? + "\n")
}

/// The views below each other.
fn text(model: &Model) -> String {
    let mut lines: Vec<String> =
        view::header(&model.link, None, WIDTH).iter().map(ToString::to_string).collect();
    let lists = [
        list::lines(&Listing::default(), &model.flows, WIDTH),
        list::lines(&Listing::default(), &model.subscribers, WIDTH),
        list::lines(&Listing::default(), &model.remotes, WIDTH),
        list::lines(&Listing::default(), &model.reasons, WIDTH),
        list::lines(&Listing::default(), &model.unsplit, WIDTH),
    ];
    for list in lists.into_iter().filter(|list| list.len() > 1) {
        lines.push(String::new());
        lines.extend(list);
    }
    lines.iter().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

#[cfg(test)]
mod tests;
