//! What one entry of the table of queueing disciplines stands for.

use super::QueueName;
use super::values::Value;
use crate::link::limit::{Line, QueueLimit};
use crate::text::{Parameters, TextError};

/// What is known of the link when a queue's limit is read.
#[derive(Debug, Clone, Copy)]
pub(in crate::link) struct LimitContext {
    /// The line that limits in bandwidth-delay products refer to, if there is one.
    pub(in crate::link) line: Option<Line>,
    /// The limit of a queue of which no limit is given, instead of its discipline's.
    pub(in crate::link) usual: Option<QueueLimit>,
}

/// A queueing discipline for users, in words.
#[derive(Debug, Clone)]
pub struct DisciplineEntry {
    /// Its name.
    pub name: QueueName,
    /// What it is: a sentence.
    pub about: String,
    /// What else is to be known of it; may be empty.
    pub details: String,
    /// The paper or the standard that it is from, if it has one.
    pub source: &'static str,
    /// A text of such a queue.
    pub example: &'static str,
    /// Its parameters.
    pub parameters: Vec<DisciplineParameter>,
}

/// A parameter of a queueing discipline.
#[derive(Debug, Clone)]
pub struct DisciplineParameter {
    /// Its name.
    pub name: &'static str,
    /// Which values it takes.
    pub takes: String,
    /// Its usual value; None: it must be given.
    pub usual: Option<String>,
    /// What it means: a sentence, or several.
    pub about: String,
}

