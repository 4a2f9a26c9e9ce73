//! Words for how near to the machine's limit a contender comes.

/// A class of efficiency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// Below 20 % of the limit.
    NeedsWork,
    /// 20 % to 50 %.
    Fair,
    /// 50 % to 80 %.
    Good,
    /// 80 % and more.
    Excellent,
}

impl Band {
    /// The band of a share of the limit (0.8 is 80 %); `None` for what is no share.
    pub fn of(share: f64) -> Option<Band> {
        if !share.is_finite() || share < 0.0 {
            return None;
        }
        Some(match share {
            share if share >= 0.8 => Band::Excellent,
            share if share >= 0.5 => Band::Good,
            share if share >= 0.2 => Band::Fair,
            _ => Band::NeedsWork,
        })
    }

    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Band::NeedsWork => "needs work",
            Band::Fair => "fair",
            Band::Good => "good",
            Band::Excellent => "excellent",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_begin_at_their_lower_edge() {
        let names = [0.0, 0.199, 0.2, 0.499, 0.5, 0.799, 0.8, 1.1].map(|s| Band::of(s).unwrap());
        use Band::*;
        assert_eq!(names, [NeedsWork, NeedsWork, Fair, Fair, Good, Good, Excellent, Excellent]);
        assert_eq!(Band::of(f64::NAN), None);
        assert_eq!(Band::of(-0.1), None);
    }
}
