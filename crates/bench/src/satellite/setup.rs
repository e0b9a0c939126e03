//! What a column of a case runs: a network from `networks/`, what stands at its ends, and what is
//! different from the file.

use bentpipe_config::DocumentError;
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_scenario::{Change, Experiment, Point};

pub(super) const DOWNLOAD: &str = include_str!("networks/download.toml");
pub(super) const BOTH_WAYS: &str = include_str!("networks/both-ways.toml");
pub(super) const FAR_SERVER: &str = include_str!("networks/far-server.toml");
pub(super) const BESIDE: &str = include_str!("networks/beside.toml");

/// BBR as Linux servers have it, by the core's name.
const BBR: &str = "bbr1";

/// The congestion control of the columns with BBR, if the core has it.
pub(super) fn bbr() -> Option<&'static str> {
    BBR.parse::<CongestionAlgorithm>().is_ok().then_some(BBR)
}

/// What stands in the place of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The router itself.
    Router,
    /// A gateway of which nothing is said about the link.
    Gateway,
    /// A gateway that has been told rate and round trip.
    Told {
        rate: String,
        /// Of what comes, where that is another one.
        return_rate: Option<String>,
        round_trip: String,
    },
}

impl Place {
    /// `text` with this in the place of the router `name`, whose hosts are behind the link `lan`.
    fn put(&self, text: &str, name: &str, lan: &str) -> String {
        let gateway = match self {
            Place::Router => return text.to_owned(),
            Place::Gateway => format!("[gateway.{name}]\nlan-links = \"{lan}\""),
            Place::Told { rate, return_rate, round_trip } => {
                let comes = return_rate.as_ref();
                let comes =
                    comes.map_or(String::new(), |rate| format!("return-rate = \"{rate}\", "));
                format!(
                    "[gateway.{name}]\nlan-links = \"{lan}\"\n\
                     satellite = {{ rate = \"{rate}\", {comes}round-trip = \"{round_trip}\" }}"
                )
            }
        };
        text.replace(&format!("[router.{name}]"), &gateway)
    }
}

/// What is run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setup {
    network: &'static str,
    /// At the server's end and at the client's.
    ends: [Place; 2],
    changes: Vec<Change>,
    /// Traces by their names: text.
    files: Vec<(String, String)>,
}

impl Setup {
    /// The network as it stands in its file, end to end.
    pub(super) fn of(network: &'static str) -> Setup {
        Setup {
            network,
            ends: [Place::Router, Place::Router],
            changes: Vec::new(),
            files: Vec::new(),
        }
    }

    /// With a file that the network's changes name.
    pub(super) fn file(mut self, name: &str, text: String) -> Setup {
        self.files.push((name.to_owned(), text));
        self
    }

    /// The field at `path` is `value`.
    pub(super) fn with(mut self, path: &str, value: impl Into<String>) -> Setup {
        self.changes.push(Change::new(path, value));
        self
    }

    /// The transfer with its ends exchanged, and opened by its sender: the client.
    pub(super) fn upload(self) -> Setup {
        self.with("flow.transfer.from", "client")
            .with("flow.transfer.to", "server")
            .with("flow.transfer.opened-by", "from")
    }

    /// These stand at the server's end and at the client's.
    pub(super) fn between(mut self, server: Place, client: Place) -> Setup {
        self.ends = [server, client];
        self
    }

    /// The same at both ends.
    pub(super) fn pair(self, place: &Place) -> Setup {
        self.between(place.clone(), place.clone())
    }

    /// All hosts with this congestion control.
    pub(super) fn hosts(self, control: &str) -> Setup {
        self.with("tcp", format!("linux,congestion={control}"))
    }

    /// Takes down the queue of the satellite link.
    pub(super) fn recorded(self) -> Setup {
        let setup = self.with("record.interval", "5ms").with("record.link", "[\"queue\"]");
        setup.with("record.links", "[\"sat\"]")
    }

    /// The scenario.
    pub(super) fn point(&self) -> Result<Point, DocumentError> {
        let text = self.ends[0].put(self.network, "g1", "server-side");
        let text = self.ends[1].put(&text, "g2", "client-side");
        let read = |name: &str| {
            let file = self.files.iter().find(|(own, _)| own == name);
            file.map(|(_, text)| text.clone()).ok_or_else(|| "no such file".to_owned())
        };
        let experiment = Experiment::parse_changed("network", &text, &self.changes, &read)?;
        Ok(experiment.point(0))
    }
}
