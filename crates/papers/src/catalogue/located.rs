//! Claims by their ids, with the places where they are decided.

use super::{Accepted, Catalogue, Claim, ClaimMethod, Elsewhere, Entry, Figure, Paper, Witness};

/// A claim with its paper and its place.
#[derive(Debug, Clone, Copy)]
pub struct LocatedClaim<'a> {
    /// Its id.
    pub id: &'a str,
    /// The paper that makes it.
    pub paper: &'a Paper,
    /// Its kind and weight.
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
}

impl Catalogue {
    /// Finds a claim by its id.
    pub fn claim(&self, id: &str) -> Option<LocatedClaim<'_>> {
        self.papers.iter().flat_map(Paper::claims).find(|claim| claim.id == id)
    }
}

impl Paper {
    /// All its claims: those of its figures in the paper's order, then those decided elsewhere.
    pub fn claims(&self) -> impl Iterator<Item = LocatedClaim<'_>> {
        let of_figures = self.figures.iter().flat_map(|figure| {
            figure.claims.iter().map(move |claim| {
                let place = ClaimPlace::Figure(figure, claim);
                (claim.id.as_str(), claim.entry, place)
            })
        });
        let elsewhere = self.elsewhere.iter().map(|(id, elsewhere)| {
            (id.as_str(), elsewhere.entry, ClaimPlace::Elsewhere(elsewhere))
        });
        let all = of_figures.chain(elsewhere);
        all.map(|(id, entry, place)| LocatedClaim { id, paper: self, entry, place })
    }
}

impl<'a> LocatedClaim<'a> {
    /// The claim in our words.
    pub fn says(&self) -> &'a str {
        match self.place {
            ClaimPlace::Figure(_, claim) => &claim.says,
            ClaimPlace::Elsewhere(elsewhere) => &elsewhere.says,
        }
    }

    /// The accepted range of each of its numbers, by the number's name.
    pub fn accepted(&self) -> impl Iterator<Item = (&'a str, &'a Accepted)> {
        let all = self.of_figure().into_iter().flat_map(|claim| &claim.accepted);
        all.map(|(name, accepted)| (name.as_str(), accepted))
    }

    /// True if it counts: what the authors wished for does not.
    pub fn counts(&self) -> bool {
        self.entry.priority <= 2
    }

    /// The claim with which it counts once.
    pub fn counted_with(&self) -> Option<&'a str> {
        self.of_figure()?.counted_with.as_deref()
    }

    fn of_figure(&self) -> Option<&'a Claim> {
        match self.place {
            ClaimPlace::Figure(_, claim) => Some(claim),
            ClaimPlace::Elsewhere(_) => None,
        }
    }

    /// The reason why it does not hold, or cannot be decided.
    pub fn explanation(&self) -> Option<&'a str> {
        match self.place {
            ClaimPlace::Figure(_, claim) => claim.explanation.as_deref(),
            ClaimPlace::Elsewhere(elsewhere) => elsewhere.fails.as_deref(),
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
                Witness::Nothing => "nothing yet",
            },
        }
    }

    /// The figure, the tests or the pages that decide it.
    pub fn decided_at(&self) -> Vec<&'a str> {
        match self.place {
            ClaimPlace::Figure(figure, _) => vec![&figure.id],
            ClaimPlace::Elsewhere(elsewhere) => elsewhere.places().collect(),
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
