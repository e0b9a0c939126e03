//! A list of settings: `linux,iw=4`.

/// One of a list's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting<'a> {
    /// The name that the list begins with.
    Base(&'a str),
    /// `key=value`.
    Pair(&'a str, &'a str),
    /// A name elsewhere: that is none.
    Stray(&'a str),
}

/// A text of the form `name,key=value,key=value`, in which the name may be missing.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    text: &'a str,
}

impl<'a> Settings<'a> {
    /// Of a text.
    pub fn read(text: &'a str) -> Settings<'a> {
        Settings { text }
    }

    /// Each of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Setting<'a>> + use<'a> {
        let parts = self.text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.enumerate().map(|(i, part)| match part.split_once('=') {
            Some((key, value)) => Setting::Pair(key.trim(), value.trim()),
            None if i == 0 => Setting::Base(part),
            None => Setting::Stray(part),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_begins_with_a_name_or_not() {
        let read = |text| Settings::read(text).iter().collect::<Vec<_>>();
        let (base, pair) = (Setting::Base("linux"), Setting::Pair("iw", "4"));
        assert_eq!(read("linux, iw = 4,"), [base, pair]);
        assert_eq!(read("iw=4,linux"), [pair, Setting::Stray("linux")]);
        assert_eq!(read(""), []);
    }
}
