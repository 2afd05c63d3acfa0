//! Days of the calendar, counted and named.

/// A day of the proleptic Gregorian calendar; the year before 1 is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year.
    pub year: i64,
    /// Month, from 1.
    pub month: i32,
    /// Day of the month, from 1.
    pub day: i32,
}

/// The day that is so many days after 1970-01-01.
pub fn civil_of(days: i64) -> Civil {
    let (year, month, day) = civil(days);
    Civil { year, month: month as i32, day: day as i32 }
}

/// Days from 1970-01-01 to a day; `None` if there is no such day.
pub fn days_of(year: i64, month: i32, day: i32) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year.abs() > 300_000 {
        return None;
    }
    // Years that begin in March, so that the leap day is their last.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let march_month = i64::from((month + 9) % 12);
    let day_of_year = (153 * march_month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    (civil_of(days) == Civil { year, month, day }).then_some(days)
}

/// Year, month and day of a number of days since 1970-01-01, in the proleptic Gregorian calendar.
///
/// Counts in eras of 400 years that begin on March 1, so that the leap day is the last of a year.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097;
    const DAYS_TO_1970: i64 = 719_468;
    let shifted = days + DAYS_TO_1970;
    let (era, day_of_era) = (shifted.div_euclid(DAYS_PER_ERA), shifted.rem_euclid(DAYS_PER_ERA));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}
