//! The lines over a column: the file, the connection, its ends. A file's name that is too long is
//! shortened in its middle, so that the ends are never cut off.

use bentpipe_plot::font::{self, Weight};

/// What a column is called.
pub(in super::super) struct Name {
    pub(in super::super) file: String,
    /// The connection and its ends.
    pub(in super::super) connection: String,
}

impl Name {
    /// On one line, however long.
    pub(super) fn whole(&self) -> String {
        format!("{} {}", self.file, self.connection)
    }

    /// Lines of a bold font, no wider than `width`: at most so many, unless what follows the file's
    /// name takes more.
    pub(super) fn lines(&self, size: f64, width: f64, most: usize) -> Vec<String> {
        let wrap = |text: &str| font::wrap(text, size, Weight::Bold, width);
        let most = most.max(wrap(&self.connection).len());
        let count = self.file.chars().count();
        let with = |kept: usize| wrap(&format!("{} {}", elided(&self.file, kept), self.connection));
        let whole = with(count);
        if whole.len() <= most {
            return whole;
        }
        // The most letters that have room.
        let (mut few, mut many) = (0, count);
        while many - few > 1 {
            let middle = usize::midpoint(few, many);
            if with(middle).len() <= most { few = middle } else { many = middle }
        }
        let lines = with(few);
        if lines.len() <= most { lines } else { wrap(&self.connection) }
    }
}

/// So many letters of a name at most, half of them from its end.
fn elided(name: &str, kept: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= kept {
        return name.to_owned();
    }
    let (begin, end) = (kept / 2, letters.len() - kept.div_ceil(2));
    letters[..begin].iter().chain(&['…']).chain(&letters[end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_of_a_file_does_not_cut_off_the_ends() {
        let connection = "#2: 100.64.0.2:43619 → 203.0.113.77:443".to_owned();
        let long = format!("{}.pcapng", "a-capture-of-an-afternoon-".repeat(9));
        for (file, size, width, most) in
            [("x.pcap", 15.0, 960.0, 1), (&long, 15.0, 960.0, 1), (&long, 13.0, 215.0, 3)]
        {
            let name = Name { file: file.to_owned(), connection: connection.clone() };
            let lines = name.lines(size, width, most);
            assert!(lines.len() <= most, "{lines:?}");
            assert!(lines.join(" ").ends_with(&connection), "{lines:?}");
            assert!(lines.concat().contains(&file[..3]) && lines.concat().contains(".pcap"));
        }
    }

    #[test]
    fn long_ends_take_the_lines_that_they_need() {
        let end = "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535";
        let connection = format!("#1234 (flow download): {end} → {end}");
        let name = Name { file: "x.pcap".to_owned(), connection };
        let lines = name.lines(13.0, 215.0, 3);
        assert!(lines.len() > 3 && lines.concat().ends_with("5678]:65535"), "{lines:?}");
    }

    #[test]
    fn names_are_shortened_in_their_middle() {
        assert_eq!(elided("abcdefgh.pcap", 6), "abc…cap");
        assert_eq!(elided("abc", 3), "abc");
        assert_eq!(elided("abc", 0), "…");
    }
}
