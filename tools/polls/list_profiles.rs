//! `list_profiles`: lists named bundles of preset, threshold and cost.

use std::time::Duration;

use super::profile::{Bundle, Profile};
use crate::prelude::*;

/// Lists the profiles.
pub struct ListProfiles;

/// The profiles.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Profiles {
    /// The profiles and their settings, most careful first.
    pub profiles: Vec<Bundle>,
    /// The presets a poll can name.
    pub presets: Vec<String>,
}

impl ToolOutput for Profiles {
    fn presentation(&self) -> Presentation {
        Presentation::shared(Duration::from_mins(5))
    }
}

impl Tool for ListProfiles {
    const SPEC: Spec = Spec {
        name: "list_profiles",
        title: "List poll profiles",
        summary: "Lists the profiles (conservative, balanced, quick) with their preset, threshold and cost, and the presets.",
        manual: include_str!("list_profiles.md"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/profiles")),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "which poll settings are there",
            "which presets can I choose",
            "list the profiles",
            "explain the presets",
            "difference between conservative, balanced and quick",
            "which profiles are offered",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = Profiles;

    async fn call(cx: &Ctx, _: Nothing) -> Result<Profiles, Fault> {
        let profiles = Profile::ALL.into_iter().map(Profile::bundle).collect();
        Ok(Profiles { profiles, presets: cx.models().presets() })
    }
}
