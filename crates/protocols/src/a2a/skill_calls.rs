//! Recovery actions as calls of skills.

use std::sync::Arc;

use ep_kernel::{ActionCall, Calls, Links};

use super::message::{Tools, skills};

/// The calls of this agent: its skills instead of operations, and requests of documents and pages.
#[derive(Clone)]
pub(super) struct SkillCalls {
    pub(super) links: Arc<Links>,
    pub(super) tools: Tools,
}

impl Calls for SkillCalls {
    fn links(&self) -> &Links {
        &self.links
    }

    fn call(&self, name: &str) -> Option<ActionCall> {
        if self.tools.iter().any(|entry| entry.spec.name == name) {
            let skill = skills(self.tools).find(|entry| entry.spec.name == name)?;
            return Some(ActionCall::Skill(skill.spec.name));
        }
        self.links.call(name)
    }
}
