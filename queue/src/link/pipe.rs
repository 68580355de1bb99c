// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packets under way on a link, but for the first.

use std::collections::VecDeque;

/// A queue, first in first out. As long as it is short it needs no memory of its own, so that thousands of links with a few
/// packets each cost no look elsewhere.
#[derive(Debug)]
pub(super) struct Pipe<T> {
    near: [Option<T>; NEAR],
    /// Empty unless `near` is full.
    far: VecDeque<T>,
}

const NEAR: usize = 2;

impl<T> Pipe<T> {
    pub fn new() -> Pipe<T> {
        Pipe {
            near: [const { None }; NEAR],
            far: VecDeque::new(),
        }
    }

    #[inline]
    pub fn push(&mut self, one: T) {
        let [first, second] = &mut self.near;
        if first.is_none() {
            *first = Some(one);
        } else if second.is_none() {
            *second = Some(one);
        } else {
            self.far.push_back(one);
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let [first, second] = &mut self.near;
        let popped = first.take();
        *first = second.take();
        if !self.far.is_empty() {
            *second = self.far.pop_front();
        }
        popped
    }

    pub fn len(&self) -> usize {
        self.near.iter().flatten().count() + self.far.len()
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        match self.near.get(index) {
            Some(place) => place.as_ref(),
            None => self.far.get(index - NEAR),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.near.iter().flatten().chain(&self.far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(prop::option::of(0u8..9), 0..60)) {
            let mut pipe = Pipe::new();
            let mut model = VecDeque::new();
            for step in steps {
                match step {
                    Some(one) => {
                        pipe.push(one);
                        model.push_back(one);
                    }
                    None => prop_assert_eq!(pipe.pop(), model.pop_front()),
                }
                prop_assert_eq!(pipe.len(), model.len());
                prop_assert!(pipe.iter().eq(&model));
                prop_assert!((0..model.len() + 2).all(|index| pipe.get(index) == model.get(index)));
            }
        }
    }
}
