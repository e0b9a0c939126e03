//! What one entry of the table of congestion controls stands for.

use crate::time::Duration;
use crate::units::{Rate, parse_duration};

/// What a parameter may be: how it is read and written.
pub(super) trait Value: PartialEq + Sized {
    /// The value, if it is sound.
    fn read(text: &str) -> Option<Self>;

    /// What is read as the same value; nothing if it need not be said, as `usual` is the same.
    fn write(&self, usual: &Self) -> Option<String>;
}

/// Above zero.
impl Value for f64 {
    fn read(text: &str) -> Option<f64> {
        text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite())
    }

    fn write(&self, _: &f64) -> Option<String> {
        Some(self.to_string())
    }
}

/// Above zero.
impl Value for Duration {
    fn read(text: &str) -> Option<Duration> {
        parse_duration(text).ok().filter(|span| !span.is_zero())
    }

    fn write(&self, _: &Duration) -> Option<String> {
        // Exactly, so that what is written is read back.
        let micros = self.subsec_nanos().is_multiple_of(1_000);
        Some(match micros {
            true => format!("{}us", self.as_micros()),
            false => format!("{}ns", self.as_nanos()),
        })
    }
}

/// Above zero.
impl Value for Rate {
    fn read(text: &str) -> Option<Rate> {
        text.parse().ok().filter(|rate: &Rate| rate.bits_per_sec() > 0)
    }

    fn write(&self, _: &Rate) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for bool {
    fn read(text: &str) -> Option<bool> {
        match text {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }

    fn write(&self, usual: &bool) -> Option<String> {
        (self != usual).then(|| if *self { "on" } else { "off" }.to_owned())
    }
}

/// Makes `Control` of its entries: the enum, all of it, its text, and what each begins as.
macro_rules! controls {
    (@sound) => { |_| true };
    (@sound $sound:expr) => { $sound };
    ($(
        $(#[$about:meta])*
        $name:literal => $variant:ident $({
            $($(#[$meaning:meta])* $key:literal $field:ident: $kind:ty = $usual:expr $(, $sound:expr)?;)+
        })?: $algorithm:ty = $begin:expr;
    )+) => {
        /// The congestion control algorithm with its parameters.
        #[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
        pub enum Control {
            $($(#[$about])* $variant $({ $($(#[$meaning])* $field: $kind),+ })?,)+
        }

        impl Control {
            /// Their names, in the same order as [`Control::ALL`].
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// Each algorithm, with usual parameters.
            pub const ALL: [Control; Self::NAMES.len()] = [$({
                $($(let $field: $kind = $usual;)+)?
                Control::$variant $({ $($field),+ })?
            }),+];

            /// A fresh instance for segments of `smss` bytes.
            pub fn congestion(self, slow_start: SlowStartConfig, smss: u64) -> Box<dyn Congestion> {
                match self {
                    $(Control::$variant $({ $($field),+ })? => {
                        let begin: &dyn Fn(SlowStartConfig, u64) -> $algorithm = &$begin;
                        Box::new(begin(slow_start, smss))
                    })+
                }
            }

            /// An instance as it was condensed.
            pub(in crate::tcp) fn wake(
                self,
                from: &mut crate::condensed::Reader<'_>,
            ) -> Box<dyn Congestion> {
                match self {
                    $(Control::$variant { .. } => Box::new(from.take::<$algorithm>()),)+
                }
            }
        }

        impl std::fmt::Display for Control {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                use registry::Value;
                let (name, parameters) = match *self {
                    $(Control::$variant $({ $($field),+ })? => {
                        let written: &[(&str, Option<String>)] =
                            &[$($(($key, $field.write(&$usual))),+)?];
                        ($name, written.to_vec())
                    })+
                };
                f.write_str(name)?;
                let written = parameters.into_iter().filter_map(|(key, text)| Some((key, text?)));
                for (place, (key, text)) in written.enumerate() {
                    write!(f, "{}{key}={text}", if place == 0 { ':' } else { ',' })?;
                }
                Ok(())
            }
        }

        impl std::str::FromStr for Control {
            type Err = UnknownControl;
            fn from_str(text: &str) -> Result<Control, UnknownControl> {
                let mut given = text::Parameters::read(text);
                let control = match given.name() {
                    $($name => {
                        $($(let $field = {
                            let sound: &dyn Fn(&$kind) -> bool = &controls!(@sound $($sound)?);
                            let read = <$kind as registry::Value>::read;
                            given.take_with($key, $usual, |text| read(text).filter(|value| sound(value)))?
                        };)+)?
                        Control::$variant $({ $($field),+ })?
                    })+
                    _ => return Err(given.unknown("congestion control", &Control::NAMES.join(", "))),
                };
                given.finish(control)
            }
        }
    };
}

pub(super) use controls;
