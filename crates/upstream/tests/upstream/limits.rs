//! Limits of requests per minute and of requests in flight.

use std::num::NonZeroU32;
use std::time::Duration;

use ep_kernel::ports::Models as _;
use ep_polling::{Member, Price, Reason};
use ep_upstream::FreeLimit;
use ep_upstream::testing::{Behaviour, Script};
use tokio::time::Instant;

use super::{FIRST, Fixture, LONG, member, priced, view};

#[tokio::test]
async fn a_rate_limit_is_respected_and_reported() {
    let fixture = Fixture::new(Script::default());
    let upstream = fixture.upstream_with(|config| {
        config.free_requests_per_minute = FreeLimit::PerMinute(NonZeroU32::new(3).unwrap());
    });
    let free = Member { price: Some(Price::FREE), ..member("m") };
    for _ in 0..3 {
        assert_eq!(upstream.vote(&free, &view(), LONG.into()).await.vote, Ok(FIRST));
    }
    let no_vote = upstream.vote(&free, &view(), LONG.into()).await.vote.unwrap_err();
    assert_eq!(no_vote.reason, Reason::RateLimited);
    // The results are public; the number of requests a minute is the operator's.
    assert!(no_vote.detail.contains("limit of requests for free models is reached"), "{}", no_vote.detail);
    assert!(!no_vote.detail.contains("minute"), "{}", no_vote.detail);
    assert_eq!(
        upstream.vote(&priced("m"), &view(), LONG.into()).await.vote,
        Ok(FIRST),
        "paid models are not limited"
    );
    assert_eq!(fixture.server.calls("m"), 4);
}

#[tokio::test]
async fn requests_in_flight_stay_within_the_limit() {
    let behaviour = Behaviour { latency: Duration::from_millis(400), ..Behaviour::default() };
    let fixture = Fixture::new(Script { default: behaviour, ..Script::default() });
    let upstream = fixture.upstream_with(|config| config.max_concurrent = 2);
    let start = Instant::now();
    let (member, view) = (member("m"), view());
    let answers = futures::future::join_all((0..6).map(|_| upstream.vote(&member, &view, LONG.into()))).await;
    assert!(answers.iter().all(|answer| answer.vote == Ok(FIRST)));
    assert!(start.elapsed() >= Duration::from_millis(1200));
    let hurried = (0..4).map(|_| upstream.vote(&member, &view, Duration::from_millis(700).into()));
    let answers = futures::future::join_all(hurried).await;
    let late = answers.iter().filter_map(|answer| answer.vote.as_ref().err()).collect::<Vec<_>>();
    assert_eq!(late.len(), 2);
    assert!(late.iter().all(|no_vote| no_vote.reason == Reason::Deadline));
}

#[tokio::test]
async fn every_model_behind_a_server_with_one_place_votes() {
    let slow = Behaviour { latency: Duration::from_millis(100), ..Behaviour::default() };
    let fixture = Fixture::new(Script { default: slow, places: Some(1), ..Script::default() });
    let upstream = fixture.upstream();
    let members: Vec<Member> = (0..24).map(|n| member(&format!("m-{n}"))).collect();
    let view = view();
    for _ in 0..2 {
        let votes = members.iter().map(|member| upstream.vote(member, &view, LONG.into()));
        let votes = futures::future::join_all(votes).await;
        assert!(votes.iter().all(|response| response.vote == Ok(FIRST)), "{votes:?}");
    }
    let requests = fixture.server.total_calls();
    assert!(requests <= 3 * 48, "{requests} requests for 48 votes");
}
