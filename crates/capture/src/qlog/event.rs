//! The texts of a file, as far as they are used: what else they say is not looked at.

use serde::Deserialize;
use std::borrow::Cow;
use std::net::IpAddr;

/// The first text.
#[derive(Debug, Deserialize)]
pub(super) struct Header<'a> {
    #[serde(borrow)]
    pub(super) file_schema: Cow<'a, str>,
}

/// Which event a text is.
#[derive(Debug, Deserialize)]
pub(super) struct Name<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
}

/// An event.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "D: Deserialize<'de>"))]
pub(super) struct Event<'a, D> {
    /// Milliseconds.
    pub(super) time: f64,
    #[serde(borrow)]
    pub(super) group_id: Option<Cow<'a, str>>,
    pub(super) data: D,
}

/// `tcp:connection_started`.
#[derive(Debug, Deserialize)]
pub(super) struct Started {
    pub(super) local: Address,
    pub(super) remote: Address,
    pub(super) local_isn: Option<u32>,
    pub(super) remote_isn: Option<u32>,
}

/// An end's.
#[derive(Debug, Deserialize)]
pub(super) struct Address {
    pub(super) ip: IpAddr,
    pub(super) port: u16,
}

/// `tcp:segment_sent` and `tcp:segment_received`.
#[derive(Debug, Deserialize)]
pub(super) struct Passed<'a> {
    pub(super) seq: u64,
    pub(super) length: u32,
    pub(super) ack: Option<u64>,
    #[serde(borrow)]
    pub(super) flags: Vec<Cow<'a, str>>,
    pub(super) window: u64,
    #[serde(default)]
    pub(super) sack: Vec<(u64, u64)>,
    #[serde(borrow)]
    pub(super) cause: Option<Cow<'a, str>>,
}

/// `tcp:metrics_updated`. Times are milliseconds.
#[derive(Debug, Deserialize)]
pub(super) struct Metrics {
    pub(super) cwnd: Option<u64>,
    pub(super) ssthresh: Option<u64>,
    pub(super) bytes_in_flight: Option<u64>,
    pub(super) smoothed_rtt: Option<f64>,
    pub(super) rto: Option<f64>,
}

/// `tcp:limiter_updated`.
#[derive(Debug, Deserialize)]
pub(super) struct Limited<'a> {
    #[serde(borrow)]
    pub(super) new: Cow<'a, str>,
}

/// `tcp:events_lost`.
#[derive(Debug, Deserialize)]
pub(super) struct Lost {
    pub(super) count: u64,
}
