//! `list_models`: the model registry.

use std::time::Duration;

use ep_kernel::Registry;

use crate::prelude::*;

/// Lists the models.
pub struct ListModels;

/// The model registry and its freshness.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ModelList {
    /// The models.
    pub registry: Registry,
    #[serde(skip)]
    fresh_for: Duration,
}

impl ToolOutput for ModelList {
    fn presentation(&self) -> Presentation {
        Presentation::shared(self.fresh_for)
    }
}

impl Tool for ListModels {
    const SPEC: Spec = Spec {
        name: "list_models",
        title: "List the models",
        summary: "Lists the models that can vote, with provider, price and capabilities. Fetched from the upstream once an hour.",
        manual: include_str!("list_models.md"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/models")),
        agents: Agents::Extended,
        intents: &[
            "which models vote",
            "who are the voters",
            "which models are there",
            "is this model among the voters",
            "list the available LLMs with prices",
            "which providers and models are supported",
            "show the model registry",
            "model prices",
            "what models can I use",
            "which models can I ask",
            "which providers take part",
            "is a model supported",
        ],
        faults: &[Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = ModelList;

    async fn call(cx: &Ctx, _: Nothing) -> Result<ModelList, Fault> {
        let registry = cx.models().registry().await?;
        let fresh_for = registry.cache_expires_at.since(cx.clock().now()).min(Duration::from_hours(1));
        Ok(ModelList { registry, fresh_for })
    }
}

#[cfg(test)]
mod tests {
    use ep_kernel::tool::Cache;
    use serde_json::json;

    use super::*;
    use crate::testing::Service;

    #[tokio::test]
    async fn the_list_is_cached_for_at_most_an_hour() {
        let service = Service::start().await;
        let answer = service.call::<ListModels>(&Service::anonymous(), json!({})).await.unwrap();
        assert_eq!((&answer.value["count"], &answer.value["simulated"]), (&json!(60), &json!(true)));
        let Cache::Shared(time) = answer.presentation.cache else { panic!("the response is not cacheable") };
        assert!(time <= Duration::from_hours(1));
    }
}
