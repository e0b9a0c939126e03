//! One direction of a cable between two nodes: a [`Link`] and the faults behind it.

use crate::packet::{Body, Content, Mark, Packet};
use bentpipe_core::link::{Count, Counters, Link, LinkConfig};
use bentpipe_core::time::{Duration, Instant, earliest};
use bentpipe_core::units::Probability;
use bentpipe_links::{Fate, Impaired};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::ops::Range;

/// What else befalls packets, apart from the link's own losses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    /// A packet arrives twice.
    pub duplicate: Probability,
    /// A packet is held up, by up to `jitter`, so that others overtake it.
    pub reorder: Probability,
    /// How long it is held up at most.
    pub jitter: Duration,
    /// One bit of a packet is turned over; checksums find it, or it does not matter.
    pub corrupt: Probability,
    /// While this lasts nothing arrives.
    pub outages: Vec<Range<Instant>>,
    /// Every TCP packet is written as bytes and read back, and must come out as it went in.
    pub through_bytes: bool,
}

impl Faults {
    /// Whether packets may arrive in other ways than the link alone decides.
    fn any(&self) -> bool {
        let likely = |probability: Probability| probability.value() > 0.0;
        likely(self.duplicate)
            || likely(self.reorder)
            || likely(self.corrupt)
            || !self.outages.is_empty()
            || self.through_bytes
    }
}

/// What befalls packets behind the link.
#[derive(Debug)]
enum Mishaps {
    /// The link's own losses are all.
    None,
    /// All drawn from one stream.
    Faults(Faults, Pcg64Mcg),
    /// A scenario's.
    Impaired(Impaired),
}

/// A link with faults.
#[derive(Debug)]
pub struct Line {
    link: Link<Box<Packet>>,
    mishaps: Mishaps,
    arrivals: BTreeMap<(Instant, u64), Packet>,
    numbered: u64,
    /// What the faults made away with, and what they made more of.
    vanished: Count,
    doubled: Count,
    /// What the link has handed over damaged, or was damaged behind it, and is passed on to tell so.
    damaged: Count,
    /// What the faults made away with, since this was last asked.
    gone: Vec<Packet>,
    /// What is damaged is passed on.
    tells: bool,
    /// What has come out in the end.
    handed_over: Count,
}

impl Line {
    /// A line like `link`, whose seed also draws the faults.
    pub fn new(link: &LinkConfig, faults: Faults) -> Line {
        let rng = Pcg64Mcg::seed_from_u64(link.seed ^ 0x6c69_6e65);
        let mishaps = match faults.any() {
            true => Mishaps::Faults(faults, rng),
            false => Mishaps::None,
        };
        Line::with(link, mishaps)
    }

    /// A scenario's line.
    pub(crate) fn impaired(link: &LinkConfig, impaired: Option<Impaired>) -> Line {
        Line::with(link, impaired.map_or(Mishaps::None, Mishaps::Impaired))
    }

    fn with(link: &LinkConfig, mishaps: Mishaps) -> Line {
        let (vanished, doubled) = (Count::default(), Count::default());
        let mut link = Link::new(link);
        link.keep_lost();
        Line {
            link,
            mishaps,
            damaged: Count::default(),
            gone: Vec::new(),
            tells: false,
            arrivals: BTreeMap::new(),
            numbered: 0,
            vanished,
            doubled,
            handed_over: Count::default(),
        }
    }

    /// Has damaged packets arrive, [marked](Mark::Damaged): explicit loss notification.
    pub(crate) fn tell_losses(&mut self) {
        self.tells = true;
        self.link.tell_losses();
    }

    /// A packet that was lost behind the queue: by the link, or damaged behind it.
    pub(crate) fn take_lost(&mut self) -> Option<Box<Packet>> {
        self.link.take_lost().or_else(|| self.gone.pop().map(Box::new))
    }

