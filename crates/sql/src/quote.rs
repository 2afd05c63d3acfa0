//! Names as statements must spell them.

/// PostgreSQL's reserved words, which need quotes as names.
const RESERVED: &str = " all analyse analyze and any array as asc asymmetric authorization binary \
    both case cast check collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp \
    current_user default deferrable desc distinct do else end except false fetch for foreign freeze \
    from full grant group having ilike in initially inner intersect into is isnull join lateral \
    leading left like limit localtime localtimestamp natural not notnull null offset on only or \
    order outer overlaps placing primary references returning right select session_user similar \
    some symmetric table tablesample then to trailing true union unique user using variadic verbose \
    when where window with between bigint bit boolean char character coalesce dec decimal exists \
    extract float greatest grouping inout int integer interval least national nchar none normalize \
    nullif numeric out overlay position precision real row setof smallint substring time timestamp \
    treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest \
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable ";

/// A name as a statement must spell it.
pub fn quote_ident(name: &str) -> String {
    let mut letters = name.bytes();
    let plain = letters.next().is_some_and(|c| c.is_ascii_lowercase() || c == b'_')
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    if plain && !RESERVED.contains(&format!(" {name} ")) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}
