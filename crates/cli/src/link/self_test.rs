//! `bentpipe link --self-test`: how well this machine emulates the link.

use super::report::{Report, micros};
use super::{Arguments, Error, Filled};
use bentpipe_core::link::Varying;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_emulator::duplex_link::DuplexLinkConfig;
use bentpipe_emulator::{live, self_test};
use bentpipe_links::{DirectionConfig, Directions};
use bentpipe_linux::processor_times::ProcessorTimes;
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;

/// How long the link is filled.
const SPAN: Duration = Duration::from_secs(5);
/// Of a link that has none.
const RATE: Rate = Rate::from_bits_per_sec(20_000_000);

/// Fills the direction down, or both, of the link that is asked for, or of one with 20 Mbit/s and
/// 20 ms.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let options = &arguments.options;
    let link = match options.settings()? {
        mut settings if settings.is_empty() && options.scenario.is_none() => {
            settings.add(Directions::Both, "--self-test", "rate=20Mbit/s,delay=20ms")?;
            live::read(&settings, 1)?
        }
        _ => options.link()?,
    };
    let config = DuplexLinkConfig::from(&link);
    let rate =
        |direction: &DirectionConfig| direction.link.rate.as_ref().map_or(RATE, Varying::greatest);
    let asked = config.directions.each_ref().map(rate);
    let both = arguments.self_test == Some(Filled::Both);
    let filled = [Some(asked[0]), Some(asked[1]).filter(|_| both)];
    let before = ProcessorTimes::now();
    let found = self_test::run(config, filled, SPAN, arguments.realtime)?;
    let steal = ProcessorTimes::now().zip(before).map(|(now, before)| now.stolen_since(before));
    let names = ["down".to_owned(), "up".to_owned()];
    let report = Report { summary: &found.summary, names: &names, steal };
    let warning = report.warning();
    let mut out = io::stdout().lock();
    let timer = &found.bare_timer;
    let [timer_p50, timer_p99] = [0.5, 0.99].map(|share| micros(timer.quantile(share)));
    let cost = found.cost.map(|cost| cost.as_nanos());
    if arguments.json {
        let lateness = &found.summary.lateness;
        let bits = |rate: Option<Rate>| rate.map(Rate::bits_per_sec);
        let object = json!({
            "asked_rate_bit_s": asked[0].bits_per_sec(),
            "rate_bit_s": bits(found.rates[0]),
            "up_rate_bit_s": bits(found.rates[1]),
            "release_error_p50_us": micros(lateness.quantile(0.5)),
            "release_error_p99_us": micros(lateness.quantile(0.99)),
            "release_error_max_us": micros(lateness.max()),
            "timer_error_p50_us": timer_p50,
            "timer_error_p99_us": timer_p99,
            "late_packets": lateness.late_packets(),
            "processor_ns_per_packet": cost,
            "steal_percent": steal.map(|steal| steal.percent),
            "warning": warning,
        });
        writeln!(out, "{object}")?;
    } else {
        for (side, rate) in found.rates.iter().enumerate() {
            if let Some(rate) = rate {
                let (rate, asked) = (rate.bits_per_sec(), asked[side].bits_per_sec());
                writeln!(out, "{}: received at {rate}bit/s of {asked}bit/s", names[side])?;
            }
        }
        report.print(false, &mut out)?;
        writeln!(out, "a bare timer is late by {timer_p50} us (median), {timer_p99} us (99 %)")?;
        if let Some(cost) = cost {
            writeln!(out, "a packet takes {cost} ns of a processor")?;
        }
    }
    let late = arguments.strict && warning.is_some();
    Ok(if late { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
