//! What `why` asks, as a line of text.

use crate::control::Connection;
use bentpipe_gateway::Side;
use std::net::{IpAddr, SocketAddr};

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inquiry {
    /// A connection that there is, or may be.
    Connection(Connection),
    /// A flow, by its number in `flows`.
    Flow(usize),
    /// A connection that was not split, by its number in `flows --forwarded`.
    Unsplit(u64),
}

/// Before the numbers of connections that were not split.
pub(super) const UNSPLIT: char = 'f';

impl Inquiry {
    /// By a number, as lists have it.
    pub(super) fn of_number(number: &str) -> Option<Inquiry> {
        match number.strip_prefix(UNSPLIT) {
            Some(number) => number.parse().ok().map(Inquiry::Unsplit),
            None => number.parse().ok().map(Inquiry::Flow),
        }
    }

    /// The line that asks it.
    pub(super) fn line(&self) -> String {
        let what = match self {
            Inquiry::Flow(number) => number.to_string(),
            Inquiry::Unsplit(number) => format!("{UNSPLIT}{number}"),
            Inquiry::Connection(Connection { from, client, server }) => {
                format!("{} {client} {server}", from.name())
            }
        };
        format!("why {what}")
    }

    /// What a line asks.
    pub(super) fn parse(line: &str) -> Option<Inquiry> {
        let words: Vec<&str> = line.strip_prefix("why ")?.split(' ').collect();
        match words[..] {
            [number] => Inquiry::of_number(number),
            [from, client, server] => {
                let from = Side::BOTH.into_iter().find(|side| side.name() == from)?;
                let client: IpAddr = client.parse().ok()?;
                let server: SocketAddr = server.parse().ok()?;
                (client.is_ipv4() == server.is_ipv4()).then_some(Inquiry::Connection(Connection {
                    from,
                    client,
                    server,
                }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inquiry_is_read_as_it_was_written() {
        let connection = |client: &str, server: &str| {
            let (client, server) = (client.parse().unwrap(), server.parse().unwrap());
            Inquiry::Connection(Connection { from: Side::Lan, client, server })
        };
        for inquiry in [
            Inquiry::Flow(7),
            Inquiry::Unsplit(1_000_000),
            connection("10.0.0.7", "192.0.2.1:443"),
            connection("fd00::7", "[2001:db8::1]:443"),
        ] {
            assert_eq!(Inquiry::parse(&inquiry.line()), Some(inquiry));
        }
        let mixed = connection("10.0.0.7", "[2001:db8::1]:443").line();
        for wrong in
            ["why", "why ", "why x", "why lan 10.0.0.7", "why there 10.0.0.7 10.0.0.8:1", &mixed]
        {
            assert_eq!(Inquiry::parse(wrong), None, "{wrong}");
        }
    }
}
