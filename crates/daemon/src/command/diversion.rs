//! Whether anything is taken off the wire, and what is in the way: told at the gateway's start, and
//! to those who ask.

use crate::bump::DiversionState;
use crate::invocation;
use bentpipe_linux::surroundings::Finding;
use serde_json::{Value, json};

/// Says when the gateway starts that nothing is split, if that is so.
pub(super) fn log(state: &DiversionState) {
    if state.is_asleep() {
        tracing::warn!(
            "nothing is split until that is out of the way: the kernel forwards. It is looked at again every few \
             seconds"
        );
    }
}

/// For people: nothing if all is well.
pub(super) fn lines(state: &DiversionState, observes: bool) -> String {
    let head = match (state.is_asleep(), observes) {
        (true, _) => "NOTHING IS SPLIT: the kernel forwards, as something is in the way\n",
        (false, true) => &format!(
            "NOTHING IS SPLIT, as the gateway only observes; to try it for five minutes: {} enable --try 5min\n",
            invocation::command()
        ),
        (false, false) => "",
    };
    let findings = state.findings();
    findings.iter().fold(head.to_owned(), |text, finding| format!("{text}in the way: {finding}\n"))
}

/// For machines, beside what the gateway has done.
pub(super) fn add(state: &DiversionState, observes: bool, status: &mut Value) {
    status["observes"] = json!(observes);
    status["diverting"] = json!(!state.is_asleep());
    status["findings"] = state.findings().iter().map(finding).collect();
}

/// One finding.
pub(super) fn finding(finding: &Finding) -> Value {
    json!({
        "name": finding.name(),
        "forbids_diversion": finding.forbids_diversion(),
        "cause": finding.cause(),
        "remedy": finding.remedy(),
    })
}
