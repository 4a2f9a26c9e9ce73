//! Races that a busy machine spoilt, once more.

use crate::{Event, Listener};
use proofmark_measure::{FaultKind, RaceFault, RaceRules};

/// Races, and once more with another seed if an arm did not sleep in the others' turns. Nobody is
/// accused of a busy machine's doing: who does not sleep will not the next time.
pub(crate) fn raced<T>(
    rules: &RaceRules,
    listener: &dyn Listener,
    race: impl Fn(&RaceRules) -> Result<T, RaceFault>,
) -> Result<T, RaceFault> {
    match race(rules) {
        Err(fault) if fault.kind == FaultKind::Restless => {
            listener.hear(&Event::Note(format!("{fault}; it is raced again")));
            race(&RaceRules { seed: proofmark_tensor::mix(rules.seed, 3, 0), ..*rules })
        }
        raced => raced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn only_who_does_not_sleep_is_raced_again_and_only_once() {
        let fault = |kind| RaceFault {
            arm: 0,
            contender: "native/scalar".to_owned(),
            kind,
            reason: "its threads do not sleep when idle".to_owned(),
        };
        for (kind, races) in [
            (FaultKind::Restless, 2),
            (FaultKind::Died, 1),
            (FaultKind::Wrong, 1),
            (FaultKind::Lied, 1),
        ] {
            let seeds = RefCell::new(Vec::new());
            let again = raced(&RaceRules::quick(7), &(), |rules| {
                seeds.borrow_mut().push(rules.seed);
                Err::<(), _>(fault(kind))
            });
            assert_eq!(again.unwrap_err().kind, kind);
            assert_eq!(seeds.borrow().len(), races, "{kind:?}");
        }
        let seeds = RefCell::new(Vec::new());
        let again = raced(&RaceRules::quick(7), &(), |rules| {
            seeds.borrow_mut().push(rules.seed);
            if seeds.borrow().len() == 1 { Err(fault(FaultKind::Restless)) } else { Ok(()) }
        });
        assert!(again.is_ok());
        assert_ne!(seeds.borrow()[0], seeds.borrow()[1]);
    }
}
