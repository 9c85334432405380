//! Imports between the files of a crate, read from their source.
//!
//! An arrow leads from a file to the file that defines what it names. Re-exports are followed to the definition. Code
//! for tests does not count. An arrow from a file to a module file above it does not count either, because a part may
//! use what its module defines.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::{tokens, without_tests};

/// The path of a module from the root of its crate.
type Module = Vec<String>;

/// Maximum number of re-exports followed for a name.
const MAX_REEXPORTS: usize = 8;

/// The files of a crate and the arrows between them.
#[derive(Default)]
pub struct Imports {
    /// The file of each module.
    files: BTreeMap<Module, String>,
    /// The names that each module imports, with their paths.
    imported: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
    /// The modules named by each module.
    arrows: BTreeMap<Module, BTreeSet<Module>>,
}

/// A path that a file names.
struct Named {
    /// The module that contains it, which can be an inline module of the file.
    scope: Module,
    path: Vec<String>,
    /// Name of the import, unless it is an expression or a glob.
    import: Option<String>,
}

impl Imports {
    /// Reads the files of a crate: each with its path below the root of the source, and its text.
    pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut imports = Self::default();
        let mut named = BTreeMap::new();
        for (file, text) in files {
            let module = module_of(file);
            let found = Parser::new(names_and_signs(without_tests(tokens(text))), &module).run();
            let names = found.iter().filter(|named| named.scope == module);
            let names = names.filter_map(|named| Some((named.import.clone()?, named.path.clone())));
            imports.imported.insert(module.clone(), names.collect());
            imports.files.insert(module.clone(), file.to_owned());
            named.insert(module, found);
        }
        for (module, named) in named {
            let targets = named.iter().filter_map(|named| imports.resolve(&named.scope, &named.path, 0));
            let targets = targets.filter(|target| !module.starts_with(target)).collect();
            imports.arrows.insert(module, targets);
        }
        imports
    }

    /// Returns the number of files.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Returns the number of arrows.
    pub fn arrows(&self) -> usize {
        self.arrows.values().map(BTreeSet::len).sum()
    }

    /// Returns the files of a circle, if there is one: each imports the next, and the last imports the first.
    pub fn circle(&self) -> Option<Vec<&str>> {
        let mut done = BTreeSet::new();
        let circle =
            self.arrows.keys().find_map(|module| self.circle_from(module, &mut Vec::new(), &mut done))?;
        Some(circle.into_iter().map(|module| self.files[module].as_str()).collect())
    }

    /// Searches in depth for a module that is on the path to it.
    fn circle_from<'a>(
        &'a self,
        module: &'a Module,
        path: &mut Vec<&'a Module>,
        done: &mut BTreeSet<&'a Module>,
    ) -> Option<Vec<&'a Module>> {
        if let Some(start) = path.iter().position(|earlier| *earlier == module) {
            return Some(path[start..].to_vec());
        }
        if done.contains(module) {
            return None;
        }
        path.push(module);
        let circle = self.arrows[module].iter().find_map(|target| self.circle_from(target, path, done));
        path.pop();
        done.insert(module);
        circle
    }

    /// Returns the module whose file defines what a path names, or `None` for another crate.
    fn resolve(&self, scope: &Module, path: &[String], reexports: usize) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let (mut module, mut rest) = match first.as_str() {
            "crate" => (Vec::new(), rest),
            "self" => (scope.clone(), rest),
            "super" => (scope[..scope.len().checked_sub(1)?].to_vec(), rest),
            name if self.files.contains_key(&child(scope, name)) || self.import(scope, name).is_some() => {
                (scope.clone(), path)
            }
            _ => return None,
        };
        while let Some((name, after)) = rest.split_first() {
            if name == "super" {
                module.pop()?;
            } else if self.files.contains_key(&child(&module, name)) {
                module.push(name.clone());
            } else if let Some(import) = self.import(&module, name).filter(|_| reexports < MAX_REEXPORTS) {
                let path = [import, after].concat();
                return self.resolve(&module, &path, reexports + 1);
            } else {
                break;
            }
            rest = after;
        }
        // An inline module belongs to the file around it.
        while !self.files.contains_key(&module) {
            module.pop()?;
        }
        Some(module)
    }

    fn import(&self, module: &Module, name: &str) -> Option<&[String]> {
        self.imported.get(module)?.get(name).map(Vec::as_slice)
    }
}

