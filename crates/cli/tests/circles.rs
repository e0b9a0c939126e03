//! Circles of imports: none large among a crate's files, none between its rooms.
//!
//! A room is a top-level module of a crate. An import counts for the file that has what is
//! imported: a module that passes on what its children have is none of the way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, ItemMod, ItemUse, UseTree, Visibility};

/// The most files that may know each other in a circle.
const FILES: usize = 10;

/// Rooms that know each other, by crate, each with its reason.
const ROOMS: [(&str, &[&str], &str); 2] = [
    (
        "scenario",
        &["change", "copies", "experiment", "path", "scenario", "sweep", "variant"],
        "a field of a scenario holds names of its sweep, and a sweep changes fields of a scenario",
    ),
    (
        "sim",
        &[
            "build",
            "capture",
            "measurement",
            "middleboxes",
            "simulation",
            "stream",
            "workload",
            "world",
        ],
        "a simulation is a world with users, and its users and witnesses act on that world",
    ),
];

/// A module's path in its crate: `["tcp", "sender"]`.
type Module = Vec<String>;

/// What one file imports, as absolute paths in its crate, and what of it is passed on.
#[derive(Default)]
struct Imports {
    uses: Vec<Module>,
    passed_on: Vec<(String, Module)>,
}

/// The modules of a crate that are files.
struct Sources {
    imports: BTreeMap<Module, Imports>,
}

impl Sources {
    fn read(root: &Path) -> Sources {
        let mut files = BTreeMap::new();
        collect(root, &mut files, &mut Vec::new());
        let modules: BTreeSet<Module> = files.keys().cloned().collect();
        let imports = files.into_iter().map(|(module, path)| {
            let source = fs::read_to_string(&path).unwrap();
            let file = syn::parse_file(&source)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let imports = Reader::read(&file, &module, &modules);
            (module, imports)
        });
        Sources { imports: imports.collect() }
    }

    /// The file that has what `path` names: re-exports are followed.
    fn home(&self, path: &[String]) -> Module {
        let mut path = path.to_vec();
        // Re-exports of re-exports come to an end, but for circles of globs.
        for _ in 0..10 {
            let known =
                (0..=path.len()).rev().find(|length| self.imports.contains_key(&path[..*length]));
            let (module, rest) = path.split_at(known.unwrap_or(0));
            let Some(name) = rest.first() else { return module.to_vec() };
            let passed_on =
                self.imports[module].passed_on.iter().find(|(passed, _)| passed == name);
            match passed_on {
                Some((_, origin)) => path = origin.iter().chain(&rest[1..]).cloned().collect(),
                None => return module.to_vec(),
            }
        }
        path
    }

    /// Which file knows which others.
    fn graph(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let edges = self.imports.iter().map(|(module, imports)| {
            let homes = imports.uses.iter().map(|path| self.home(path));
            (module.clone(), homes.filter(|home| home != module).collect())
        });
        edges.collect()
    }
}

/// The files below `folder`, which is that of `module`, but for tests.
fn collect(folder: &Path, files: &mut BTreeMap<Module, PathBuf>, module: &mut Module) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if stem == "tests" {
            continue;
        }
        if path.is_dir() {
            module.push(stem);
            collect(&path, files, module);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_own = stem == "mod" || (module.is_empty() && (stem == "lib" || stem == "main"));
            let own = module.iter().cloned().chain((!is_own).then_some(stem));
            files.insert(own.collect(), path);
        }
    }
}

/// Reads the imports of one file.
struct Reader<'a> {
    /// The module of the file, and the modules within the file down to the one that is read.
    module: Module,
    modules: &'a BTreeSet<Module>,
    imports: Imports,
}

