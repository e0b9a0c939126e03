//! Keys of the gateway, each declared by one entry of its table.
//!
//! An entry names the key and the field of the configuration. It has the form with its bounds, the
//! meaning, and the effect of a change on a running gateway. Parser, writer, reference page, help
//! and tests go by the entries. Defaults are those of the configuration's `Default`, written by the
//! form.

use super::runs::Runs;
use crate::document::Value;
use crate::reader::{Declared, Field, Reader, Result};
use bentpipe_gateway::{Config, LegConfig};

/// A key with all that is known of it. [`key!`] makes one.
pub(super) struct Key<C: 'static> {
    /// The key as the reference page has it.
    pub(super) field: Field,
    /// Changes a configuration as a table says.
    pub(super) read: fn(&Reader<'_>, &mut C, Runs) -> Result<()>,
    /// Refuses a value that contradicts another one; called for keys that the table has, after they
    /// were read.
    pub(super) check: fn(&Reader<'_>, &C) -> Result<()>,
    /// The value as the file has it; `None` where the key is left out.
    pub(super) write: fn(&C) -> Option<Value>,
    /// Whether two configurations differ in it.
    pub(super) differs: fn(&C, &C) -> bool,
    /// What a gateway that runs makes of a change.
    pub(super) reload: Reload,
    /// What `--help` shows of it.
    pub(super) help: Help,
    /// Values at its bounds, for the test.
    #[cfg(test)]
    pub(super) edges: fn(&C) -> super::forms::Edges,
}

/// What a gateway that runs makes of another value as it reads its file again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reload {
    /// Takes it.
    Taken,
    /// Refuses the file: devices were made by it, or other hosts were promised it.
    Refused,
}

/// A key's line in the example of `bentpipe gateway --help`.
pub(super) struct Help {
    /// The value, as in the file; empty: the default.
    pub(super) value: &'static str,
    /// The remark behind it.
    pub(super) remark: &'static str,
}

/// A configuration that keys change.
pub(super) trait Configured {
    /// The configuration without a file.
    fn usual() -> Self;
}

impl Configured for Config {
    fn usual() -> Config {
        Config::default()
    }
}

/// The defaults that both sides have in common.
impl Configured for LegConfig {
    fn usual() -> LegConfig {
        Config::default().satellite
    }
}

/// Declares the key of a field, which has this form:
/// `key!(Config: "flows" => max_flows, FORM, "meaning", …)`.
///
/// What follows the meaning are fields of [`Key`] that differ from the usual.
macro_rules! key {
    (
        $config:ty: $name:literal => $($field:ident).+, $form:expr, $about:literal
        $(, $other:ident: $value:expr)* $(,)?
    ) => {
        $crate::gateway::key::Key::<$config> {
            field: $crate::reader::declared(
                $name,
                || $crate::gateway::key::declare(|config: &$config| &config.$($field).+, &$form),
                $about,
            ),
            read: |reader, config, runs| {
                if let Some(value) = $crate::gateway::forms::Form::<$config>::read(
                    &$form, reader, $name, config, runs,
                )? {
                    config.$($field).+ = value;
                }
                Ok(())
            },
            write: |config| {
                $crate::gateway::forms::Form::<$config>::write(&$form, &config.$($field).+)
            },
            differs: |a, b| a.$($field).+ != b.$($field).+,
            #[cfg(test)]
            edges: |config| $crate::gateway::key::edges(
                |config: &$config| &config.$($field).+, &$form, config,
            ),
            $($other: $value,)*
            ..$crate::gateway::key::Key::<$config>::USUAL
        }
    };
}
pub(super) use key;

impl<C> Key<C> {
    /// What most entries need not say.
    pub(super) const USUAL: Key<C> = Key {
        field: crate::reader::field("", "", "", ""),
        read: |_, _, _| Ok(()),
        check: |_, _| Ok(()),
        write: |_| None,
        differs: |_, _| false,
        reload: Reload::Taken,
        help: Help { value: "", remark: "" },
        #[cfg(test)]
        edges: |_| super::forms::Edges::default(),
    };
}

/// The texts of a key's form and default, for the reference page.
pub(super) fn declare<C: Configured, F: super::forms::Form<C>>(
    field: fn(&C) -> &F::Value,
    form: &F,
) -> Declared {
    let default = form.label(field(&C::usual()));
    Declared { takes: form.takes(), choices: form.choices(), default }
}

#[cfg(test)]
pub(super) fn edges<C, F: super::forms::Form<C>>(
    _: fn(&C) -> &F::Value,
    form: &F,
    config: &C,
) -> super::forms::Edges {
    form.edges(config)
}

/// The keys as a [`Section`](crate::reader::Section) has them.
pub(super) const fn fields<C, const N: usize>(keys: &[Key<C>]) -> [Field; N] {
    let mut fields = [crate::reader::field("", "", "", ""); N];
    let mut i = 0;
    while i < N {
        fields[i] = keys[i].field;
        i += 1;
    }
    fields
}

/// Changes `config` as the table says, key by key in the order of their entries.
pub(super) fn read<C>(
    keys: &[Key<C>],
    reader: &Reader<'_>,
    config: &mut C,
    runs: Runs,
) -> Result<()> {
    for key in keys {
        (key.read)(reader, config, runs)?;
        if reader.node(key.field.key).is_some() {
            (key.check)(reader, config)?;
        }
    }
    Ok(())
}

/// Whether a key that may change while a gateway runs differs.
pub(super) fn changed<C>(keys: &[Key<C>], ours: &C, theirs: &C) -> bool {
    keys.iter().any(|key| key.reload == Reload::Taken && (key.differs)(ours, theirs))
}

