//! The functions of a file: how they are called, and where their bodies are.

use crate::tokens::Tokens;
use std::ops::Range;
use syn::{Block, File, ImplItem, Item, Signature, TraitItem, Type};

/// A function with a body.
pub(crate) struct Function {
    /// Its path within the file: modules, the type or trait that it is of, its name.
    pub(crate) path: String,
    /// The bytes of its body, braces and all.
    pub(crate) body: Range<usize>,
    /// Whether it returns one type whatever mutant is chosen, which it may choose when it runs.
    pub(crate) chooses: bool,
}

/// Those of the file whose text is `text`, in its order. A function within another one is part of
/// that.
///
/// # Errors
/// It is no Rust.
pub(crate) fn functions(text: &str) -> syn::Result<Vec<Function>> {
    let file: File = syn::parse_file(text)?;
    let mut finder = Finder { text, found: Vec::new() };
    finder.items(&file.items, "");
    Ok(finder.found)
}

struct Finder<'a> {
    text: &'a str,
    found: Vec<Function>,
}

impl Finder<'_> {
    fn items(&mut self, items: &[Item], within: &str) {
        for item in items {
            match item {
                Item::Fn(function) => self.function(&function.sig, Some(&function.block), within),
                Item::Mod(module) => {
                    let items = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                    self.items(items, &format!("{within}{}::", module.ident));
                }
                Item::Impl(block) => {
                    let Some(name) = name(&block.self_ty) else { continue };
                    for item in &block.items {
                        if let ImplItem::Fn(function) = item {
                            let within = format!("{within}{name}::");
                            self.function(&function.sig, Some(&function.block), &within);
                        }
                    }
                }
                Item::Trait(declared) => {
                    for item in &declared.items {
                        if let TraitItem::Fn(function) = item {
                            let within = format!("{within}{}::", declared.ident);
                            self.function(&function.sig, function.default.as_ref(), &within);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn function(&mut self, signature: &Signature, body: Option<&Block>, within: &str) {
        let Some(body) = body else { return };
        let body = body.brace_token.span.join().byte_range();
        let output = signature.paren_token.span.close().byte_range().end..body.start;
        let opaque = Tokens::of(&self.text[output]).is_ok_and(|output| output.contain("impl"));
        self.found.push(Function {
            path: format!("{within}{}", signature.ident),
            body,
            chooses: signature.constness.is_none() && !opaque,
        });
    }
}

/// A type's own name, without its path and its parameters.
fn name(of: &Type) -> Option<String> {
    match of {
        Type::Path(of) => of.path.segments.last().map(|segment| segment.ident.to_string()),
        Type::Reference(of) => name(&of.elem),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r##"
        //! fn commented() {}
        fn free<T>(of: [u8; { 1 + 1 }]) -> T where T: Into<u8> { "}" }
        impl<'a, B: Buffer> crate::splice::Splice<'a, B> {
            /// Braces: {
            const fn first(&self) -> u8 { fn within() {} 1 }
        }
        impl fmt::Display for &Release { fn fmt(&self) { r#"" } { "# } }
        trait Congestion { fn asked(&self); fn on_loss(&mut self) {} }
        mod outer {
            mod inner { impl Leg { fn timers(&self) -> Box<impl Iterator<Item = u8>> { '{' } } }
        }
        fn ä(f: impl Fn()) -> u8 { /* } */ 2 }
    "##;

    #[test]
    fn each_has_its_path() {
        let found = functions(TEXT).unwrap();
        let paths: Vec<&str> = found.iter().map(|function| function.path.as_str()).collect();
        let expected = [
            "free",
            "Splice::first",
            "Release::fmt",
            "Congestion::on_loss",
            "outer::inner::Leg::timers",
            "ä",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn each_has_its_body() {
        let found = functions(TEXT).unwrap();
        let bodies: Vec<&str> = found.iter().map(|function| &TEXT[function.body.clone()]).collect();
        let expected = [
            r#"{ "}" }"#,
            "{ fn within() {} 1 }",
            r##"{ r#"" } { "# }"##,
            "{}",
            "{ '{' }",
            "{ /* } */ 2 }",
        ];
        assert_eq!(bodies, expected);
    }

    #[test]
    fn constant_and_opaque_ones_do_not_choose() {
        let found = functions(TEXT).unwrap();
        let fixed = found.iter().filter(|function| !function.chooses);
        let fixed: Vec<&str> = fixed.map(|function| function.path.as_str()).collect();
        assert_eq!(fixed, ["Splice::first", "outer::inner::Leg::timers"]);
    }
}
