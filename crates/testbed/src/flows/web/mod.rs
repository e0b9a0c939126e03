//! A page from a real server for a real client: nginx, and what fetches from it.
//!
//! What is simulated is the same page with replies of the same length; what real programs add
//! (headers of replies, TLS) is theirs.

mod chromium;
mod fetch;
mod server;

use super::RETRY;
use super::meter::FlowMeter;
use super::socket::LocalEndpoint;
use crate::browser::Browser;
use bentpipe_core::time::Duration;
use bentpipe_scenario::{Http, HttpVersion, Workload, web::Page};
use fetch::Netscape;
use server::Server;
use std::io;
use std::sync::Arc;

/// How a page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http10,
    Http11,
    Http2,
}

/// A flow whose server is nginx, which listens already.
#[derive(Debug)]
pub(super) struct Web {
    meter: Arc<FlowMeter>,
    browser: Browser,
    protocol: Protocol,
    connections: u32,
    page: Page,
    request: u64,
    client: LocalEndpoint,
    server: Server,
}

impl Web {
    pub(super) fn prepare(
        meter: Arc<FlowMeter>,
        [from, to]: [LocalEndpoint; 2],
        browser: Browser,
        workload: &Workload,
    ) -> io::Result<Web> {
        let (protocol, connections, page, request) = match workload {
            Workload::Http(Http {
                version: HttpVersion::Http10,
                connections,
                page,
                request,
                ..
            }) => (Protocol::Http10, *connections, page, request),
            Workload::Http(Http { connections, page, request, .. }) => {
                (Protocol::Http11, *connections, page, request)
            }
            Workload::Http2(plan) => (Protocol::Http2, 1, &plan.page, &plan.request),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        let request = request.mean_bytes() as u64;
        let server = Server::start(&from, page)?;
        Ok(Web {
            meter,
            browser,
            protocol,
            connections,
            page: page.clone(),
            request,
            client: to,
            server,
        })
    }

    /// Loads the page, once.
    pub(super) fn run(self) {
        let meter = &self.meter;
        loop {
            let transfer = meter.transfer();
            match self.load(transfer) {
                Ok(took) => {
                    meter.delivered(self.page.total().count());
                    meter.complete_after(transfer, self.page.total().count(), took);
                    return meter.finish();
                }
                Err(error) => {
                    meter.failed(&error);
                    if !meter.wait_until(meter.now() + RETRY) {
                        return;
                    }
                }
            }
        }
    }

    /// How long it took.
    fn load(&self, transfer: usize) -> io::Result<Duration> {
        match self.browser {
            Browser::Chromium => {
                chromium::load(&self.meter, &self.client, &self.server.url(self.protocol))
            }
            Browser::Netscape => {
                let begin = self.meter.now();
                let netscape = Netscape {
                    meter: &self.meter,
                    transfer,
                    client: &self.client,
                    server: self.server.address(),
                    protocol: self.protocol,
                    request: self.request,
                };
                netscape.load(self.connections, &self.page)?;
                Ok(self.meter.now().saturating_since(begin))
            }
        }
    }
}
