//! The demo roster: varied, repeatable, and labelled as simulated.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::ports::Models as _;
use ep_polling::{BallotViews, ModelChoice, ModelResponse, Seed, SpendBasis};
use ep_upstream::testing::ManualClock;
use ep_upstream::{Demo, DemoConfig};

use super::{LONG, NOW};

fn demo() -> Demo {
    let config = DemoConfig { latency_scale: 0.0, ..DemoConfig::default() };
    Demo::new(&config, Arc::new(ManualClock::at(NOW))).unwrap()
}

async fn poll(demo: &Demo, question: &str, seed: u8) -> Vec<ModelResponse> {
    let options = ["Tea".to_owned(), "Coffee".to_owned(), "Water".to_owned()];
    let mut answers = Vec::new();
    for (position, member) in
        demo.roster(&ModelChoice::preset("fast_and_cheap")).await.unwrap().members().iter().enumerate()
    {
        let view = BallotViews::new(Seed::new([seed; 32]), &question.into(), &options).at(position);
        let answer = demo.vote(member, &view, LONG.into()).await;
        let worst = member.worst_case(700 + question.len() as u64 + 200).unwrap();
        assert!(answer.spend.amount <= worst);
        assert_eq!(answer.spend.basis, SpendBasis::Priced);
        answers.push(answer);
    }
    answers
}

#[tokio::test]
async fn the_list_is_the_same_for_an_hour() {
    let clock = Arc::new(ManualClock::at(NOW));
    let demo = Demo::new(&DemoConfig::default(), clock.clone()).unwrap();
    let first = demo.registry().await.unwrap();
    clock.advance(Duration::from_millis(1));
    let second = demo.registry().await.unwrap();
    assert_eq!((&first, first.variants.len()), (&second, 60));
    assert!(first.fetched_at <= NOW && NOW < first.cache_expires_at);
    clock.advance(Duration::from_hours(1));
    assert!(demo.registry().await.unwrap().fetched_at > first.fetched_at);
}

#[tokio::test]
async fn the_same_question_always_gets_the_same_votes() {
    let demo = demo();
    let first = poll(&demo, "What should I drink?", 1).await;
    assert_eq!(first.len(), 50);
    assert_eq!(
        first,
        poll(&demo, "What should I drink?", 2).await,
        "the order of the options does not matter"
    );
    assert_ne!(first, poll(&demo, "What should I cook?", 1).await);
}

#[tokio::test]
async fn questions_are_divided_and_some_votes_fail() {
    let demo = demo();
    let (mut failed, mut shares) = (0, Vec::new());
    for n in 0..40 {
        let mut tally: HashMap<usize, usize> = HashMap::new();
        for answer in poll(&demo, &format!("Question {n}?"), 1).await {
            match answer.vote {
                Ok(option) => *tally.entry(option).or_default() += 1,
                Err(no_vote) => {
                    failed += 1;
                    assert!(no_vote.detail.contains("simulated"));
                }
            }
        }
        shares.push(*tally.values().max().unwrap() as f64 / 50.0);
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((0.55..0.85).contains(&mean), "{mean}");
    assert!((10..120).contains(&failed), "{failed}");
}

#[tokio::test]
async fn everything_is_labelled_as_simulated() {
    let demo = demo();
    let registry = demo.registry().await.unwrap();
    assert!(registry.simulated && registry.count == 60);
    for preset in demo.presets() {
        assert!(demo.roster(&ModelChoice::preset(&preset)).await.unwrap().simulated, "{preset}");
    }
    assert_eq!(demo.roster(&ModelChoice::preset("free")).await.unwrap().members().len(), 15);
    assert_eq!(
        demo.roster(&ModelChoice::preset("fast_and_cheap")).await.unwrap().notices,
        Vec::<String>::new()
    );
}

#[tokio::test(start_paused = true)]
async fn latencies_are_plausible() {
    let demo = Demo::new(&DemoConfig::default(), Arc::new(ManualClock::at(NOW))).unwrap();
    let members = demo.roster(&ModelChoice::preset("fast_and_cheap")).await.unwrap().members().to_vec();
    let options = ["Yes".to_owned(), "No".to_owned()];
    let view = BallotViews::new(Seed::new([1; 32]), &"Is it?".into(), &options).at(0);
    for member in &members {
        let start = tokio::time::Instant::now();
        demo.vote(member, &view, LONG.into()).await;
        let took = start.elapsed();
        assert!((Duration::from_millis(50)..Duration::from_millis(902)).contains(&took), "{took:?}");
    }
    let late = demo.vote(&members[0], &view, Duration::from_millis(10).into()).await;
    assert!(late.vote.is_err());
}
