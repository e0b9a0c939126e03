//! What one entry of the table of congestion controls stands for.

use super::CongestionAlgorithm;
use crate::text::{RATE, SPAN, SWITCH, TextError, positive, rate, span, switch};
use crate::time::Duration;
use crate::units::Rate;

/// What a parameter may be: how it is read and written.
pub(super) trait Value: PartialEq + Sized {
    /// What [`Value::read`] understands.
    const EXPECTED: &'static str;

    /// The value, if it is sound.
    fn read(text: &str) -> Option<Self>;

    /// What is read as the same value; nothing if it need not be said, as `usual` is the same.
    fn write(&self, usual: &Self) -> Option<String>;

    /// The value for readers.
    fn shown(&self) -> String;
}

impl Value for f64 {
    const EXPECTED: &'static str = "a number above 0";

    fn read(text: &str) -> Option<f64> {
        positive(text)
    }

    fn write(&self, _: &f64) -> Option<String> {
        Some(self.to_string())
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for Duration {
    const EXPECTED: &'static str = SPAN;

    fn read(text: &str) -> Option<Duration> {
        span(text)
    }

    fn write(&self, _: &Duration) -> Option<String> {
        // Exactly, so that what is written is read back.
        let micros = self.subsec_nanos().is_multiple_of(1_000);
        Some(match micros {
            true => format!("{}us", self.as_micros()),
            false => format!("{}ns", self.as_nanos()),
        })
    }

    fn shown(&self) -> String {
        format!("{}ms", self.as_secs_f64() * 1e3)
    }
}

impl Value for Option<Duration> {
    const EXPECTED: &'static str = SPAN;

    fn read(text: &str) -> Option<Option<Duration>> {
        span(text).map(Some)
    }

    fn write(&self, _: &Option<Duration>) -> Option<String> {
        self.as_ref().and_then(|span| span.write(span))
    }

    fn shown(&self) -> String {
        self.map_or_else(|| "off".to_owned(), |span| span.shown())
    }
}

impl Value for Rate {
    const EXPECTED: &'static str = RATE;

    fn read(text: &str) -> Option<Rate> {
        rate(text)
    }

    fn write(&self, _: &Rate) -> Option<String> {
        Some(self.to_string())
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for bool {
    const EXPECTED: &'static str = SWITCH;

    fn read(text: &str) -> Option<bool> {
        switch(text)
    }

    fn write(&self, usual: &bool) -> Option<String> {
        (self != usual).then(|| self.shown())
    }

    fn shown(&self) -> String {
        if *self { "on" } else { "off" }.to_owned()
    }
}

/// A congestion control as it is told to users.
#[derive(Debug, Clone)]
pub struct ControlEntry {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What may be set of it.
    pub parameters: Vec<ControlParameter>,
}

/// A parameter of a congestion control.
#[derive(Debug, Clone)]
pub struct ControlParameter {
    /// Its name.
    pub name: &'static str,
    /// Which values it takes.
    pub takes: &'static str,
    /// Its usual value.
    pub usual: String,
    /// What it means.
    pub about: &'static str,
}

/// The error that no congestion control has this name.
pub(super) fn unknown(name: &str) -> TextError {
    let names = CongestionAlgorithm::NAMES.join(", ");
    TextError::Name { what: "congestion control", name: name.to_owned(), names }
}

/// Makes `CongestionAlgorithm` of its entries: the enum, all of it, its text, and what each begins
/// as.
macro_rules! controls {
    (@sound) => { |_| true };
    (@sound $sound:expr) => { $sound };
    (@takes $kind:ty) => { <$kind>::EXPECTED };
    (@takes $kind:ty, $condition:literal) => { $condition };
    ($(
        $(#[doc = $about:literal])+ $(#[default $($default:tt)*])?
        $name:literal => $variant:ident $({
            $($(#[doc = $meaning:literal])+ $key:literal $field:ident: $kind:ty = $usual:expr $(, $sound:expr, $condition:literal)?;)+
        })?: $algorithm:ty = $begin:expr;
    )+) => {
        /// The congestion control algorithm with its parameters.
        #[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
        pub enum CongestionAlgorithm {
            $($(#[doc = $about])+ $(#[default $($default)*])? $variant $({
                $($(#[doc = $meaning])+ $field: $kind),+
            })?,)+
            /// Not of this table: the program that runs the core has brought it along.
            External(External),
        }

        impl CongestionAlgorithm {
            /// Their names, in the same order as [`CongestionAlgorithm::ALL`].
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// Each algorithm, with usual parameters.
            pub const ALL: [CongestionAlgorithm; Self::NAMES.len()] = [$({
                $($(let $field: $kind = $usual;)+)?
                CongestionAlgorithm::$variant $({ $($field),+ })?
            }),+];

            /// Each algorithm and its parameters, in words.
            pub fn entries() -> Vec<ControlEntry> {
                use registry::Value;
                vec![$({
                    $($(let $field: $kind = $usual;)+)?
                    ControlEntry {
                        name: $name,
                        about: concat!($($about),+).trim(),
                        parameters: vec![$($(ControlParameter {
                            name: $key,
                            takes: controls!(@takes $kind $(, $condition)?),
                            usual: $field.shown(),
                            about: concat!($($meaning),+).trim(),
                        }),+)?],
                    }
                }),+]
            }

            /// A fresh instance for segments of `smss` bytes.
            pub fn congestion(self, slow_start: SlowStartConfig, smss: Bytes) -> Box<dyn Congestion> {
                match self {
                    $(CongestionAlgorithm::$variant $({ $($field),+ })? => {
                        let begin: &dyn Fn(SlowStartConfig, Bytes) -> $algorithm = &$begin;
                        Box::new(begin(slow_start, smss))
                    })+
                    CongestionAlgorithm::External(control) => control.begin(slow_start, smss),
                }
            }

            /// An instance from its snapshot.
            ///
            /// # Panics
            /// If it is external: no snapshot has one.
            pub(in crate::tcp) fn restore(
                self,
                from: &mut crate::snapshot::Reader<'_>,
            ) -> Box<dyn Congestion> {
                match self {
                    $(CongestionAlgorithm::$variant { .. } => Box::new(from.take::<$algorithm>()),)+
                    CongestionAlgorithm::External(control) => {
                        unreachable!("a snapshot has {}", control.name())
                    }
                }
            }
        }

        impl std::fmt::Display for CongestionAlgorithm {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                use registry::Value;
                let (name, parameters): (&str, Vec<_>) = match *self {
                    $(CongestionAlgorithm::$variant $({ $($field),+ })? => {
                        let written: &[(&str, Option<String>)] =
                            &[$($(($key, $field.write(&$usual))),+)?];
                        ($name, written.to_vec())
                    })+
                    CongestionAlgorithm::External(ref control) => (control.name(), Vec::new()),
                };
                f.write_str(name)?;
                let written = parameters.into_iter().filter_map(|(key, text)| Some((key, text?)));
                for (place, (key, text)) in written.enumerate() {
                    write!(f, "{}{key}={text}", if place == 0 { ':' } else { ',' })?;
                }
                Ok(())
            }
        }

        impl std::str::FromStr for CongestionAlgorithm {
            type Err = crate::text::TextError;
            fn from_str(text: &str) -> Result<CongestionAlgorithm, Self::Err> {
                use registry::Value;
                let mut given = crate::text::Parameters::read(text);
                let control = match given.name() {
                    $($name => {
                        $($(let $field = {
                            let sound: &dyn Fn(&$kind) -> bool = &controls!(@sound $($sound)?);
                            let read = |text: &str| <$kind>::read(text).filter(|value| sound(value));
                            let takes = controls!(@takes $kind $(, $condition)?);
                            given.take($key, takes, read)?.unwrap_or($usual)
                        };)+)?
                        CongestionAlgorithm::$variant $({ $($field),+ })?
                    })+
                    name => return Err(registry::unknown(name)),
                };
                given.finish(control)
            }
        }
    };
}

pub(super) use controls;
