//! The skill that teaches agents to poll: its file, the skill index, a bundle, and short instructions for an
//! agent's home folder.

mod install_paths;

use askama::Template;
use axum::body::Bytes;
use ep_site::{AliasPaths, Document, Form, MARKDOWN, Site, owner};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::json::json_text;
use super::prose;
use super::prose::Prose;
use install_paths::{HOMES, ROOT_FILES, TOOL_DIRS};

/// The skill's name, which is part of its paths.
macro_rules! skill {
    () => {
        "prevent-hallucinations-with-a-poll"
    };
}

/// The name of the skill's document.
pub(super) const SKILL: &str = "skill";
/// The message of the 404 response if the service has no polls.
const NO_POLLS: &str = "this service has no skill: it takes no polls";
/// The schema of the index (Agent Skills Discovery 0.2.0).
const INDEX_SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

pub(super) const FILE: Document = Document::new(
    SKILL,
    "Teaches an agent to ask polls (a skill of agentskills.io).",
    |_| vec![concat!("/.well-known/agent-skills/", skill!(), "/SKILL.md").into()],
    &[Form::new(MARKDOWN, |site| prose::bytes(&Skill::new(site)))],
)
.absent(NO_POLLS)
.open()
.with_aliases(&[
    AliasPaths {
        path: concat!("/.{tool_dir}/skills/", skill!(), "/SKILL.md"),
        values: &[("tool_dir", TOOL_DIRS)],
    },
    AliasPaths { path: concat!("/.{tool_dir}/skills/", skill!(), ".md"), values: &[("tool_dir", TOOL_DIRS)] },
    AliasPaths { path: concat!("/.{tool_dir}/", skill!(), "/SKILL.md"), values: &[("tool_dir", TOOL_DIRS)] },
]);

pub(super) const INDEX: Document = Document::new(
    "agent_skills_index",
    "Lists the skills of this service with their digests (Agent Skills Discovery 0.2.0).",
    |_| vec!["/.well-known/agent-skills/index.json".into()],
    &[Form::new("application/json", index)],
)
.absent(NO_POLLS)
.open();

pub(super) const BUNDLE: Document = Document::new(
    "skill_bundle",
    "The files of the skill with their digests and URLs.",
    |_| vec!["/api/skill-bundle".into()],
    &[Form::new("application/json", bundle)],
)
.absent(NO_POLLS);

pub(super) const INSTRUCTIONS: Document = Document::new(
    "agent_instructions",
    "Short instructions for agents on asking polls, for a file of instructions.",
    |_| vec!["/AGENTS.md".into()],
    &[Form::new(MARKDOWN, |site| prose::bytes(&Instructions { p: Prose::new(site) }))],
)
.absent(NO_POLLS)
.with_aliases(&[AliasPaths {
    path: "/{home}/{root_file}.md",
    values: &[("home", HOMES), ("root_file", ROOT_FILES)],
}]);

#[derive(Template)]
#[template(path = "skill.md")]
struct Skill<'a> {
    p: Prose<'a>,
    name: &'static str,
    license: &'static str,
}

#[derive(Template)]
#[template(path = "agent-instructions.md")]
struct Instructions<'a> {
    p: Prose<'a>,
}

impl<'a> Skill<'a> {
    fn new(site: &'a Site) -> Self {
        Self { p: Prose::new(site), name: skill!(), license: env!("CARGO_PKG_LICENSE") }
    }
}

/// Returns the purpose of the skill, from `owner.json`.
fn description() -> Value {
    owner()["skill_description"].clone()
}

/// Renders the index of skills. Digests are of the served bytes.
fn index(site: &Site) -> Option<Bytes> {
    json_text(&json!({
        "$schema": INDEX_SCHEMA,
        "skills": [{
            "name": skill!(),
            "type": "skill-md",
            "description": description(),
            "url": site.url_of(SKILL)?,
            "digest": digest(&site.document(SKILL)?),
        }],
    }))
}

/// Renders the bundle: the skill's files, for a folder with the skill's name.
fn bundle(site: &Site) -> Option<Bytes> {
    let bytes = site.document(SKILL)?;
    let aliases: Vec<Value> = FILE
        .aliases
        .iter()
        .map(|family| {
            let values = family.values.iter();
            let values = values.map(|(name, values)| ((*name).to_owned(), values.split(' ').collect()));
            json!({ "path": family.path, "values": values.collect::<serde_json::Map<String, Value>>() })
        })
        .collect();
    json_text(&json!({
        "name": skill!(),
        "description": description(),
        "index": site.url_of(INDEX.name)?,
        "files": [{
            "path": "SKILL.md",
            "media_type": MARKDOWN,
            "url": site.url_of(SKILL)?,
            "size": bytes.len(),
            "digest": digest(&bytes),
            "content": std::str::from_utf8(&bytes).ok()?,
        }],
        "aliases": aliases,
    }))
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}
