//! Captures as pages and still figures: which of their connections, in which form, and with what
//! the run that they are of has recorded.

mod choice;
mod figure;
mod graphs;
mod matched;
mod opened;
mod page;
mod points;
mod series;
mod still;

pub use choice::{Chosen, Order, choose, first_for_page, first_for_still, sort};
pub use graphs::{page_of_run, write as write_graphs};
pub use matched::matched;
pub use opened::{Opened, lacks, open};
pub use page::{PageView, page};
pub use points::write as write_points;
pub use still::still;

use figure::COLUMNS_MAX;

use crate::drawing::DrawError;
use bentpipe_capture::{Connection, Direction, ReadError};
use std::io;

/// Hears what is left out of a capture, as one line.
pub type Warn<'a> = &'a dyn Fn(&str);

/// Why captures are not drawn.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// One cannot be opened or read.
    #[error("{path}: {why}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        why: ReadError,
    },
    /// One is read, and nothing is to be drawn.
    #[error("{path}: {why}")]
    Nothing {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// What was chosen.
    #[error("{0}")]
    Choice(String),
    /// A page cannot be written.
    #[error("{path}: {why}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        why: io::Error,
    },
    /// Where points are written to.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The series of the run that a capture is of.
    #[error(transparent)]
    Series(#[from] DrawError),
}

/// The direction that sent most, or the other one.
#[must_use]
pub fn direction(connection: &Connection, reverse: bool) -> Direction {
    let main = connection.main_direction();
    if reverse { main.reverse() } else { main }
}
