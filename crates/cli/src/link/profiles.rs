//! `bentpipe link profiles`: ready-made links.

use bentpipe_links::{PROFILES, Profile};
use bentpipe_terminal::table::{Align, Table};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Prints all of them, each with its source.
pub(super) fn print(as_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if as_json {
        let all: Vec<Value> = PROFILES.iter().map(object).collect();
        return writeln!(out, "{}", json!(all));
    }
    use Align::{Left, Right};
    let mut table = Table::new([Left, Right, Right, Right, Right, Left]);
    table.row(["profile", "down", "up", "delay", "up", "what"]);
    for profile in PROFILES {
        let Profile { name, rate, back_rate, delay, back_delay, about } = profile;
        let [rate, back_rate] = [rate, back_rate].map(ToString::to_string);
        let [delay, back_delay] =
            [delay, back_delay].map(|delay| format!("{}ms", delay.as_secs_f64() * 1e3));
        let [name, about] = [name, about].map(|text| (*text).to_owned());
        table.row([name, rate, back_rate, delay, back_delay, about]);
    }
    write!(out, "{table}")
}

fn object(profile: &Profile) -> Value {
    json!({
        "name": profile.name,
        "down_rate_bit_s": profile.rate.bits_per_sec(),
        "up_rate_bit_s": profile.back_rate.bits_per_sec(),
        "down_delay_ms": profile.delay.as_secs_f64() * 1e3,
        "up_delay_ms": profile.back_delay.as_secs_f64() * 1e3,
        "about": profile.about,
    })
}
