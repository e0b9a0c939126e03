//! Claims as text and as JSON: what they say, and where they are decided.

use bentpipe_papers::catalogue::{Catalogue, ClaimPlace, LocatedClaim};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Prints claims.
pub(super) fn write(
    catalogue: &Catalogue,
    claims: &[LocatedClaim<'_>],
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if json {
        let all: Vec<Value> = claims.iter().map(|claim| value(catalogue, claim)).collect();
        return writeln!(out, "{:#}", json!(all));
    }
    for claim in claims {
        writeln!(out, "{}: {}", claim.id, claim.says().unwrap_or("not in our words yet"))?;
        writeln!(out, "  paper     {} ({})", claim.paper.about.title, claim.paper.about.authors)?;
        if let ClaimPlace::Figure(figure, _) = claim.place {
            writeln!(out, "  figure    {}: {}", figure.id, figure.title)?;
        }
        match claim.decided_at().join(", ") {
            none if none.is_empty() => writeln!(out, "  decided   by {}", claim.decided_by())?,
            places => writeln!(out, "  decided   by {}: {places}", claim.decided_by())?,
        }
        for (name, accepted) in catalogue.accepted_ranges(claim.id) {
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

fn value(catalogue: &Catalogue, claim: &LocatedClaim<'_>) -> Value {
    let ranges = catalogue.accepted_ranges(claim.id);
    let accepted: BTreeMap<&str, String> =
        ranges.map(|(name, accepted)| (name, accepted.to_string())).collect();
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
