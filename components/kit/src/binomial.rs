//! What a count of wrong ones among some rows rules out: binomial tails in whole numbers, so that
//! the pass that promises and the gate that proves decide alike on every machine.

const PPM: u32 = 1_000_000;

/// Whether a share of wrong ones of `share` or more would be followed by so few wrong ones as rarely
/// as the confidence asks for: P(Bin(rows, share) <= wrong) <= 1 - confidence. Shares in parts per
/// million.
pub fn rules_out(rows: u32, wrong: u32, share: u32, confidence: u32) -> bool {
    if confidence == 0 {
        return true;
    }
    if share == 0 || share >= PPM || confidence >= PPM {
        return share >= PPM;
    }
    let (n, share) = (u64::from(rows), u64::from(share));
    let rest = u64::from(PPM) - share;
    // The term of no wrong answer, (1 - share)^n, by squaring.
    let mut term = Up::ONE;
    let mut base = Up::ratio(rest, u64::from(PPM));
    let mut exponent = n;
    while exponent > 0 {
        if exponent & 1 == 1 {
            term = term.times(base);
        }
        base = base.times(base);
        exponent >>= 1;
    }
    let mut tail = term;
    for j in 1..=u64::from(wrong) {
        // C(n, j) p^j q^(n-j) from the term before it.
        term = term.times(Up::ratio((n + 1 - j) * share, j * rest));
        tail = tail.plus(term);
    }
    tail.at_most(u64::from(PPM - confidence), u64::from(PPM))
}

/// The least share that is ruled out; 1,000,000 where none is.
pub fn least_ruled_out(rows: u32, wrong: u32, confidence: u32) -> u32 {
    let (mut low, mut high) = (0, PPM);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if rules_out(rows, wrong, middle, confidence) { high = middle } else { low = middle }
    }
    high
}

/// A positive number, never less than what it stands for: `mantissa * 2^exponent`, with the
/// highest bit of 63 set. Every operation rounds up, so a tail is never taken for smaller
/// than it is.
#[derive(Clone, Copy, Debug)]
struct Up {
    mantissa: u64,
    exponent: i32,
}

impl Up {
    const ONE: Up = Up { mantissa: 1 << 62, exponent: -62 };

    fn of(value: u128, exponent: i32) -> Up {
        if value == 0 {
            // Smaller than anything that is compared with it.
            return Up { mantissa: 1 << 62, exponent: i32::MIN / 4 };
        }
        let shift = 128 - value.leading_zeros() as i32 - 63;
        let (mantissa, exponent) = if shift > 0 {
            let cut = value >> shift;
            (cut as u64 + u64::from(cut << shift != value), exponent + shift)
        } else {
            ((value << -shift) as u64, exponent + shift)
        };
        // Rounding up may have carried into the next bit.
        if mantissa >> 63 == 1 {
            return Up { mantissa: mantissa.div_ceil(2), exponent: exponent + 1 };
        }
        Up { mantissa, exponent }
    }

    fn ratio(above: u64, below: u64) -> Up {
        // Sixty-four bits of the quotient at least.
        Up::of((u128::from(above) << 64).div_ceil(u128::from(below.max(1))), -64)
    }

    fn times(self, other: Up) -> Up {
        Up::of(u128::from(self.mantissa) * u128::from(other.mantissa), self.exponent.saturating_add(other.exponent))
    }

    fn plus(self, other: Up) -> Up {
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = (i64::from(large.exponent) - i64::from(small.exponent)).min(127) as u32;
        let small = u128::from(small.mantissa);
        let moved = if shift < 64 { small.div_ceil(1 << shift) } else { 1 };
        Up::of(u128::from(large.mantissa) + moved, large.exponent)
    }

    /// Whether it is at most a share.
    fn at_most(self, above: u64, below: u64) -> bool {
        // mantissa * 2^exponent * below <= above, where exponent is below 0 or the whole is large.
        let left = u128::from(self.mantissa) * u128::from(below);
        match -self.exponent {
            shift @ 0..=127 => {
                left <= u128::from(above)
                    .checked_shl(shift as u32)
                    .map_or(u128::MAX, |right| if right >> shift == u128::from(above) { right } else { u128::MAX })
            }
            shift => shift > 0 && above > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_binomial_distribution() {
        // Without a wrong answer: n >= ln(0.05) / ln(1 - share).
        for (share, least) in [(50_000, 59), (20_000, 149), (10_000, 299), (1_000, 2_995)] {
            assert!(rules_out(least, 0, share, 950_000), "{share}");
            assert!(!rules_out(least - 1, 0, share, 950_000), "{share}");
        }
        // Clopper and Pearson (1934), one-sided, 95%: 3 of 100 is at most 7.5712%.
        assert_eq!(least_ruled_out(100, 3, 950_000) / 10, 7571);
        // 0 of 10: 1 - 0.05^(1/10) = 25.8866%.
        assert_eq!(least_ruled_out(10, 0, 950_000), 258_866);
        // Terms far below what 64 bits could hold: 100 of 20,000 is at most 0.5916%.
        assert_eq!(least_ruled_out(20_000, 100, 950_000) / 100, 59);
        assert_eq!(least_ruled_out(0, 0, 950_000), PPM);
        // A confidence of nothing asks for nothing.
        assert!(rules_out(4, 4, 1, 0));
    }
}
