//! Who may let an edit in: how much the user leaves to the search, against the tier of the edit.

use crate::edit::Tier;

/// How much is left to the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autonomy {
    /// Everything but what is done by hand.
    Auto,
    /// What the table of operations calls `auto`.
    Tiered,
    /// Nothing.
    Manual,
}

/// What happens with an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// It is applied and the gate decides.
    Gate,
    /// It waits for a person.
    Pending,
    /// It is not for the search to do.
    Skipped,
}

impl Autonomy {
    /// Reads a mode.
    pub fn parse(text: &str) -> Option<Autonomy> {
        [Autonomy::Auto, Autonomy::Tiered, Autonomy::Manual].into_iter().find(|mode| mode.name() == text)
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Autonomy::Auto => "auto",
            Autonomy::Tiered => "tiered",
            Autonomy::Manual => "manual",
        }
    }

    /// What happens with an edit of a tier.
    pub fn route(self, tier: Tier) -> Route {
        match (self, tier) {
            (Autonomy::Manual, _) => Route::Pending,
            (_, Tier::Manual) => Route::Skipped,
            (_, Tier::Auto) | (Autonomy::Auto, Tier::Review) => Route::Gate,
            (Autonomy::Tiered, Tier::Review) => Route::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_modes_and_tiers_is_that_of_the_book() {
        use Route::{Gate, Pending, Skipped};
        for (tier, routes) in [
            (Tier::Auto, [Gate, Gate, Pending]),
            (Tier::Review, [Gate, Pending, Pending]),
            (Tier::Manual, [Skipped, Skipped, Pending]),
        ] {
            let modes = [Autonomy::Auto, Autonomy::Tiered, Autonomy::Manual];
            assert_eq!(modes.map(|mode| mode.route(tier)), routes, "{tier:?}");
        }
        assert_eq!(Autonomy::parse("tiered").map(Autonomy::name), Some("tiered"));
        assert_eq!(Autonomy::parse("full"), None);
    }
}
