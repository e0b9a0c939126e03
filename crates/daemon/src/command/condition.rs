//! How the process stands beside its connections: whether anything is diverted to it, what of its
//! log was lost, and by which configuration it runs.

use super::diversion;
use super::reload::LastReload;
use crate::bump::DiversionState;
use bentpipe_linux::output::Lost;
use serde_json::{Value, json};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

/// Asks for it.
#[derive(Clone)]
pub(super) struct Condition {
    pub(super) diversion: DiversionState,
    pub(super) lost: Arc<dyn Fn() -> Lost + Send + Sync>,
    pub(super) reload: LastReload,
}

impl Condition {
    /// For people: a line for each thing that there is to say of log and configuration.
    pub(super) fn words(&self) -> String {
        let mut text = String::new();
        if let Some(reloaded) = &*self.reload.lock().unwrap_or_else(PoisonError::into_inner) {
            text += &format!("configuration: {}\n", reloaded.words(SystemTime::now()));
        }
        let Lost { lines, why } = (self.lost)();
        if lines > 0 {
            text += &format!("lines of the log lost: {lines} ({why})\n");
        }
        text
    }

    /// Adds it to what machines are told.
    pub(super) fn add_to(&self, status: &mut Value, observes: bool) {
        diversion::add(&self.diversion, observes, status);
        let reload = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        status["reload"] = reload.as_ref().map_or(Value::Null, super::reload::Reloaded::json);
        let Lost { lines, why } = (self.lost)();
        let why = if lines > 0 { json!(why) } else { Value::Null };
        status["log"] = json!({ "lost_lines": lines, "why": why });
    }

    /// Lines of the log that were lost.
    pub(super) fn lost_lines(&self) -> u64 {
        (self.lost)().lines
    }
}
