// SPDX-License-Identifier: MIT OR Apache-2.0
//! Differential evolution (Storn and Price, Journal of Global Optimization 11, 1997) with the second of its schemes, DE2.
//!
//! No crate that is kept well lets many populations be evaluated together, a generation at a time, with what is known
//! already left out. `argmin` has no differential evolution; `cmaes` and `metaheuristics-nature` evaluate on their own.

use netnice_queue::random::Stream;

/// F and λ of DE2, and its probability of a coordinate from the mutant.
const DIFFERENCE: f64 = 0.6;
const TO_BEST: f64 = 0.5;
const CROSSOVER: f64 = 0.6;

/// A place in the unit cube.
pub type Place = Vec<f64>;

/// Places that evolve towards the smallest value of a function.
#[derive(Debug, Clone)]
pub struct Population {
    random: Stream,
    places: Vec<Place>,
    values: Vec<f64>,
    trials: Vec<Place>,
}

impl Population {
    /// `count` random places with so many coordinates. They depend on `first` alone, what follows on `then` as well.
    pub fn new(count: usize, coordinates: usize, seed: u64, first: &str, then: &str) -> Population {
        let mut draw = Stream::new(seed, first);
        let place = |_| (0..coordinates).map(|_| draw.uniform()).collect();
        Population {
            trials: (0..count).map(place).collect(),
            random: Stream::new(seed, &format!("{first} {then}")),
            places: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The places whose values are needed next.
    pub fn trials(&self) -> &[Place] {
        &self.trials
    }

    /// Takes the values of the trials, in their order, keeps what is better than before, and makes the next ones.
    pub fn evolve(&mut self, values: Vec<f64>) {
        let trials = std::mem::take(&mut self.trials);
        if self.places.is_empty() {
            (self.places, self.values) = (trials, values);
        } else {
            for (number, (trial, value)) in trials.into_iter().zip(values).enumerate() {
                if value <= self.values[number] {
                    self.places[number] = trial;
                    self.values[number] = value;
                }
            }
        }
        let count = self.places.len();
        let best = (0..count).min_by(|&a, &b| self.values[a].total_cmp(&self.values[b]));
        let best = best.unwrap_or(0);
        self.trials = (0..count).map(|own| self.trial(own, best)).collect();
    }

    fn trial(&mut self, own: usize, best: usize) -> Place {
        let Population { places, random, .. } = self;
        let (a, b) = (random.below(places.len()), random.below(places.len()));
        let coordinates = places[own].len();
        let sure = random.below(coordinates);
        let of = |number: usize, coordinate: usize| places[number][coordinate];
        let coordinate = |at: usize| {
            let own = of(own, at);
            if random.uniform() >= CROSSOVER && at != sure {
                return own;
            }
            let mutant =
                own + TO_BEST * (of(best, at) - own) + DIFFERENCE * (of(a, at) - of(b, at));
            // A coordinate beyond the border is reflected into the cube.
            let within = if mutant < 0.0 {
                -mutant
            } else if mutant >= 1.0 {
                2.0 - mutant
            } else {
                mutant
            };
            within.clamp(0.0, 1.0 - f64::EPSILON)
        };
        (0..coordinates).map(coordinate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_population_finds_the_lowest_place() {
        let value = |place: &Place| {
            let squares = place
                .iter()
                .enumerate()
                .map(|(n, x)| (x - 0.1 * n as f64).powi(2));
            squares.sum::<f64>()
        };
        let mut population = Population::new(20, 6, 1, "a", "b");
        for _ in 0..150 {
            let values = population.trials().iter().map(value).collect();
            population.evolve(values);
        }
        let best = population
            .values
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        assert!(best < 1e-3, "{best}");
        let inside = |place: &Place| place.iter().all(|x| (0.0..1.0).contains(x));
        assert!(population.trials().iter().all(inside));
    }
}
