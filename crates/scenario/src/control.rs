//! `[control.NAME]`: the identity of a congestion control that the core does not have.
//!
//! Its code is no part of the scenario. The digest is, so that results of another version of it are
//! other results.

use bentpipe_config::document::Value;
use bentpipe_config::reader::{Reader, Result, Section, field};

pub(crate) const CONTROL: Section = Section {
    path: "control.NAME",
    about: "A congestion control that is written in Python, and is called `NAME` in TCP settings. \
            bentpipe's Python package writes this table; only it runs such a scenario.",
    fields: &[
        field("class", "a text", "", "its class"),
        field("digest", "a text", "", "of its code: results of another version are other results"),
    ],
    example: "",
};

/// Checks that each of the document's controls is there, and is the one that is meant.
pub(crate) fn check(top: &Reader<'_>) -> Result<()> {
    let Some(node) = top.node("control") else { return Ok(()) };
    let context = top.context;
    let Value::Table(tables) = &node.value else {
        return Err(context.type_error(node, "tables such as [control.copa]"));
    };
    for entry in &tables.entries {
        let name = format!("[control.{}]", entry.key);
        let reader = Reader::open(context, &entry.node, &name, &[&CONTROL])?;
        let (class, digest): (String, String) = (reader.need("class")?, reader.need("digest")?);
        let control = context.controls().iter().find(|control| control.name() == entry.key);
        let Some(control) = control else {
            let name = &entry.key;
            return Err(reader.bad(
                "class",
                format!(
                    "congestion control `{name}` is the Python class {class}: \
                     it runs from Python, with controls={{\"{name}\": {class}}}"
                ),
            ));
        };
        if control.digest() != digest {
            let (name, there) = (&entry.key, control.about());
            return Err(reader.bad(
                "digest",
                format!("congestion control `{name}` is another version of {class} here: {there}"),
            ));
        }
    }
    Ok(())
}
