//! A link said by settings, as on a command line: `rate=3Mbit/s,queue=codel,loss=0.1%`.
//!
//! Keys and values are those of a link in a file and read by the same code. A value is written as
//! in TOML, or without quotes.

use crate::directions::Directions;
use crate::impairment::IMPAIRMENTS;
use crate::live_link::LiveLink;
use crate::profile::Ground;
use crate::random::Seeds;
use crate::spec::{self, DIRECTION, DirectionSpec, read_mtu};
use bentpipe_config::document::{self, Table};
use bentpipe_config::reader::{Context, ReadFile, Reader, Section, field};
use bentpipe_config::{DocumentError, Problem};
use bentpipe_core::time::Duration;

/// What is wrong with settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {problem}")]
pub struct SettingsError {
    /// What was given, such as an option's name.
    pub origin: String,
    /// What is wrong with it.
    pub problem: Box<Problem>,
}

/// The settings of a link. What is said of one direction overrides what is said of both.
#[derive(Debug, Clone, Default)]
pub struct LinkSettings {
    both: Table,
    forward: Table,
    back: Table,
    whole: Table,
    origins: Vec<String>,
}

/// What is said of a link and not of a direction.
const WHOLE: Section = Section {
    path: "a link's settings",
    about: "",
    fields: &[field("profile", "a profile's name", "", ""), field("mtu", "bytes", "", "")],
    example: "",
};
const OF_DIRECTION: [&Section; 2] = [&DIRECTION, &IMPAIRMENTS];
/// Queue and losses may be texts with keys of their own, of which these are keys of a link, too.
const INNER: [(&str, &str); 2] = [("policer:", "rate"), ("gilbert-elliott:", "loss")];
const WHAT: &str = "a link's settings";

impl LinkSettings {
    /// Whether nothing has been said.
    pub fn is_empty(&self) -> bool {
        let tables = [&self.both, &self.forward, &self.back, &self.whole];
        tables.iter().all(|table| table.entries.is_empty())
    }

    /// Sets `key` to the value `text`; `origin` is to be named if something is wrong with it.
    pub fn set(&mut self, directions: Directions, origin: &str, key: &str, text: &str) {
        let at = self.origins.len();
        self.origins.push(origin.to_owned());
        let whole =
            directions == Directions::Both && WHOLE.fields.iter().any(|field| field.key == key);
        let table = match directions {
            _ if whole => &mut self.whole,
            Directions::Both => &mut self.both,
            Directions::Forward => &mut self.forward,
            Directions::Back => &mut self.back,
        };
        table.set(key, at, document::loose(text.trim(), at));
        // They exclude each other: the later one holds.
        match key {
            "loss" => _ = table.remove("gilbert-elliott"),
            "gilbert-elliott" => _ = table.remove("loss"),
            _ => {}
        }
    }

    /// The keys that have been set for these directions and no others.
    pub fn keys(&self, directions: Directions) -> Vec<&str> {
        match directions {
            Directions::Both => self.both.keys().chain(self.whole.keys()).collect(),
            Directions::Forward => self.forward.keys().collect(),
            Directions::Back => self.back.keys().collect(),
        }
    }

    /// Sets what `text` says, `key=value` separated by commas.
    ///
    /// # Errors
    /// It is not of this form.
    pub fn add(
        &mut self,
        directions: Directions,
        origin: &str,
        text: &str,
    ) -> Result<(), SettingsError> {
        for (key, value) in split(text).map_err(|why| SettingsError {
            origin: origin.to_owned(),
            problem: Box::new(Problem::Value(why)),
        })? {
            self.set(directions, origin, &key, &value);
        }
        Ok(())
    }

