//! Each rule with a text that keeps it and a text that breaks it.

use serde_json::json;

use super::files::Text;
use super::map::Map;
use super::{book, circles, edges, files, functions, levels, sources, unsafe_code, waits};

const ARCHITECTURE: &str = "# A

## Who may use whom

Prose.

| crate | what | may use |
|---|---|---|
| `types` | values | – |
| `exec` | runs | `types`, `runtime` |
| `runtime` | ring | –; in tests `exec` |

## External dependencies

| package | used by | why |
|---|---|---|
| `libc` | `runtime` | system calls |

## Where unsafe code stands

| place | why |
|---|---|
| `crates/runtime/src/ring/` | shares memory with the kernel |
";

fn map() -> Map {
    Map::parse(ARCHITECTURE).expect("the sample is well formed")
}

fn text(path: &str, text: &str) -> Text {
    Text { path: path.to_string(), text: text.to_string() }
}

fn metadata(edges: &[(&str, &[&str], &[&str])]) -> serde_json::Value {
    let package = |(name, ours, theirs): &(&str, &[&str], &[&str])| {
        let ours = ours.iter().map(|n| json!({"name": n, "path": "x"}));
        let theirs = theirs.iter().map(|n| json!({"name": n, "source": "registry"}));
        json!({"name": name, "dependencies": ours.chain(theirs).collect::<Vec<_>>()})
    };
    json!({"packages": edges.iter().map(package).collect::<Vec<_>>()})
}

fn edge_messages(edges: &[(&str, &[&str], &[&str])]) -> Vec<String> {
    let members = edges::members(&metadata(edges)).expect("sample");
    edges::check(&map(), &members).into_iter().map(|f| f.message).collect()
}

#[test]
fn the_map_is_read_from_its_tables() {
    let map = map();
    assert_eq!(map.uses["exec"].iter().collect::<Vec<_>>(), ["runtime", "types"]);
    assert!(map.externals["libc"].contains("runtime"));
    assert!(map.unsafe_paths.contains("crates/runtime/src/ring/"));
}

#[test]
fn a_missing_table_or_reason_is_an_error() {
    assert!(Map::parse("# nothing").is_err());
    assert!(Map::parse(&ARCHITECTURE.replace("system calls", "")).is_err());
}

#[test]
fn listed_edges_pass() {
    let listed: &[(&str, &[&str], &[&str])] =
        &[("types", &[], &[]), ("exec", &["types"], &[]), ("runtime", &[], &["libc"])];
    assert_eq!(edge_messages(listed), [] as [String; 0]);
}

#[test]
fn a_new_edge_fails() {
    let found = edge_messages(&[
        ("types", &["runtime"], &["libc"]),
        ("exec", &["storage"], &["tokio"]),
        ("runtime", &[], &["libc"]),
        ("extra", &[], &[]),
    ]);
    let wanted = [
        "new edge: `types` uses `runtime`",
        "invariant: `types` never uses `runtime`",
        "`types` uses `libc`, whose row does not list it",
        "invariant: `exec` never uses `storage`",
        "`exec` uses `tokio`: nothing runs on another async runtime",
        "`exec` uses `tokio`: a new dependency needs a row",
        "crate `extra` is missing",
    ];
    for want in wanted {
        assert!(found.iter().any(|message| message.starts_with(want)), "{want}: {found:#?}");
    }
}

