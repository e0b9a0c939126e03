//! Comparisons as text.

use super::super::{Compared, Hop, Lost, Spread, Way};
use super::{Common, File};
use std::io::{self, Write};

/// So many losses are listed.
const LISTED: usize = 20;

/// Tells of a connection what happened to it between the files.
///
/// # Errors
/// Those of `out`.
pub fn write(files: &[File<'_>], common: &Common<'_>, out: &mut impl Write) -> io::Result<()> {
    let connections = files.iter().zip(&common.connections);
    let names = connections.map(|(file, one)| format!("{} #{}", file.name, one.number));
    let [from, to] = common.connections[0].ends;
    writeln!(out, "{}: {from} > {to}", names.collect::<Vec<_>>().join(", "))?;
    for ([first, second], hop) in &common.hops {
        let names = [files[*first].name, files[*second].name];
        hop_as_text(names, common, hop, out)?;
    }
    Ok(())
}

fn hop_as_text(
    names: [&str; 2],
    common: &Common<'_>,
    hop: &Hop,
    out: &mut impl Write,
) -> io::Result<()> {
    let [first, second] = names;
    writeln!(out, "between {first} and {second}")?;
    let (all, same) = hop.same;
    let percent = percent(same, all);
    match hop.basis {
        Compared::Packets => {
            writeln!(
                out,
                "  compared by packets: {same} of {all} segments of data ({percent}) are at both places"
            )?;
        }
        Compared::Bytes => writeln!(
            out,
            "  compared by stream bytes: {same} of {all} segments of data ({percent}) are the same, so a gateway splits between them"
        )?,
    }
    clock(names, hop, out)?;
    let busy = hop.ways.iter().filter(|way| way.seen.iter().any(|seen| seen.packets > 0));
    for way in busy {
        let ends = common.connections[0].ends;
        let [from, to] = [way.direction, way.direction.reverse()].map(|end| ends[end.index()]);
        let [up, down] = way.places.map(|place| names[place]);
        writeln!(out, "  {from} > {to}, from {up} to {down}")?;
        way_as_text(names, hop, way, out)?;
    }
    Ok(())
}

fn clock([first, second]: [&str; 2], hop: &Hop, out: &mut impl Write) -> io::Result<()> {
    let clock = &hop.clock;
    if let Some(drift) = clock.drift {
        let ppm = drift.part * 1e6;
        writeln!(out, "  the clock of {second} drifts by {ppm:+.2} ppm, which is removed")?;
    }
    let Some((sum, (from, to))) = clock.round_trip().zip(clock.ahead()) else {
        let why = if clock.least.iter().all(Option::is_some) {
            "packets arrive before they were sent, so one of them was set, or these are two connections"
        } else {
            "one direction has no packets in common, so nothing is known of them"
        };
        return writeln!(out, "  clocks: {why}");
    };
    writeln!(
        out,
        "  one-way delays sum to at least {}; if they are symmetric, {} each way",
        ms(sum),
        ms(sum / 2)
    )?;
    let middle = from.saturating_add(to.saturating_sub(from) / 2);
    writeln!(
        out,
        "  the clock of {second} is ahead of that of {first} by {} to {}; by {} if they are symmetric",
        ms(from),
        ms(to),
        ms(middle)
    )
}

fn way_as_text(names: [&str; 2], hop: &Hop, way: &Way, out: &mut impl Write) -> io::Result<()> {
    let [up, down] = way.places;
    let line = |out: &mut dyn Write, what: &str, lost: Lost| {
        writeln!(out, "    {what:<34} {:>9} packets {:>12} B", lost.packets, lost.bytes)
    };
    for place in [up, down] {
        line(out, &format!("seen by {}", names[place]), way.seen[place])?;
    }
    match &way.streamed {
        None if hop.basis == Compared::Packets => packets(names, way, &line, out)?,
        None => {}
        Some(streamed) => {
            let bytes = [up, down].map(|place| streamed.bytes[place]);
            writeln!(
                out,
                "    the stream: {} B upstream, {} B downstream, {} B at both",
                bytes[0], bytes[1], streamed.both
            )?;
            if streamed.acknowledged > 0 {
                let share = |bytes| percent(bytes, streamed.acknowledged);
                writeln!(
                    out,
                    "    acknowledged by something between: {} of the bytes, up to {} before the ACK from {}; {} before they were at {}",
                    share(streamed.locally),
                    ms(streamed.earlier),
                    names[down],
                    share(streamed.unseen),
                    names[down]
                )?;
            }
        }
    }
    if let Some(Spread { p50, p95, p99, max }) = way.spread {
        let [p50, p95, p99, max] = [p50, p95, p99, max].map(ms);
        writeln!(
            out,
            "    delay above the least: median {p50}, 95 % {p95}, 99 % {p99}, at most {max}"
        )?;
    }
    if let Some((at, bytes)) = way.backlog.max {
        let at = s(at.saturating_sub(hop.begin));
        writeln!(out, "    backlog, later than at the least delay: at most {bytes} B, at {at}")?;
    }
    losses(hop, way, out)
}

type Line<'l> = &'l dyn Fn(&mut dyn Write, &str, Lost) -> io::Result<()>;

fn packets(names: [&str; 2], way: &Way, line: Line<'_>, out: &mut impl Write) -> io::Result<()> {
    let [up, down] = way.places;
    line(out, "lost between", way.lost)?;
    if way.unrecorded.packets > 0 {
        line(out, &format!("not recorded by {}", names[down]), way.unrecorded)?;
    }
    if way.only.packets > 0 {
        line(out, &format!("not recorded by {}", names[up]), way.only)?;
    }
    for (place, outside) in [(down, way.outside[0]), (up, way.outside[1])] {
        if outside > 0 {
            let what = format!("before or after {}", names[place]);
            writeln!(out, "    {what:<34} {outside:>9} packets")?;
        }
    }
    writeln!(out, "    {:<34} {:>9} packets", "duplicated", way.duplicated)?;
    let reordered = way.reordered;
    write!(out, "    {:<34} {:>9} packets", "reordered", reordered.packets)?;
    if reordered.packets > 0 {
        let (extent, late) = (reordered.extent, ms(reordered.late));
        write!(out, ", extent at most {extent} packets, {late}")?;
    }
    writeln!(out)
}

fn losses(hop: &Hop, way: &Way, out: &mut impl Write) -> io::Result<()> {
    if way.losses.is_empty() {
        return Ok(());
    }
    writeln!(out, "    losses, each of packets one after the other:")?;
    for loss in way.losses.iter().take(LISTED) {
        let at = s(loss.at.saturating_sub(hop.begin));
        let Lost { packets, bytes } = loss.lost;
        let again = match loss.retransmitted {
            _ if bytes == 0 => "no data",
            0 => "not retransmitted",
            some if some >= bytes => "retransmitted",
            _ => "retransmitted in part",
        };
        let place = loss.place.map(|place| format!(" from byte {place}")).unwrap_or_default();
        writeln!(out, "      {at:>14} {packets:>6} packets {bytes:>9} B{place}, {again}")?;
    }
    let more = way.losses.len().saturating_sub(LISTED);
    if more > 0 {
        writeln!(out, "      and {more} more; --json has all")?;
    }
    Ok(())
}

fn percent(part: u64, of: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / of.max(1) as f64)
}

fn ms(nanos: i64) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}

fn s(nanos: i64) -> String {
    format!("{:.6} s", nanos as f64 / 1e9)
}
