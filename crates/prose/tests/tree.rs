//! The tree's comments and documents keep to CONTRIBUTING.md.

use bentpipe_prose::{claims, ratchet, tree, wrap};
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn exceptions_only_become_fewer() {
    let complaints = ratchet::complaints(root()).unwrap();
    assert!(complaints.is_empty(), "see CONTRIBUTING.md, Style:\n{}", complaints.join("\n"));
}

#[test]
fn no_document_has_an_exception() {
    let file = fs::read_to_string(root().join(ratchet::FILE)).unwrap();
    let documents: Vec<&str> = file.lines().filter(|line| line.contains(".md\"")).collect();
    assert!(documents.is_empty(), "{documents:#?}");
}

#[test]
fn claims_that_are_named_exist() {
    let files = tree::below(root(), &root().join("papers"), "toml").unwrap();
    let known = files.iter().flat_map(|text| claims::ids_in(&text.content).unwrap()).collect();
    let texts = [tree::sources(root()).unwrap(), tree::documents(root()).unwrap()].concat();
    let mut missing = Vec::new();
    for text in texts.iter().filter(|text| !text.path.starts_with("crates/prose/")) {
        for (line, id) in claims::unknown(text, &known) {
            missing.push(format!("{}:{line}: {id} is no claim in papers/", text.path));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_width_is_the_codes() {
    let settings = fs::read_to_string(root().join("rustfmt.toml")).unwrap();
    assert!(settings.contains(&format!("max_width = {}", wrap::WIDTH)), "{settings}");
}

/// A source's letters without spaces and markers of comments: what wrapping keeps.
fn letters(source: &str) -> String {
    let lines = source.lines().map(str::trim_start);
    let said = lines
        .map(|line| ["///", "//!", "//"].iter().find_map(|m| line.strip_prefix(m)).unwrap_or(line));
    said.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn wrapping_keeps_the_text_and_once_is_enough() {
    for text in tree::sources(root()).unwrap() {
        for width in [wrap::WIDTH, 50] {
            let wrapped = wrap::wrap(&text.content, width);
            assert_eq!(wrap::wrap(&wrapped, width), wrapped, "{} at {width}", text.path);
            assert_eq!(letters(&wrapped), letters(&text.content), "{} at {width}", text.path);
            let code = |source: &str| -> Vec<String> {
                let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
                lines.map(str::to_owned).collect()
            };
            assert_eq!(code(&wrapped), code(&text.content), "{} at {width}", text.path);
        }
    }
}