#[test]
fn tests_use_what_only_their_row_lists() {
    let found = |name: &str, used: &str, kind: serde_json::Value| {
        let dependency = json!({"name": used, "path": "x", "kind": kind});
        let package = json!({"name": name, "dependencies": [dependency]});
        let members = edges::members(&json!({"packages": [package]})).expect("sample");
        let uses = map().tests_use.keys().map(|n| (n.clone(), Default::default())).collect();
        let mut map = Map { uses, ..map() };
        map.uses.entry("engine".to_owned()).or_default();
        map.tests_use.insert("engine".to_owned(), ["pg".to_owned()].into());
        let of_it = format!("`{name}`");
        let all = edges::check(&map, &members).into_iter().map(|finding| finding.message);
        all.filter(|m| m.contains(&of_it) && !m.contains("row of")).collect::<Vec<String>>()
    };
    assert_eq!(found("runtime", "exec", json!("dev")), [] as [String; 0]);
    assert_eq!(found("runtime", "exec", json!(null)).len(), 1);
    assert_eq!(found("exec", "runtime", json!("dev")).len(), 1);
    assert_eq!(found("exec", "storage", json!("dev")).len(), 2);
    assert_eq!(found("engine", "pg", json!("dev")), [] as [String; 0]);
    assert_eq!(found("engine", "pg", json!(null)).len(), 2);
}

#[test]
fn rows_of_what_is_gone_fail() {
    let found = edge_messages(&[("types", &[], &[]), ("exec", &[], &[])]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("no such crate"));
    assert!(found[1].contains("no crate uses that package"));
}

#[test]
fn machine_paths_fail() {
    let bad = ["see /ro", "ot/x and (/ho", "me/a/b)"].concat();
    assert_eq!(files::check(&text("a.md", &bad)).len(), 1);
    let good = ["docs/wo", "rk/a ../ro", "ot/b"].concat();
    assert_eq!(files::check(&text("a.md", &good)), []);
}

#[test]
fn unfinished_work_fails() {
    let bad = ["//! A.\nfn f() { to", "do!() }\n// TO", "DO later\n#[ign", "ore]\n"].concat();
    let lines: Vec<usize> =
        sources::check(&text("a.rs", &bad)).into_iter().map(|f| f.line).collect();
    assert_eq!(lines, [2, 4, 3]);
    let good = "//! A.\nconst S: &str = \"dbg!\"; // dbg! in words\n";
    assert_eq!(sources::check(&text("a.rs", good)), []);
}

#[test]
fn first_line_names_and_length_are_checked() {
    assert_eq!(sources::check(&text("a.rs", "fn f() {}\n")).len(), 1);
    assert_eq!(sources::check(&text("crates/x/src/utils/a.rs", "//! A.\n")).len(), 1);
    let long = format!("//! A.\n{}", "\n".repeat(600));
    assert_eq!(sources::check(&text("a.rs", &long)).len(), 1);
    assert_eq!(sources::check(&text("a.rs", "//! A.\n")), []);
}

#[test]
fn functions_are_measured() {
    let source =
        "trait T { fn a(x: [u8; 3]); }\nfn b<T>(s: &str) -> T\n{\n  let x = \"}\";\n}\nfn c() {}\n";
    let found: Vec<(String, usize)> =
        functions::functions(source).into_iter().map(|f| (f.name, f.line_count)).collect();
    assert_eq!(found, [("b".to_string(), 4), ("c".to_string(), 1)]);
}

#[test]
fn the_ratchet_forgives_no_more_than_it_says() {
    let long = format!("//! A.\nfn long() {{{}}}\n", "\n".repeat(70));
    let files = [text("a.rs", &long)];
    assert_eq!(functions::check(&files, "long_function_count = 1\n"), []);
    assert_eq!(functions::check(&files, "long_function_count = 0\n").len(), 1);
    assert_eq!(functions::check(&files, "").len(), 1);
}

#[test]
fn unsafe_stands_where_it_is_listed() {
    let listed = text("crates/runtime/src/ring/a.rs", "//! A.\nunsafe fn f() {}\n");
    assert_eq!(unsafe_code::check(std::slice::from_ref(&listed), &map()), []);
    let elsewhere = text("crates/types/src/a.rs", "//! unsafe\n\nfn f() { unsafe {} }\n");
    let found = unsafe_code::check(&[listed, elsewhere], &map());
    assert_eq!(found.iter().map(|f| f.line).collect::<Vec<_>>(), [3]);
    assert_eq!(unsafe_code::check(&[], &map()).len(), 1);
}

