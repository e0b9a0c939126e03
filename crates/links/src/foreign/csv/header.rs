//! Headers: what a column has, by its name, and its unit.

use super::super::ForeignError;
use super::ColumnChoice;

/// What a column of a trace may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quantity {
    Time,
    Rate,
    /// One way.
    Delay,
    /// Twice the delay.
    RoundTrip,
    Loss,
    /// Packets that were lost, of `Sent`.
    Lost,
    Sent,
    BitErrors,
}

use Quantity::{BitErrors, Delay, Loss, Lost, Rate, RoundTrip, Sent, Time};

/// The names of columns. Of several that have the same, the one that stands first here is taken.
///
/// So a capacity goes before a throughput: the one is the link's, the other that of a flow over it.
const NAMES: &[(Quantity, &[&str])] = &[
    (Time, &["time", "t", "elapsed", "timestamp", "ts", "datetime", "epoch", "date"]),
    (
        Rate,
        &[
            "rate",
            "capacity",
            "bandwidth",
            "bw",
            "bitrate",
            "bits_per_second",
            "throughput",
            "goodput",
        ],
    ),
    (Delay, &["delay", "owd", "one_way_delay"]),
    (RoundTrip, &["rtt", "round_trip_time", "round_trip", "ping_rtt"]),
    (
        Loss,
        &["loss", "loss_rate", "loss_ratio", "loss_probability", "loss_prob", "packet_loss", "plr"],
    ),
    (Lost, &["pkt_drop", "lost_packets", "packets_lost"]),
    (Sent, &["pkt_total", "packets", "sent_packets", "packets_sent"]),
    (BitErrors, &["bit_errors", "ber"]),
];

/// Units of headers in lower case, and what the readers of quantities call them.
const UNITS: &[(&str, &str)] = &[
    ("bit/s", "bit/s"),
    ("bps", "bit/s"),
    ("kbit/s", "kbit/s"),
    ("kbps", "kbit/s"),
    ("mbit/s", "Mbit/s"),
    ("mbps", "Mbit/s"),
    ("gbit/s", "Gbit/s"),
    ("gbps", "Gbit/s"),
    ("ns", "ns"),
    ("us", "us"),
    ("µs", "us"),
    ("usec", "us"),
    ("ms", "ms"),
    ("msec", "ms"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("seconds", "s"),
    ("min", "min"),
    ("h", "h"),
    ("%", "%"),
    ("percent", "%"),
    ("pct", "%"),
    // A probability.
    ("p", ""),
];

/// A unit as the readers of quantities call it.
pub(super) fn unit(text: &str) -> Option<&'static str> {
    // A capital B is a byte, which no rate here is in.
    let bytes = text.contains('B');
    let lower = text.to_lowercase();
    UNITS.iter().find(|(name, _)| *name == lower && !bytes).map(|(_, unit)| *unit)
}

/// A column that is used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column<'a> {
    pub(super) quantity: Quantity,
    /// Of its cells, from zero.
    pub(super) index: usize,
    /// As it stands in the header.
    pub(super) name: &'a str,
    /// Of its cells, if they have none themselves.
    pub(super) unit: &'a str,
    /// Earlier ones of the same quantity go before it.
    rank: usize,
}

/// `Throughput (Mbps)`, `capacity_mbps`: a name in lower case and its unit.
fn parts(header: &str) -> (String, Option<&'static str>) {
    let bracketed = header
        .strip_suffix([')', ']'])
        .and_then(|open| open.rsplit_once(['(', '[']))
        .map(|(name, tail)| (name.trim_end_matches(['_', ' ']), tail));
    let split = bracketed.or_else(|| header.rsplit_once(['_', ' ']));
    let known = split.and_then(|(name, tail)| Some((name, unit(tail.trim())?)));
    let plain = |name: &str| name.trim().to_lowercase().replace([' ', '-'], "_");
    known.map_or_else(|| (plain(header), None), |(name, unit)| (plain(name), Some(unit)))
}

impl<'a> Column<'a> {
    /// The column `index`, if a trace has any like it.
    fn known(index: usize, header: &'a str) -> Option<Column<'a>> {
        let (name, unit) = parts(header);
        // `bits_per_second` has its unit in its name, `loss_ratio` none.
        NAMES.iter().find_map(|(quantity, names)| {
            let rank = names.iter().position(|known| *known == name)?;
            let unit = if name == "bits_per_second" { Some("bit/s") } else { unit };
            Some(Column {
                quantity: *quantity,
                index,
                name: header,
                unit: unit.unwrap_or(""),
                rank,
            })
        })
    }
}

/// The columns that are used, by quantity, and the names of those that are not.
pub(super) struct Header<'a> {
    pub(super) columns: Vec<Column<'a>>,
    pub(super) left_out: Vec<&'a str>,
}

