//! The report as tables of text.

use super::super::flows::span;
use super::super::passed::size;
use super::{Benefit, Gains, Means, REMARKS, ServiceStats, SizeClass};
use bentpipe_terminal::table::{Align, Table};
use std::fmt::Write;

/// Services that are shown.
const SHOWN: usize = 40;

/// The whole report.
pub(in super::super) fn text(benefit: &Benefit<'_>) -> String {
    let all = benefit.all();
    let uptime = span(benefit.uptime);
    if all.connections + all.sampled() == 0 {
        return format!("no transfer has ended yet (the gateway runs for {uptime})\n");
    }
    let mut text = format!(
        "transfers that have ended in {uptime}: {} split, {} left unsplit as a sample\n\n",
        all.connections,
        all.sampled()
    );
    text += &by_size(&all).to_string();
    text += "\n";
    text += &by_service(benefit).to_string();
    let hidden = benefit.services().len().saturating_sub(SHOWN);
    if hidden > 0 {
        _ = writeln!(text, "and {hidden} more: `--json` has all");
    }
    for remark in REMARKS {
        _ = write!(text, "\n{remark}");
    }
    text + "\n"
}

fn by_size(all: &ServiceStats) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([Left, Right, Right, Right, Right, Right, Right, Right, Right]);
    table.row([
        "size",
        "split",
        "took s",
        "unsplit, by the model",
        "times as long",
        "sample",
        "took s",
        "times as long",
        "model's error",
    ]);
    for class in SizeClass::ALL {
        let stats = &all.classes[class as usize];
        let gains = Gains::of(stats);
        let [split, sample] = [stats.split.means(), stats.sample.means()];
        if split.is_none() && sample.is_none() {
            continue;
        }
        let seconds = |of: fn(&Means) -> f64, means: &Option<Means>| number(means.as_ref().map(of));
        let error = sample.map(|means| format!("{:.0} %", 100.0 * (means.error - 1.0)));
        table.row([
            class.name().to_owned(),
            stats.split.count().to_string(),
            seconds(|means| means.took, &split),
            seconds(|means| means.model, &split),
            number(gains.model),
            stats.sample.count().to_string(),
            seconds(|means| means.took, &sample),
            number(gains.sample),
            error.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table
}

fn by_service(benefit: &Benefit<'_>) -> Table {
    use Align::{Left, Right};
    let columns = [Left].into_iter().chain([Right; 11]);
    let mut table = Table::new(columns);
    table.row([
        "subscribers",
        "port",
        "split",
        "up",
        "down",
        "median size",
        "s",
        "kbit/s",
        "rtt lan ms",
        "satellite",
        "retransmitted",
        "unsplit, times as long",
    ]);
    let others = benefit.transfers.others();
    let mut row = |name: String, port: String, stats: &ServiceStats| {
        let median = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), |it| format!("{it:.0}"));
        table.row([
            name,
            port,
            stats.connections.to_string(),
            size(stats.bytes[0]),
            size(stats.bytes[1]),
            stats.sizes.median().map_or_else(|| "-".to_owned(), |it| size(it as u64)),
            number(stats.durations.median().map(|millis| millis / 1e3)),
            median(stats.goodputs.median()),
            median(stats.round_trips[0].median()),
            median(stats.round_trips[1].median()),
            stats.retransmitted[1].to_string(),
            number(Gains::overall(stats)),
        ]);
    };
    for (key, stats) in benefit.services().into_iter().take(SHOWN) {
        row(key.prefix.to_string(), key.port.to_string(), stats);
    }
    if others.connections > 0 {
        row("all others".to_owned(), String::new(), others);
    }
    table
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}
