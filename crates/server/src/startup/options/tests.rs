//! Flags in a start-up message.

use super::settings;

#[test]
fn flags_are_read() {
    let read = |text| {
        let pairs = settings(text).map_err(|error| error.message)?;
        let pairs = pairs.into_iter().map(|(name, value)| format!("{name}={value}"));
        Ok::<_, String>(pairs.collect::<Vec<_>>().join("|"))
    };
    let cases = [
        ("", ""),
        ("-c a=1", "a=1"),
        ("-ca=1  --work-mem=64kB", "a=1|work_mem=64kB"),
        ("-c application_name=a\\ b\\\\", "application_name=a b\\"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
    }
    for text in ["-c", "-c a", "-d 5", "x"] {
        assert!(read(text).is_err(), "{text}");
    }
}
