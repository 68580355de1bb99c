// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names by number, in one text.

/// Names one behind the other: of a hundred thousand links an allocation for each would take more than the names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// Adds the name of the next number.
    pub fn add(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// Frees the room for more.
    pub fn seal(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// The name of a number. Panics if there is none.
    pub fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    /// The number of the first of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        (0..self.ends.len()).find(|&index| self.get(index) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let mut names = Names::default();
        for name in ["a", "", "bc", "a"] {
            names.add(name);
        }
        names.seal();
        let all: Vec<&str> = (0..4).map(|index| names.get(index)).collect();
        assert_eq!(all, ["a", "", "bc", "a"]);
        let found = ["a", "", "bc", "b"].map(|name| names.find(name));
        assert_eq!(found, [Some(0), Some(1), Some(2), None]);
    }
}
