// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places of labels beside each other.

/// Places as near as possible to those wanted, at least `gap` apart, between `from` and `to` where there is room for all.
pub(crate) fn spread(wanted: &[f64], gap: f64, from: f64, to: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut places = vec![0.0; wanted.len()];
    let mut least = from;
    for &index in &order {
        places[index] = wanted[index].max(least);
        least = places[index] + gap;
    }
    // Pushed beyond the end, they move back, and take those before them along.
    let mut most = to;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - gap;
    }
    // With more labels than room they begin at the start.
    let first = order.first().map_or(from, |&index| places[index]);
    let shift = (from - first).max(0.0);
    places.iter().map(|place| place + shift).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance() {
        // Room for all: only what is too near moves.
        assert_eq!(
            spread(&[50.0, 10.0, 52.0], 16.0, 0.0, 100.0),
            [50.0, 10.0, 66.0]
        );
        // At the end they move back.
        assert_eq!(spread(&[99.0, 98.0], 16.0, 0.0, 100.0), [100.0, 84.0]);
        // Too many begin at the start.
        assert_eq!(spread(&[5.0, 5.0, 5.0], 16.0, 0.0, 20.0), [0.0, 16.0, 32.0]);
        assert!(spread(&[], 16.0, 0.0, 20.0).is_empty());
    }
}
