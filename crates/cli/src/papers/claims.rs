//! Claims as text and as JSON: what they say, and where they are decided.

use bentpipe_papers::catalogue::{ClaimPlace, LocatedClaim};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Prints claims.
pub(super) fn write(
    claims: &[LocatedClaim<'_>],
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if json {
        let all: Vec<Value> = claims.iter().map(value).collect();
        return writeln!(out, "{:#}", json!(all));
    }
    for claim in claims {
        writeln!(out, "{}: {}", claim.id, claim.says())?;
        writeln!(out, "  paper     {} ({})", claim.paper.about.title, claim.paper.about.authors)?;
        if let ClaimPlace::Figure(figure, _) = claim.place {
            writeln!(out, "  figure    {}: {}", figure.id, figure.title)?;
        }
        match claim.decided_at().join(", ") {
            none if none.is_empty() => writeln!(out, "  decided   by {}", claim.decided_by())?,
            places => writeln!(out, "  decided   by {}: {places}", claim.decided_by())?,
        }
        for (name, accepted) in claim.accepted() {
            writeln!(out, "  accepted  {name} {accepted}")?;
        }
        if let Some(explanation) = claim.explanation() {
            writeln!(out, "  but       {explanation}")?;
        }
        for command in claim.commands() {
            writeln!(out, "  command   {command}")?;
        }
    }
    Ok(())
}

fn value(claim: &LocatedClaim<'_>) -> Value {
    let accepted: BTreeMap<&str, String> =
        claim.accepted().map(|(name, accepted)| (name, accepted.to_string())).collect();
    json!({
        "id": claim.id,
        "says": claim.says(),
        "paper": claim.paper.name,
        "title": claim.paper.about.title,
        "decided-by": claim.decided_by(),
        "decided-at": claim.decided_at(),
        "accepted": accepted,
        "explanation": claim.explanation(),
        "commands": claim.commands(),
    })
}
