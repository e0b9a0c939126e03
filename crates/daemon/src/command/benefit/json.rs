//! The report for machines.

use super::{Benefit, Gains, Group, Histogram, REMARKS, ServiceStats, SizeClass};
use serde_json::{Value, json};

/// The whole report.
pub(in super::super) fn json(benefit: &Benefit<'_>) -> Value {
    let services: Vec<Value> = benefit
        .services()
        .into_iter()
        .map(|(key, stats)| {
            let mut service = of_service(stats);
            service["prefix"] = json!(key.prefix.to_string());
            service["port"] = json!(key.port);
            service
        })
        .collect();
    let times: Value = benefit
        .transfers
        .times()
        .map(|(class, times)| {
            let times = json!({
                "split": histogram(&times.split),
                "model": histogram(&times.model),
                "sample": histogram(&times.sample),
            });
            (class.name(), times)
        })
        .collect();
    json!({
        "uptime_s": benefit.uptime.as_secs_f64(),
        "remarks": REMARKS,
        "all": of_service(&benefit.all()),
        "milliseconds_by_size": times,
        "services": services,
        "others": of_service(benefit.transfers.others()),
    })
}

fn of_service(stats: &ServiceStats) -> Value {
    let sizes: Value = SizeClass::ALL
        .into_iter()
        .map(|class| {
            let stats = &stats.classes[class as usize];
            let gains = Gains::of(stats);
            let class_json = json!({
                "split": group(&stats.split),
                "sample": group(&stats.sample),
                "times_as_long_by_model": gains.model,
                "times_as_long_by_sample": gains.sample,
            });
            (class.name(), class_json)
        })
        .collect();
    json!({
        "split": stats.connections,
        "sampled": stats.sampled(),
        "bytes": { "from_clients": stats.bytes[0], "from_servers": stats.bytes[1] },
        "retransmitted_segments": { "lan": stats.retransmitted[0], "satellite": stats.retransmitted[1] },
        "sizes_bytes": histogram(&stats.sizes),
        "durations_ms": histogram(&stats.durations),
        "goodputs_kbps": histogram(&stats.goodputs),
        "min_round_trips_ms": {
            "lan": histogram(&stats.round_trips[0]),
            "satellite": histogram(&stats.round_trips[1]),
        },
        "times_as_long_by_model": Gains::overall(stats),
        "by_size": sizes,
    })
}

fn group(group: &Group) -> Value {
    let means = group.means();
    json!({
        "count": group.count(),
        "mean_bytes": means.map(|means| means.size),
        "mean_s": means.map(|means| means.took),
        "model_mean_s": means.map(|means| means.model),
        "model_error_factor": means.map(|means| means.error),
    })
}

/// The median, and each bucket that has some: where it ends, and its count.
fn histogram(histogram: &Histogram) -> Value {
    let buckets: Vec<Value> = histogram
        .buckets()
        .filter(|(_, count)| *count > 0)
        .map(|(end, count)| json!([end, count]))
        .collect();
    json!({ "median": histogram.median(), "buckets": buckets })
}
