//! `docs/scenario-format.md` is what the code accepts, and its examples are sound.

use bentpipe_scenario::reference;
use std::path::PathBuf;

fn page() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario-format.md"))
}

/// Everything before the first section is written by hand.
const BEGIN: &str =
    "<!-- From here on written by the test `the_page_is_what_the_code_accepts`. -->\n\n";

#[test]
fn the_page_is_what_the_code_accepts() {
    let text = std::fs::read_to_string(page()).unwrap();
    let (head, found) = text.split_once(BEGIN).expect("the page has its mark");
    let wanted = reference::markdown();
    if std::env::var_os("BENTPIPE_BLESS").is_some() {
        std::fs::write(page(), format!("{head}{BEGIN}{wanted}")).unwrap();
    } else {
        assert_eq!(found, wanted, "BENTPIPE_BLESS=1 writes the page anew");
    }
}

#[test]
fn keys_are_declared_once() {
    for section in reference::sections() {
        let mut keys: Vec<&str> = section.fields.iter().map(|field| field.key).collect();
        keys.sort_unstable();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all, "{}", section.path);
        assert!(section.fields.iter().all(|field| !field.about.is_empty()), "{}", section.path);
    }
}
