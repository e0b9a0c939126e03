//! How a queue is read, from a text or from the pairs of a table.

use super::LinkTextError;
use crate::link::discipline::LimitContext;
use crate::link::{Line, QueueKind, QueueLimit, QueueName};
use crate::text::{Parameters, TextError};
use std::str::FromStr;

impl FromStr for QueueKind {
    type Err = LinkTextError;
    fn from_str(text: &str) -> Result<QueueKind, LinkTextError> {
        QueueKind::of_text(text, None, None)
    }
}

impl QueueKind {
    /// The queue that `text` describes: a limit alone, which is a drop-tail queue's, or a name with
    /// parameters. Limits may refer to a `line`, if there is one; what has none gets the `usual`
    /// one, or else its discipline's.
    ///
    /// # Errors
    /// [`LinkTextError`].
    pub fn of_text(
        text: &str,
        line: Option<Line>,
        usual: Option<QueueLimit>,
    ) -> Result<QueueKind, LinkTextError> {
        let text = text.trim();
        let begins_with_a_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if text == "unlimited" || begins_with_a_number {
            if let Some(limit) = QueueLimit::of_text(text, line) {
                return Ok(QueueKind::DropTail(limit));
            }
            // Its error says what is wrong; or it is a limit, but of nothing.
            text.parse::<QueueLimit>()?;
        }
        let given = Parameters::read(text);
        let name = given.kind("queue").map_err(|error| match error {
            TextError::Name { what, name, .. } => {
                LinkTextError::Name { what, name, expected: forms() }
            }
            error => error.into(),
        })?;
        Ok(QueueKind::of_parameters(name, given, line, usual)?)
    }

    /// The queue of this `name` with what was given of its parameters, as
    /// [`of_text`](Self::of_text) reads them.
    ///
    /// # Errors
    /// [`TextError`].
    pub fn of_parameters(
        name: QueueName,
        mut given: Parameters<'_>,
        line: Option<Line>,
        usual: Option<QueueLimit>,
    ) -> Result<QueueKind, TextError> {
        let kind = name.read(&mut given, LimitContext { line, usual })?;
        given.finish(kind)
    }
}

/// Texts of queues: a limit in each unit, and an example of each discipline.
fn forms() -> String {
    let limits = ["420packets", "500KB", "1bdp", "unlimited"].map(str::to_owned);
    let examples = QueueKind::entries().into_iter().map(|entry| entry.example.to_owned());
    let quoted: Vec<String> =
        limits.into_iter().chain(examples).map(|form| format!("`{form}`")).collect();
    let (last, others) = quoted.split_last().expect("there are limits");
    format!("{} or {last}", others.join(", "))
}

/// The name that a queue's text begins with.
impl std::fmt::Display for QueueName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use crate::text::Choice;
        f.write_str(self.name())
    }
}
