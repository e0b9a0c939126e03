//! The order in which remotes are forgotten and served.

use super::hosts::MAX_HOSTS;
use super::*;
use crate::Config;
use crate::config::FoundBy;
use crate::table::scheduler::{DrrEntry, Sent};
use std::net::Ipv4Addr;

fn identity(number: usize) -> Identity {
    Identity::new(number as u32 + 1).unwrap()
}

/// As many remotes as `count`, in this order.
fn remotes(count: usize) -> (Remotes, Vec<RemoteId>) {
    let leg = Config::default().satellite;
    assert!(leg.finds_together());
    assert!(!LegConfig { found_by: FoundBy::EachFlow, ..leg }.finds_together());
    let mut begun = leg;
    begun.set("iw", "10").unwrap();
    assert!(!begun.finds_together(), "each flow is to begin with that");
    let mut remotes = Remotes::default();
    let ids = (0..count).map(|number| remotes.insert(identity(number), &leg)).collect();
    (remotes, ids)
}

#[test]
fn the_least_recently_used_one_goes_first() {
    let (mut remotes, ids) = remotes(MAX_REMOTES - 1);
    assert_eq!(remotes.surplus(), None);
    remotes.insert(identity(MAX_REMOTES), &Config::default().satellite);
    remotes.link_mut(ids[0]);
    remotes.link_mut(ids[2]);
    assert_eq!(remotes.surplus(), Some(ids[1]));
    remotes.remove(ids[1]);
    assert_eq!((remotes.find(identity(1)), remotes.surplus()), (None, None));
    assert_eq!(remotes.find(identity(0)), Some(ids[0]));
    let late = remotes.insert(identity(1), &Config::default().satellite);
    assert_eq!(remotes.find(identity(1)), Some(late));
    assert_eq!(remotes.surplus(), Some(ids[3]));
}

#[test]
fn one_that_has_flows_is_not_over() {
    let (mut remotes, ids) = remotes(3);
    remotes.join(ids[0], 7);
    remotes.remove_if_over(ids[0], ids[1]);
    remotes.remove_if_over(ids[1], ids[1]);
    assert_eq!(remotes.ids(), ids);
    remotes.leave(ids[0], 7);
    remotes.remove_if_over(ids[0], ids[1]);
    remotes.remove_if_over(ids[2], ids[1]);
    assert_eq!((remotes.ids(), remotes.only()), (vec![ids[1]], Some(ids[1])));
}

#[test]
fn turns_are_due_where_flows_wait_and_the_earliest_one_is_first() {
    let (mut remotes, ids) = remotes(MAX_REMOTES);
    let now = Instant::from_millis(1_000);
    assert_eq!((remotes.next(now), remotes.poll_timeout()), (None, None));
    let mut turns: Vec<DrrEntry> = (0..3).map(|_| DrrEntry::default()).collect();
    for (flow, turn) in turns.iter_mut().enumerate() {
        remotes.link_mut(ids[flow]).wait(flow, turn);
    }
    assert!(remotes.poll_timeout().is_some_and(|at| at <= now));
    let mut served: Vec<usize> = std::iter::from_fn(|| remotes.next(now)).collect();
    served.sort_unstable();
    assert_eq!(served, [0, 1, 2]);
    assert_eq!(remotes.poll_timeout(), None);
    // A flow that is gone waits for nothing, nor does one whose remote is.
    for (flow, turn) in turns.iter_mut().enumerate() {
        let link = remotes.link_mut(ids[flow]);
        assert!(link.begins(flow, turn));
        link.used(flow, turn, Some(Sent { bytes: 40, payload: 0 }));
    }
    remotes.link_mut(ids[0]).give_up(&mut turns[0]);
    remotes.remove(ids[1]);
    assert_eq!((remotes.next(now), remotes.next(now)), (Some(2), None));
}

#[test]
fn of_many_hosts_the_latest_are_known() {
    let mut remotes = Remotes::default();
    let host = |number: usize| IpAddr::from(Ipv4Addr::from_bits(number as u32));
    for number in 0..MAX_HOSTS {
        assert_eq!(remotes.note_host(host(number), identity(number)), None);
    }
    assert_eq!(remotes.identity_of(host(0)), Some(identity(0)));
    assert_eq!(remotes.note_host(host(1), identity(7)), Some(identity(1)));
    for number in MAX_HOSTS..MAX_HOSTS + 3 {
        remotes.note_host(host(number), identity(number));
    }
    assert_eq!(remotes.hosts.len(), MAX_HOSTS);
    let known = [0, 1, 2, 3, 4, 5].map(|number| remotes.identity_of(host(number)).is_some());
    assert_eq!(known, [true, true, false, false, false, true]);
}