/// The parameters of one discipline, as a type.
pub(super) trait Configuration: Sized {
    /// Takes its parameters from those that were given.
    fn read(given: &mut Parameters<'_>, context: LimitContext) -> Result<Self, TextError>;

    /// Each parameter and its value.
    fn written(&self) -> Vec<(&'static str, String)>;

    /// Its parameters, in words.
    fn parameters() -> Vec<DisciplineParameter>;
}

/// A drop-tail queue is a limit, and nothing else.
impl Configuration for QueueLimit {
    fn read(given: &mut Parameters<'_>, context: LimitContext) -> Result<QueueLimit, TextError> {
        Ok(super::DropTailConfig::read(given, context)?.limit)
    }

    fn written(&self) -> Vec<(&'static str, String)> {
        super::DropTailConfig { limit: *self }.written()
    }

    fn parameters() -> Vec<DisciplineParameter> {
        super::DropTailConfig::parameters()
    }
}

/// The lines of a documentation comment as its first paragraph, and the others.
pub(super) fn paragraphs(lines: &[&str]) -> (String, String) {
    let mut parts = lines.split(|line| line.trim().is_empty()).map(joined);
    (parts.next().unwrap_or_default(), parts.collect::<Vec<_>>().join(" "))
}

/// The lines of a documentation comment as one.
pub(super) fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Takes the parameter `key` from those that were given.
pub(super) fn take<T: Value>(
    given: &mut Parameters<'_>,
    context: LimitContext,
    key: &'static str,
    takes: &super::values::Takes<T>,
    usual: Option<T>,
) -> Result<T, TextError> {
    let read = |text: &str| takes.read(text, context.line);
    match usual {
        Some(usual) => {
            let found = given.take(key, &takes.expected(), read)?;
            Ok(found.unwrap_or(usual.unless_given(context)))
        }
        None => given.need(key, &takes.expected(), read),
    }
}

/// Makes the type of a discipline's parameters, and how they are read, written and described.
macro_rules! parameters {
    ($visible:vis $config:ident $name:literal {
        $($(#[doc = $about:literal])+
        $key:literal $field:ident: $kind:ty $(= $usual:expr)?, $takes:expr $(, $said:literal)?;)+
    }) => {
        #[doc = concat!("The parameters of `", $name, "`.")]
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visible struct $config {
            $($(#[doc = $about])+ pub $field: $kind,)+
        }

        impl registry::Configuration for $config {
            fn read(
                given: &mut crate::text::Parameters<'_>,
                context: LimitContext,
            ) -> Result<$config, crate::text::TextError> {
                $(
                    let usual: Option<$kind> = registry::usual!($($usual)?);
                    let $field = registry::take(given, context, $key, &$takes, usual)?;
                )+
                Ok($config { $($field),+ })
            }

            fn written(&self) -> Vec<(&'static str, String)> {
                vec![$(($key, values::Value::written(&self.$field))),+]
            }

            fn parameters() -> Vec<DisciplineParameter> {
                let mut parameters = Vec::new();
                $(
                    let usual: Option<$kind> = registry::usual!($($usual)?);
                    // What others are derived from.
                    $(#[allow(unused_variables)] let $field: $kind = $usual;)?
                    let written = usual.as_ref().map(values::Value::written);
                    $(let written = written.and(Some($said.to_owned()));)?
                    parameters.push(DisciplineParameter {
                        name: $key,
                        takes: $takes.described(),
                        usual: written,
                        about: registry::joined(&[$($about),+]),
                    });
                )+
                parameters
            }
        }

        registry::default! { $config { $($field: $kind $(= $usual)?;)+ } }
    };
}

/// The usual value of a parameter, if it has one.
macro_rules! usual {
    () => {
        None
    };
    ($usual:expr) => {
        Some($usual)
    };
}

/// Implements `Default` for parameters of which each has a usual value.
macro_rules! default {
    ($config:ident { $($field:ident: $kind:ty = $usual:expr;)+ }) => {
        impl Default for $config {
            fn default() -> $config {
                $(let $field: $kind = $usual;)+
                $config { $($field),+ }
            }
        }
    };
    ($config:ident { $($any:tt)+ }) => {};
}

/// Makes `QueueKind` and `QueueName` of the table's entries, the types of their parameters, and
/// their queues.
macro_rules! disciplines {
    (
        $(#[doc = $plain_about:literal])+
        $plain:literal => $drop_tail:ident($limit:ident) {
            example: $plain_example:literal,
            parameters: $plain_config:ident $plain_parameters:tt
        }
        $(
            $(#[doc = $about:literal])+
            $name:literal => $kind:ident($config:ident) {
                source: $source:literal,
                example: $example:literal,
                random: $random:literal,
                queue: $queue:expr,
                parameters: $parameters:tt
            }
        )+
    ) => {
        /// A queueing discipline with its parameters. Its text form is that of a [`QueueLimit`], or
        /// a name with parameters as in the examples of [`QueueKind::entries`]. Where the
        /// [line](super::Line) is known, limits may be `1bdp`, too.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum QueueKind {
            $(#[doc = $plain_about])+
            $drop_tail($limit),
            $($(#[doc = $about])+ $kind($config),)+
        }

        /// The name of a queueing discipline.
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            strum::VariantArray,
            strum::VariantNames,
            strum::IntoStaticStr,
        )]
        pub enum QueueName {
            $(#[doc = $plain_about])+
            #[strum(serialize = $plain)]
            $drop_tail,
            $($(#[doc = $about])+ #[strum(serialize = $name)] $kind,)+
        }

        registry::parameters! { $plain_config $plain $plain_parameters }
        $(registry::parameters! { pub $config $name $parameters })+

        impl QueueName {
            /// The discipline of this name, in words.
            pub fn entry(self) -> DisciplineEntry {
                use registry::Configuration;
                let (lines, source, example, parameters): (&[&str], _, _, _) = match self {
                    QueueName::$drop_tail => {
                        (&[$($plain_about),+], "", $plain_example, $limit::parameters())
                    }
                    $(QueueName::$kind => {
                        (&[$($about),+], $source, $example, $config::parameters())
                    })+
                };
                let (about, details) = registry::paragraphs(lines);
                DisciplineEntry { name: self, about, details, source, example, parameters }
            }

            /// The queue of this name with the parameters that were given.
            pub(in crate::link) fn read(
                self,
                given: &mut crate::text::Parameters<'_>,
                context: LimitContext,
            ) -> Result<QueueKind, crate::text::TextError> {
                use registry::Configuration;
                Ok(match self {
                    QueueName::$drop_tail => QueueKind::$drop_tail($limit::read(given, context)?),
                    $(QueueName::$kind => QueueKind::$kind($config::read(given, context)?),)+
                })
            }
        }

        impl QueueKind {
            /// Its name.
            pub fn name(&self) -> QueueName {
                match self {
                    QueueKind::$drop_tail(_) => QueueName::$drop_tail,
                    $(QueueKind::$kind(_) => QueueName::$kind,)+
                }
            }

            /// How much it holds at most.
            pub fn limit(&self) -> QueueLimit {
                match self {
                    QueueKind::$drop_tail(limit) => *limit,
                    $(QueueKind::$kind(config) => config.limit,)+
                }
            }

            /// Whether two runs of it may differ, by its seed.
            pub fn is_random(&self) -> bool {
                match self {
                    QueueKind::$drop_tail(_) => false,
                    $(QueueKind::$kind(_) => $random,)+
                }
            }

            /// An empty queue of this kind before a line of `rate`, drawing from `seed`.
            pub fn queue<P: LinkPacket>(
                &self,
                rate: Option<Varying<Rate>>,
                seed: u64,
            ) -> Discipline<P> {
                match self {
                    QueueKind::$drop_tail(limit) => Discipline::$drop_tail($drop_tail::new(*limit)),
                    $(QueueKind::$kind(config) => {
                        let begin: &dyn Fn($config, Option<Varying<Rate>>, u64) -> $kind<P> = &$queue;
                        Discipline::Active(Active::$kind(begin(*config, rate, seed)))
                    })+
                }
            }
        }

        impl std::fmt::Display for QueueKind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                use registry::Configuration;
                let (name, parameters) = match self {
                    QueueKind::$drop_tail(limit) => ($plain, limit.written()),
                    $(QueueKind::$kind(config) => ($name, config.written()),)+
                };
                f.write_str(name)?;
                for (place, (key, text)) in parameters.into_iter().enumerate() {
                    write!(f, "{}{key}={text}", if place == 0 { ':' } else { ',' })?;
                }
                Ok(())
            }
        }

        /// A queue that drops or marks by more than its limit.
        #[derive(Debug)]
        pub enum Active<P> {
            $($(#[doc = $about])+ $kind($kind<P>),)+
        }

        delegate!(Active, inline(never), $($kind)+);
    };
}

pub(super) use {default, disciplines, parameters, usual};
