//! One case as a pair of sides: its ratio, memory and allocations over all its races.

use crate::metrics;
use proofmark_schema::ContenderId;
use proofmark_schema::decision::CaseDecision;
use proofmark_schema::quantity::Interval;
use proofmark_schema::record::{Performance, Record};

/// One contender on one case, as both sides were raced.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Where the case stands.
    pub decision: &'a CaseDecision,
    /// The contender of the new side.
    pub contender: &'a ContenderId,
    /// The records of base and new, one pair for each race, the last one last.
    pub races: &'a [[Record; 2]],
}

/// Where an interval of a ratio lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Below,
    Above,
    Unclear,
}

impl Row<'_> {
    /// The ratio of the last race, if one of its scheduled looks gave it: a race that was cut off
    /// decides nothing.
    pub fn ratio(&self) -> Option<Interval> {
        let last = self.decision.last()?;
        let comparison = &last.ruling.comparison;
        last.looks.contains(&comparison.trials).then_some(comparison.ratio)
    }

    /// Which side of the limit the ratio lies on. `Above` needs fresh trials after the first race,
    /// and the whole interval above the limit.
    pub(super) fn side(&self, percent: f64) -> Side {
        let border = 1.0 + percent / 100.0;
        match self.ratio() {
            Some(ratio) if ratio.high <= border => Side::Below,
            Some(ratio) if ratio.low > border && self.decision.confirmation.is_some() => {
                Side::Above
            }
            _ => Side::Unclear,
        }
    }

    /// The last numbers of both sides.
    pub(super) fn last(&self) -> Option<[&Performance; 2]> {
        let [base, new] = self.races.last()?;
        Some([base.judged.performance()?, new.judged.performance()?])
    }

    /// Growth of peak memory as a share and in bytes: the least that a race showed.
    pub(super) fn memory(&self) -> Option<(f64, u64)> {
        let grown = self.races.iter().filter_map(|[base, new]| {
            let bytes = |record: &Record| Some(record.judged.performance()?.peak_bytes);
            let (base, new) = (bytes(base)?, bytes(new)?);
            (base > 0).then(|| (new as f64 / base as f64 - 1.0, new.saturating_sub(base)))
        });
        grown.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Allocations of a call on both sides: the most of the base, the least of the new.
    pub(super) fn allocations(&self) -> Option<[f64; 2]> {
        let of = |record: &Record| metrics::value("allocations", record);
        let pairs = self.races.iter().filter_map(|[base, new]| Some([of(base)?, of(new)?]));
        pairs.reduce(|a, b| [a[0].max(b[0]), a[1].min(b[1])])
    }

    pub(super) fn place(&self) -> String {
        let threads = match self.decision.threads {
            1 => String::new(),
            count => format!(" with {count} threads"),
        };
        format!("{} on {}{threads}", self.contender, self.decision.case)
    }

    /// The command that shows it again.
    pub(super) fn again(&self) -> String {
        let Some(last) = self.decision.last() else { return String::new() };
        // A side that is this program is named by its contender.
        let [base, new] = last.arms.each_ref().map(|side| match side.arm.as_str() {
            "" => side.contender.to_string(),
            arm => arm.to_owned(),
        });
        let threads = match self.decision.threads {
            1 => String::new(),
            count => format!(" --threads {count}"),
        };
        format!(
            "proofmark compare {base} {new} --case '{}' --contender {}{threads}",
            self.decision.case, self.contender
        )
    }
}
