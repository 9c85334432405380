//! `get_health`: reports the health of the service to probes.

use ep_polling::Timestamp;

use crate::prelude::*;

/// Reports health.
pub struct GetHealth;

/// The health of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ComponentHealth {
    /// It works.
    Ok,
    /// It does not.
    Error,
}

/// The health of the service.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Health {
    /// Always `ok` in a response.
    #[schemars(extend("const" = "ok"))]
    pub status: &'static str,
    /// The state of the database: `ok` if it can be read and written.
    pub db: ComponentHealth,
    /// The version of the program. The OpenAPI document has the version of the interface.
    pub version: &'static str,
    /// The abbreviated commit of the build.
    pub git_commit: Option<&'static str>,
    /// The current time.
    pub timestamp: Timestamp,
}

impl ToolOutput for Health {}

impl Tool for GetHealth {
    const SPEC: Spec = Spec {
        name: "get_health",
        title: "Check health",
        summary: "Returns the health of the service and of its database.",
        manual: include_str!("get_health.md"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rate: Rate::Exempt,
        rest: Some(Rest::get("/api/health")),
        intents: &[
            "is the service up",
            "health check of the service",
            "does the API answer, is it down",
            "server health",
            "status of the service",
            "are you up, which version is running",
            "is the database ok",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = Health;

    async fn call(cx: &Ctx, _: Nothing) -> Result<Health, Fault> {
        let db = if cx.health().check().await.is_ok() { ComponentHealth::Ok } else { ComponentHealth::Error };
        let settings = cx.settings();
        let timestamp = cx.clock().now();
        Ok(Health { status: "ok", db, version: settings.version, git_commit: settings.commit, timestamp })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Service;

    #[tokio::test]
    async fn a_healthy_service_reports_ok() {
        let service = Service::start().await;
        let health = service.call::<GetHealth>(&Service::anonymous(), json!({})).await.unwrap().value;
        let expected = json!({ "status": "ok", "db": "ok", "version": "1.2.3", "git_commit": null,
            "timestamp": "2026-11-21T12:00:00.000Z" });
        assert_eq!(health, expected);
    }
}
