//! The plans of all lists.

use ep_store::testing;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use ep_store::testing::test_database::{TestDatabase, open_sqlite};

on_both_engines!(every_list_is_read_from_its_position);

async fn every_list_is_read_from_its_position(db: TestDatabase) {
    let mut wrong = Vec::new();
    for list in testing::lists() {
        let (sql, plan) = if let Some(file) = db.url.strip_prefix("sqlite://") {
            (list.sqlite(), sqlite_plan(file, list.sqlite()))
        } else {
            (list.postgres(), postgres_plan(&db.url, list.postgres()).await)
        };
        let conditions: Vec<&String> =
            plan.iter().filter(|line| line.contains("SEARCH ") || line.contains("Index Cond: ")).collect();
        // SQLite names an expression `<expr>`.
        let has = |line: &str, column: &str| {
            let is_expression = column.contains('(') && line.contains("<expr>=");
            let rows = column.split(", ").map(|part| part.to_owned() + ",").collect::<String>();
            let line = line.replace(" (", "(").replace(", ", ",").replace("::text", "");
            let compared = [format!("({}", column.replace(", ", ",")), column.replace(", ", ",")];
            is_expression || line.contains(&rows) || compared.iter().any(|text| line.contains(text.as_str()))
        };
        let reads_from_position =
            conditions.iter().any(|line| list.columns.iter().all(|column| has(line, column)));
        let is_bounded =
            !sql.contains(" IS NULL OR created_at") && !plan.iter().any(|line| line.contains("Seq Scan on"));
        if !reads_from_position || !is_bounded {
            wrong.push(format!("{} needs {:?}:\n{}", list.name(), list.columns, plan.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn sqlite_plan(file: &str, sql: &str) -> Vec<String> {
    let db = open_sqlite(file);
    let mut steps = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    // Unbound values are NULL.
    steps.raw_query().mapped(|row| row.get("detail")).map(Result::unwrap).collect()
}

/// Returns the plan for any values. Without sequential scans and bitmaps, the planner takes an index, even for an empty table.
async fn postgres_plan(url: &str, sql: &str) -> Vec<String> {
    let mut db = PgConnection::connect(url).await.unwrap();
    let count = (1..100).take_while(|number| sql.contains(&format!("${number}"))).count();
    let values = vec!["NULL"; count].join(", ");
    let values = if count == 0 { String::new() } else { format!("({values})") };
    let script = [
        "SET enable_seqscan = off; SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan"
            .to_owned(),
        format!("PREPARE list AS {sql}"),
    ];
    for statement in script {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut db).await.unwrap();
    }
    let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE list{values}"));
    sqlx::query_scalar(explain).persistent(false).fetch_all(&mut db).await.unwrap()
}
