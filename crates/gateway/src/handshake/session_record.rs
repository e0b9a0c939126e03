//! Session records: handshakes' agreements for a gateway that has not seen them, as text. Each
//! connection has a line, so that an operator can read it.
//!
//! ```text
//! bentpipe-records 1 86400
//! 10.0.0.1:4000 10.9.9.9:80 lan 0 1000:1460:7:st:52001 77000:1460:9:st:1
//! end 1
//! ```
//!
//! The head has the version and when it was written, the last line how many there are. Then, for
//! each connection, client and server, the client's side, the traffic class of what the client
//! sends, and for each host its initial sequence number, MSS, window shift (`-`: no such option),
//! `s`ACK and `t`imestamps, and one past the last offset that it had sent.
//!
//! What is read may be anything: it is believed whole or not at all.

use super::PassedSyn;
use crate::key::{Endpoint, FlowKey};
use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use crate::side::Side;
use bentpipe_core::tcp::buffer::Payload;
use bentpipe_core::units::Offset;
use bentpipe_core::wire::{Flags, IpHeader, SeqNum};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use strum::VariantArray;

/// The version of the format, which is that of its head.
const HEAD: &str = "bentpipe-records 1";

/// RFC 7323, 2.3: no shift is larger.
const MAX_SHIFT: u16 = 14;

/// Offsets beyond it are of no connection. So sums do not overflow.
const MAX_OFFSET: u64 = 1 << 60;

/// Why text holds no records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionRecordError {
    /// It is something else, or of another version.
    #[error("it does not begin with `{HEAD}` and a time")]
    Head,
    /// It breaks off, or has more than it says.
    #[error("it is not complete")]
    Incomplete,
    /// A line is none of a connection's.
    #[error("line {0} is no record")]
    Line(usize),
}

/// A connection that is forwarded, in mid-life: who talks, and what was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRecord {
    pub(crate) ends: PerLeg<Endpoint>,
    /// The client's side.
    pub(crate) from: Side,
    /// DSCP, as the client's packets have it; without ECN.
    pub(crate) traffic_class: u8,
    /// By host.
    pub(crate) syns: PerLeg<PassedSyn>,
    /// One past the last offset that each host had sent.
    pub(crate) next: PerLeg<Offset>,
}

impl SessionRecord {
    /// The host of the LAN's side and that of the satellite's.
    pub fn ends_by_side(&self) -> [SocketAddr; 2] {
        let [client, server] = self.ends.into_array().map(SocketAddr::from);
        match self.from {
            Side::Lan => [client, server],
            Side::Satellite => [server, client],
        }
    }

    pub(crate) fn key(&self) -> FlowKey {
        FlowKey::between(self.ends[Leg::Client], self.ends[Leg::Server])
    }

    /// Calls `ask` with the SYN as it was, for who judges connections by that.
    pub(crate) fn with_syn<R>(&self, ask: impl FnOnce(&Segment<'_>) -> R) -> R {
        let [client, server] = self.ends.into_array();
        let (src, dst, traffic_class) = (client.0, server.0, self.traffic_class);
        let ip = IpHeader { traffic_class, ..IpHeader::between(src, dst) };
        let tcp = self.syns[Leg::Client].header(Flags::SYN, [client.1, server.1], 0);
        ask(&Segment { from: self.from, ip: &ip, tcp: &tcp, payload: Payload::EMPTY })
    }

    fn is_sound(&self) -> bool {
        let [client, server] = self.ends.into_array();
        client != server
            && client.0.is_ipv4() == server.0.is_ipv4()
            && self.syns[Leg::Server].answers(self.syns[Leg::Client])
            && self.traffic_class & IpHeader::ECN_MASK == 0
    }
}

impl fmt::Display for SessionRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [client, server] = self.ends.into_array().map(SocketAddr::from);
        write!(f, "{client} {server} {} {}", self.from.name(), self.traffic_class)?;
        for leg in Leg::BOTH {
            let syn = self.syns[leg];
            let (mss, shift, [sack, stamped]) = syn.options();
            let or_none = |value: Option<u16>| value.map_or("-".to_owned(), |it| it.to_string());
            let flags = match (sack, stamped) {
                (true, true) => "st",
                (true, false) => "s",
                (false, true) => "t",
                (false, false) => "-",
            };
            // A host that offers more means that much.
            let shift = shift.map(|shift| u16::from(shift).min(MAX_SHIFT));
            let (mss, shift) = (or_none(mss), or_none(shift));
            write!(f, " {}:{mss}:{shift}:{flags}:{}", syn.isn().0, self.next[leg].get())?;
        }
        Ok(())
    }
}

