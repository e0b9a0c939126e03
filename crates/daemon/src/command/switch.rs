//! `enable` and `disable`: a gateway that observes splits, for good or on trial, and back.

use super::{Error, answers};
use crate::bump::DiversionState;
use crate::control::{ControlClient, Turn, Turned};
use crate::invocation;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

/// The longest trial.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// How long a trial is to last.
pub(super) fn parse_trial(text: &str) -> Result<Duration, String> {
    let trial = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match trial.is_zero() || trial > LONGEST {
        true => Err("a trial lasts more than nothing, and 30 days at most".to_owned()),
        false => Ok(trial),
    }
}

/// The line that asks for it.
fn line(turn: Turn) -> String {
    match turn {
        Turn::Split(None) => "enable".to_owned(),
        Turn::Split(Some(trial)) => format!("enable {}", trial.as_millis()),
        Turn::Observe => "disable".to_owned(),
    }
}

/// What a line asks for.
pub(super) fn parse(line: &str) -> Option<Turn> {
    match line.split_once(' ') {
        None if line == "enable" => Some(Turn::Split(None)),
        None if line == "disable" => Some(Turn::Observe),
        Some(("enable", trial)) => {
            Some(Turn::Split(Some(Duration::from_millis(trial.parse().ok()?))))
        }
        _ => None,
    }
}

/// Has the gateway that runs here do it.
pub(super) fn run(turn: Turn) -> Result<ExitCode, Error> {
    let answer: Value = serde_json::from_slice(&answers::turn(&line(turn))?).unwrap_or_default();
    let said = answer["said"].as_str().unwrap_or("the gateway's answer is not understood");
    if answer["done"] != true {
        return Err(Error::Inquiry(said.to_owned()));
    }
    answers::show(&format!("{said}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// What the gateway answers. None where its loop does not.
pub(super) fn answer(
    client: &ControlClient,
    diversion: &DiversionState,
    turn: Turn,
) -> Option<String> {
    let turned = client.turn(turn).ok()?;
    let (done, mut said) = match (turned, turn) {
        (Turned::Drains, _) => (false, "the gateway is being stopped: nothing is changed".to_owned()),
        (Turned::SplitsAlready, Turn::Split(Some(_))) => {
            (false, "the gateway splits already, and not on trial: nothing is changed".to_owned())
        }
        (Turned::SplitsAlready, _) => (true, "the gateway splits already".to_owned()),
        (Turned::Done, Turn::Split(None)) => (
            true,
            "connections that begin now are split, until the gateway ends or reads its file again; to keep it so, set \
             `observe = false` in [policy]"
                .to_owned(),
        ),
        (Turned::Done, Turn::Split(Some(trial))) => (
            true,
            format!(
                "connections that begin now are split for {}; then no longer, unless you run: {} enable",
                super::flows::span(trial),
                invocation::command()
            ),
        ),
        (Turned::Done, Turn::Observe) => {
            (true, "connections that begin now are not split, and what would be is counted".to_owned())
        }
    };
    if done {
        tracing::info!("{said}");
    }
    if done && turn != Turn::Observe && diversion.is_asleep() {
        said += "\nbut nothing is as long as something is in the way: ";
        said += invocation::command();
        said += " check";
    }
    Some(json!({ "done": done, "said": said }).to_string())
}

/// For people: that it splits on trial, if it does.
pub(super) fn words(trial_left: Option<Duration>) -> String {
    trial_left.map_or_else(String::new, |left| {
        let left = super::flows::span(left);
        format!("splitting on trial for {left} more; to go on: {} enable\n", invocation::command())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read_as_it_was_written() {
        let trial = Some(Duration::from_secs(300));
        for turn in [Turn::Split(None), Turn::Split(trial), Turn::Observe] {
            assert_eq!(parse(&line(turn)), Some(turn));
        }
        for wrong in ["", "enable ", "enable x", "enable -1", "disable 5", "flows"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_trial_has_an_end() {
        assert_eq!(parse_trial("5min"), Ok(Duration::from_secs(300)));
        for wrong in ["0s", "31days", "100000years", "5", "soon"] {
            assert!(parse_trial(wrong).is_err(), "{wrong}");
        }
    }
}