impl<'a> Header<'a> {
    /// Chooses by names alone.
    pub(super) fn by_names(names: &[&'a str]) -> Result<Header<'a>, ForeignError> {
        let known = names.iter().enumerate();
        let mut columns: Vec<Column<'a>> =
            known.filter_map(|(index, name)| Column::known(index, name)).collect();
        columns.sort_by_key(|column| (column.quantity, column.rank, column.index));
        for pair in columns.windows(2) {
            if (pair[0].quantity, pair[0].rank) == (pair[1].quantity, pair[1].rank) {
                return Err(twice(pair[0].name, pair[1].name));
            }
        }
        columns.dedup_by_key(|column| column.quantity);
        let has = |columns: &[Column<'_>], quantity| columns.iter().any(|c| c.quantity == quantity);
        // What is measured one way, and counted, goes before what follows from it.
        if has(&columns, Delay) {
            columns.retain(|column| column.quantity != RoundTrip);
        }
        match has(&columns, Lost) && has(&columns, Sent) {
            true => columns.retain(|column| column.quantity != Loss),
            false => columns.retain(|column| !matches!(column.quantity, Lost | Sent)),
        }
        Ok(Header::of(names, columns))
    }

    /// Takes the columns that are asked for, and no others.
    pub(super) fn chosen(
        names: &[&'a str],
        asked: &[(Quantity, &'a ColumnChoice)],
    ) -> Result<Header<'a>, ForeignError> {
        let mut columns = Vec::new();
        for (quantity, choice) in asked {
            let mut found = names.iter().enumerate().filter(|(_, name)| **name == choice.name);
            let Some((index, name)) = found.next() else {
                let there = names.join(", ");
                return Err(ForeignError::whole(format!(
                    "no column is called `{}` (there are: {there})",
                    choice.name
                )));
            };
            if found.next().is_some() {
                return Err(twice(name, name));
            }
            let own = parts(name).1.unwrap_or("");
            let unit = choice.unit.as_deref().map_or(own, |asked| unit(asked).unwrap_or(asked));
            columns.push(Column { quantity: *quantity, index, name, unit, rank: 0 });
        }
        Ok(Header::of(names, columns))
    }

    fn of(names: &[&'a str], columns: Vec<Column<'a>>) -> Header<'a> {
        let used = |index: &usize| columns.iter().any(|column| column.index == *index);
        let left_out =
            names.iter().enumerate().filter(|(index, name)| !used(index) && !name.is_empty());
        let left_out = left_out.map(|(_, name)| *name).collect();
        Header { columns, left_out }
    }

    /// The column with `quantity`.
    pub(super) fn column(&self, quantity: Quantity) -> Option<&Column<'a>> {
        self.columns.iter().find(|column| column.quantity == quantity)
    }
}

fn twice(one: &str, other: &str) -> ForeignError {
    ForeignError::whole(match one == other {
        true => format!("the column `{one}` stands twice in the header"),
        false => format!(
            "the columns `{one}` and `{other}` are the same quantity: `bentpipe trace convert csv` takes the one that is named"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(header: &str) -> String {
        let names: Vec<&str> = header.split(',').collect();
        match Header::by_names(&names) {
            Ok(found) => {
                let used = found
                    .columns
                    .iter()
                    .map(|column| format!("{:?}={}:{}", column.quantity, column.name, column.unit));
                let used: Vec<String> = used.collect();
                format!("{} / {}", used.join(" "), found.left_out.join(" "))
            }
            Err(error) => error.why,
        }
    }

    #[test]
    fn columns_are_known_by_their_names() {
        for (header, expected) in [
            ("time,rate,delay", "Time=time: Rate=rate: Delay=delay: / "),
            ("loss_%,time_s", "Time=time_s:s Loss=loss_%:% / "),
            ("Time (s),Throughput (Mbps)", "Time=Time (s):s Rate=Throughput (Mbps):Mbit/s / "),
            (
                "t_s,bits_per_second,bit-errors",
                "Time=t_s:s Rate=bits_per_second:bit/s BitErrors=bit-errors: / ",
            ),
            (
                "t_s,rtt_ms,owd_ms,capacity_mbps,udp_sat_mbps,loss_p,reconfig",
                "Time=t_s:s Rate=capacity_mbps:Mbit/s Delay=owd_ms:ms Loss=loss_p: / rtt_ms udp_sat_mbps reconfig",
            ),
            (
                "time,throughput_mbps,capacity_mbps",
                "Time=time: Rate=capacity_mbps:Mbit/s / throughput_mbps",
            ),
            ("time,pkt_drop,pkt_total,loss", "Time=time: Lost=pkt_drop: Sent=pkt_total: / loss"),
            ("time,packets,loss", "Time=time: Loss=loss: / packets"),
            ("time,rate_MBps", "Time=time: / rate_MBps"),
        ] {
            assert_eq!(chosen(header), expected);
        }
    }

    #[test]
    fn a_quantity_that_is_there_twice_is_refused_by_name() {
        assert_eq!(chosen("time,rate,rate"), "the column `rate` stands twice in the header");
        assert!(chosen("time,rtt_ms,rtt_us").starts_with("the columns `rtt_ms` and `rtt_us` are"));
        assert!(chosen("time_s,time_ms,rate").contains("`time_s` and `time_ms`"));
    }
}