impl FromStr for SessionRecord {
    type Err = ();

    fn from_str(text: &str) -> Result<SessionRecord, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let [client, server, from, traffic_class, one, other] = words[..] else { return Err(()) };
        let end = |text: &str| {
            let address: SocketAddr = text.parse().map_err(drop)?;
            Ok((address.ip(), address.port()))
        };
        let from = Side::VARIANTS.iter().find(|side| side.name() == from).ok_or(())?;
        let ((client_syn, sent), (server_syn, answered)) = (host(one)?, host(other)?);
        let record = SessionRecord {
            ends: PerLeg::new(end(client)?, end(server)?),
            from: *from,
            traffic_class: traffic_class.parse().map_err(drop)?,
            syns: PerLeg::new(client_syn, server_syn),
            next: PerLeg::new(sent, answered),
        };
        record.is_sound().then_some(record).ok_or(())
    }
}

/// What a record says of one host.
fn host(text: &str) -> Result<(PassedSyn, Offset), ()> {
    let words: Vec<&str> = text.split(':').collect();
    let [isn, mss, shift, flags, next] = words[..] else { return Err(()) };
    let or_none = |text: &str| match text {
        "-" => Ok(None),
        text => text.parse::<u16>().map(Some).map_err(drop),
    };
    let shift = match or_none(shift)? {
        Some(shift @ 0..=MAX_SHIFT) => Some(shift as u8),
        Some(_) => return Err(()),
        None => None,
    };
    let options = match flags {
        "st" => [true, true],
        "s" => [true, false],
        "t" => [false, true],
        "-" => [false, false],
        _ => return Err(()),
    };
    let next: u64 = next.parse().map_err(drop)?;
    if !(Offset::FIRST.get()..=MAX_OFFSET).contains(&next) {
        return Err(());
    }
    let isn = SeqNum(isn.parse().map_err(drop)?);
    Ok((PassedSyn::known(isn, or_none(mss)?, shift, options), Offset::new(next)))
}

/// The text of these records with the time of writing, in seconds. Its clock is one that the reader
/// has as well.
pub fn write_session_records(at: u64, records: impl IntoIterator<Item = SessionRecord>) -> String {
    let mut text = format!("{HEAD} {at}\n");
    let mut count = 0_u64;
    for record in records {
        text.push_str(&format!("{record}\n"));
        count += 1;
    }
    text.push_str(&format!("end {count}\n"));
    text
}