    /// Whether there is such a packet.
    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        self.link.has_lost() || !self.gone.is_empty()
    }

    /// Checks that every packet and byte that was put in is dropped, lost, inside or has come out,
    /// duplicates counted as put in twice.
    ///
    /// # Errors
    /// What does not add up.
    pub(crate) fn conserves(&self) -> Result<(), String> {
        let Counters { offered, dropped, lost, delivered, .. } = self.link.counters();
        let inside = self.link.inside();
        if offered != dropped + lost + delivered + inside {
            return Err(format!(
                "offered {offered:?}, but dropped {dropped:?}, lost {lost:?}, inside {inside:?}, \
                 delivered {delivered:?}"
            ));
        }
        if let Mishaps::None = self.mishaps {
            return Ok(());
        }
        let held = self.held();
        let (vanished, out) = (self.vanished, self.handed_over);
        if delivered + self.doubled != vanished + held + out {
            return Err(format!(
                "delivered {delivered:?} and doubled {:?}, but vanished {vanished:?}, held \
                 {held:?}, handed over {out:?}",
                self.doubled
            ));
        }
        Ok(())
    }

    /// What is behind the link and has not arrived.
    fn held(&self) -> Count {
        let mut held = Count::default();
        self.arrivals.values().for_each(|packet| held.add(packet));
        held
    }

    /// What has become of packets on a scenario's link: what is damaged behind the line is lost. What is held up has
    /// been delivered already, and what arrives twice counts once.
    pub fn counters(&self) -> Counters {
        let counters = self.link.counters();
        let vanished = match self.mishaps {
            Mishaps::Impaired(_) => self.vanished,
            _ => Count::default(),
        };
        let lost = vanished + self.damaged;
        Counters { lost: counters.lost + lost, delivered: counters.delivered - lost, ..counters }
    }

    /// Has the line send only what it is granted; see [`Link::gate`].
    pub(crate) fn gate(&mut self) {
        self.link.gate();
    }

    /// As [`Link::asks`].
    pub(crate) fn asks(&self) -> bool {
        self.link.asks()
    }

    /// As [`Link::grant`].
    pub(crate) fn grant(&mut self, now: Instant) -> Option<Instant> {
        self.link.grant(now)
    }

    /// As [`Link::give_up`].
    pub(crate) fn give_up(&mut self, now: Instant) {
        self.link.give_up(now);
    }

    /// The link.
    pub fn link(&self) -> &Link<Box<Packet>> {
        &self.link
    }

    /// Has the link filter acknowledgments.
    pub(crate) fn filter_superseded(&mut self) {
        self.link.filter_superseded();
    }

    /// Lets happen inside the link what does by `now`.
    pub(crate) fn refresh(&mut self, now: Instant) {
        self.link.advance(now);
    }

    pub(crate) fn push(&mut self, now: Instant, packet: Box<Packet>) {
        self.link.push(now, packet);
    }

    /// The next packet that has arrived by `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Box<Packet>> {
        if let Mishaps::None = self.mishaps {
            let packet = self.link.pop(now)?;
            if packet.mark == Mark::Damaged {
                self.damaged.add(&packet);
            }
            return Some(packet);
        }
        while let Some((at, packet)) = self.link.pop_with_time(now) {
            self.suffer(at, &packet);
        }
        let (&(at, _), _) = self.arrivals.first_key_value()?;
        if at > now {
            return None;
        }
        let (_, packet) = self.arrivals.pop_first()?;
        self.handed_over.add(&packet);
        Some(Box::new(packet))
    }

    /// When to call [`Line::pop`] next.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        let held = self.arrivals.first_key_value().map(|(&(at, _), _)| at);
        earliest(self.link.next(), held)
    }

    fn suffer(&mut self, at: Instant, packet: &Packet) {
        match &mut self.mishaps {
            Mishaps::None => {}
            Mishaps::Impaired(impaired) => {
                let Fate { at, twice, flip } = impaired.fate(at);
                let mut arrived = match flip {
                    Some(_) => across_the_wire(packet, flip),
                    None => Some(packet.clone()),
                };
                if arrived.is_none() && self.tells {
                    arrived = Some(Packet { mark: Mark::Damaged, ..packet.clone() });
                }
                let Some(packet) = arrived else {
                    self.gone.push(packet.clone());
                    return self.vanished.add(packet);
                };
                if packet.mark == Mark::Damaged {
                    self.damaged.add(&packet);
                }
                if twice {
                    self.doubled.add(&packet);
                    self.arrive(at, packet.clone());
                }
                self.arrive(at, packet);
            }
            Mishaps::Faults(faults, rng) => {
                if faults.outages.iter().any(|outage| outage.contains(&at)) {
                    self.vanished.add(packet);
                    return;
                }
                let copies = 1 + usize::from(chance(rng, faults.duplicate));
                if copies > 1 {
                    self.doubled.add(packet);
                }
                for _ in 0..copies {
                    let flip = chance(rng, faults.corrupt).then(|| rng.random());
                    let arrived = if faults.through_bytes || flip.is_some() {
                        across_the_wire(packet, flip)
                    } else {
                        Some(packet.clone())
                    };
                    let Some(packet) = arrived else {
                        self.vanished.add(packet);
                        continue;
                    };
                    let mut at = at;
                    if chance(rng, faults.reorder) {
                        at += faults.jitter.mul_f64(rng.random());
                    }
                    self.arrivals.insert((at, self.numbered), packet);
                    self.numbered += 1;
                }
            }
        }
    }

    fn arrive(&mut self, at: Instant, packet: Packet) {
        self.arrivals.insert((at, self.numbered), packet);
        self.numbered += 1;
    }
}

fn chance(rng: &mut Pcg64Mcg, probability: Probability) -> bool {
    rng.random::<f64>() < probability.value()
}

/// The packet as it comes out of its own bytes, one of whose bits, at this part of its length, is
/// turned over; None if checksums reject it.
fn across_the_wire(packet: &Packet, flip: Option<f64>) -> Option<Packet> {
    let (Content::Tcp(tcp, body), Some(mut bytes)) = (&packet.content, packet.to_bytes()) else {
        // Of other packets only the length matters; a damaged one is discarded.
        return flip.is_none().then(|| packet.clone());
    };
    if let Some(place) = flip {
        let bit = (place * (bytes.len() * 8) as f64) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    let back = match Packet::from_bytes(&bytes) {
        Ok(back) => back,
        Err(_) if flip.is_some() => return None,
        Err(error) => panic!("what we write we cannot read: {error}"),
    };
    let Content::Tcp(back_tcp, back_body) = back.content else {
        unreachable!("TCP is what was written");
    };
    assert_eq!(&back_tcp, tcp, "a round trip through bytes");
    assert_eq!(back_body.to_bytes(), body.to_bytes(), "a round trip through bytes");
    let mut arrived = packet.clone();
    if let Body::Bytes(_) = body {
        arrived.content = Content::Tcp(back_tcp, back_body);
    }
    Some(arrived)
}
