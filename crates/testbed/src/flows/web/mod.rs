//! A page from a real server for a real client: nginx, and what fetches from it.
//!
//! What is simulated is the same page with replies of the same length; what real programs add
//! (headers of replies, TLS) is theirs.

mod chromium;
mod fetch;
mod server;

use super::RETRY;
use super::record::FlowRecord;
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
    record: Arc<FlowRecord>,
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
        record: Arc<FlowRecord>,
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
            record,
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
        let record = &self.record;
        loop {
            let transfer = record.transfer();
            match self.load(transfer) {
                Ok(took) => {
                    record.delivered(self.page.total().count());
                    record.complete_after(transfer, self.page.total().count(), took);
                    return record.finish();
                }
                Err(error) => {
                    record.failed(&error);
                    if !record.wait_until(record.now() + RETRY) {
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
                chromium::load(&self.record, &self.client, &self.server.url(self.protocol))
            }
            Browser::Netscape => {
                let begin = self.record.now();
                let netscape = Netscape {
                    record: &self.record,
                    transfer,
                    client: &self.client,
                    server: self.server.address(),
                    protocol: self.protocol,
                    request: self.request,
                };
                netscape.load(self.connections, &self.page)?;
                Ok(self.record.now().saturating_since(begin))
            }
        }
    }
}
