//! Causes that a sender has recorded: by name in a comment (`cause: ack-clock`), and in words.

use bentpipe_core::tcp::cause::Cause;

/// By what a comment with a cause begins.
const PREFIX: &str = "cause: ";

/// The cause that a packet's comments name, and what else they say.
pub(crate) fn split(comment: &str) -> (Option<Cause>, String) {
    let mut cause = None;
    let mut rest = Vec::new();
    for line in comment.split('\n') {
        let name = line.strip_prefix(PREFIX).map(str::trim);
        let known = name.and_then(named);
        match known.filter(|_| cause.is_none()) {
            Some(known) => cause = Some(known),
            None => rest.push(line),
        }
    }
    (cause, rest.join("\n").trim_end().to_owned())
}

/// The cause of this name.
pub(crate) fn named(name: &str) -> Option<Cause> {
    Cause::ALL.iter().copied().find(|cause| cause.name() == name)
}

/// A cause in words, as they stand behind "sent:".
#[must_use]
pub fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::Handshake => "handshake",
        Cause::HandshakeTimeout => "handshake again: its timer expired",
        Cause::Reset => "reset",
        Cause::AckClock => "new data: an ACK made room in cwnd",
        Cause::WindowOpened => "new data: the peer's window opened",
        Cause::Written => "new data: the application wrote",
        Cause::Coalesced => "new data: enough for a segment (Nagle, silly window avoidance)",
        Cause::Paced => "new data: the pacer's moment came",
        Cause::LinkTurn => "new data: its turn on the shared link",
        Cause::MarkOver => "new data: the wait behind a mark is over",
        Cause::FastRetransmit => "fast retransmit: the first hole of the episode",
        Cause::FastRecovery => "fast recovery: a further hole by SACK",
        Cause::Rack => "fast recovery: a further hole is overdue (RACK)",
        Cause::PartialAck => "fast recovery: a partial ACK shows the next hole",
        Cause::Rescue => "rescue retransmission of the episode's last segment",
        Cause::SpareCopy => {
            "retransmission once more: nothing else was to be sent, or one was lost"
        }
        Cause::Timeout => "retransmission timeout",
        Cause::AfterTimeout => "slow start after a timeout: found lost",
        Cause::TailLossProbe => "tail loss probe",
        Cause::ProbeTimeout => "probe timeout",
        Cause::WindowProbe => "probe of a closed window",
        Cause::KeepAlive => "keep-alive",
        Cause::Blind => "sent blind: the peer hears somebody else in our name",
        Cause::Segments => "ACK of enough full segments",
        Cause::AckTimer => "delayed ACK: its timer expired",
        Cause::OutOfOrder => "duplicate ACK: data came behind a hole",
        Cause::HoleFilled => "ACK: a hole was filled",
        Cause::Duplicate => "ACK: data came that had come before",
        Cause::EndOfStream => "ACK of the stream's end",
        Cause::WindowUpdate => "window update",
        Cause::Unacceptable => "ACK: the segment was not acceptable",
        Cause::Division => "ACK of a part of a segment (ACK division)",
        Cause::Established => "ACK: the last segment of the handshake",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_from_other_comments() {
        let both = split("cause: rack\nqueue: 3 packets");
        assert_eq!(both, (Some(Cause::Rack), "queue: 3 packets".to_owned()));
        assert_eq!(split("cause: gremlins"), (None, "cause: gremlins".to_owned()));
        assert_eq!(split("because: rack"), (None, "because: rack".to_owned()));
    }

    #[test]
    fn each_cause_has_words_of_its_own() {
        let words: std::collections::BTreeSet<_> = Cause::ALL.iter().map(|&c| words(c)).collect();
        assert_eq!(words.len(), Cause::ALL.len());
    }
}
