//! Dates of all forms, both ways.

use super::*;

#[test]
fn dates_go_both_ways() {
    for (unix_s, basic, http) in [
        (1_369_353_600, "20130524T000000Z", "Fri, 24 May 2013 00:00:00 GMT"),
        (0, "19700101T000000Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
        (951_782_399, "20000228T235959Z", "Mon, 28 Feb 2000 23:59:59 GMT"),
        (951_825_600, "20000229T120000Z", "Tue, 29 Feb 2000 12:00:00 GMT"),
        (4_107_542_400, "21000301T000000Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
    ] {
        let date = Date::of_unix_s(unix_s);
        assert_eq!((date.basic().as_str(), date.http().as_str()), (basic, http));
        assert_eq!(parse(http), Some(unix_s), "{http}");
    }
    assert_eq!(parse("2013-05-24T00:00:01.000Z"), Some(1_369_353_601));
    for wrong in ["", "2013", "2013-05-24", "2013-13-24T00:00:00Z", "Fri, 24 Mai 2013", "é"] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
}
