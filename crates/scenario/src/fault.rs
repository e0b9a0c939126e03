//! What breaks, and when.

use crate::names::{LinkIndex, Names, NodeIndex};
use bentpipe_config::reader::{Reader, Result, Section, field, one_of};
use bentpipe_core::text::Choice;
use bentpipe_core::time::Duration;

/// Something that happens to the network at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Its name in the file.
    pub name: String,
    /// When it happens.
    pub at: Duration,
    /// For how long; `None`: for good.
    pub lasting: Option<Duration>,
    /// What happens.
    pub kind: FaultKind,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, strum::EnumDiscriminants)]
#[strum_discriminants(
    vis(pub(crate)),
    name(Kind),
    derive(strum::VariantArray, strum::VariantNames, strum::IntoStaticStr),
    strum(serialize_all = "kebab-case")
)]
pub enum FaultKind {
    /// Both directions of a link pass nothing, and routes do not change.
    LinkDown(LinkIndex),
    /// A link's cost for routes changes to this, and routes with it.
    RouteChange {
        /// The link.
        link: LinkIndex,
        /// Its cost; `None`: no route takes it.
        cost: Option<f64>,
    },
    /// A gateway loses all that it holds and forwards packets unsplit.
    GatewayCrash(NodeIndex),
}

pub(crate) const FAULT: Section = Section {
    path: "fault.NAME",
    about: "Something that happens to the network at a moment.",
    fields: &[
        one_of::<Kind>("kind", "", "what happens"),
        field("at", "a time", "", "when"),
        field(
            "lasting",
            "a time",
            "for good",
            "until all is as it was; a gateway begins anew, empty",
        ),
        field("link", "a link's name", "", "whose link is down, or changes its cost"),
        field(
            "cost",
            "a number, or `none`",
            "`none`",
            "of `route-change`: the link's new cost; with `none` no route takes it",
        ),
        field(
            "gateway",
            "a gateway's name",
            "",
            "which crashes: it loses all that it holds and forwards unsplit",
        ),
    ],
    example: "[fault.rain]\nkind = \"link-down\"\nlink = \"sat\"\nat = \"30s\"\nlasting = \"5s\"",
};

impl Fault {
    pub(crate) fn read(reader: &Reader<'_>, name: &str, names: &Names) -> Result<Fault> {
        let context = reader.context;
        let kind: Kind = context.choice(reader.need_node("kind")?, "fault")?;
        let not_for = |keys: &[&str]| match keys.iter().find(|key| reader.node(key).is_some()) {
            Some(key) => Err(reader.bad(key, format!("a {} has no `{key}`", kind.name()))),
            None => Ok(()),
        };
        let kind = match kind {
            Kind::LinkDown => {
                not_for(&["cost", "gateway"])?;
                FaultKind::LinkDown(names.link(context, reader.need_node("link")?)?)
            }
            Kind::RouteChange => {
                not_for(&["gateway"])?;
                let link = names.link(context, reader.need_node("link")?)?;
                let none = reader.node("cost").is_none_or(|cost| cost.label() == "none");
                let cost =
                    if none { None } else { Some(reader.within("cost", 1.0, 1e-9..=1e9)?) };
                FaultKind::RouteChange { link, cost }
            }
            Kind::GatewayCrash => {
                not_for(&["cost", "link"])?;
                FaultKind::GatewayCrash(names.node(context, reader.need_node("gateway")?)?)
            }
        };
        let (at, lasting) = (reader.need("at")?, reader.maybe("lasting")?);
        Ok(Fault { name: name.to_owned(), at, lasting, kind })
    }
}
