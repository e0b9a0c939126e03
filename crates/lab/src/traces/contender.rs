//! Contenders: congestion controls of Linux hosts, or a pair of gateways.

use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::tcp::connection::ConnectionConfig;

/// Who is scored if nothing is said.
const USUAL: [&str; 4] = ["cubic", "bbr1", "bbr", "gateways"];

/// Something that is scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contender {
    name: String,
    /// The hosts' TCP; none for gateways between Linux hosts with CUBIC.
    tcp: Option<String>,
}

/// A text is no contender.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is nothing to score: {why} (gateways, or a congestion control such as cubic, or NAME=TCP settings)"
)]
pub struct ContenderError {
    text: String,
    why: String,
}

impl Contender {
    /// CUBIC, both versions of BBR, and gateways.
    pub fn usual() -> Vec<Contender> {
        USUAL.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// The same as from a text alone, where a program brings congestion controls. The experiment
    /// knows whether they take such parameters.
    ///
    /// # Errors
    /// It is no contender.
    pub fn read(text: &str, own: &[String]) -> Result<Contender, ContenderError> {
        let (name, tcp) = named(text);
        let contender = Contender { name: name.to_owned(), tcp: Some(tcp) };
        match own.iter().any(|control| contender.uses(control)) {
            true => Ok(contender),
            false => text.parse(),
        }
    }

    /// Says whether its hosts have this congestion control, with parameters or without.
    pub fn uses(&self, control: &str) -> bool {
        let settings = self.tcp.iter().flat_map(|tcp| tcp.split(','));
        settings.filter_map(|setting| setting.strip_prefix("congestion=")).any(|used| {
            let name = used.split(':').next().unwrap_or(used);
            name == control
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its variant of the scenario.
    pub(super) fn variant(&self) -> String {
        let alone = "\"gateway.g1.split\" = false, \"gateway.g2.split\" = false";
        let set = match &self.tcp {
            Some(tcp) => format!("set = {{ tcp = \"{tcp}\", {alone} }}\n"),
            None => String::new(),
        };
        format!("[[variant]]\nname = \"{}\"\n{set}", self.name)
    }
}

impl std::str::FromStr for Contender {
    type Err = ContenderError;

    /// `gateways`; a congestion control, `bbr`; or a name and a host's settings,
    /// `old=linux,congestion=standard`.
    fn from_str(text: &str) -> Result<Contender, ContenderError> {
        let wrong = |why: String| ContenderError { text: text.to_owned(), why };
        if text == "gateways" {
            return Ok(Contender { name: text.to_owned(), tcp: None });
        }
        let (name, tcp) = named(text);
        if name == text {
            text.parse::<CongestionAlgorithm>().map_err(|error| wrong(error.to_string()))?;
        }
        if name.is_empty() || name.contains(['"', '\\', '\n']) {
            return Err(wrong("its name cannot stand in a table".to_owned()));
        }
        tcp.parse::<ConnectionConfig>().map_err(|error| wrong(error.to_string()))?;
        Ok(Contender { name: name.to_owned(), tcp: Some(tcp) })
    }
}

/// Its name, and the hosts' settings: `mine=linux,iw=40`, or a congestion control.
fn named(text: &str) -> (&str, String) {
    match text.split_once('=') {
        // Parameters of a congestion control have signs, too: `scalable:b=0.2`.
        Some((name, tcp)) if !name.contains(':') => (name, tcp.to_owned()),
        _ => (text, format!("linux,congestion={}", text.replace(',', ";"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_are_controls_settings_or_gateways() {
        let of = |text: &str| text.parse::<Contender>();
        assert!(of("gateways").unwrap().variant().ends_with("name = \"gateways\"\n"));
        let bbr = of("bbr").unwrap().variant();
        assert!(bbr.contains("tcp = \"linux,congestion=bbr\""), "{bbr}");
        let scalable = of("scalable:a=0.02,b=0.2").unwrap();
        assert!(scalable.variant().contains("congestion=scalable:a=0.02;b=0.2"));
        assert_eq!(of("old=linux,congestion=standard").unwrap().name(), "old");
        for wrong in ["cubik", "x=linux,congestion=cubik", "=linux"] {
            assert!(of(wrong).unwrap_err().to_string().contains(wrong), "{wrong}");
        }
        assert_eq!(Contender::usual().len(), USUAL.len());
    }

    #[test]
    fn a_programs_own_control_is_taken_by_its_name() {
        let own = ["mine".to_owned()];
        for text in ["mine", "mine:gain=2,slow=on", "other=linux,iw=4,congestion=mine:gain=2"] {
            assert!(Contender::read(text, &own).unwrap().uses("mine"), "{text}");
            assert!(Contender::read(text, &[]).is_err(), "{text}");
        }
        let mine = Contender::read("mine:gain=2,slow=on", &own).unwrap();
        assert!(mine.variant().contains("tcp = \"linux,congestion=mine:gain=2;slow=on\""));
        assert!(!Contender::read("cubic", &own).unwrap().uses("mine"));
    }
}
