//! Claims by their ids, with the places where they are decided.

use super::{Accepted, Catalogue, Claim, ClaimMethod, Elsewhere, Entry, Figure, Paper, Witness};

/// A claim of the register with its paper and its place.
#[derive(Debug, Clone, Copy)]
pub struct LocatedClaim<'a> {
    /// Its id.
    pub id: &'a str,
    /// The paper that makes it.
    pub paper: &'a Paper,
    /// Its entry in the register.
    pub entry: Entry,
    /// The place where it is decided.
    pub place: ClaimPlace<'a>,
}

/// The place where a claim is decided.
#[derive(Debug, Clone, Copy)]
pub enum ClaimPlace<'a> {
    /// A figure: its experiments decide.
    Figure(&'a Figure, &'a Claim),
    /// A test, or a page of the documents.
    Elsewhere(&'a Elsewhere),
    /// None.
    Nowhere,
}

impl Catalogue {
    /// Finds a claim by its id.
    pub fn claim(&self, id: &str) -> Option<LocatedClaim<'_>> {
        let (id, &entry) = self.register.get_key_value(id)?;
        let of_paper = |paper: &&Paper| self.claims(paper).any(|(own, _)| own == id);
        let paper = self.papers.iter().find(of_paper)?;
        let mut claims = paper
            .figures
            .iter()
            .flat_map(|figure| figure.claims.iter().map(move |claim| (figure, claim)));
        let of_figure = claims.find(|(_, claim)| claim.id == *id);
        let place = match (of_figure, paper.elsewhere.get(id)) {
            (Some((figure, claim)), _) => ClaimPlace::Figure(figure, claim),
            (None, Some(elsewhere)) => ClaimPlace::Elsewhere(elsewhere),
            (None, None) => ClaimPlace::Nowhere,
        };
        Some(LocatedClaim { id, paper, entry, place })
    }

    /// The accepted range of each number of a claim, by the number's name.
    pub fn accepted_ranges(&self, id: &str) -> impl Iterator<Item = (&str, &Accepted)> {
        let all = self.tolerances.get(id).into_iter().flatten();
        all.map(|(name, accepted)| (name.as_str(), accepted))
    }
}

impl<'a> LocatedClaim<'a> {
    /// The claim in our words; nothing if no place has them yet.
    pub fn says(&self) -> Option<&'a str> {
        match self.place {
            ClaimPlace::Figure(_, claim) => Some(&claim.says),
            ClaimPlace::Elsewhere(elsewhere) => Some(&elsewhere.says),
            ClaimPlace::Nowhere => None,
        }
    }

    /// The reason why it does not hold, or cannot be decided.
    pub fn explanation(&self) -> Option<&'a str> {
        match self.place {
            ClaimPlace::Figure(_, claim) => claim.explanation.as_deref(),
            ClaimPlace::Elsewhere(elsewhere) => elsewhere.fails.as_deref(),
            ClaimPlace::Nowhere => None,
        }
    }

    /// The kind of its place, in a word.
    pub fn decided_by(&self) -> &'static str {
        match self.place {
            ClaimPlace::Figure(..) => "figure",
            ClaimPlace::Elsewhere(elsewhere) => match elsewhere.by {
                Witness::Test => "test",
                Witness::Live => "live test",
                Witness::Page => "page",
            },
            ClaimPlace::Nowhere => "nothing yet",
        }
    }

    /// The figure, the tests or the pages that decide it.
    pub fn decided_at(&self) -> Vec<&'a str> {
        match self.place {
            ClaimPlace::Figure(figure, _) => vec![&figure.id],
            ClaimPlace::Elsewhere(elsewhere) => elsewhere.at.split(',').map(str::trim).collect(),
            ClaimPlace::Nowhere => Vec::new(),
        }
    }

    /// The commands that decide it again; a page has none.
    pub fn commands(&self) -> Vec<String> {
        match self.place {
            ClaimPlace::Figure(figure, _) if self.entry.how == ClaimMethod::Emulator => {
                vec![format!("sudo bentpipe papers --live {}", figure.id)]
            }
            ClaimPlace::Figure(figure, _) => vec![format!("bentpipe papers {}", figure.id)],
            _ => {
                let mut all: Vec<String> =
                    self.decided_at().into_iter().filter_map(test_command).collect();
                all.dedup();
                all
            }
        }
    }
}

/// The command that runs a test, such as `crates/sim/tests/a.rs::b`. Live tests take root, and
/// their names are not those of their functions: the command runs all of them.
fn test_command(at: &str) -> Option<String> {
    let (file, name) = at.strip_prefix("crates/")?.split_once("::")?;
    let (folder, inside) = file.split_once('/')?;
    let package = if folder == "cli" { "bentpipe" } else { &format!("bentpipe-{folder}") };
    if inside.starts_with("tests/live/measured/") {
        return Some("scripts/bench-live.sh".to_owned());
    }
    if inside.starts_with("tests/live/") {
        return Some(format!("cargo test -p {package} --test live"));
    }
    Some(format!("cargo test -p {package} {name}"))
}
