//! Policy as data: limits, tags, accepted changes and targets; and what they make of a comparison.

mod checked;
mod judge;
mod origin;
mod row;
mod target;

pub use checked::{Checked, CheckedCase, CheckedTarget};
pub use judge::{Change, Judgement, Open, in_percent};
pub use origin::{Edit, Origin};
pub use row::Row;
pub use target::{RATIO, Target, TargetWord};

use crate::is_match;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proofmark_schema::{Case, ContenderId};
use std::fmt;

/// The tag whose cases may not be slower by more than [`Policy::critical`], whatever is accepted.
pub const CRITICAL: &str = "critical";

/// How much worse is too much, in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// A case that is slower by more must be explained.
    pub slower: f64,
    /// A case with the tag `critical` that is slower by more blocks.
    pub critical: f64,
    /// Peak memory that grows by more blocks.
    pub memory: f64,
    /// Whether a call that begins to allocate blocks.
    pub allocations: bool,
    /// A time whose interval is wider is flagged, never failed.
    pub variance: f64,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { slower: 5.0, critical: 10.0, memory: 20.0, allocations: true, variance: 20.0 }
    }
}

/// A day, as `2026-11-15`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    /// The year.
    pub year: u16,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
}

impl Day {
    /// The day, in universal time, of a count of seconds since 1970.
    pub fn of_unix(seconds: u64) -> Day {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let at = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
        let date = at.to_zoned(TimeZone::UTC).date();
        Day { year: date.year() as u16, month: date.month() as u8, day: date.day() as u8 }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A change that somebody has explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Accept {
    /// Pattern of the cases it is about.
    pub case: String,
    /// Pattern of the contenders.
    pub contender: String,
    /// Per cent up to which it explains.
    pub up_to: f64,
    /// Why it is right.
    pub reason: String,
    /// Since when.
    pub date: Day,
    /// The last day on which it counts.
    pub expires: Option<Day>,
    /// Its line in the file, for messages.
    pub line: usize,
}

/// A name for some cases and contenders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tag {
    /// The name.
    pub name: String,
    /// Patterns of cases.
    pub cases: Vec<String>,
    /// Patterns of ops.
    pub ops: Vec<String>,
    /// Patterns of contenders; none is all.
    pub contenders: Vec<String>,
}

impl Tag {
    fn is_on(&self, case: &Case, contender: &ContenderId) -> bool {
        let any = |patterns: &[String], text: &str| patterns.iter().any(|p| is_match(p, text));
        let is_case = any(&self.cases, &case.to_string()) || any(&self.ops, &case.op);
        let all_cases = self.cases.is_empty() && self.ops.is_empty();
        (is_case || all_cases) && (self.contenders.is_empty() || names(&self.contenders, contender))
    }
}

/// Whether one of the patterns names the contender, with its path or without.
fn names(patterns: &[String], contender: &ContenderId) -> bool {
    let whole = contender.to_string();
    let bare = whole.split('@').next().unwrap_or_default();
    patterns.iter().any(|pattern| is_match(pattern, &whole) || is_match(pattern, bare))
}

/// The limit that decides over a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Per cent.
    pub percent: f64,
    /// The case is critical.
    pub is_critical: bool,
    /// The entry that explains a change up to there.
    pub accepted_by: Option<usize>,
}

/// All that a project says about its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The limits.
    pub policy: Policy,
    /// Changes that are explained.
    pub accepts: Vec<Accept>,
    /// Names for cases.
    pub tags: Vec<Tag>,
    /// What the project wants to reach.
    pub targets: Vec<Target>,
}

impl Rules {
    /// The limit of a case on a day.
    pub fn limit(&self, case: &Case, contender: &ContenderId, today: Day) -> Limit {
        let is_critical =
            self.tags.iter().any(|tag| tag.name == CRITICAL && tag.is_on(case, contender));
        let entries = (0..self.accepts.len()).filter(|&at| self.explains(at, case, contender));
        let valid = entries.filter(|&at| self.accepts[at].expires.is_none_or(|last| today <= last));
        let best = valid
            .max_by(|&a, &b| self.accepts[a].up_to.total_cmp(&self.accepts[b].up_to))
            .filter(|&at| self.accepts[at].up_to > self.policy.slower);
        let mut percent = best.map_or(self.policy.slower, |at| self.accepts[at].up_to);
        if is_critical {
            percent = percent.min(self.policy.critical);
        }
        Limit { percent, is_critical, accepted_by: best }
    }

