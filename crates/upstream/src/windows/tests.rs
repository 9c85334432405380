//! Windows by events.

use ep_store::UserId;
use futures::FutureExt;
use proptest::prelude::*;

use super::state::Model;
use super::*;

fn model(name: &str) -> ModelId {
    ModelId::new(name)
}

fn windows(most: usize) -> Windows {
    Windows::new(most, "test".into())
}

#[tokio::test(start_paused = true)]
async fn a_refusal_halves_the_window_of_its_model_once_for_all_calls_in_flight() {
    let (windows, m) = (windows(100), model("m"));
    let sent_at = Instant::now();
    let mut places: Vec<_> =
        (0..8).map(|_| windows.place(&m, Turn::default()).now_or_never().unwrap()).collect();
    tokio::time::advance(Duration::from_millis(10)).await;
    for _ in 0..3 {
        places.pop();
        windows.note_refusal(&m, sent_at);
    }
    let limit = |windows: &Windows| windows.lock().model(&m).window.limit;
    assert_eq!(limit(&windows), 4, "half of eight");
    assert!(windows.place(&m, Turn::default()).now_or_never().is_none(), "five are in flight");
    assert!(windows.place(&model("n"), Turn::default()).now_or_never().is_some());
    windows.note_answer(&m);
    assert_eq!(limit(&windows), 4, "too soon");
    tokio::time::advance(TOGETHER).await;
    windows.note_answer(&m);
    assert_eq!(limit(&windows), 5);
    places.clear();
    for _ in 0..2 {
        tokio::time::advance(Duration::from_millis(10)).await;
        windows.note_refusal(&m, Instant::now());
    }
    assert_eq!(limit(&windows), 1, "at least one call is tried");
}

#[tokio::test(start_paused = true)]
async fn refusals_of_two_models_within_a_second_halve_the_window_of_the_upstream() {
    let (windows, m, n) = (windows(100), model("m"), model("n"));
    let places: Vec<_> =
        (0..10).map(|_| windows.place(&m, Turn::default()).now_or_never().unwrap()).collect();
    let limit = || windows.lock().upstream.limit;
    for (model, expected) in [(&m, 100), (&m, 100), (&n, 5)] {
        tokio::time::advance(Duration::from_millis(400)).await;
        windows.note_refusal(model, Instant::now());
        assert_eq!(limit(), expected);
    }
    tokio::time::advance(Duration::from_secs(2)).await;
    windows.note_refusal(&m, Instant::now());
    assert_eq!(limit(), 5, "too late to belong together");
    windows.note_answer(&n);
    assert_eq!(limit(), 6);
    drop(places);
}

#[tokio::test(start_paused = true)]
async fn a_few_limited_models_do_not_narrow_the_upstream() {
    let (windows, others) = (windows(100), model("others"));
    let _slow: Vec<_> =
        (0..58).map(|_| windows.place(&others, Turn::default()).now_or_never().unwrap()).collect();
    for _ in 0..5 {
        for limited in ["m", "n"] {
            tokio::time::advance(Duration::from_millis(10)).await;
            windows.note_refusal(&model(limited), Instant::now());
        }
    }
    assert_eq!(windows.lock().upstream.limit, 100);
    for _ in 0..3 {
        windows.note_refusal(&model("o"), Instant::now());
        windows.note_refusal(&model("p"), Instant::now());
    }
    assert!(windows.lock().upstream.limit < 100, "a quarter of the calls is refused");
}

#[tokio::test(start_paused = true)]
async fn a_window_behind_a_call_that_hangs_widens_after_a_while() {
    let (windows, m) = (windows(100), model("m"));
    windows.note_refusal(&m, Instant::now());
    let _hangs = windows.place(&m, Turn::default()).await;
    let mut waiting = windows.place(&m, Turn::default());
    windows.widen_settled(&m);
    assert!((&mut waiting).now_or_never().is_none());
    tokio::time::advance(SETTLED).await;
    windows.widen_settled(&m);
    assert!(waiting.now_or_never().is_some());
}

#[tokio::test]
async fn polls_come_before_rows_and_accounts_take_turns() {
    let (windows, m) = (windows(1), model("m"));
    let (one, two) = (UserId::from_random([1; 16]), UserId::from_random([2; 16]));
    let turn = |account, of_batch| Turn { account: Some(account), of_batch };
    let first = windows.place(&m, Turn::default()).await;
    let arrivals = [(one, true), (one, false), (one, false), (two, true), (two, false)];
    let mut waiting: Vec<_> =
        arrivals.map(|(account, of_batch)| windows.place(&m, turn(account, of_batch))).into();
    drop(first);
    let mut served = Vec::new();
    for _ in 0..5 {
        let ready = waiting.iter_mut().enumerate().find_map(|(index, waiting)| {
            (!matches!(waiting.stage, Stage::Done)).then_some(())?;
            Some((index, waiting.now_or_never()?))
        });
        let (index, place) = ready.unwrap();
        served.push(index);
        drop(place);
    }
    assert_eq!(served, [1, 4, 2, 0, 3]);
    assert_eq!(windows.lock().waiting, 0);
}

#[derive(Debug, Clone)]
enum Event {
    Ask(usize),
    /// Stops waiting, or gives a place back.
    Drop(usize),
    Look(usize),
    Refuse(usize),
    Answer(usize),
}

proptest! {
    /// Whatever happens, no window is exceeded by a new call, and in the end no place is lost and nobody waits.
    #[test]
    fn no_place_is_lost(events in prop::collection::vec(prop_oneof![
        3 => (0..3_usize).prop_map(Event::Ask),
        2 => (0..9_usize).prop_map(Event::Drop),
        2 => (0..9_usize).prop_map(Event::Look),
        1 => (0..3_usize).prop_map(Event::Refuse),
        1 => (0..3_usize).prop_map(Event::Answer),
    ], 0..80)) {
        let names = ["a", "b", "c"].map(model);
        let windows = windows(4);
        let (mut waiting, mut places): (Vec<Waiting<'_>>, Vec<Place<'_>>) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Ask(index) => waiting.push(windows.place(&names[index], Turn::default())),
                Event::Drop(index) if index < waiting.len() => drop(waiting.remove(index)),
                Event::Drop(_) => drop(places.pop()),
                Event::Look(index) => {
                    let place = waiting.get_mut(index).and_then(FutureExt::now_or_never);
                    if let Some(place) = place {
                        waiting.remove(index);
                        places.push(place);
                    }
                }
                Event::Refuse(index) => windows.note_refusal(&names[index], Instant::now()),
                Event::Answer(index) => windows.note_answer(&names[index]),
            }
            let state = windows.lock();
            prop_assert!(state.upstream.in_flight <= 4 && places.len() <= state.upstream.in_flight);
            let waits = |model: &Model| model.window.has_room() && !model.line.is_empty();
            let idle = state.upstream.has_room()
                && (!state.line.is_empty() || state.models.values().any(waits));
            prop_assert!(!idle, "a place is free while a call waits for it");
        }
        places.clear();
        while !waiting.is_empty() {
            let ready = waiting.iter_mut().position(|waiting| waiting.now_or_never().is_some());
            prop_assert!(ready.is_some(), "all wait for a place that is lost");
            waiting.remove(ready.unwrap_or_default());
        }
        let state = windows.lock();
        prop_assert_eq!((state.upstream.in_flight, state.waiting), (0, 0));
        prop_assert!(state.models.values().all(|model| model.window.in_flight == 0));
    }
}
