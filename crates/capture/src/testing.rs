//! Captures that tests write.
