//! TCP settings in files: a preset's text, or a table whose keys are the core's parameters.
//!
//! Settings are layered: the scenario's `tcp`, a host's, a flow's. A layer that names a preset
//! begins anew; one that does not only changes what it says.

use crate::document::{Entry, Node, Table, Value};
use crate::reader::{Context, FromNode, Result};
use bentpipe_core::tcp::congestion::{CongestionAlgorithm, External};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::presets::KEYS;
use bentpipe_core::text::{Setting, Settings};
use bentpipe_gateway::{LegConfig, LegError};

/// One layer of settings.
#[derive(Debug, Clone, Default)]
pub struct TcpLayer {
    /// Where to begin; `None`: with the layer below.
    base: Option<ConnectionConfig>,
    changes: Vec<Change>,
}

/// One setting.
#[derive(Debug, Clone)]
enum Change {
    /// A key of the core's, and its value.
    Setting(String, String),
    /// The congestion control, which is none of the core's.
    External(External),
}

impl FromNode for TcpLayer {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<TcpLayer> {
        match &node.value {
            Value::Text(text) => TcpLayer::of_text(context, node, text),
            Value::Table(table) => {
                let mut layer = match table.get("preset") {
                    Some(preset) => {
                        let text = String::from_node(context, preset)?;
                        TcpLayer::of_text(context, preset, &text)?
                    }
                    None => TcpLayer::default(),
                };
                layer.take(context, "", table)?;
                Ok(layer)
            }
            _ => {
                Err(context.type_error(node, "a preset's text such as \"linux,iw=4\", or a table"))
            }
        }
    }
}

impl TcpLayer {
    /// `linux,iw=4` begins with a preset; `iw=4` changes what the layers below say.
    fn of_text(context: &Context<'_>, node: &Node, text: &str) -> Result<TcpLayer> {
        let mut layer = TcpLayer::default();
        for setting in Settings::read(text).iter() {
            match setting {
                Setting::Base(name) => {
                    let base =
                        name.parse().map_err(|why| context.value_error(node, format!("{why}")))?;
                    layer.base = Some(base);
                }
                Setting::Pair(key, value) => layer.change(context, node, key, value)?,
                Setting::Stray(text) => {
                    let why = format!("`{text}` is not of the form key=value");
                    return Err(context.value_error(node, why));
                }
            }
        }
        Ok(layer)
    }

    /// Takes a table's keys; an inner table is the part of a key before its dot (`rto.min`).
    fn take(&mut self, context: &Context<'_>, prefix: &str, table: &Table) -> Result<()> {
        for entry in &table.entries {
            let key = format!("{prefix}{}", entry.key);
            if key == "preset" {
                continue;
            }
            if let Value::Table(inner) = &entry.node.value {
                self.take(context, &format!("{key}."), inner)?;
                continue;
            }
            let value = entry.node.scalar();
            let value = value.ok_or_else(|| context.type_error(&entry.node, "one value"))?;
            if !KEYS.iter().any(|known| known.name == key) {
                let known = KEYS.iter().map(|key| key.name);
                let entry = Entry { key, ..entry.clone() };
                return Err(context.unknown_key(&entry, "the TCP settings", known));
            }
            self.change(context, &entry.node, &key, &value)?;
        }
        Ok(())
    }

    fn change(&mut self, context: &Context<'_>, node: &Node, key: &str, value: &str) -> Result<()> {
        if key == "congestion"
            && let Some(control) = context.external_control(node, value)
        {
            self.changes.push(Change::External(control?));
            return Ok(());
        }
        let mut trial = ConnectionConfig::default();
        trial.set(key, value).map_err(|why| {
            context.value_error(node, context.with_own_controls(key, why.to_string()))
        })?;
        self.changes.push(Change::Setting(key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// A gateway's leg, changed by this layer.
    pub(crate) fn over_leg(&self, leg: LegConfig) -> std::result::Result<LegConfig, LegError> {
        let mut leg = leg;
        if let Some(preset) = &self.base {
            leg.begin_with(preset);
        }
        for change in &self.changes {
            match change {
                Change::Setting(key, value) => leg.set(key, value)?,
                Change::External(control) => {
                    leg.choose_congestion(CongestionAlgorithm::External(*control));
                }
            }
        }
        Ok(leg)
    }

    /// `below`, changed by this layer.
    ///
    /// # Panics
    /// Never: each change was tried when it was read.
    pub fn over(&self, below: ConnectionConfig) -> ConnectionConfig {
        let mut config = self.base.unwrap_or(below);
        for change in &self.changes {
            match change {
                Change::Setting(key, value) => {
                    config.set(key, value).expect("each change was tried when it was read");
                }
                Change::External(control) => {
                    config.sender.congestion = CongestionAlgorithm::External(*control);
                }
            }
        }
        config
    }
}
