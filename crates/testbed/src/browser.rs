//! Browsers that fetch pages from nginx.

use bentpipe_scenario::{HttpVersion, Workload};

/// A browser that fetches pages from nginx.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Browser {
    /// A client of ours that asks as Netscape did: HTTP/1.0 over several connections, each for one
    /// object, or HTTP/1.1 over some that stay open.
    Netscape,
    /// Today's, without a window: HTTP/1.1, or HTTP/2 over TLS.
    Chromium,
}

impl Browser {
    /// Its name, as it is written in a figure's file.
    pub fn name(self) -> &'static str {
        match self {
            Browser::Netscape => "netscape",
            Browser::Chromium => "chromium",
        }
    }

    /// Whether it can load what `workload` says.
    pub fn loads(self, workload: &Workload) -> bool {
        match (self, workload) {
            (Browser::Netscape, Workload::Http(plan)) => plan.version != HttpVersion::Pipelined,
            (Browser::Chromium, Workload::Http(plan)) => plan.version == HttpVersion::Http11,
            (Browser::Chromium, Workload::Http2(_)) => true,
            _ => false,
        }
    }
}