    /// The link that is described; `read` gives the text of a file that is named. Its random
    /// numbers are those of `seed`, and random outages are drawn for the time of `horizon`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(
        &self,
        read: &ReadFile<'_>,
        seed: u64,
        horizon: Duration,
    ) -> Result<LiveLink, SettingsError> {
        // A line for each origin, so that the position of what is wrong tells which it was.
        let source = "\n".repeat(self.origins.len());
        let context = Context::new("", &source, read);
        self.link(&context, seed, horizon).map_err(|error: DocumentError| SettingsError {
            origin: self.origins.get(error.position.line - 1).cloned().unwrap_or_default(),
            problem: error.problem,
        })
    }

    fn link(
        &self,
        context: &Context<'_>,
        seed: u64,
        horizon: Duration,
    ) -> Result<LiveLink, DocumentError> {
        let whole = Reader::of_table(context, &self.whole, 0, WHAT, &[&WHOLE])?;
        let [forward, back] = Ground::read(&whole)?;
        let mtu = read_mtu(&whole)?;
        let direction = |own: &Table, ground: &Ground, way: Directions| {
            let mut table = self.both.clone();
            for (one, other) in [("loss", "gilbert-elliott"), ("gilbert-elliott", "loss")] {
                if own.get(one).is_some() {
                    table.remove(other);
                }
            }
            for entry in &own.entries {
                table.set(&entry.key, entry.key_at, entry.node.clone());
            }
            let firm: Vec<&str> = match own.get("trace") {
                None => own.keys().collect(),
                Some(_) => Vec::new(),
            };
            let reader = Reader::of_table(context, &table, 0, WHAT, &OF_DIRECTION)?;
            spec::direction(&reader, ground, &firm, way)
        };
        let directions: [DirectionSpec; 2] = [
            direction(&self.forward, &forward, Directions::Forward)?,
            direction(&self.back, &back, Directions::Back)?,
        ];
        Ok(LiveLink {
            name: "link".to_owned(),
            directions,
            mtu,
            down: Vec::new(),
            seeds: Seeds::of_run(seed, 0),
            horizon,
            notes: context.notes(),
        })
    }
}

/// Parts `rate=1Mbit/s,queue=red:limit=50packets,ecn=on,loss=1%` at the commas behind which a key
/// of a link stands.
fn split(text: &str) -> Result<Vec<(String, String)>, String> {
    let known = |key: &str| {
        let sections = OF_DIRECTION.into_iter().chain([&WHOLE]);
        sections.flat_map(|section| section.fields).any(|field| field.key == key)
    };
    let mut found: Vec<(String, String)> = Vec::new();
    for piece in pieces(text) {
        let pair = piece.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        let last = found.last_mut().map(|(_, value)| value);
        let within = |value: &str, key: &str| match value.contains(':')
            && !value.contains(['{', '"'])
        {
            true if known(key) => INNER.iter().any(|(name, inner)| {
                value.starts_with(name) && *inner == key && !value.contains(&format!("{inner}="))
            }),
            inner => inner,
        };
        match (pair, last) {
            (Some((key, _)), Some(value)) if within(value, key) => {
                value.push(',');
                value.push_str(piece);
            }
            (Some((key, value)), _) => found.push((key.to_owned(), value.to_owned())),
            // Times of outages have commas between them.
            (None, Some(value)) if !piece.trim().is_empty() => {
                value.push(',');
                value.push_str(piece);
            }
            (None, _) => {
                return Err(format!(
                    "`{piece}` is no setting (expected KEY=VALUE, such as `rate=8Mbit/s,loss=1%`)"
                ));
            }
        }
    }
    Ok(found)
}

