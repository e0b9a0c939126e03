//! Defects of files.

use std::fmt;

/// A defect of a trace, or of another program's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignError {
    /// The file, as it was named.
    pub file: Option<String>,
    /// The line's number, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// Why.
    pub why: String,
}

impl ForeignError {
    pub(super) fn in_line(line: usize, why: impl Into<String>) -> ForeignError {
        let line = Some(line).filter(|line| *line > 0);
        ForeignError { file: None, line, why: why.into() }
    }

    pub(super) fn whole(why: impl Into<String>) -> ForeignError {
        ForeignError { file: None, line: None, why: why.into() }
    }

    /// The same defect of the file `name`.
    #[must_use]
    pub fn of(self, name: &str) -> ForeignError {
        ForeignError { file: Some(name.to_owned()), ..self }
    }
}

impl std::error::Error for ForeignError {}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}, line {line}: {}", self.why),
            (Some(file), None) => write!(f, "{file}: {}", self.why),
            (None, Some(line)) => write!(f, "line {line}: {}", self.why),
            (None, None) => f.write_str(&self.why),
        }
    }
}
