//! Documents that are read, and those that are refused.

use proptest::prelude::*;

use super::*;

fn texts(document: &str) -> Result<Vec<(String, String)>, Wrong> {
    let mut all = Vec::new();
    walk(document, |path, text| all.push((path.to_owned(), text)))?;
    Ok(all)
}

#[test]
fn elements_are_told_with_their_paths() {
    let document = "\u{feff}<?xml version=\"1.0\"?><!-- a < b --><a:r x=\"1>2\" y='\"'>\n<k>x &amp; \
                    &lt;y&gt; &#65;&#x42;<![CDATA[<&>]]></k><e/><k>2</k></a:r>\n";
    let expected = [("r/k", "x & <y> AB<&>"), ("r/e", ""), ("r/k", "2"), ("r", "")];
    let expected: Vec<_> = expected.map(|(p, t)| (p.to_owned(), t.to_owned())).to_vec();
    assert_eq!(texts(document), Ok(expected));
}

#[test]
fn what_is_no_document_is_refused() {
    for document in [
        "<a>",
        "<a></b>",
        "</a>",
        "text",
        "<a>&nbsp;</a>",
        "<a>&#xD800;</a>",
        "<a>&amp</a>",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
        "<a",
        "<>",
        "<a/><![CDATA[x]]>",
    ] {
        assert!(texts(document).is_err(), "{document}");
    }
    let deep = "<a>".repeat(40) + &"</a>".repeat(40);
    assert!(texts(&deep).is_err(), "too deep");
}

proptest! {
    #[test]
    fn text_goes_both_ways(text in "\\PC*") {
        let document = format!("<a>{}</a>", escape(&text));
        prop_assert_eq!(texts(&document), Ok(vec![("a".to_owned(), text)]));
    }

    #[test]
    fn nothing_panics(document in "[<>/&;a!\\[\\]?\"' -]{0,40}") {
        let _ = texts(&document);
    }
}
