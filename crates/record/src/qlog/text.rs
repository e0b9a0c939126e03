//! JSON, as it is written: members in the order in which they come.

use bentpipe_core::wire::Flags;
use std::fmt::Display;
use std::io::Write;

/// The names of the control bits, the lowest first.
const FLAGS: [(Flags, &str); 8] = [
    (Flags::FIN, "fin"),
    (Flags::SYN, "syn"),
    (Flags::RST, "rst"),
    (Flags::PSH, "psh"),
    (Flags::ACK, "ack"),
    (Flags::URG, "urg"),
    (Flags::ECE, "ece"),
    (Flags::CWR, "cwr"),
];

/// A member's name as it stands in an object, behind another member: text in one piece is faster
/// than in four.
macro_rules! member {
    ($name:literal) => {
        concat!(",\"", $name, "\":")
    };
}
pub(super) use member;

/// An object in the making. Names are `member!`s.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl Object<'_> {
    pub(super) fn begin(out: &mut Vec<u8>) -> Object<'_> {
        out.push(b'{');
        Object { out, first: true }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    /// One whose members follow others, which are written already.
    pub(super) fn within(out: &mut Vec<u8>) -> Object<'_> {
        Object { out, first: false }
    }

    #[inline]
    fn name(&mut self, name: &str) {
        let comma = usize::from(std::mem::replace(&mut self.first, false));
        self.out.extend_from_slice(&name.as_bytes()[comma..]);
    }

    pub(super) fn object(&mut self, name: &str) -> Object<'_> {
        self.name(name);
        Object::begin(self.out)
    }

    pub(super) fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        digits(self.out, value);
    }

    pub(super) fn maybe(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// A text that needs no escapes.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.out.push(b'"');
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(b'"');
    }

    /// What is displayed without escapes.
    pub(super) fn display(&mut self, name: &str, value: impl Display) {
        self.name(name);
        let _ = write!(self.out, "\"{value}\"");
    }

    /// As [`millis`].
    pub(super) fn millis(&mut self, name: &str, nanos: u64) {
        self.name(name);
        millis(self.out, nanos);
    }

    pub(super) fn change(&mut self, old: Option<&'static str>, new: &'static str) {
        if let Some(old) = old {
            self.text(member!("old"), old);
        }
        self.text(member!("new"), new);
    }

    pub(super) fn flags(&mut self, name: &str, flags: Flags) {
        self.name(name);
        let mut before = b'[';
        for (flag, word) in FLAGS {
            if flags.contains(flag) {
                self.out.extend([before, b'"']);
                self.out.extend(word.as_bytes());
                self.out.push(b'"');
                before = b',';
            }
        }
        if before == b'[' {
            self.out.push(before);
        }
        self.out.push(b']');
    }

    pub(super) fn ranges(&mut self, name: &str, ranges: &[[u64; 2]]) {
        self.name(name);
        let mut before = b'[';
        for [start, end] in ranges {
            self.out.extend([before, b'[']);
            digits(self.out, *start);
            self.out.push(b',');
            digits(self.out, *end);
            self.out.push(b']');
            before = b',';
        }
        self.out.push(b']');
    }
}

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut value = 0;
    while value < 100 {
        pairs[value] = [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8];
        value += 1;
    }
    pairs
};

/// A number in decimal digits.
fn digits(out: &mut Vec<u8>, mut value: u64) {
    let mut text = [0; 20];
    let mut start = text.len();
    while value >= 100 {
        start -= 2;
        text[start..start + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    let [tens, ones] = PAIRS[value as usize];
    start -= 1;
    text[start] = ones;
    if value >= 10 {
        start -= 1;
        text[start] = tens;
    }
    out.extend_from_slice(&text[start..]);
}

/// Milliseconds with a decimal point, to the nanosecond as far as they are not zeros.
pub(super) fn millis(out: &mut Vec<u8>, nanos: u64) {
    digits(out, nanos / 1_000_000);
    let rest = (nanos % 1_000_000) as usize;
    let mut text = [b'.'; 7];
    for (place, value) in [(1, rest / 10_000), (3, rest / 100 % 100), (5, rest % 100)] {
        text[place..place + 2].copy_from_slice(&PAIRS[value]);
    }
    let zeros = text[2..].iter().rev().take_while(|digit| **digit == b'0').count();
    out.extend_from_slice(&text[..text.len() - zeros]);
}

/// A text as it stands between the quotes of a JSON string.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control < ' ' => out += &format!("\\u{:04x}", u32::from(control)),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Object<'_>)) -> String {
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        write(&mut object);
        object.end();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_have_a_decimal_point_and_no_more_digits_than_they_need() {
        for (nanos, text) in [
            (0, "0.0"),
            (1_000_000, "1.0"),
            (1_500_000, "1.5"),
            (1, "0.000001"),
            (12_345_678_901, "12345.678901"),
        ] {
            assert_eq!(
                written(|it| it.millis(member!("time"), nanos)),
                format!("{{\"time\":{text}}}")
            );
        }
    }

    #[test]
    fn members_are_separated_and_lists_closed() {
        let text = written(|it| {
            it.number(member!("a"), u64::MAX);
            it.flags(member!("b"), Flags::SYN | Flags::ACK);
            it.flags(member!("c"), Flags::SYN.without(Flags::SYN));
            it.ranges(member!("d"), &[[1, 2], [30, 40]]);
            it.object(member!("e")).end();
        });
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({
            "a": u64::MAX, "b": ["syn", "ack"], "c": [], "d": [[1, 2], [30, 40]], "e": {}
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn texts_are_escaped() {
        let text = "a \"b\" \\ \n";
        let back: String = serde_json::from_str(&format!("\"{}\"", escape(text))).unwrap();
        assert_eq!(back, text);
    }
}
