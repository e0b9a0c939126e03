//! A user who loads pages, one after the other: the document first, then what it refers to.
//!
//! HTTP/1.0 opens a connection for each object, so many at a time, which the server closes
//! (RFC 1945, 1.3). HTTP/1.1 keeps them and asks on each for one object after the other; pipelined,
//! it asks for all at once, in turn over the connections (RFC 9112, 9.3).

use super::conversation::{Client, Conversations, Exchange, Said};
use super::meter::FlowMeter;
use super::{RETRY, Streams};
use bentpipe_scenario::{Http, HttpVersion};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Loads pages as `plan` says. Random numbers are drawn as the simulator does.
pub(super) fn run(
    meter: &Arc<FlowMeter>,
    conversations: &Conversations,
    plan: &Http,
    rng: &Streams,
) {
    let [mut request, mut delay, mut think] =
        ["request", "server-delay", "think"].map(|what| rng.of(what));
    let mut connections: Vec<Option<Client>> = (0..plan.connections).map(|_| None).collect();
    let mut loaded = 0;
    while plan.pages.is_none_or(|pages| loaded < pages) {
        loaded += 1;
        let mut exchange = |reply: u64| Exchange {
            request: plan.request.sample(&mut request).count(),
            reply,
            delay: plan.server_delay.sample(&mut delay),
        };
        let document = exchange(plan.page.document.count());
        let objects: Vec<Exchange> =
            plan.page.objects.iter().map(|size| exchange(size.count())).collect();
        let transfer = meter.transfer();
        let page = Page { meter, conversations, version: plan.version, transfer };
        let whole = page.load(&mut connections[..1], vec![document])
            && page.load(&mut connections, objects);
        if !whole {
            return;
        }
        meter.complete(transfer, plan.page.total().count());
        let pause = plan.think.sample(&mut think);
        let all = plan.pages == Some(loaded);
        if !all && !meter.wait_until(meter.now() + pause) {
            return;
        }
    }
    drop(connections);
    meter.finish();
}

struct Page<'a> {
    meter: &'a Arc<FlowMeter>,
    conversations: &'a Conversations,
    version: HttpVersion,
    transfer: usize,
}

impl Page<'_> {
    /// Loads `objects` over these connections. False if all is over before.
    fn load(&self, connections: &mut [Option<Client>], objects: Vec<Exchange>) -> bool {
        let count = connections.len();
        if self.version == HttpVersion::Pipelined {
            let mut shares = vec![Vec::new(); count];
            for (index, object) in objects.into_iter().enumerate() {
                shares[index % count].push(object);
            }
            return thread::scope(|scope| {
                let pairs = connections.iter_mut().zip(shares);
                let asking = pairs
                    .map(|(client, share)| scope.spawn(move || self.ask(client, share)))
                    .collect();
                joined(asking)
            });
        }
        let waiting = Mutex::new(VecDeque::from(objects));
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let work = |client: &mut Option<Client>| {
            while let Some(object) = next() {
                if !self.ask(client, vec![object]) {
                    return false;
                }
            }
            true
        };
        let work = &work;
        thread::scope(|scope| {
            let asking = connections.iter_mut().map(|client| scope.spawn(move || work(client)));
            joined(asking.collect())
        })
    }

    /// Asks for these in one piece; again for what is lost with a connection. False if all is over.
    fn ask(&self, client: &mut Option<Client>, mut objects: Vec<Exchange>) -> bool {
        let last = self.version == HttpVersion::Http10;
        while !objects.is_empty() {
            let mut replied = 0;
            let opened = match client.take() {
                Some(client) => Ok(client),
                None => self.conversations.open(),
            };
            let done = opened.and_then(|mut one| {
                one.ask(&objects, last, |_, said| match said {
                    Said::FirstByte => self.meter.first_byte(self.transfer),
                    Said::Replied => replied += 1,
                })?;
                Ok(one)
            });
            objects.drain(..replied);
            match done {
                Ok(one) => *client = Some(one).filter(|_| !last),
                Err(error) => {
                    self.meter.failed(&error);
                    if !self.meter.wait_until(self.meter.now() + RETRY) {
                        return false;
                    }
                }
            }
        }
        true
    }
}

fn joined(threads: Vec<thread::ScopedJoinHandle<'_, bool>>) -> bool {
    let mut all = true;
    for thread in threads {
        all &= thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
    all
}
