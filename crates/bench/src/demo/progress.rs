//! Who hears how far the measurements have come.

/// What is shown of them.
pub trait Progress {
    /// A measurement begins.
    fn begin(&mut self, what: &str);
    /// The same measurement has come so far.
    fn update(&mut self, what: &str);
    /// Something has happened in it.
    fn note(&mut self, what: &str);
    /// `what` cannot be measured here.
    fn left_out(&self, what: &str, why: &str);
}