/// Parts at the commas that are in no brackets and no quotes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut begin) = (0_i32, None, 0);
    let mut all = Vec::new();
    for (at, char) in text.char_indices() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(char),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth -= 1,
            (None, ',') if depth == 0 => {
                all.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    all.push(&text[begin..]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Outages;
    use bentpipe_core::link::{LossKind, QueueKind};
    use bentpipe_core::units::Rate;

    fn no_files(_: &str) -> Result<String, String> {
        Err("no files here".to_owned())
    }

    fn link(both: &str, down: &str, up: &str) -> Result<LiveLink, String> {
        let mut settings = LinkSettings::default();
        let all = [
            (Directions::Both, "--both", both),
            (Directions::Forward, "--down", down),
            (Directions::Back, "--up", up),
        ];
        for (directions, origin, text) in all.into_iter().filter(|(.., text)| !text.is_empty()) {
            settings.add(directions, origin, text).map_err(|error| error.to_string())?;
        }
        settings.read(&no_files, 1, Duration::from_secs(60)).map_err(|error| error.to_string())
    }

    fn mbits(direction: &DirectionSpec) -> u64 {
        direction.rate.as_ref().map_or(0, |rate| rate.greatest().bits_per_sec() / 1_000_000)
    }

    #[test]
    fn directions_take_what_is_said_of_both_and_of_them() {
        let found = link(
            "delay=250ms,loss=1%",
            "rate=50Mbit/s,queue=red:limit=50packets,ecn=on,loss=gilbert-elliott:burst=5,loss=1%",
            "rate=3Mbit/s,jitter={ uniform = [\"0ms\", \"20ms\"] },outages=1s+10ms,2s+1ms",
        )
        .unwrap();
        let [down, up] = &found.directions;
        assert_eq!((mbits(down), mbits(up)), (50, 3));
        assert!(matches!(down.queue, QueueKind::Red(_)));
        assert!(matches!(down.loss, LossKind::GilbertElliott(_)));
        assert!(matches!(up.loss, LossKind::Independent(_)));
        assert!(matches!(&up.outages[..], [Outages::Planned(spans)] if spans.len() == 2));
        assert!((up.impairments.jitter.mean_seconds() - 0.01).abs() < 1e-9);
    }

    #[test]
    fn a_policer_has_its_own_rate() {
        for text in [
            "rate=9Mbit/s,queue=policer:rate=2Mbit/s,burst=30KB",
            "queue=policer:burst=30KB,rate=2Mbit/s,rate=9Mbit/s",
        ] {
            let found = link(text, "", "").unwrap();
            assert_eq!(mbits(&found.directions[0]), 9);
            let QueueKind::Policer(policer) = found.directions[0].queue else { panic!("{text}") };
            assert_eq!(policer.rate, Rate::from_bits_per_sec(2_000_000));
        }
    }

    #[test]
    fn a_profile_says_both_directions_and_is_overridden() {
        let found = link("profile=hybrid-dbs,mtu=576", "rate=2Mbit/s", "").unwrap();
        let [down, up] = &found.directions;
        assert_eq!(
            (mbits(down), up.rate.clone()),
            (2, Some(Rate::from_bits_per_sec(50_000).into()))
        );
        assert!(down.delay.greatest() > up.delay.greatest());
        assert_eq!(found.mtu, Some(576));
    }

    #[test]
    fn periodic_outages_have_no_end() {
        let found = link("outages=periodic:first=10s,lasting=2s,every=60s", "", "").unwrap();
        let [forward, _] = found.configs().map(|config| config.link);
        assert_eq!(
            forward.outages.period().map(|(first, ..)| first),
            Some(Duration::from_secs(10))
        );
        let spans = found.directions[0].outages[0]
            .spans(&mut found.seeds.rng("x"), Duration::from_secs(71));
        assert_eq!(spans.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_named_with_where_it_was_said() {
        for (both, down, up, expected) in [
            (
                "rate=1Mbit/s",
                "",
                "rat=3Mbit/s",
                "--up: unknown key `rat` in a link's settings (did you mean `rate`?)",
            ),
            ("rate=0bit/s", "", "", "--both: a link at 0bit/s passes nothing"),
            ("delay=-1", "", "", "--both: found the number -1, expected a time"),
            ("profile=gep", "", "", "--both: no profile is called `gep` (did you mean `geo`?)"),
            ("", "trace=x.csv", "", "--down: cannot read `x.csv`: no files here"),
            ("", "", "fast", "--up: `fast` is no setting"),
            ("", "mtu=100", "", "--down: unknown key `mtu`"),
            ("mtu=10", "", "", "--both: an MTU of 10B"),
            ("", "queue=codel:target=5ms,rat=1", "", "--down: "),
        ] {
            let error = link(both, down, up).unwrap_err();
            assert!(error.starts_with(expected), "{error}\nexpected {expected}");
        }
    }
}
