//! Folders and files where known programs look for skills and instructions, as of November 2026.

/// Folders of programs, without the leading dot. Many programs share `agents`.
pub(super) const TOOL_DIRS: &str = "adal agents aider-desk astrbot augment autohand bob claude codeartsdoer codebuddy codeium codemaker \
     codestudio codex commandcode continue copilot cortex crush cursor deepagents devin factory \
     firebender forge gemini github goose grok hermes iflow inferencesh jazz junie kilo kimchi kiro kode \
     lingma mcpjam minimax moxby mux neovate ona openclaw opencode openhands pochi posit qoder qoder-cn \
     qwen reasonix roo rovodev tabnine terramind tinycloud trae trae-cn vibe windsurf zcode zencoder";

/// The home folder, literal and percent-encoded: routers treat them as different paths.
pub(super) const HOMES: &str = "~ %7E";

/// Instruction files, without their extension.
pub(super) const ROOT_FILES: &str =
    "AGENTS AGENT CLAUDE CODEBUDDY CONVENTIONS CRUSH GEMINI IFLOW QWEN WARP copilot-instructions";
