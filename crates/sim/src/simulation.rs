//! A world and the workloads that use it.

use crate::host::SessionKey;
use crate::packet::{Content, Datagram, Echo};
use crate::record::{Records, SequenceLog};
use crate::stream::Stream;
use crate::workload::Workload;
use crate::world::{End, NodeId, World};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// A world, workloads that open its connections, and their clock.
#[derive(Debug, Default)]
pub struct Simulation {
    net: Net,
    workloads: Vec<Option<Box<dyn Workload>>>,
    started: bool,
    sequence: Option<SequenceLog>,
}

/// What a workload acts upon.
#[derive(Debug, Default)]
pub struct Net {
    world: World<Stream>,
    /// What flows have done.
    pub records: Records,
    /// Moment, order of setting, workload, and the workload's own mark.
    timers: BTreeSet<(Instant, u64, usize, u64)>,
    timers_set: u64,
    /// Whose turn it is.
    owner: usize,
    /// By host: the last port given to an outgoing connection.
    ports: BTreeMap<NodeId, u16>,
    /// Who asked, by the identifier of its pings.
    pinging: BTreeMap<(NodeId, u16), usize>,
}

impl Net {
    /// The time.
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// The world, for a look.
    pub fn world(&self) -> &World<Stream> {
        &self.world
    }

    /// Opens a connection from host `from` to `port` of host `to`. Its notices bear `tag`.
    pub fn open(
        &mut self,
        from: NodeId,
        to: NodeId,
        port: u16,
        config: ConnectionConfig,
        tag: u64,
    ) -> End {
        let key = self.free_key(from, to, port);
        self.world.open(from, key, config, Stream::new(self.owner, tag))
    }

    /// Listens on `port` of `host`. Notices of the connections that come bear `tag`.
    pub fn listen(&mut self, host: NodeId, port: u16, config: ConnectionConfig, tag: u64) {
        let stream = Stream::new(self.owner, tag);
        self.world.host_mut(host).serve(port, config, None, stream);
    }

    /// The name of a connection, seen from `end`: own port, peer, peer's port.
    pub fn key(&self, end: End) -> Option<SessionKey> {
        self.world.host(end.host).key(end.slot)
    }

    /// The end of a connection at `host`, by its name there.
    pub fn end(&self, host: NodeId, key: &SessionKey) -> Option<End> {
        self.world.host(host).slot(key).map(|slot| End { host, slot })
    }

    /// Gives the end to another mark.
    pub fn mark(&mut self, end: End, tag: u64) {
        self.world.with(end, |stream, _| stream.tag = tag);
    }

    /// Sends `bytes` more from `end`.
    pub fn send(&mut self, end: End, bytes: u64) {
        self.world.with(end, |stream, _| stream.send(bytes));
    }

    /// Gives notice when `end` has read `bytes` in all.
    pub fn expect(&mut self, end: End, bytes: u64) {
        self.world.with(end, |stream, _| stream.expect(bytes));
    }

    /// Closes `end` after what it still has to send.
    pub fn close(&mut self, end: End) {
        self.world.with(end, |stream, _| stream.close());
    }

    /// Resets the connection of `end`.
    pub fn abort(&mut self, end: End) {
        self.world.with(end, |_, connection| connection.abort());
    }

    /// Calls [`Workload::on_timer`] at `at`, with `mark`.
    pub fn wake(&mut self, at: Instant, mark: u64) {
        self.timers_set += 1;
        self.timers.insert((at, self.timers_set, self.owner, mark));
    }

    /// Sends a UDP datagram of `len` payload bytes to `port` of host `to`.
    pub fn datagram(&mut self, from: NodeId, to: NodeId, port: u16, len: u16) {
        let dst = self.world.host(to).address();
        let content = Content::Udp(Datagram { src_port: port, dst_port: port, len });
        self.world.emit(from, dst, content);
    }

    /// Sends a ping of `len` payload bytes. The answer comes back to [`Workload::on_echo`].
    pub fn ping(&mut self, from: NodeId, to: NodeId, identifier: u16, sequence: u16, len: u16) {
        self.pinging.insert((from, identifier), self.owner);
        let dst = self.world.host(to).address();
        self.world.emit(from, dst, Content::Echo(Echo { reply: false, identifier, sequence, len }));
    }