/// The records of a text, and when it was written.
///
/// # Errors
/// [`SessionRecordError`], if anything in it is not as [`write_session_records`] has it.
pub fn parse_session_records(text: &str) -> Result<(u64, Vec<SessionRecord>), SessionRecordError> {
    let body = text.strip_suffix('\n').ok_or(SessionRecordError::Incomplete)?;
    let mut lines: Vec<&str> = body.split('\n').collect();
    let end = lines.pop().unwrap_or_default();
    let (head, lines) = lines.split_first().ok_or(SessionRecordError::Incomplete)?;
    let at = head.strip_prefix(HEAD).and_then(|at| at.strip_prefix(' '));
    let at = at.and_then(|at| at.parse().ok()).ok_or(SessionRecordError::Head)?;
    if end != format!("end {}", lines.len()) {
        return Err(SessionRecordError::Incomplete);
    }
    // The head is line 1.
    let record =
        |(at, line): (usize, &&str)| line.parse().map_err(|()| SessionRecordError::Line(at + 2));
    Ok((at, lines.iter().enumerate().map(record).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> SessionRecord {
        text.parse().expect("a record")
    }

    const LINES: [&str; 3] = [
        "10.0.0.1:4000 10.9.9.9:80 lan 184 1000:1460:7:st:52001 77000:1460:9:st:1",
        "[fd00::1]:4000 [fd00::2]:443 satellite 0 4294967295:-:-:-:1 0:536:-:-:1152921504606846976",
        "10.0.0.1:4000 10.9.9.9:80 lan 0 1000:1460:0:s:52001 77000:1460:-:-:9",
    ];

    #[test]
    fn what_is_written_is_read() {
        let records = LINES.map(record);
        assert_eq!(records.map(|record| record.to_string()), LINES);
        let text = write_session_records(86_400, records);
        assert_eq!(text.lines().next(), Some("bentpipe-records 1 86400"));
        assert_eq!(parse_session_records(&text), Ok((86_400, records.to_vec())));
        assert_eq!(parse_session_records(&write_session_records(0, [])), Ok((0, vec![])));
    }

    #[test]
    fn what_was_not_written_so_is_refused() {
        let text = write_session_records(5, LINES.map(record));
        for cut in 0..text.len() {
            assert!(parse_session_records(&text[..cut]).is_err(), "{:?}", &text[..cut]);
        }
        assert_eq!(parse_session_records("PNG\n1\nend 1\n"), Err(SessionRecordError::Head));
        assert_eq!(
            parse_session_records(&text.replace(" 1 5", " 2 5")),
            Err(SessionRecordError::Head)
        );
        assert_eq!(
            parse_session_records(&format!("{text}x\n")),
            Err(SessionRecordError::Incomplete)
        );
        assert_eq!(
            parse_session_records(&text.replace(":7:", ":x:")),
            Err(SessionRecordError::Line(2))
        );
    }

    #[test]
    fn what_no_handshake_agrees_on_is_refused() {
        let line = LINES[0];
        for (what, instead) in [
            ("1000:1460:7:st", "1000:1460:-:st"), // The answer has a shift that was not offered,
            ("1000:1460:7:st", "1000:1460:7:t"),  // or SACK,
            ("1000:1460:7:st", "1000:1460:7:s"),  // or timestamps.
            ("10.9.9.9:80", "10.0.0.1:4000"),
            ("10.9.9.9:80", "[fd00::2]:80"),
            (" 184 ", " 185 "),
            (":52001", ":0"),
            (":52001", ":1152921504606846977"),
            (":52001", ":-1"),
            ("lan", "wan"),
            ("lan", "lan lan"),
            ("st:1", "ts:1"),
            (":7:", ":256:"),
        ] {
            let text = line.replace(what, instead);
            assert_ne!(text, line);
            assert_eq!(text.parse::<SessionRecord>(), Err(()), "{text}");
        }
        assert_eq!(line.replace(":9:", ":15:").parse::<SessionRecord>(), Err(()));
    }

    /// It may have been written by anybody.
    #[test]
    fn no_text_panics() {
        let text = write_session_records(5, LINES.map(record));
        bolero::check!().with_iterations(20_000).with_type::<(Vec<(u16, u8)>, String)>().for_each(
            |(changes, other)| {
                let mut bytes = text.clone().into_bytes();
                let len = bytes.len();
                changes.iter().for_each(|(at, byte)| bytes[usize::from(*at) % len] = *byte);
                let _ = parse_session_records(&String::from_utf8_lossy(&bytes));
                let _ = parse_session_records(&format!("{HEAD} 7\n{other}\nend 1\n"));
            },
        );
    }
}