/// The keys that differ and may not change while a gateway runs, behind the name of their table.
pub(super) fn refused<'a, C>(
    table: &'a str,
    keys: &'a [Key<C>],
    ours: &'a C,
    theirs: &'a C,
) -> impl Iterator<Item = String> + 'a {
    let changed = |key: &&Key<C>| key.reload == Reload::Refused && (key.differs)(ours, theirs);
    keys.iter().filter(changed).map(move |key| format!("{table}.{}", key.field.key))
}

/// Each key's line of the example in `--help`, with its default unless the entry has a value for
/// it.
pub(super) fn example<C: Configured>(keys: &[Key<C>]) -> String {
    keys.iter().map(example_line).collect()
}

/// The value that the example has, if it has any.
pub(super) fn example_value<C: Configured>(key: &Key<C>) -> String {
    let written = || (key.write)(&C::usual()).map(|value| value.inline()).unwrap_or_default();
    if key.help.value.is_empty() { written() } else { key.help.value.to_owned() }
}

fn example_line<C: Configured>(key: &Key<C>) -> String {
    let (value, remark) = (example_value(key), key.help.remark);
    let choices = key.field.choices();
    let others = choices.iter().map(|name| format!("\"{name}\"")).filter(|name| *name != value);
    let others = others.collect::<Vec<_>>().join(", ");
    let remark = match (others.is_empty(), remark.is_empty()) {
        (true, _) => remark.to_owned(),
        (false, true) => format!("or {others}"),
        (false, false) => format!("or {others}: {remark}"),
    };
    if value.is_empty() {
        return String::new();
    }
    let line = format!("{} = {value}", key.field.key);
    if remark.is_empty() { format!("{line}\n") } else { format!("{line:<23} # {remark}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{GatewayFile, deployment, leg, limits, policy, satellite, splitting};

    const INTERFACES: &str = "[interfaces]\nlan = [\"a\"]\nsatellite = [\"b\"]\n";

    fn parse(table: &str, line: &str) -> std::result::Result<GatewayFile, String> {
        // So that `stream` may have its maximum.
        let memory = if table == "limits" && !line.starts_with("memory") {
            "memory = \"1GiB\"\n"
        } else {
            ""
        };
        let text = format!("{INTERFACES}[{table}]\n{memory}{line}\n");
        GatewayFile::parse("FILE", &text, 64 << 30).map_err(|error| error.to_string())
    }

    /// Visits every table's keys, each with the part of the file that they change.
    fn each_table(visit: &mut impl Visit) {
        visit.keys("satellite", satellite::KEYS, |file| &file.config);
        visit.keys("satellite", leg::KEYS, |file| &file.config.satellite);
        visit.keys("lan", leg::KEYS, |file| &file.config.lan);
        visit.keys("splitting", splitting::KEYS, |file| &file.config);
        visit.keys("limits", limits::KEYS, |file| &file.config);
        visit.keys("limits", limits::DEPLOYED_KEYS, |file| file);
        visit.keys("policy", policy::KEYS, |file| &file.config);
        visit.keys("policy", policy::DEPLOYED_KEYS, |file| file);
        visit.keys("metrics", deployment::METRICS_KEYS, |file| file);
        visit.keys("log", deployment::LOG_KEYS, |file| file);
    }

    trait Visit {
        fn keys<C>(&mut self, table: &str, keys: &[Key<C>], part: fn(&GatewayFile) -> &C);
    }

    /// How many keys have bounds.
    struct Bounds(usize);

    impl Visit for Bounds {
        fn keys<C>(&mut self, table: &str, keys: &[Key<C>], part: fn(&GatewayFile) -> &C) {
            let file = parse(table, "").unwrap();
            for key in keys {
                let (name, edges) = (key.field.key, (key.edges)(part(&file)));
                self.0 += usize::from(!edges.taken.is_empty());
                for value in edges.taken {
                    let line = format!("{name} = {value}");
                    let file = parse(table, &line).unwrap_or_else(|why| panic!("{line}: {why}"));
                    let written = (key.write)(part(&file)).unwrap().inline();
                    assert_eq!(written, value, "[{table}] {name} is not written as it is read");
                }
                for value in edges.refused {
                    let line = format!("{name} = {value}");
                    let why = parse(table, &line).expect_err(&line);
                    let at = if table == "limits" && name != "memory" { 6 } else { 5 };
                    assert!(why.starts_with(&format!("FILE:{at}:")), "{why}");
                    assert!(why.contains(name) && why.contains(&edges.range), "{line}: {why}");
                }
            }
        }
    }

    #[test]
    fn every_key_takes_its_bounds_and_nothing_beyond() {
        let mut bounds = Bounds(0);
        each_table(&mut bounds);
        assert!(bounds.0 >= 18, "{}", bounds.0);
    }

    /// How many keys have a default.
    struct Defaults(usize);

    impl Visit for Defaults {
        fn keys<C>(&mut self, table: &str, keys: &[Key<C>], part: fn(&GatewayFile) -> &C) {
            let usual = GatewayFile::parse("FILE", INTERFACES, 64 << 30).unwrap();
            for key in keys {
                let Some(value) = (key.write)(part(&usual)) else { continue };
                let line =
                    format!("{INTERFACES}[{table}]\n{} = {}\n", key.field.key, value.inline());
                let file = GatewayFile::parse("FILE", &line, 64 << 30);
                assert_eq!(file.unwrap_or_else(|why| panic!("{line}: {why}")), usual, "{line}");
                self.0 += 1;
            }
        }
    }

    #[test]
    fn a_key_with_its_default_changes_nothing() {
        let mut defaults = Defaults(0);
        each_table(&mut defaults);
        assert!(defaults.0 >= 20, "{}", defaults.0);
    }
}
