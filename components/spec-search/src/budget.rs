//! What may be spent: the worst case is reserved before a call is made, and what the call really
//! cost takes its place afterwards. Spent and reserved together are never more than the cap, in
//! whatever order replies come; a call whose reply never came counts as what it was reserved for.

use crate::Refusal;

/// Money under a cap, in micro-USD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    cap: u64,
    spent: u64,
    reserved: u64,
}

/// Money that is set aside for one call. It is given back by [`Budget::settle`] only.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a reservation that is not settled stays spent"]
pub struct Reserved(u64);

impl Budget {
    /// Nothing spent yet.
    pub fn new(cap: u64) -> Budget {
        Budget { cap, spent: 0, reserved: 0 }
    }

    /// Sets the worst case of a call aside. Codes: `budget` (there is not so much left),
    /// `unknown-price`.
    pub fn reserve(&mut self, worst: Option<u64>) -> Result<Reserved, Refusal> {
        let worst = worst.ok_or_else(|| {
            Refusal::new("unknown-price", "nobody knows what the call may cost; name the price of the model")
        })?;
        if worst > self.left() {
            let message = format!("the call may cost {worst} micro-USD, and {} are left of {}", self.left(), self.cap);
            return Err(Refusal::new("budget", message));
        }
        self.reserved += worst;
        Ok(Reserved(worst))
    }

    /// Sets aside all that is left: for a call whose worst case only the host knows, and which it
    /// refuses where that is more.
    pub fn reserve_rest(&mut self) -> (Reserved, u64) {
        let left = self.left();
        self.reserved += left;
        (Reserved(left), left)
    }

    /// Puts what a call cost in the place of what was set aside. Whether it cost more: then the
    /// cap is gone, and nothing can be reserved any more.
    pub fn settle(&mut self, reserved: Reserved, cost: u64) -> Result<(), Refusal> {
        self.reserved -= reserved.0;
        self.spent = self.spent.saturating_add(cost);
        if cost <= reserved.0 {
            return Ok(());
        }
        let message = format!("the reply cost {cost} micro-USD, and {} were the most it could", reserved.0);
        Err(Refusal::new("over-price", message))
    }

    /// Micro-USD that were spent.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Micro-USD that can still be reserved.
    pub fn left(&self) -> u64 {
        self.cap.saturating_sub(self.spent.saturating_add(self.reserved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_call_of_unknown_price_and_one_that_may_cost_more_than_is_left_are_refused() {
        let mut budget = Budget::new(10);
        assert_eq!(budget.reserve(None).expect_err("unknown").code, "unknown-price");
        assert_eq!(budget.reserve(Some(11)).expect_err("more").code, "budget");
        let one = budget.reserve(Some(10)).expect("all of it");
        assert_eq!(budget.reserve(Some(1)).expect_err("in flight").code, "budget");
        assert_eq!(budget.settle(one, 4), Ok(()));
        assert_eq!((budget.spent(), budget.left()), (4, 6));
    }

    #[test]
    fn a_reply_that_costs_more_than_it_could_is_told_and_ends_the_spending() {
        let mut budget = Budget::new(10);
        let (all, most) = budget.reserve_rest();
        assert_eq!(most, 10);
        assert_eq!(budget.settle(all, 25).expect_err("dearer").code, "over-price");
        assert_eq!((budget.spent(), budget.left()), (25, 0), "what was paid is never hidden");
    }

    proptest! {
        /// Calls begin and end in any order, some replies never come, some are tried again.
        #[test]
        fn spent_and_reserved_are_never_more_than_the_cap(
            cap in 0u64..2_000, steps in prop::collection::vec((0u64..500, 0u64..500, 0usize..8, any::<bool>()), 0..60),
        ) {
            let mut budget = Budget::new(cap);
            let mut flying: Vec<Reserved> = Vec::new();
            for (worst, cost, at, lost) in steps {
                if let Ok(reserved) = budget.reserve(Some(worst)) {
                    flying.push(reserved);
                }
                if !flying.is_empty() && at % 2 == 0 {
                    let reserved = flying.swap_remove(at % flying.len());
                    let most = reserved.0;
                    if lost {
                        // A crash: nobody settles, and it stays reserved.
                        drop(reserved);
                    } else {
                        prop_assert_eq!(budget.settle(reserved, cost.min(most)), Ok(()));
                    }
                }
                prop_assert!(budget.spent + budget.reserved <= cap);
            }
        }
    }
}
