// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layout of a point, which all who look at it and run it share.

use std::sync::{Arc, Mutex, PoisonError};

use crate::model::Scenario;
use crate::network::{Layout, Problems};

/// A layout, or none yet. Copies share it.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptLayout(Arc<Mutex<Option<Arc<Layout>>>>);

/// It follows from the scenario, which is compared.
impl PartialEq for KeptLayout {
    fn eq(&self, _: &KeptLayout) -> bool {
        true
    }
}

impl KeptLayout {
    pub(super) fn of(layout: Layout) -> KeptLayout {
        KeptLayout(Arc::new(Mutex::new(Some(Arc::new(layout)))))
    }

    /// The layout of `scenario`, kept.
    pub(super) fn get(&self, scenario: &Scenario) -> Result<Arc<Layout>, Problems> {
        // Whoever comes while it is laid out waits for it.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layout) = &*kept {
            return Ok(layout.clone());
        }
        let layout = Arc::new(Layout::new(scenario).map_err(Problems)?);
        Ok(kept.insert(layout).clone())
    }

    /// The layout of `scenario`, kept no longer.
    pub(super) fn take(&self, scenario: &Scenario) -> Result<Arc<Layout>, Problems> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept {
            Some(layout) => Ok(layout),
            None => Layout::new(scenario).map(Arc::new).map_err(Problems),
        }
    }
}
