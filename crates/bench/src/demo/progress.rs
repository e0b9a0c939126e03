//! The listener that hears how far the downloads have come.

/// What is shown of them.
pub trait Progress {
    /// A download begins.
    fn begin(&mut self, what: &str);
    /// The same download has come so far.
    fn update(&mut self, what: &str);
    /// Something has happened in it.
    fn note(&mut self, what: &str);
    /// `what` cannot be had here.
    fn left_out(&self, what: &str, why: &str);
}
