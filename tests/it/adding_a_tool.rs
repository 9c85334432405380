//! Tests that `docs/adding-a-tool.md` is correct: its code is compiled, registered and called.

use std::sync::LazyLock;

use ep_kernel::Entry;
use ep_kernel::dispatch::entry;
use serde_json::json;

use crate::harness::Setup;

mod polls {
    include!(concat!(env!("OUT_DIR"), "/adding_a_tool/mod.rs"));
}

/// The catalogue with the operation from the page.
static EXTENDED: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        entry::<ep_tools::polls::EstimatePoll>(),
        include!(concat!(env!("OUT_DIR"), "/adding_a_tool/entry.rs")),
    ]
});

#[tokio::test]
async fn one_file_and_one_line_reach_every_surface() {
    let service = Setup { tools: &EXTENDED, ..Setup::demo() }.boot().await;
    let input = json!({ "options": ["Tea", "Coffee", "Water"] });
    let rest = service.anonymous().post("/api/options/count", &input).await.expect(200);
    assert_eq!(rest, json!({ "count": 3 }));
    service.anonymous().post("/api/options/count", &json!({ "options": ["Tea"] })).await.refused(400);
    let client = service.user().await;
    let listed = client.rpc("/api/mcp?toolsets=all", "tools/list", json!({})).await.expect(200).to_string();
    assert!(listed.contains("count_options"));
    assert_eq!(client.tool("count_options", input).await["structuredContent"], rest);
    assert!(service.site.routes.iter().any(|route| route.path == "/api/options/count"));
}
