//! JSON Schemas of answers. An answer to an accepted schema is valid for it, with any of the possible values.

#![no_main]

use ep_protocols::openai::schema;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    let Some((&pick, text)) = input.split_first() else { return };
    let Ok(mut wanted) = serde_json::from_slice::<Value>(text) else { return };
    if let Value::Object(members) = &mut wanted {
        members.remove("$schema");
    }
    let Ok(answer) = schema::read(&wanted, "schema") else { return };
    let of = |values: &[Value]| values[usize::from(pick) % values.len()].clone();
    let winners: Vec<Value> = answer.fields.iter().map(|field| of(&field.values)).collect();
    let filled =
        answer.shape.fill(&winners, "grade: A was chosen in 12 of 15 votes; agreement is not proof.");
    // These change the rules of the judge.
    let text = wanted.to_string();
    if ["\"$schema\"", "\"$id\"", "\"id\""].iter().any(|keyword| text.contains(keyword)) {
        return;
    }
    if let Ok(judge) = jsonschema::draft202012::new(&wanted) {
        assert!(judge.is_valid(&filled), "{wanted} got {filled}");
    }
});