fn child(module: &Module, name: &str) -> Module {
    [module.as_slice(), &[name.to_owned()]].concat()
}

/// Returns the module that a file defines.
fn module_of(file: &str) -> Module {
    let mut module: Module = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
        module.pop();
    }
    module
}

/// Finds the paths that a file names.
struct Parser<'a> {
    tokens: Vec<&'a str>,
    at: usize,
    scope: Module,
    /// The number of open braces, and their number around each inline module.
    braces: usize,
    inline: Vec<usize>,
    found: Vec<Named>,
}

impl<'a> Parser<'a> {
    fn new(tokens: Vec<&'a str>, module: &Module) -> Self {
        let scope = module.clone();
        Self { tokens, at: 0, scope, braces: 0, inline: Vec::new(), found: Vec::new() }
    }

    fn run(mut self) -> Vec<Named> {
        while let Some(token) = self.next() {
            match token {
                "use" => self.tree(&[]),
                "mod" if self.peek(1) == Some("{") => {
                    let name = self.next().unwrap_or_default();
                    self.scope.push(name.to_owned());
                    self.inline.push(self.braces);
                }
                "{" => self.braces += 1,
                "}" => {
                    self.braces = self.braces.saturating_sub(1);
                    if self.inline.last() == Some(&self.braces) {
                        self.inline.pop();
                        self.scope.pop();
                    }
                }
                "." | "::" => drop(self.path()),
                name if is_name(name) => {
                    self.at -= 1;
                    let path = self.path();
                    if path.len() > 1 {
                        self.add(path, None);
                    }
                }
                _ => {}
            }
        }
        self.found
    }

    fn peek(&self, distance: usize) -> Option<&'a str> {
        self.tokens.get(self.at + distance).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        self.at += 1;
        self.tokens.get(self.at - 1).copied()
    }

    /// Reads names that are separated by `::`.
    fn path(&mut self) -> Vec<String> {
        let mut path = Vec::new();
        while let Some(name) = self.peek(0).filter(|name| is_name(name)) {
            path.push(name.to_owned());
            self.at += 1;
            if self.peek(0) != Some("::") || !self.peek(1).is_some_and(is_name) {
                break;
            }
            self.at += 1;
        }
        path
    }

    /// Reads a tree of imports below a path.
    fn tree(&mut self, above: &[String]) {
        if self.peek(0) == Some("::") {
            self.at += 1;
        }
        let mut path = [above, &self.path()].concat();
        if self.peek(0) == Some("::") {
            self.at += 1;
        }
        match self.peek(0) {
            Some("{") => {
                self.at += 1;
                while self.peek(0).is_some_and(|token| token != "}") {
                    self.tree(&path);
                    if self.peek(0) == Some(",") {
                        self.at += 1;
                    }
                }
                self.at += 1;
            }
            Some("*") => {
                self.at += 1;
                self.add(path, None);
            }
            _ => {
                if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
                    path.pop();
                }
                let mut name = path.last().cloned();
                if self.peek(0) == Some("as") {
                    name = self.peek(1).map(str::to_owned);
                    self.at += 2;
                }
                self.add(path, name);
            }
        }
    }

    fn add(&mut self, path: Vec<String>, import: Option<String>) {
        self.found.push(Named { scope: self.scope.clone(), path, import });
    }
}

/// Leaves out numbers and lifetimes.
fn names_and_signs(mut tokens: Vec<&str>) -> Vec<&str> {
    tokens.retain(|token| !token.starts_with(|c: char| c.is_ascii_digit() || c == '\''));
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_') && token != "as"
}

