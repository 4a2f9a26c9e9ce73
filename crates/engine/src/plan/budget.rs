//! What the races of a plan are for, and how much time each is given.

use proofmark_measure::RaceRules;
use proofmark_schema::plan::Plan;

/// What the races of a plan are for. A plan keeps it by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    /// The cells of a table, at a first look.
    Quick,
    /// The cells of a table.
    Standard,
    /// Decisions between two arms.
    Compare,
    /// Thread counts of one contender.
    Scale,
    /// Places along an axis, or options of a choice.
    Tune,
}

impl Budget {
    const ALL: [Budget; 5] =
        [Budget::Quick, Budget::Standard, Budget::Compare, Budget::Scale, Budget::Tune];

    /// The budget of a plan; a name that is not known is a table's.
    pub(crate) fn of(plan: &Plan) -> Budget {
        let known = Budget::ALL.into_iter().find(|budget| budget.name() == plan.budget);
        known.unwrap_or(Budget::Standard)
    }

    /// The name that a plan keeps.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Budget::Quick => "quick",
            Budget::Standard => "standard",
            Budget::Compare => "compare",
            Budget::Scale => "scale",
            Budget::Tune => "tune",
        }
    }

    /// Whether the run is a table, which `bench` makes and can resume.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Budget::Quick | Budget::Standard)
    }

    /// The rules of a race with this seed.
    pub(crate) fn rules(self, seed: u64) -> RaceRules {
        match self {
            Budget::Quick => RaceRules::quick(seed),
            _ => RaceRules::standard(seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_schema::FORMAT_VERSION;

    fn plan(budget: &str) -> Plan {
        Plan {
            format: FORMAT_VERSION,
            seed: 1,
            budget: budget.to_owned(),
            items: Vec::new(),
            absent: Vec::new(),
            proof_seconds: 0.0,
            estimate_seconds: 0.0,
        }
    }

    #[test]
    fn a_plan_gives_its_budget_back_and_only_tables_are_resumed() {
        for budget in Budget::ALL {
            assert_eq!(Budget::of(&plan(budget.name())), budget);
        }
        assert_eq!(Budget::of(&plan("of another version")), Budget::Standard);
        let tables = Budget::ALL.into_iter().filter(|budget| budget.is_table());
        assert_eq!(tables.collect::<Vec<_>>(), [Budget::Quick, Budget::Standard]);
    }
}
