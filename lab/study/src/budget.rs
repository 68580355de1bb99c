// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bound on concurrent runs.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A total that pieces of work share: each takes its part while it runs, and waits until that is there.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Mutex<f64>,
    freed: Condvar,
}

/// A part of a budget; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    budget: &'a Budget,
    size: f64,
}

impl Budget {
    /// A budget of `total`, all of it free.
    pub(crate) fn new(total: f64) -> Budget {
        Budget {
            left: Mutex::new(total),
            freed: Condvar::new(),
        }
    }

    /// Takes `size` of it, and waits until so much is free. It must not be more than the total.
    pub(crate) fn take(&self, size: f64) -> Part<'_> {
        let left = self.left();
        // Sums of such parts are off by rounding.
        let too_little = |left: &mut f64| *left < size * (1.0 - 1e-9);
        let waited = self.freed.wait_while(left, too_little);
        *waited.unwrap_or_else(PoisonError::into_inner) -= size;
        Part { budget: self, size }
    }

    /// A number stays a number when a thread that held it panics.
    fn left(&self) -> MutexGuard<'_, f64> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        *self.budget.left() += self.size;
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;
    use std::time::Duration;

    use super::Budget;

    #[test]
    fn never_more_is_taken_than_there_is() {
        let (budget, most) = (Budget::new(1.0), Mutex::new((0.0, 0.0)));
        thread::scope(|scope| {
            for size in [0.1, 0.4, 0.5, 1.0, 0.6, 0.3, 0.2] {
                let (budget, most) = (&budget, &most);
                scope.spawn(move || {
                    let part = budget.take(size);
                    {
                        let mut most = most.lock().unwrap();
                        most.0 += size;
                        most.1 = f64::max(most.1, most.0);
                    }
                    thread::sleep(Duration::from_millis(2));
                    most.lock().unwrap().0 -= size;
                    drop(part);
                });
            }
        });
        let (now, most) = *most.lock().unwrap();
        assert!(now.abs() < 1e-9 && most <= 1.0 + 1e-9, "{now} {most}");
        drop(budget.take(1.0));
    }
}