#[test]
fn the_book_lists_its_pages_and_links_lead_somewhere() {
    let check = |summary: &str, page: &str| -> Vec<String> {
        let texts = [text("docs/SUMMARY.md", summary), text("docs/a/b.md", page)];
        let known = ["docs/a/b.md", "README.md"];
        let findings = book::check(&texts, |path| known.contains(&path));
        findings.iter().map(ToString::to_string).collect()
    };
    let fine = "[r](../../README.md#x) [s](https://example.org/) [t](#here)";
    assert_eq!(check("- [B](a/b.md)", fine), [""; 0]);
    assert_eq!(check("", "x"), ["docs/a/b.md: docs/SUMMARY.md does not list it"]);
    assert_eq!(check("- [B](a/b.md)", "x\n[c](c.md)"), ["docs/a/b.md:2: no file for c.md"]);
}

#[test]
fn threads_are_blocked_at_the_door_alone() {
    let code = "//! A file.\nfn f() { handle.block_on(work); }\n";
    let found = |path: &str, code: &str| waits::check(&text(path, code)).len();
    assert_eq!(found("crates/engine/src/load.rs", code), 1);
    assert_eq!(found("crates/engine/src/door.rs", code), 0);
    assert_eq!(found("crates/engine/src/sorter/tests.rs", code), 0);
    assert_eq!(found("crates/runtime/src/runtime.rs", code), 0);
    assert_eq!(found("crates/server/src/x.rs", "//! A file.\nuse std::sync::Condvar;\n"), 1);
    assert_eq!(found("crates/server/src/x.rs", "//! Without a Condvar.\n"), 0);
}

/// A crate of these modules; those of the largest circle.
fn circle(modules: &[(&str, &str)]) -> String {
    let source = |(name, code): &(&str, &str)| text(&format!("crates/x/src/{name}"), code);
    let files: Vec<Text> = modules.iter().map(source).collect();
    let found = circles::largest_circle(&files, "x");
    found.iter().map(|path| path.trim_start_matches("crates/x/src/")).collect::<Vec<_>>().join(" ")
}

#[test]
fn imports_go_round_by_every_kind_of_path() {
    let plain = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "struct B;")];
    assert_eq!(circle(&plain), "");
    let ways = [
        "use crate::a::A;",
        "use super::a;",
        "use crate::{c::C, a::{self, A}};",
        "use crate::{c::C as D, a as e};",
        "fn f() -> crate::a::A { A }",
        "impl super::a::A {}",
    ];
    for way in ways {
        let modules = [plain[0], plain[1], ("b.rs", way), ("c.rs", "struct C;")];
        assert_eq!(circle(&modules), "a.rs b.rs", "{way}");
    }
    let no_ways = [
        "// use crate::a::A;",
        "fn f() { \"crate::a::A\" }",
        "use other::a::A; fn f() { x.crate_::a }",
        "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
    ];
    for way in no_ways {
        assert_eq!(circle(&[plain[0], plain[1], ("b.rs", way)]), "", "{way}");
    }
}

#[test]
fn a_name_that_is_passed_on_leads_to_who_passes_it_on() {
    let modules = [
        ("lib.rs", "mod a; mod d;"),
        ("a/mod.rs", "mod b; mod c; pub use b::B; fn f() { c::g() }"),
        ("a/b.rs", "use super::C; struct B;"),
        ("a/c.rs", "struct C;"),
        ("a/tests.rs", "use crate::d::D;"),
        ("d.rs", "use crate::a::B; use crate::a::c;"),
    ];
    // `d` uses them, and nobody uses `d`; `c` uses nobody.
    assert_eq!(circle(&modules), "a/mod.rs a/b.rs");
}

