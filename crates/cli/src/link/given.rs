//! Which link the command line asks for.

use super::{Error, Options};
use crate::sim;
use bentpipe_emulator::live::{self, HORIZON};
use bentpipe_lab::Source;
use bentpipe_links::{Directions, LinkSettings, LiveLink};
use bentpipe_scenario::{Change, LinkIndex};
use std::path::Path;

impl Options {
    /// The settings, in the words of a scenario.
    pub(super) fn settings(&self) -> Result<LinkSettings, Error> {
        let mut settings = LinkSettings::default();
        let plain = [
            ("profile", &self.profile),
            ("rate", &self.rate),
            ("delay", &self.delay),
            ("mtu", &self.mtu),
            ("overhead", &self.overhead),
            ("queue", &self.queue),
            ("loss", &self.loss),
            ("bit-errors", &self.bit_errors),
            ("outages", &self.outages),
        ];
        for (key, value) in plain {
            if let Some(value) = value.as_ref().filter(|value| *value != "none") {
                settings.set(Directions::Both, &format!("--{key}"), key, value);
            }
        }
        let texts = [
            (Directions::Both, "--both", &self.both),
            (Directions::Forward, "--down", &self.down),
            (Directions::Back, "--up", &self.up),
        ];
        for (directions, origin, text) in texts {
            if let Some(text) = text {
                settings.add(directions, origin, text)?;
            }
        }
        Ok(settings)
    }

    /// The link.
    pub(super) fn link(&self) -> Result<LiveLink, Error> {
        let settings = self.settings()?;
        match &self.scenario {
            Some(_) if !settings.is_empty() => Err(Error::Both),
            Some(path) => self.of_scenario(path),
            None if settings.is_empty() => Err(Error::NoLink),
            None => {
                let link = live::read(&settings, self.seed.unwrap_or(1))?;
                sim::say(&link.notes);
                Ok(link)
            }
        }
    }

    /// The link of a scenario's file: of its first point.
    fn of_scenario(&self, path: &Path) -> Result<LiveLink, Error> {
        let source = Source::find(path).map_err(sim::Error::from)?;
        let name = source.name().to_owned();
        let seed = self.seed.map(|seed| Change::new("run.seed", seed.to_string()));
        let mut changes: Vec<Change> = seed.into_iter().collect();
        let mut experiment = source.experiment(&changes)?;
        if experiment.point(0).scenario.run.duration < HORIZON {
            changes.push(Change::new("run.duration", format!("{}s", HORIZON.as_secs())));
            experiment = source.experiment(&changes)?;
        }
        sim::say(experiment.notes());
        let scenario = experiment.point(0).scenario;
        let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
        let index = match (&self.link, names.as_slice()) {
            (None, [_]) => 0,
            (None, _) => return Err(Error::WhichLink(name, names.join(", "))),
            (Some(wanted), _) => names.iter().position(|name| name == wanted).ok_or_else(|| {
                Error::UnknownLink(name.clone(), wanted.clone(), names.join(", "))
            })?,
        };
        if scenario.shares_medium(LinkIndex(index)) {
            return Err(Error::Medium(format!("link {} of {name}", names[index])));
        }
        let link = scenario.live_link(LinkIndex(index), 0);
        live::check(&link)?;
        Ok(link)
    }
}
