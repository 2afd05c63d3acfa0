//! The fields of a date and a time that are read by a template, and the moment that they make.

use types::datetime::days_of;
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::date_parts::iso_week;
use crate::functions::scalar::to_char::DAY;
use crate::functions::scalar::to_char::date_template::Field;

/// What was read; a field that is not in the template is zero.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub seconds_of_day: i64,
    pub millis: i64,
    pub micros: i64,
    /// Whether hours are counted twice to twelve.
    pub twelve: bool,
    pub afternoon: i64,
    pub year: i64,
    /// Digits that the word for the year has.
    pub year_digits: usize,
    pub before_christ: i64,
    pub century: i64,
    pub month: i64,
    pub day: i64,
    /// Day of the week, Sunday being 1.
    pub weekday: i64,
    pub year_day: i64,
    pub week: i64,
    pub month_week: i64,
    pub julian: i64,
    /// Whether the fields are those of the years of weeks; `None` before the first that says so.
    pub by_weeks: Option<bool>,
    /// East of UTC or west, with hours and minutes.
    pub zone_sign: i64,
    pub zone_hours: i64,
    pub zone_minutes: i64,
}

impl Fields {
    /// 22007 for a field of the other calendar.
    pub(crate) fn set_calendar(&mut self, by_weeks: bool) -> SqlResult<()> {
        match self.by_weeks.replace(by_weeks) {
            Some(before) if before != by_weeks => {
                Err(bad_format("invalid combination of date conventions").with_hint(
                    "Do not mix Gregorian and ISO week date conventions in a formatting template.",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Microseconds since 1970 of the local time; `text` is what was read.
    pub(crate) fn moment(mut self, text: &str) -> SqlResult<i64> {
        let clock = self.clock(text)?;
        let days = self.days(text)?;
        days.checked_mul(DAY).and_then(|days| days.checked_add(clock)).ok_or_else(|| overflow(text))
    }

    /// Days since 1970.
    pub(crate) fn day(mut self, text: &str) -> SqlResult<i64> {
        self.clock(text)?;
        self.days(text)
    }

    /// Seconds east of UTC, if the text says.
    pub(crate) fn offset(&self, text: &str) -> SqlResult<Option<i32>> {
        if self.zone_sign == 0 {
            return Ok(None);
        }
        let fields = (0..16).contains(&self.zone_hours) && (0..60).contains(&self.zone_minutes);
        let seconds = self.zone_sign * (self.zone_hours * 60 + self.zone_minutes) * 60;
        match i32::try_from(seconds) {
            Ok(seconds) if fields => Ok(Some(seconds)),
            _ => Err(overflow(text)),
        }
    }

    fn clock(&mut self, text: &str) -> SqlResult<i64> {
        let whole = self.seconds_of_day;
        let given = |field: i64, other: i64| if field == 0 { other } else { field };
        let mut hour = given(self.hour, whole / 3_600);
        let minute = given(self.minute, whole / 60 % 60);
        let second = given(self.second, whole % 60);
        if self.twelve {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                let hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
                return Err(bad_format(&message).with_hint(hint));
            }
            hour = hour % 12 + 12 * self.afternoon;
        }
        let fraction = self.millis * 1_000 + self.micros;
        let bounds = [(hour, 24), (minute, 60), (second, 60), (fraction, 1_000_000)];
        match bounds.iter().all(|(value, bound)| (0..*bound).contains(value)) {
            true => Ok(((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction),
            false => Err(overflow(text)),
        }
    }

    /// The year as astronomers count it, with a year zero.
    fn counted_year(&self) -> i64 {
        let era = if self.before_christ == 1 { -1 } else { 1 };
        let century = self.century * era;
        if self.year == 0 {
            return match century {
                0 => 0,
                c if c > 0 => (c - 1) * 100 + 1,
                c => c * 100 + 1,
            };
        }
        if century != 0 && self.year_digits <= 2 {
            return match (self.year % 100, century >= 0) {
                (0, true) => century * 100,
                (0, false) => century * 100 + 1,
                (year, true) => (century - 1) * 100 + year,
                (year, false) => (century + 1) * 100 - year + 1,
            };
        }
        let year = self.year * era;
        if year < 0 { year + 1 } else { year }
    }

    /// Days since 1970.
    fn days(&mut self, text: &str) -> SqlResult<i64> {
        let year = self.counted_year();
        let by_weeks = self.by_weeks == Some(true);
        // A later field wins over an earlier one, as PostgreSQL has them: day of the month over week.
        let mut found = (self.julian != 0).then(|| self.julian - JULIAN_1970);
        if self.week != 0 {
            match by_weeks {
                true => found = Some(self.day_of_week(year)),
                false => self.year_day = (self.week - 1) * 7 + 1,
            }
        }
        if self.month_week != 0 {
            self.day = (self.month_week - 1) * 7 + 1;
        }
        let base = found.map(types::datetime::civil_of);
        let (year, mut month, mut day) =
            base.map_or((year, 1, 1), |c| (c.year, i64::from(c.month), i64::from(c.day)));
        if self.day != 0 {
            day = self.day;
        }
        if self.month != 0 {
            month = self.month;
        }
        if self.year_day != 0 && (month <= 1 || day <= 1) {
            return self.by_year_day(year, month, day, text);
        }
        in_month(year, month, day).ok_or_else(|| overflow(text))
    }

    /// The day of a week of the year of weeks; its Monday without a day.
    fn day_of_week(&self, year: i64) -> i64 {
        let day = match self.weekday {
            0 => 0,
            1 => 6,
            other => other - 2,
        };
        first_monday(year) + (self.week - 1) * 7 + day
    }

    fn by_year_day(&self, year: i64, month: i64, day: i64, text: &str) -> SqlResult<i64> {
        if year == 0 && self.before_christ == 0 {
            let message = "cannot calculate day of year without year information";
            return Err(bad_format(message));
        }
        if self.by_weeks == Some(true) {
            return Ok(first_monday(year) + self.year_day - 1);
        }
        let first = days_of(year, 1, 1).ok_or_else(|| overflow(text))?;
        let next = days_of(year + 1, 1, 1).ok_or_else(|| overflow(text))?;
        let days = first + self.year_day - 1;
        if !(first..next).contains(&days) {
            return Err(overflow(text));
        }
        let civil = types::datetime::civil_of(days);
        // A month or a day that was given stays.
        let month = if month <= 1 { i64::from(civil.month) } else { month };
        let day = if day <= 1 { i64::from(civil.day) } else { day };
        in_month(year, month, day).ok_or_else(|| overflow(text))
    }
}

/// 1970 in days of the Julian count.
const JULIAN_1970: i64 = 2_440_588;

/// The Monday of the week that has the fourth of January.
fn first_monday(year: i64) -> i64 {
    let fourth = days_of(year, 1, 4).unwrap_or_default();
    debug_assert_eq!(iso_week(fourth).1, 1);
    fourth - (fourth + 3).rem_euclid(7)
}

fn in_month(year: i64, month: i64, day: i64) -> Option<i64> {
    days_of(year, i32::try_from(month).ok()?, i32::try_from(day).ok()?)
}

/// 22008.
pub(crate) fn overflow(text: &str) -> SqlError {
    let message = format!("date/time field value out of range: \"{text}\"");
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

/// 22007.
pub(crate) fn bad_format(message: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

/// 22007 for a value that is none of the field's.
pub(crate) fn bad_value(given: &str, field: Field) -> SqlError {
    bad_format(&format!("invalid value \"{given}\" for \"{}\"", field.word))
}
