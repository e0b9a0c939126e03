//! `bentpipe link --self-test`: how well this machine emulates the link.

use super::report::{Report, micros};
use super::{Arguments, Error};
use bentpipe_core::link::Varying;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_net::self_test;
use bentpipe_net::steal::ProcessorTimes;
use bentpipe_scenario::Way;
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;

/// How long the link is filled.
const SPAN: Duration = Duration::from_secs(5);
/// Of a link that has none.
const RATE: Rate = Rate::from_bits_per_sec(20_000_000);

/// Fills the way down of the link that is asked for, or of one with 20 Mbit/s and 20 ms.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let options = &arguments.options;
    let link = match options.settings()? {
        mut settings if settings.is_empty() && options.scenario.is_none() => {
            settings.add(Way::Both, "--self-test", "rate=20Mbit/s,delay=20ms")?;
            super::given::read(&settings, 1)?
        }
        _ => options.link()?,
    };
    let parts = link.parts();
    let asked = parts[0].0.rate.as_ref().map_or(RATE, Varying::greatest);
    let before = ProcessorTimes::now();
    let found = self_test::run(parts, asked, SPAN)?;
    let steal = ProcessorTimes::now().zip(before).map(|(now, before)| now.since(before));
    let names = ["down".to_owned(), "up".to_owned()];
    let report = Report { summary: &found.summary, names: &names, steal };
    let warning = report.warning();
    let mut out = io::stdout().lock();
    if arguments.json {
        let lateness = &found.summary.lateness;
        let object = json!({
            "asked_rate_bit_s": asked.bits_per_sec(),
            "rate_bit_s": found.rate.map(Rate::bits_per_sec),
            "release_error_p50_us": micros(lateness.quantile(0.5)),
            "release_error_p99_us": micros(lateness.quantile(0.99)),
            "release_error_max_us": micros(lateness.max()),
            "late_packets": lateness.late_packets(),
            "steal_percent": steal.map(|steal| steal.percent),
            "warning": warning,
        });
        writeln!(out, "{object}")?;
    } else {
        if let Some(rate) = found.rate {
            writeln!(
                out,
                "received at {}bit/s of {}bit/s",
                rate.bits_per_sec(),
                asked.bits_per_sec()
            )?;
        }
        report.print(false, &mut out)?;
    }
    let late = arguments.strict && warning.is_some();
    Ok(if late { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