#[test]
fn the_largest_circle_may_only_become_smaller() {
    let files = [
        text("crates/x/src/lib.rs", "mod a; mod b;"),
        text("crates/x/src/a.rs", "use crate::b::B;"),
        text("crates/x/src/b.rs", "use crate::a::A;"),
        text("crates/y/src/lib.rs", "mod a;"),
    ];
    let findings = |ratchet: &str| -> Vec<String> {
        circles::check(&files, ratchet).into_iter().map(|f| f.message).collect()
    };
    assert!(findings("import_circle.x = 2").is_empty());
    let [grown] = &findings("import_circle.x = 1")[..] else { panic!("one finding") };
    assert!(grown.contains("`x` has 2 files, at most 1: crates/x/src/a.rs, "), "{grown}");
    assert_eq!(findings("").len(), 1);
    let [fallen] = &findings("import_circle.x = 3")[..] else { panic!("one finding") };
    assert!(fallen.contains("may be 2 now"), "{fallen}");
}

/// A crate with these rows of levels and these modules; what is found.
fn levels_found(rows: &[&str], modules: &[(&str, &str)]) -> Vec<String> {
    let table = format!(
        "# x\n\n## Levels\n\n| level | module | what |\n|---|---|---|\n{}\n",
        rows.join("\n")
    );
    let source = |(name, code): &(&str, &str)| text(&format!("crates/x/src/{name}"), code);
    let mut files: Vec<Text> = modules.iter().map(source).collect();
    files.push(text("crates/x/README.md", &table));
    levels::check(&files).iter().map(ToString::to_string).collect()
}

const LEVELS: [&str; 3] =
    ["| High | `a` | above |", "| Low | `b`, `c` | below |", "| Low | `d` | below |"];

#[test]
fn imports_go_down_the_levels() {
    let down = [
        ("lib.rs", "mod a; mod b; pub use a::A;"),
        ("a.rs", "mod e; use crate::b::B; use crate::d::f;"),
        ("a/e.rs", "use crate::c::C;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::d; struct C;"),
        ("d.rs", "fn f() { crate::b::g() }"),
        ("d/tests.rs", "use crate::a::A;"),
    ];
    assert_eq!(levels_found(&LEVELS, &down), [""; 0]);
    let upward = "the level \"Low\" imports";
    let ways = [
        ("use crate::a::e::{A, B};", "A, B of `crates/x/src/a/e.rs` from \"High\""),
        ("fn f() { crate::a::g() }", "g of `crates/x/src/a.rs` from \"High\""),
        ("use super::a;", "all of `crates/x/src/a.rs` from \"High\""),
        ("use crate::A;", "A of `crates/x/src/lib.rs` from \"root\""),
    ];
    for (code, what) in ways {
        let mut modules = down;
        modules[5].1 = code;
        let expected = format!("crates/x/src/d.rs: {upward} {what}, which is above it");
        assert_eq!(levels_found(&LEVELS, &modules), [expected], "{code}");
    }
}

#[test]
fn every_module_has_one_level() {
    let modules = [("lib.rs", ""), ("a.rs", ""), ("b.rs", ""), ("c/mod.rs", ""), ("d/e.rs", "")];
    assert_eq!(levels_found(&LEVELS, &modules), [""; 0]);
    let said = |rows: &[&str]| levels_found(rows, &modules).join("; ");
    assert_eq!(said(&LEVELS[..2]), "crates/x/README.md: the module `d` has no level");
    let gone = [&LEVELS[..], &["| Low | `f` | below |"]].concat();
    assert_eq!(said(&gone), "crates/x/README.md: there is no module `f`");
    let twice = [&LEVELS[..], &["| Last | `d` | below |"]].concat();
    assert_eq!(said(&twice), "crates/x/README.md: modules with two levels: d");
    let apart = [LEVELS[1], LEVELS[0], LEVELS[2]];
    assert!(said(&apart).contains("the level \"Low\" do not stand together"), "{}", said(&apart));
    assert!(said(&["| Low | `a` |"]).contains("bad row"));
}

#[test]
fn a_table_of_levels_does_not_get_lost() {
    let files = [text("crates/sql/src/lib.rs", ""), text("crates/sql/README.md", "# sql\n")];
    let found: Vec<String> = levels::check(&files).iter().map(ToString::to_string).collect();
    let expected =
        "crates/sql/README.md: `sql` has no section \"Levels\" with its modules by level";
    assert_eq!(found, [expected]);
}
