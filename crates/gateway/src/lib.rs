//! The transparent TCP-splitting gateway as a pure state machine.
#![forbid(unsafe_code)]
