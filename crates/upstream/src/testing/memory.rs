//! A memory without a database.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use ep_kernel::polling::roster::ModelId;
use ep_kernel::ports::{KeptRegistry, StoreError, UpstreamMemory};

/// Keeps what an upstream remembers for the life of the value. Shared between two upstreams it plays a
/// restart.
#[derive(Debug, Default)]
pub struct InMemory {
    registries: Mutex<HashMap<String, KeptRegistry>>,
    rungs: Mutex<HashMap<(String, ModelId), u8>>,
}

#[async_trait]
impl UpstreamMemory for InMemory {
    async fn registry(&self, upstream: &str) -> Result<Option<KeptRegistry>, StoreError> {
        Ok(self.registries.lock().unwrap_or_else(PoisonError::into_inner).get(upstream).cloned())
    }

    async fn keep_registry(&self, upstream: &str, registry: &KeptRegistry) -> Result<(), StoreError> {
        let mut registries = self.registries.lock().unwrap_or_else(PoisonError::into_inner);
        registries.insert(upstream.to_owned(), registry.clone());
        Ok(())
    }

    async fn rungs(&self, upstream: &str) -> Result<Vec<(ModelId, u8)>, StoreError> {
        let rungs = self.rungs.lock().unwrap_or_else(PoisonError::into_inner);
        let here = rungs.iter().filter(|((of, _), _)| of == upstream);
        Ok(here.map(|((_, model), rung)| (model.clone(), *rung)).collect())
    }

    async fn keep_rung(&self, upstream: &str, model: &ModelId, rung: u8) -> Result<(), StoreError> {
        let mut rungs = self.rungs.lock().unwrap_or_else(PoisonError::into_inner);
        rungs.insert((upstream.to_owned(), model.clone()), rung);
        Ok(())
    }
}
