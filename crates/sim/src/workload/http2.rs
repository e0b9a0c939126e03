//! Pages over one connection that carries many requests at a time (HTTP/2, RFC 9113): their replies
//! are interleaved in frames.
//!
//! Modelled are: one connection for all pages; requests at once, up to a number of concurrent
//! streams; replies in frames with their headers, in turns; a server that hands its TCP only so
//! much ahead of what is sent, so that a reply that is ready later does not wait for all of those
//! before. Not modelled are: priorities, server push, flow control windows (as with clients that
//! open theirs wide), the compression of headers (sizes of requests are as they are sent), TLS.

use super::multiplex::Multiplexer;
use super::{AGAIN, FlowEnds, RETRY, Workload, next_moment};
use crate::measurement::{Role, TransferId};
use crate::simulation::{Call, Net, Service};
use crate::stream::Notice;
use crate::world::Endpoint;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_scenario as scenario;
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, VecDeque};

/// Pages loaded by HTTP/2.
#[derive(Debug)]
pub struct Http2 {
    ends: FlowEnds,
    plan: scenario::Http2,
    rng: Http2Rng,
    connection: Option<Connection>,
    page: Page,
    begun: u64,
    /// When the loading of the page began.
    since: Instant,
    /// Connections opened so far.
    opened: u64,
}

/// An HTTP/2 flow's random numbers.
#[derive(Debug)]
pub struct Http2Rng {
    /// Of requests' sizes.
    pub request: Pcg64Mcg,
    /// Of the server's delays.
    pub delay: Pcg64Mcg,
    /// Of the user's pauses.
    pub think: Pcg64Mcg,
}

/// A request and its reply.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    request: u64,
    reply: u64,
    delay: Duration,
}

/// A page that is being loaded.
#[derive(Debug, Default)]
struct Page {
    transfer: Option<TransferId>,
    bytes: u64,
    /// What can be asked for now.
    waiting: VecDeque<Exchange>,
    /// What the document refers to, before it has come.
    objects: Vec<Exchange>,
    /// What has not come.
    left: usize,
}

/// The connection and what is on its way.
#[derive(Debug)]
struct Connection {
    number: u64,
    client: Endpoint,
    server: Option<Endpoint>,
    /// Bytes of all requests.
    requested: u64,
    /// Where the requests on their way end.
    asked: VecDeque<(u64, u64)>,
    /// What has been asked for and has not come, by number.
    open: BTreeMap<u64, Exchange>,
    numbered: u64,
    replies: Multiplexer<u64>,
    /// Bytes of all frames.
    composed: u64,
    /// What the client waits for: from so many bytes on.
    boundaries: VecDeque<(u64, ReplyBoundary)>,
}

#[derive(Debug, Clone, Copy)]
enum ReplyBoundary {
    /// The first byte of a reply.
    First,
    /// This reply is whole.
    Whole(u64),
}

const CLIENT: u64 = 0;
const SERVER: u64 = 1;
/// The timer of the next page. Those of replies are their numbers, with the connection's.
const NEXT: u64 = AGAIN + 1;
const EXCHANGES: u64 = 1 << 32;

impl Http2 {
    /// Loads pages as `plan` says.
    pub fn new(ends: FlowEnds, plan: scenario::Http2, rng: Http2Rng) -> Http2 {
        let (page, since) = (Page::default(), Instant::ZERO);
        Http2 { ends, plan, rng, connection: None, page, begun: 0, since, opened: 0 }
    }

    fn exchange(&mut self, reply: u64) -> Exchange {
        Exchange {
            request: self.plan.request.sample(&mut self.rng.request).count().max(1),
            reply: reply.max(1),
            delay: self.plan.server_delay.sample(&mut self.rng.delay),
        }
    }