/// Returns the circle of these files as text, or an empty text.
fn circle_of(files: &[(&str, &str)]) -> String {
    let imports = Imports::read(files.iter().copied());
    imports.circle().map(|circle| circle.join(" -> ")).unwrap_or_default()
}

#[test]
fn a_circle_of_imports_is_found_and_listed() {
    let circles: [(&str, &[(&str, &str)]); 9] = [
        ("a.rs -> b.rs", &[("a.rs", "use crate::b::B;"), ("b.rs", "use super::a::A;")]),
        // Through a list, a new name and a module.
        ("a.rs -> b.rs", &[("a.rs", "use super::{c, b::{self as d, B}};"), ("b.rs", "use crate::a as e;")]),
        // Through an expression, and through an imported module.
        (
            "a.rs -> b/deep.rs",
            &[
                ("a.rs", "fn f() { crate::b::deep::g() }"),
                ("b/mod.rs", ""),
                ("b/deep.rs", "use crate::a; fn g() { a::f() }"),
            ],
        ),
        (
            "a.rs -> b/c.rs",
            &[
                ("a.rs", "use crate::b; fn f() { b::c::g() }"),
                ("b/mod.rs", "mod c;"),
                ("b/c.rs", "type T = crate::a::A;"),
            ],
        ),
        // Through the names that a module file exports, or only imports.
        (
            "m/b.rs -> m/a.rs",
            &[("m/mod.rs", "pub use b::B;"), ("m/a.rs", "use super::B;"), ("m/b.rs", "use super::a;")],
        ),
        (
            "m/b.rs -> m/a.rs",
            &[
                ("m/mod.rs", "use crate::m::b::B;"),
                ("m/a.rs", "use super::B as C;"),
                ("m/b.rs", "use super::a;"),
            ],
        ),
        // Through a module file.
        ("m/mod.rs -> n.rs", &[("m/mod.rs", "use crate::n::N;"), ("n.rs", "use crate::m::M;")]),
        // Through an attribute and through an inline module.
        (
            "a.rs -> b.rs",
            &[
                ("a.rs", "mod inner { use super::super::b; }"),
                ("b.rs", "#[serde(with = \"crate::a::with\")] struct B;"),
            ],
        ),
        (
            "a.rs -> b.rs -> c.rs",
            &[
                ("a.rs", "use crate::b;"),
                ("b.rs", "use crate::c;"),
                ("c.rs", "const A: &str = \"'\"; use crate::a;"),
            ],
        ),
    ];
    for (circle, files) in circles {
        assert_eq!(circle_of(files), circle, "{files:?}");
    }
}

#[test]
fn parts_tests_comments_and_other_crates_make_no_circle() {
    let straight: [&[(&str, &str)]; 6] = [
        &[("m/mod.rs", "mod a; pub use a::A;"), ("m/a.rs", "use super::M; use crate::m::N;")],
        &[("a.rs", "use crate::b;"), ("b.rs", "#[cfg(test)] #[allow(x)] mod tests { use crate::a; }")],
        &[("a.rs", "use crate::b;"), ("b.rs", "#[cfg(test)] use crate::a; fn f<'a>(x: &'a str) {}")],
        &[
            ("a.rs", "use crate::b;"),
            ("b.rs", "// use crate::a;\n/* crate::a */ const A: &str = \"crate::a\";"),
        ],
        &[("a.rs", "use crate::b;"), ("b.rs", "const A: &str = r#\"crate::a\"#; const C: char = '\"';")],
        &[("a.rs", "use crate::b;"), ("b.rs", "use other::a; fn f() { x.a::<u8>(); std::a::b(); }")],
    ];
    for files in straight {
        assert_eq!(circle_of(files), "", "{files:?}");
    }
    // What follows tests counts.
    let after = [("a.rs", "use crate::b;"), ("b.rs", "#[cfg(test)] mod t { } use crate::a;")];
    assert_eq!(circle_of(&after), "a.rs -> b.rs");
}
