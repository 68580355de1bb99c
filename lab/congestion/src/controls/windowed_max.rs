// SPDX-License-Identifier: MIT OR Apache-2.0
//! The largest of recent values in constant memory: Kathleen Nichols' filter, which BBR uses in Linux.
//!
//! The filter keeps the best value of the window, the best that came after it, and the best that came after that. They
//! come from different quarters of the window, so that a best value that leaves it has a successor.

/// A filter over a window of times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowedMax<T> {
    window: u32,
    /// Time and value of the best, the second and the third.
    best: [(u32, T); 3],
}

impl<T: Copy + PartialOrd + Default> WindowedMax<T> {
    /// A filter over `window` units of time, whose value is the default of the type.
    pub(crate) fn new(window: u32) -> WindowedMax<T> {
        WindowedMax {
            window,
            best: [(0, T::default()); 3],
        }
    }

    /// The largest value of the window.
    pub(crate) fn get(&self) -> T {
        self.best[0].1
    }

    /// Adds a value at `time`, which never decreases.
    pub(crate) fn add(&mut self, time: u32, value: T) {
        let new = (time, value);
        let [first, second, third] = self.best;
        if value >= first.1 || time - third.0 > self.window {
            self.best = [new; 3];
            return;
        }
        if value >= second.1 {
            self.best = [first, new, new];
        } else if value >= third.1 {
            self.best[2] = new;
        }
        let age = time - first.0;
        if age > self.window {
            self.best = [self.best[1], self.best[2], new];
            if time - self.best[0].0 > self.window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == first.0 && age > self.window / 4 {
            self.best = [self.best[0], new, new];
        } else if self.best[2].0 == self.best[1].0 && age > self.window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_leaves_after_its_window() {
        let mut filter = WindowedMax::new(10);
        let mut add = |time, value: u64| {
            filter.add(time, value);
            filter.get()
        };
        assert_eq!(add(0, 5), 5);
        assert_eq!(add(1, 9), 9);
        // A quarter of the window later the second begins, half of it later the third.
        assert_eq!(add(4, 7), 9);
        assert_eq!(add(8, 6), 9);
        assert_eq!(add(11, 3), 9);
        // At 12 the 9 of time 1 is older than the window, and the 7 of time 4 takes its place, at 15 the 6 of time 8.
        assert_eq!(add(12, 2), 7);
        assert_eq!(add(15, 1), 6);
        assert_eq!(add(40, 1), 1);
    }
}