    fn load(&mut self, net: &mut Net) {
        self.begun += 1;
        self.since = net.now();
        let document = self.exchange(self.plan.page.document.count());
        let sizes: Vec<u64> = self.plan.page.objects.iter().map(|size| size.count()).collect();
        let objects: Vec<_> = sizes.into_iter().map(|size| self.exchange(size)).collect();
        self.page = Page {
            transfer: Some(net.meters.begin(net.now(), self.ends.flow)),
            bytes: document.reply + objects.iter().map(|object| object.reply).sum::<u64>(),
            waiting: VecDeque::from([document]),
            left: 1 + objects.len(),
            objects,
        };
        self.ask(net);
    }

    /// Asks for as much of what waits as may be.
    fn ask(&mut self, net: &mut Net) {
        let busy = self.connection.as_ref().map_or(0, |connection| connection.open.len());
        let room = (self.plan.streams as usize).saturating_sub(busy).min(self.page.waiting.len());
        let share: Vec<Exchange> = self.page.waiting.drain(..room).collect();
        if share.is_empty() {
            return;
        }
        let bytes = share.iter().map(|exchange| exchange.request).sum();
        if let Some(connection) = &mut self.connection {
            net.send(connection.client, bytes);
        } else {
            self.connection = Some(self.open(net, bytes));
        }
        let Some(connection) = &mut self.connection else { return };
        for exchange in share {
            connection.numbered += 1;
            connection.requested += exchange.request;
            connection.asked.push_back((connection.requested, connection.numbered));
            connection.open.insert(connection.numbered, exchange);
        }
        connection.listen(net);
    }

    fn open(&mut self, net: &mut Net, send: u64) -> Connection {
        self.opened += 1;
        let FlowEnds { flow, from, to, tcp_from, tcp_to } = self.ends;
        let number = self.opened;
        let client = net.open(Call {
            from: to,
            to: from,
            // What a Web cache on the way could not read.
            service: Service::Other,
            tcp: [tcp_to, tcp_from],
            tags: [number << 1 | CLIENT, number << 1 | SERVER],
            send,
            close: false,
        });
        net.meters.attach(client, flow, Role::Sink);
        Connection {
            number,
            client,
            server: None,
            requested: 0,
            asked: VecDeque::new(),
            open: BTreeMap::new(),
            numbered: 0,
            replies: Multiplexer::new(self.plan.frame.count()),
            composed: 0,
            boundaries: VecDeque::new(),
        }
    }

    /// The server has read so much.
    fn on_request(&mut self, net: &mut Net, read: u64) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(&(_, number)) = connection.asked.front().filter(|(end, _)| *end <= read) {
            connection.asked.pop_front();
            let delay = connection.open.get(&number).map_or(Duration::ZERO, |asked| asked.delay);
            if delay.is_zero() {
                connection.ready(number);
            } else {
                net.set_timer(net.now() + delay, connection.number * EXCHANGES + number);
            }
        }
        connection.listen(net);
        connection.feed(net, self.plan.ahead.count());
    }

    /// The client has read so much.
    fn on_reply(&mut self, net: &mut Net, read: u64) {
        while let Some(connection) = &mut self.connection
            && let Some(&(_, boundary)) =
                connection.boundaries.front().filter(|(from, _)| *from <= read)
        {
            connection.boundaries.pop_front();
            match boundary {
                ReplyBoundary::First => {
                    if let Some(transfer) = self.page.transfer {
                        net.meters.first_byte(net.now(), transfer);
                    }
                }
                ReplyBoundary::Whole(number) => {
                    connection.open.remove(&number);
                    self.page.left -= 1;
                    self.page.waiting.extend(self.page.objects.drain(..));
                    if self.page.left == 0 {
                        return self.complete(net);
                    }
                    self.ask(net);
                }
            }
        }
        if let Some(connection) = &self.connection {
            connection.expect(net);
        }
    }

    fn complete(&mut self, net: &mut Net) {
        if let Some(transfer) = self.page.transfer.take() {
            net.meters.complete(net.now(), transfer, self.page.bytes);
        }
        if self.plan.pages == Some(self.begun) {
            if let Some(connection) = self.connection.take() {
                net.close(connection.client);
            }
            return net.meters.finish(net.now(), self.ends.flow);
        }
        let think = self.plan.think.sample(&mut self.rng.think);
        match next_moment(net.now(), self.since, think) {
            at if at <= net.now() => self.load(net),
            at => net.set_timer(at, NEXT),
        }
    }

    /// The connection has broken: what has not come is asked for again on another.
    fn on_break(&mut self, net: &mut Net) {
        let Some(connection) = self.connection.take() else { return };
        connection.quit(net);
        let mut lost: VecDeque<Exchange> = connection.open.into_values().collect();
        lost.append(&mut self.page.waiting);
        self.page.waiting = lost;
        net.set_timer(net.now() + RETRY, AGAIN);
    }
}

