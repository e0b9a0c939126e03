//! bentpipe: TCP made fast over satellites.
fn main() {}
