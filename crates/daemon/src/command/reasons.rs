//! Why connections are not split, for people.

use crate::invocation;
use bentpipe_gateway::Reason;

/// The cause, as the rest of a sentence that begins with "not split: ".
pub(super) fn cause(reason: Reason) -> &'static str {
    match reason {
        Reason::UnknownFlow => "it is older than the gateway, or was released",
        Reason::Options => {
            "its SYN carries data (TCP Fast Open), or an option that cannot be split (MPTCP, TCP-AO, MD5, one that is not known \
             here)"
        }
        Reason::NoRoom => "there is no room in the table, or no memory",
        Reason::HalfOpen => "too many connections wait for their SYN-ACK",
        Reason::ClientLimit => "its client has as many flows as it may have",
        Reason::Policy => "a rule of the policy says so",
        Reason::Observed => "the gateway only observes",
        Reason::Short => "it has not carried `adopt-after` yet",
        Reason::Sample => "it is of the `sample` that is left unsplit, to be measured",
        Reason::Route => "its packets and its SYN come in by different sides",
        Reason::Draining => "the gateway is being stopped",
        Reason::Refused => "its server refused it by a RST",
        Reason::Aborted => "its client gave it up",
        Reason::Unreachable => "a router says that its server cannot be reached",
        Reason::Unanswered => "no SYN-ACK came through here in time",
        Reason::Unfinished => "the client has not acknowledged the SYN-ACK through here in time",
        Reason::OneWay => "one of its directions does not come through here",
        Reason::NotOpened => {
            "its handshake is one that hosts do between themselves (a simultaneous open), or forged"
        }
        Reason::Past => "a segment of it has a signature or a hop limit that its SYN had not",
        Reason::NotTcp => "it is not whole, plain TCP",
    }
}

/// What to do about it, if anything is to be done on this host.
pub(super) fn remedy(reason: Reason) -> Option<String> {
    let command = invocation::command();
    let remedy = match reason {
        Reason::UnknownFlow => "connections that begin now are split",
        Reason::NoRoom => "raise `flows` or `memory` in [limits]",
        Reason::HalfOpen => "raise `half-open` in [limits], unless it is a flood of SYNs",
        Reason::ClientLimit => "raise `flows-per-client` in [limits]",
        Reason::Policy => "change [policy], and send SIGHUP",
        Reason::Observed => {
            &format!("run `{command} enable --try 5min`, or set `observe = false` in [policy]")
        }
        Reason::Short => "set `adopt-after = \"0B\"` in [splitting], and restart",
        Reason::Sample => "set `sample = \"0%\"` in [policy], and send SIGHUP",
        Reason::Unanswered => &format!(
            "its server may be down, or its answers take another path (`{command} why CLIENT SERVER PORT`)"
        ),
        Reason::OneWay | Reason::Route | Reason::Unfinished => &format!(
            "look whether both directions go through this host (`{command} why CLIENT SERVER PORT`)"
        ),
        _ => return None,
    };
    Some(remedy.to_owned())
}