impl Reader<'_> {
    fn read(file: &File, module: &Module, modules: &BTreeSet<Module>) -> Imports {
        let mut reader = Reader { module: module.clone(), modules, imports: Imports::default() };
        reader.visit_file(file);
        reader.imports
    }

    /// The absolute path of one that is written here; None of another crate's.
    fn absolute(&self, written: &[String]) -> Option<Module> {
        let (first, rest) = written.split_first()?;
        let mut at = self.module.clone();
        match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" => {}
            "super" => {
                let supers = written.iter().take_while(|part| *part == "super").count();
                at.truncate(at.len().saturating_sub(supers));
                return Some(at.into_iter().chain(written[supers..].iter().cloned()).collect());
            }
            child => {
                at.push(child.to_owned());
                if !self.modules.contains(&at) {
                    return None;
                }
            }
        }
        Some(at.into_iter().chain(rest.iter().cloned()).collect())
    }

    fn import(&mut self, tree: &UseTree, prefix: &mut Vec<String>, passed_on: bool) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(&path.tree, prefix, passed_on);
                prefix.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, prefix, passed_on));
            }
            UseTree::Name(name) => self.add(prefix, &name.ident.to_string(), None, passed_on),
            UseTree::Rename(name) => {
                self.add(prefix, &name.ident.to_string(), Some(name.rename.to_string()), passed_on);
            }
            UseTree::Glob(_) => self.add(prefix, "self", None, false),
        }
    }

    fn add(&mut self, prefix: &[String], name: &str, renamed: Option<String>, passed_on: bool) {
        let mut written = prefix.to_vec();
        if name != "self" || prefix.is_empty() {
            written.push(name.to_owned());
        }
        let Some(path) = self.absolute(&written) else { return };
        if !passed_on {
            self.imports.uses.push(path.clone());
        }
        // Modules within this one may take from here what it imports for itself.
        let name = renamed.or_else(|| path.last().cloned()).unwrap_or_default();
        self.imports.passed_on.push((name, path));
    }
}

/// Whether an item is compiled for tests alone.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .meta
                .require_list()
                .is_ok_and(|list| list.tokens.to_string().contains("test"))
    })
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let passed_on = !matches!(item.vis, Visibility::Inherited);
        self.import(&item.tree, &mut Vec::new(), passed_on);
    }

    /// Who may see something does not know it for that.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let written: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if written.len() > 1
            && path.leading_colon.is_none()
            && let Some(path) = self.absolute(&written)
        {
            self.imports.uses.push(path);
        }
        visit::visit_path(self, path);
    }
}

/// The circles of a graph of modules, the largest first: those that can be reached from each other.
fn circles(graph: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            for next in graph.get(module).into_iter().flatten() {
                if reached.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        graph.keys().map(|module| (module, reached(module))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for (module, others) in &reached {
        if found.iter().any(|circle| circle.contains(*module)) {
            continue;
        }
        let back =
            |other: &&Module| reached.get(*other).is_some_and(|theirs| theirs.contains(*module));
        let circle: BTreeSet<Module> = others.iter().filter(back).cloned().collect();
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

/// The same graph with rooms for files.
fn rooms(graph: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<Module, BTreeSet<Module>> {
    let room = |module: &Module| module.iter().take(1).cloned().collect::<Module>();
    let mut rooms: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, others) in graph {
        // A crate's root hands out, and names what all rooms share.
        let others =
            others.iter().map(room).filter(|other| !other.is_empty() && *other != room(module));
        rooms.entry(room(module)).or_default().extend(others);
    }
    rooms
}

/// The crates, by the names of their folders.
fn crates() -> Vec<(String, Sources)> {
    let all = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut crates: Vec<(String, Sources)> = fs::read_dir(all)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("src").is_dir())
        .map(|path| {
            (
                path.file_name().unwrap().to_str().unwrap().to_owned(),
                Sources::read(&path.join("src")),
            )
        })
        .collect();
    crates.sort_by(|a, b| a.0.cmp(&b.0));
    crates
}

fn named(circle: &BTreeSet<Module>) -> Vec<String> {
    circle.iter().map(|module| module.join("::")).collect()
}

#[test]
fn no_large_circle_of_files() {
    for (name, sources) in crates() {
        let circles = circles(&sources.graph());
        let large: Vec<Vec<String>> =
            circles.iter().filter(|circle| circle.len() > FILES).map(named).collect();
        assert!(large.is_empty(), "{name}: files know each other in circles: {large:?}");
    }
}

#[test]
fn rooms_know_each_other_one_way() {
    let mut seen = BTreeSet::new();
    for (name, sources) in crates() {
        for circle in circles(&rooms(&sources.graph())) {
            let circle = named(&circle);
            let known =
                ROOMS.iter().position(|(crate_, rooms, _)| *crate_ == name && circle == *rooms);
            seen.insert(known.unwrap_or_else(|| panic!("{name}: {circle:?} know each other")));
        }
    }
    assert_eq!(seen.len(), ROOMS.len(), "an exception that is none any more: {seen:?}");
}

/// Else the two above could find nothing.
#[test]
fn imports_are_read() {
    let graph =
        Sources::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../gateway/src"))).graph();
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Module>();
    let knows = |a: &str, b: &str| graph[&module(a)].contains(&module(b));
    assert!(knows("lifecycle::arrival", "leg"), "by the crate's root");
    assert!(knows("table::told", "table"), "by `super`");
    assert!(!knows("splice", "lifecycle"));
}
