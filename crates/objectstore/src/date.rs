//! Dates in the forms that stores use. All are UTC.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The first of January 1970 was a Thursday.
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const DAY_S: i64 = 86_400;

/// A moment, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    days: i64,
}

impl Date {
    pub(crate) fn of_unix_s(unix_s: i64) -> Date {
        let (days, rest) = (unix_s.div_euclid(DAY_S), unix_s.rem_euclid(DAY_S));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        Date { year, month, day, hour, minute, second, days }
    }

    /// `20130524`
    pub(crate) fn day(&self) -> String {
        format!("{:04}{:02}{:02}", self.year, self.month, self.day)
    }

    /// `20130524T000000Z`
    pub(crate) fn basic(&self) -> String {
        format!("{}T{:02}{:02}{:02}Z", self.day(), self.hour, self.minute, self.second)
    }

    /// `Fri, 24 May 2013 00:00:00 GMT`
    pub(crate) fn http(&self) -> String {
        let weekday = DAYS[self.days.rem_euclid(7) as usize];
        let month = MONTHS[(self.month - 1) as usize];
        let (day, year) = (self.day, self.year);
        let (hour, minute, second) = (self.hour, self.minute, self.second);
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }
}

/// Seconds since 1970 of `2013-05-24T00:00:00.000Z` or `Fri, 24 May 2013 00:00:00 GMT`.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if !text.is_ascii() {
        return None;
    }
    if bytes.get(4) == Some(&b'-') {
        let (day, time) = (text.get(..10)?, text.get(11..19)?);
        let mut parts = day.split('-').map(number);
        return seconds(parts.next()??, parts.next()??, parts.next()??, time);
    }
    let mut words = text.split_once(", ")?.1.split(' ');
    let day = number(words.next()?)?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let year = number(words.next()?)?;
    seconds(year, month, day, words.next()?)
}

fn number(text: &str) -> Option<i64> {
    let is_short = !text.is_empty() && text.len() <= 4;
    (is_short && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn seconds(year: i64, month: i64, day: i64, time: &str) -> Option<i64> {
    let mut parts = time.split(':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let is_day = (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_time = hour < 24 && minute < 60 && second <= 60;
    (is_day && is_time).then(|| days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second)
}

/// Days since 1970 of a date. Years begin in March here, so that the leap day is their last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of so many days since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leaps = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests;