    /// Whether an entry is about a case, even if it is no longer valid.
    fn explains(&self, at: usize, case: &Case, contender: &ContenderId) -> bool {
        let entry = &self.accepts[at];
        is_match(&entry.case, &case.to_string())
            && names(std::slice::from_ref(&entry.contender), contender)
    }

    /// Messages about entries and targets that had no effect on any of the rows.
    pub fn idle(&self, rows: &[Row<'_>], today: Day) -> Vec<String> {
        let mut said = Vec::new();
        for (at, entry) in self.accepts.iter().enumerate() {
            let about = |row: &Row<'_>| self.explains(at, &row.decision.case, row.contender);
            let what = format!("the accept entry for `{}` (line {})", entry.case, entry.line);
            match entry.expires.filter(|last| *last < today) {
                Some(last) => said.push(format!("{what} expired on {last} and does not count")),
                None if !rows.iter().any(about) => said.push(format!("{what} matches no case")),
                None => {}
            }
        }
        for target in &self.targets {
            if !rows.iter().any(|row| target.is_about(&row.decision.case, row.contender)) {
                said.push(format!("the target {target} (line {}) matches no case", target.line));
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const TODAY: Day = Day { year: 2026, month: 11, day: 15 };

    pub(super) fn accept(case: &str, up_to: f64, expires: Option<Day>) -> Accept {
        Accept {
            case: case.to_owned(),
            contender: "*".to_owned(),
            up_to,
            reason: "a check of its arguments".to_owned(),
            date: TODAY,
            expires,
            line: 3,
        }
    }

    fn limit(rules: &Rules, case: &str) -> Limit {
        rules.limit(&case.parse().unwrap(), &"native/simd@avx2".parse().unwrap(), TODAY)
    }

    #[test]
    fn days_are_counted_as_calendars_do() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_794_700_799, "2026-11-14"),
            (1_794_700_800, "2026-11-15"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(Day::of_unix(seconds).to_string(), text);
        }
    }

    #[test]
    fn an_entry_raises_the_limit_until_it_expires_and_never_over_a_critical_one() {
        let critical = Tag {
            name: CRITICAL.to_owned(),
            ops: vec!["matmul".to_owned()],
            contenders: vec!["native/simd".to_owned()],
            ..Tag::default()
        };
        let yesterday = Day { day: 14, ..TODAY };
        let rules = Rules {
            accepts: vec![
                accept("add:*", 8.0, Some(TODAY)),
                accept("mul:*", 8.0, Some(yesterday)),
                accept("matmul:*", 50.0, None),
                accept("sum:*", 2.0, None),
            ],
            tags: vec![critical],
            ..Rules::default()
        };
        assert_eq!(limit(&rules, "add:f32[d=4]").percent, 8.0);
        assert_eq!(limit(&rules, "mul:f32[d=4]").percent, 5.0);
        assert_eq!(limit(&rules, "sum:f32[d=4]"), limit(&rules, "softmax:f32[d=4]"));
        let critical = limit(&rules, "matmul:f32[m=4]");
        assert_eq!((critical.percent, critical.is_critical), (10.0, true));
    }

    #[test]
    fn an_entry_or_a_target_that_matches_nothing_is_told_and_so_is_an_expired_one() {
        let yesterday = Day { day: 14, ..TODAY };
        let rules = Rules {
            accepts: vec![accept("ad:*", 8.0, None), accept("mul:*", 8.0, Some(yesterday))],
            ..Rules::default()
        };
        let said = rules.idle(&[], TODAY);
        assert_eq!(said[0], "the accept entry for `ad:*` (line 3) matches no case");
        assert!(said[1].ends_with("expired on 2026-11-14 and does not count"), "{}", said[1]);
    }
}
