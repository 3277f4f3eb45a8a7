//! The few statistics that the bench reports. Pure.

use std::time::Duration;

/// Returns the smallest value that is not below `share` percent of the sorted values (nearest
/// rank); zero if there are none.
pub(super) fn percentile(sorted: &[Duration], share: usize) -> Duration {
    let rank = (sorted.len() * share).div_ceil(100);
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

/// Returns the middle value, or the mean of the middle two; none if there are no values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_percentile(count: u64, share: usize, expect: u64) {
        let sorted: Vec<Duration> = (1..=count).map(Duration::from_micros).collect();
        assert_eq!(
            percentile(&sorted, share),
            Duration::from_micros(expect),
            "{count} {share}"
        );
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        check_percentile(0, 50, 0);
        check_percentile(1, 50, 1);
        check_percentile(1, 99, 1);
        check_percentile(4, 50, 2);
        check_percentile(5, 50, 3);
        check_percentile(100, 95, 95);
        check_percentile(100, 99, 99);
        check_percentile(1000, 99, 990);
        check_percentile(10, 100, 10);
    }

    fn check_median(values: &[f64], expect: Option<f64>) {
        assert_eq!(
            median(values).map(f64::to_bits),
            expect.map(f64::to_bits),
            "{values:?}"
        );
    }

    #[test]
    fn the_median_is_the_middle() {
        check_median(&[], None);
        check_median(&[3.0], Some(3.0));
        check_median(&[9.0, 1.0, 2.0], Some(2.0));
        check_median(&[4.0, 1.0, 2.0, 3.0], Some(2.5));
    }
}
