//! The parameters in words, from the very declarations by which they are read.

use super::{KEYS, PRESETS};
use crate::tcp::congestion::CongestionAlgorithm;
use crate::tcp::connection::ConnectionConfig;
use crate::tcp::recovery::RecoveryAlgorithm;
use crate::text::{Choice, Setting, Settings};
use std::fmt::Write;

/// All parameters as Markdown: `docs/tcp-parameters.md` behind its introduction.
pub fn markdown() -> String {
    let mut text = String::from(
        "## Parameters\n\n| name | what it does | takes | default | set by | source |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    let default = ConnectionConfig::default();
    for key in KEYS {
        let (name, about, source) = (key.name, key.about, key.source);
        let (takes, usual, presets) = (key.takes, key.value(&default), set_by(key.name));
        let _ =
            writeln!(text, "| `{name}` | {about} | {takes} | `{usual}` | {presets} | {source} |");
    }
    text.push_str(
        "\n## Congestion controls\n\n\
         `congestion = \"vegas:alpha=2,beta=4\"`; in a list of settings with semicolons, \
         `\"linux,congestion=vegas:alpha=2;beta=4\"`.\n\n\
         | name | what it does | parameter | takes | default | meaning |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for control in CongestionAlgorithm::entries() {
        let (name, about) = (control.name, control.about);
        if control.parameters.is_empty() {
            let _ = writeln!(text, "| `{name}` | {about} | | | | |");
        }
        for (place, parameter) in control.parameters.iter().enumerate() {
            let first = if place == 0 { format!("`{name}` | {about}") } else { " |".to_owned() };
            let (key, takes) = (parameter.name, parameter.takes);
            let (usual, meaning) = (&parameter.usual, parameter.about);
            let _ = writeln!(text, "| {first} | `{key}` | {takes} | `{usual}` | {meaning} |");
        }
    }
    let recoveries: Vec<String> =
        RecoveryAlgorithm::ALL.iter().map(|recovery| format!("`{}`", recovery.name())).collect();
    let _ = write!(text, "\n## Loss recoveries\n\n{}.\n", recoveries.join(", "));
    text
}

/// The presets that set `key`, by the value that they give it.
fn set_by(key: &str) -> String {
    let mut values: Vec<(&str, Vec<&str>)> = Vec::new();
    for preset in PRESETS {
        let settings = Settings::read(preset.text);
        let given = settings.iter().find_map(|setting| match setting {
            Setting::Pair(name, value) if name == key => Some(value),
            _ => None,
        });
        let Some(given) = given else { continue };
        match values.iter_mut().find(|(value, _)| *value == given) {
            Some((_, names)) => names.push(preset.name),
            None => values.push((given, vec![preset.name])),
        }
    }
    let groups = values.iter().map(|(value, names)| format!("`{value}`: {}", names.join(", ")));
    groups.collect::<Vec<_>>().join("; ")
}
