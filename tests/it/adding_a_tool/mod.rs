//! `docs/adding-a-tool.md` is true: its code is put into the table and called through every door.

mod count_options;

use std::sync::LazyLock;

use ep_kernel::tool::{Entry, entry};
use serde_json::json;

use self::count_options::CountOptions;
use crate::harness::Setup;

/// The catalogue and the operation of the page.
static EXTENDED: LazyLock<Vec<Entry>> =
    LazyLock::new(|| vec![entry::<ep_tools::polls::EstimatePoll>(), entry::<CountOptions>()]);

#[test]
fn the_page_shows_this_very_file() {
    let page = include_str!("../../../docs/adding-a-tool.md");
    let code = page.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(code, include_str!("count_options.rs"), "docs/adding-a-tool.md and the tested code differ");
}

#[tokio::test]
async fn one_file_and_one_line_reach_every_door() {
    let service = Setup { tools: &EXTENDED, ..Setup::demo() }.boot().await;
    let input = json!({ "options": ["Tea", "Coffee", "Water"] });
    let rest = service.anonymous().post("/api/options/count", &input).await.expect(200);
    assert_eq!(rest, json!({ "count": 3 }));
    service.anonymous().post("/api/options/count", &json!({ "options": ["Tea"] })).await.refused(400);
    let client = service.user().await;
    let listed = client.rpc("/api/mcp?toolsets=all", "tools/list", json!({})).await.expect(200).to_string();
    assert!(listed.contains("count_options"));
    assert_eq!(client.tool("count_options", input).await["structuredContent"], rest);
}
