//! Forms of values: how a key of the gateway is read, written, bounded and described.

use super::quantity::{Quantity, Within};
use super::runs::Runs;
use crate::document::Value;
use crate::reader::{FromNode, Reader, Result};
use bentpipe_core::text::Choice;
use bentpipe_gateway::PairKey;
use bentpipe_gateway::policy::Share;
use std::marker::PhantomData;
use strum::VariantNames;

/// The form of a key's value. `C` is the configuration whose other fields its bounds may follow
/// from.
pub(super) trait Form<C> {
    /// The type of the field.
    type Value;

    /// Which values it takes, with the bounds.
    fn takes(&self) -> String;

    /// The names of which it takes one.
    fn choices(&self) -> &'static [&'static str] {
        &[]
    }

    /// The value of `key`, if there is one.
    fn read(
        &self,
        reader: &Reader<'_>,
        key: &str,
        config: &C,
        runs: Runs,
    ) -> Result<Option<Self::Value>>;

    /// The value as the file has it; `None` where the key is left out.
    fn write(&self, value: &Self::Value) -> Option<Value>;

    /// The value as the reference page has it.
    fn label(&self, value: &Self::Value) -> String {
        self.write(value).map(|value| value.label()).unwrap_or_default()
    }

    /// Values at its bounds and just outside.
    #[cfg(test)]
    fn edges(&self, _: &C) -> Edges {
        Edges::default()
    }
}

/// Values at the bounds, as files have them.
#[cfg(test)]
#[derive(Default)]
pub(super) struct Edges {
    /// The minimum and the maximum.
    pub(super) taken: Vec<String>,
    /// What is just below and above.
    pub(super) refused: Vec<String>,
    /// The bounds as the error has them.
    pub(super) range: String,
}

/// A value that may be missing; the default is called `absent` then.
pub(super) struct Optional<F> {
    pub(super) form: F,
    pub(super) absent: &'static str,
}

impl<C, F: Form<C>> Form<C> for Optional<F> {
    type Value = Option<F::Value>;

    fn takes(&self) -> String {
        self.form.takes()
    }

    fn read(
        &self,
        reader: &Reader<'_>,
        key: &str,
        config: &C,
        runs: Runs,
    ) -> Result<Option<Self::Value>> {
        Ok(self.form.read(reader, key, config, runs)?.map(Some))
    }

    fn write(&self, value: &Self::Value) -> Option<Value> {
        value.as_ref().and_then(|value| self.form.write(value))
    }

    fn label(&self, value: &Self::Value) -> String {
        value.as_ref().map_or_else(|| self.absent.to_owned(), |value| self.form.label(value))
    }

    #[cfg(test)]
    fn edges(&self, config: &C) -> Edges {
        self.form.edges(config)
    }
}

/// A quantity of which zero says that there is none.
pub(super) struct ZeroIsNone<F>(pub(super) F);

impl<C, T: Quantity> Form<C> for ZeroIsNone<Within<C, T>> {
    type Value = Option<T>;

    fn takes(&self) -> String {
        self.0.takes()
    }

    fn read(
        &self,
        reader: &Reader<'_>,
        key: &str,
        config: &C,
        runs: Runs,
    ) -> Result<Option<Option<T>>> {
        let value = self.0.read(reader, key, config, runs)?;
        Ok(value.map(|value| Some(value).filter(|value| value.text() != T::ZERO)))
    }

    fn write(&self, value: &Option<T>) -> Option<Value> {
        Some(T::value(value.map_or(T::ZERO, Quantity::text)))
    }

    #[cfg(test)]
    fn edges(&self, config: &C) -> Edges {
        self.0.edges(config)
    }
}

/// True or false.
pub(super) struct Switch;

impl<C> Form<C> for Switch {
    type Value = bool;

    fn takes(&self) -> String {
        "true or false".to_owned()
    }

    fn read(&self, reader: &Reader<'_>, key: &str, _: &C, _: Runs) -> Result<Option<bool>> {
        reader.maybe(key)
    }

    fn write(&self, value: &bool) -> Option<Value> {
        Some(Value::Switch(*value))
    }
}

/// A value that a text says.
pub(super) struct Text<T> {
    takes: &'static str,
    write: fn(&T) -> String,
}

/// A share, in percent.
pub(super) const PORTION: Text<Share> =
    Text { takes: "a share, `\"0%\"` to `\"100%\"`", write: Share::to_string };

/// A pair's key.
pub(super) const SECRET: Text<PairKey> =
    Text { takes: "32 hexadecimal digits", write: PairKey::reveal };

impl<C, T: FromNode> Form<C> for Text<T> {
    type Value = T;

    fn takes(&self) -> String {
        self.takes.to_owned()
    }

    fn read(&self, reader: &Reader<'_>, key: &str, _: &C, _: Runs) -> Result<Option<T>> {
        reader.maybe(key)
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some(Value::Text((self.write)(value)))
    }
}

/// One of a type's values by name.
pub(super) struct Named<T>(PhantomData<T>);

/// One of the values of the field's type by name.
pub(super) fn named<T>() -> Named<T> {
    Named(PhantomData)
}

impl<C, T: Choice + VariantNames> Form<C> for Named<T> {
    type Value = T;

    fn takes(&self) -> String {
        String::new()
    }

    fn choices(&self) -> &'static [&'static str] {
        <T as VariantNames>::VARIANTS
    }

    fn read(&self, reader: &Reader<'_>, key: &str, _: &C, _: Runs) -> Result<Option<T>> {
        reader.maybe_choice(key)
    }

    fn write(&self, value: &T) -> Option<Value> {
        Some(Value::Text(value.name().to_owned()))
    }

    fn label(&self, value: &T) -> String {
        format!("`{}`", value.name())
    }
}

/// A value whose default depends on other keys: the reference page says how.
pub(super) struct Conditional<F> {
    pub(super) form: F,
    pub(super) default: &'static str,
}

impl<C, F: Form<C>> Form<C> for Conditional<F> {
    type Value = F::Value;

    fn takes(&self) -> String {
        self.form.takes()
    }

    fn choices(&self) -> &'static [&'static str] {
        self.form.choices()
    }

    fn read(
        &self,
        reader: &Reader<'_>,
        key: &str,
        config: &C,
        runs: Runs,
    ) -> Result<Option<F::Value>> {
        self.form.read(reader, key, config, runs)
    }

    fn write(&self, value: &F::Value) -> Option<Value> {
        self.form.write(value)
    }

    fn label(&self, _: &F::Value) -> String {
        self.default.to_owned()
    }

    #[cfg(test)]
    fn edges(&self, config: &C) -> Edges {
        self.form.edges(config)
    }
}

/// A value that scenarios give. A gateway on a host finds it there: `deployed` says where.
pub(super) struct InScenarios<F> {
    pub(super) form: F,
    pub(super) deployed: &'static str,
}

impl<C, F: Form<C>> Form<C> for InScenarios<F> {
    type Value = F::Value;

    fn takes(&self) -> String {
        self.form.takes()
    }

    fn read(
        &self,
        reader: &Reader<'_>,
        key: &str,
        config: &C,
        runs: Runs,
    ) -> Result<Option<F::Value>> {
        if runs != Runs::Simulated && reader.node(key).is_some() {
            return Err(reader.bad(key, format!("{key}: {}", self.deployed)));
        }
        self.form.read(reader, key, config, runs)
    }

    fn write(&self, _: &F::Value) -> Option<Value> {
        None
    }

    fn label(&self, value: &F::Value) -> String {
        self.form.label(value)
    }
}