impl Connection {
    /// The server waits for the next request.
    fn listen(&self, net: &mut Net) {
        if let (Some(server), Some((end, _))) = (self.server, self.asked.front()) {
            net.expect(server, *end);
        }
    }

    /// The client waits for the next thing that matters.
    fn expect(&self, net: &mut Net) {
        if let Some((from, _)) = self.boundaries.front() {
            net.expect(self.client, *from);
        }
    }

    /// The server has this reply.
    fn ready(&mut self, number: u64) {
        if let Some(exchange) = self.open.get(&number) {
            self.replies.add(number, exchange.reply);
        }
    }

    /// The server hands over frames until so many bytes wait to be sent.
    fn feed(&mut self, net: &mut Net, ahead: u64) {
        let Some(server) = self.server else { return };
        let waited = !self.boundaries.is_empty();
        while net.unsent(server).is_some_and(|unsent| unsent < ahead)
            && let Some(frame) = self.replies.next()
        {
            if self.composed == 0 {
                self.boundaries.push_back((1, ReplyBoundary::First));
            }
            self.composed += frame.len;
            self.boundaries
                .extend(frame.ends.map(|number| (self.composed, ReplyBoundary::Whole(number))));
            net.send(server, frame.len);
        }
        if !self.replies.is_empty() {
            net.watch_room(server, ahead);
        }
        if !waited {
            self.expect(net);
        }
    }

    fn quit(&self, net: &mut Net) {
        net.quit(self.client);
        if let Some(server) = self.server {
            net.quit(server);
        }
    }
}

impl Workload for Http2 {
    fn start(&mut self, net: &mut Net) {
        self.load(net);
    }

    fn stop(&mut self, net: &mut Net) {
        if let Some(connection) = self.connection.take() {
            connection.quit(net);
        }
    }

    fn on_timer(&mut self, net: &mut Net, mark: u64) {
        match (mark, &mut self.connection) {
            (NEXT, _) => self.load(net),
            (AGAIN, _) => self.ask(net),
            (mark, Some(connection)) if mark / EXCHANGES == connection.number => {
                connection.ready(mark % EXCHANGES);
                connection.feed(net, self.plan.ahead.count());
            }
            _ => {}
        }
    }

    fn on_notice(&mut self, net: &mut Net, end: Endpoint, tag: u64, notice: Notice) {
        let (number, at_server) = (tag >> 1, tag & 1 == SERVER);
        if notice == Notice::Begun && at_server {
            net.meters.attach(end, self.ends.flow, Role::Source);
        }
        let current = self.connection.as_mut().filter(|connection| connection.number == number);
        let Some(connection) = current else {
            if notice == Notice::PeerClosed {
                net.close(end);
            }
            return;
        };
        match notice {
            Notice::Begun if at_server => {
                connection.server = Some(end);
                connection.listen(net);
            }
            Notice::Received(read) if at_server => self.on_request(net, read),
            Notice::Received(read) => self.on_reply(net, read),
            Notice::Room => connection.feed(net, self.plan.ahead.count()),
            Notice::PeerClosed => net.close(end),
            Notice::Reset | Notice::TimedOut | Notice::Gone => self.on_break(net),
            _ => {}
        }
    }
}