    /// The next port of the ephemeral range (RFC 6335) that is free towards this peer.
    fn free_key(&mut self, from: NodeId, to: NodeId, port: u16) -> SessionKey {
        let peer = self.world.host(to).address();
        let last = self.ports.entry(from).or_insert(49_151);
        for _ in 49_152..=u16::MAX {
            *last = last.checked_add(1).unwrap_or(49_152);
            let key = (*last, peer, port);
            if self.world.host(from).slot(&key).is_none() {
                return key;
            }
        }
        panic!("host {from} has no free port towards {peer}:{port}");
    }
}

impl Simulation {
    /// Nothing has happened yet in `world`.
    pub fn new(world: World<Stream>) -> Simulation {
        Simulation { net: Net { world, ..Net::default() }, ..Simulation::default() }
    }

    /// Adds a workload; returns its number.
    pub fn add(&mut self, workload: impl Workload + 'static) -> usize {
        self.workloads.push(Some(Box::new(workload)));
        self.workloads.len() - 1
    }

    /// What the flows have done.
    pub fn records(&self) -> &Records {
        &self.net.records
    }

    /// What the flows have done, to add flows.
    pub fn records_mut(&mut self) -> &mut Records {
        &mut self.net.records
    }

    /// The world, to break something in it.
    pub fn world_mut(&mut self) -> &mut World<Stream> {
        &mut self.net.world
    }

    /// The world.
    pub fn world(&self) -> &World<Stream> {
        &self.net.world
    }

    /// Takes down the segments and acknowledgments of flows from now on.
    pub(crate) fn record_sequence(&mut self, log: SequenceLog) {
        self.net.world.tap();
        self.sequence = Some(log);
    }

    /// What was taken down.
    pub(crate) fn take_sequence(&mut self) -> Option<SequenceLog> {
        self.sequence.take()
    }

    /// A workload, by its number.
    pub fn workload(&self, number: usize) -> &dyn Workload {
        self.workloads[number].as_deref().expect("none is at work between two steps")
    }

    /// Runs up to the moment `until`. False if nothing is left to happen.
    pub fn run(&mut self, until: Instant) -> bool {
        if !self.started {
            self.started = true;
            self.net.world.start();
            for owner in 0..self.workloads.len() {
                self.call(owner, |workload, net| workload.start(net));
            }
            self.notify();
        }
        loop {
            let timer = self.net.timers.first().map(|&(at, ..)| at);
            let event = self.net.world.next_event();
            // What the network does at a moment comes before what workloads do.
            match (event, timer) {
                (Some(event), timer) if event <= until && timer.is_none_or(|at| event <= at) => {
                    self.net.world.step(event);
                }
                (_, Some(at)) if at <= until => {
                    let (at, _, owner, mark) =
                        self.net.timers.pop_first().expect("one was just seen");
                    self.net.world.advance(at);
                    self.call(owner, |workload, net| workload.on_timer(net, mark));
                }
                (event, timer) => {
                    self.net.world.advance(until);
                    return event.is_some() || timer.is_some();
                }
            }
            self.notify();
        }
    }

    /// Tells the workloads what has happened, until nothing is left to tell.
    fn notify(&mut self) {
        loop {
            if let Some((end, (owner, tag, notice))) = self.net.world.poll_notice() {
                self.call(owner, |workload, net| workload.on_notice(net, end, tag, notice));
            } else if let Some((end, stream, connection)) = self.net.world.poll_departed() {
                self.net.records.depart(end, &stream, &connection);
            } else if let Some((host, at, echo)) = self.net.world.poll_echo() {
                if let Some(&owner) = self.net.pinging.get(&(host, echo.identifier)) {
                    self.call(owner, |workload, net| workload.on_echo(net, at, echo));
                }
            } else {
                break;
            }
        }
        if let Some(log) = &mut self.sequence {
            log.take_down(&mut self.net.world, &self.net.records);
        }
    }

    fn call(&mut self, owner: usize, act: impl FnOnce(&mut dyn Workload, &mut Net)) {
        // Out of its place, so that it may act upon everything else.
        let mut workload = self.workloads[owner].take().expect("one acts at a time");
        self.net.owner = owner;
        act(workload.as_mut(), &mut self.net);
        self.workloads[owner] = Some(workload);
    }
}
