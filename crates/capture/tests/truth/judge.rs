//! The judge of explanations: do they hold the truth?

use crate::record::{Run, Sent};
use crate::table::{Kind, Table, Verdict};
use crate::told::{ToldDirection, ToldSegment, ToldSilence, tell};
use bentpipe_core::tcp::cause::Cause;
use std::collections::BTreeSet;

/// The places of captures, as a direction's sender sees them.
pub(crate) const PLACES: [&str; 3] = ["sender", "middle", "receiver"];

/// A retransmission of data that did not pass this place before.
const FIRST_HERE: &str = "retransmitted, first here";

/// Judges the captures of a run.
pub(crate) fn judge(seed: u64, run: &mut Run, a: std::net::IpAddr, table: &mut Table) {
    for place in 0..PLACES.len() {
        let file = run.file(place);
        for direction in tell(&file) {
            // Place 0 is at the host `a`.
            let from_a = direction.ends.0.ip() == a;
            let seen_from = PLACES[if from_a { place } else { PLACES.len() - 1 - place }];
            let judged = Judged { seed, run, place, seen_from, direction: &direction };
            for silence in &direction.silences {
                judged.silence(silence, table);
            }
            judged.segments(table);
        }
    }
}

struct Judged<'a> {
    seed: u64,
    run: &'a Run,
    place: usize,
    seen_from: &'static str,
    direction: &'a ToldDirection,
}

impl Judged<'_> {
    fn sent(&self, frame: u32) -> Option<Sent> {
        self.run.sent(self.place, frame)
    }

    fn silence(&self, silence: &ToldSilence, table: &mut Table) {
        let (before, after) = silence.frames;
        let (Some(from), Some(to)) = (self.sent(before), self.sent(after)) else { return };
        let times = self.run.limiters(self.direction.ends, from.at, to.at);
        // Packets that changed places say nothing of when their sender was silent.
        let Some(&(most, _)) = times.first() else { return };
        // A full segment that waited for more: until its application had written that.
        let filled = to.cause == Cause::Coalesced && to.full;
        let name = |limiter: &str| match limiter {
            "nagle" if filled => "nagle, application".to_owned(),
            limiter => limiter.to_owned(),
        };
        let holds = |limiter: &str| limiter_holds(&silence.limiters, &name(limiter));
        let all = to.at - from.at;
        let held = times.iter().filter(|(limiter, _)| holds(limiter)).map(|(_, time)| *time);
        let right: i64 = held.clone().sum();
        // Of a silence that two share, either is right.
        let is_right = holds(most) || held.max().is_some_and(|most| most * 3 >= all);
        table.add(Verdict {
            kind: Kind::Limiter,
            place: self.seen_from,
            truth: if is_right && !holds(most) { "mixed".to_owned() } else { name(most) },
            told: joined(&silence.limiters),
            is_told: (1..=2).contains(&silence.limiters.len()),
            right: is_right,
            weight: all,
            right_weight: right,
            example: (self.seed, self.place, self.direction.ends, before, after),
        });
    }

    fn segments(&self, table: &mut Table) {
        let mut highest = None;
        let mut seen = BTreeSet::new();
        for (frame, told) in &self.direction.segments {
            let Some(sent) = self.sent(*frame) else { continue };
            let Some((seq, id)) = self.run.numbers(self.place, *frame) else { continue };
            let behind = highest.is_some_and(|highest: u32| (seq.wrapping_sub(highest) as i32) < 0);
            if !behind {
                highest = Some(seq);
            }
            let is_copy = !seen.insert((seq, id, sent.at));
            self.lateness(*frame, told, sent, behind, is_copy, table);
            if let ToldSegment::Again(causes) = told
                && sent.again
                && !is_copy
            {
                table.add(Verdict {
                    kind: Kind::Cause,
                    place: self.seen_from,
                    truth: sent.cause.name().to_owned(),
                    told: joined(causes),
                    is_told: (1..=2).contains(&causes.len()),
                    right: causes.iter().any(|told| cause_holds(told, sent.cause)),
                    weight: 1,
                    right_weight: i64::from(
                        causes.iter().any(|told| cause_holds(told, sent.cause)),
                    ),
                    example: (self.seed, self.place, self.direction.ends, *frame, *frame),
                });
            }
        }
    }

    /// Whether a segment behind others came late, was retransmitted, or is a copy.
    fn lateness(
        &self,
        frame: u32,
        told: &ToldSegment,
        sent: Sent,
        behind: bool,
        is_copy: bool,
        table: &mut Table,
    ) {
        let truth = match (is_copy, sent.again, behind) {
            (true, ..) => "copy",
            (_, true, true) => "retransmitted",
            // Its first transmission did not pass here, and nothing that followed it.
            (_, true, false) => FIRST_HERE,
            (_, false, true) => "late",
            (_, false, false) => "new",
        };
        let (name, right) = match told {
            ToldSegment::New => ("new", truth == "new"),
            ToldSegment::Late => ("late", truth == "late"),
            ToldSegment::Undecided => ("late or retransmitted", sent.again || truth == "late"),
            ToldSegment::Copy => ("copy", truth == "copy"),
            ToldSegment::Again(_) => ("retransmitted", sent.again && !is_copy),
        };
        if truth == "new" && right {
            return;
        }
        // Neither counts: nothing says in which order they were sent.
        let is_blind = !self.run.ids() && !self.direction.stamps;
        table.add(Verdict {
            kind: if is_blind { Kind::LatenessBlind } else { Kind::Lateness },
            place: self.seen_from,
            truth: truth.to_owned(),
            told: name.to_owned(),
            // It is the first of its data here: no capture shows more.
            is_told: *told != ToldSegment::Undecided && (truth, name) != (FIRST_HERE, "new"),
            right,
            weight: 1,
            right_weight: i64::from(right),
            example: (self.seed, self.place, self.direction.ends, frame, frame),
        });
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    match names.is_empty() {
        true => "unknown".to_owned(),
        false => names.iter().cloned().collect::<Vec<_>>().join(" or "),
    }
}

/// Whether one of the limiters that are told is the recorded one.
fn limiter_holds(told: &BTreeSet<String>, truth: &str) -> bool {
    told.iter().any(|told| {
        let id = match told.as_str() {
            "peer's window" => "peer-window",
            "turn on the link" => "link-turn",
            "Nagle" => "nagle",
            "send buffer" => "send-buffer",
            other => other,
        };
        // An end that has sent all that it ever will waits for nobody but its application.
        truth.split(", ").any(|truth| id == truth || (id == "application" && truth == "closed"))
    })
}

/// Whether this name of a cause is that of the recorded one.
fn cause_holds(told: &str, truth: Cause) -> bool {
    let of: &[Cause] = match told {
        "fast retransmit: three duplicate ACKs" => &[Cause::FastRetransmit],
        "fast retransmit: three segments behind it were sacked" => {
            &[Cause::FastRetransmit, Cause::FastRecovery, Cause::Rack]
        }
        "fast retransmit: a later segment was delivered (RACK)" => {
            &[Cause::FastRetransmit, Cause::FastRecovery, Cause::Rack]
        }
        "retransmitted in recovery" => {
            &[Cause::FastRecovery, Cause::Rack, Cause::PartialAck, Cause::Rescue]
        }
        "retransmission timeout" => &[Cause::Timeout],
        "retransmitted after a timeout" => &[Cause::AfterTimeout],
        "tail loss probe" => &[Cause::TailLossProbe, Cause::ProbeTimeout],
        "window probe" => &[Cause::WindowProbe],
        "keep-alive" => &[Cause::KeepAlive],
        _ => &[],
    };
    of.contains(&truth)
}
