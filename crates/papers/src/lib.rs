//! The papers that bentpipe comes from, made executable.
//!
//! `papers/` has a folder for each paper and a file for each figure or table: the experiments that
//! it takes, how it is drawn, and the paper's claims about it as data ([`catalogue`]). [`run`]
//! makes the experiments and measures what the claims speak of, [`verdict`] compares that with what
//! each claim accepts, and [`report`] writes it all down: which claims hold, and which do not.
#![forbid(unsafe_code)]

pub mod artifact;
pub mod catalogue;
pub mod functions;
pub mod judge;
pub mod live;
mod numbers;
pub mod report;
pub mod run;
mod samples;
pub mod sensitivity;
mod significant;
pub mod tested;
pub mod verdict;
