//! The files that this process receives at once: few of each account, and few of accounts without money together.
//!
//! When all places are taken, the slowest upload that has had time to be faster ends. So uploads that send nothing cannot
//! keep others out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::upload_speed::UploadSpeed;
use crate::fault::{Fault, Kind, Result};
use ep_store::UserId;

/// Maximum number of uploads.
const MAX_UPLOADS: usize = 32;
/// Maximum number of uploads of accounts without money.
const MAX_UNPAID: usize = 8;
/// Maximum number of uploads of an account.
const MAX_OF_ACCOUNT: usize = 4;
/// Time after which a slow upload can lose its place.
const TIME_TO_START: Duration = Duration::from_secs(10);
/// The speed of a slow upload is below this number of KiB in a second.
const SLOW_KIB: u64 = 64;

/// The uploads in progress.
#[derive(Default)]
pub(super) struct UploadPlaces(Arc<Mutex<Vec<Arc<ActiveUpload>>>>);

/// An upload in progress.
struct ActiveUpload {
    user: UserId,
    /// True if the account has money.
    is_paid: bool,
    since: Instant,
    speed: UploadSpeed,
    /// Cancelled when the upload loses its place.
    lost: CancellationToken,
}

/// The right to receive one file, given back when dropped.
pub struct UploadPermit {
    upload: Arc<ActiveUpload>,
    uploads: Arc<Mutex<Vec<Arc<ActiveUpload>>>>,
}

impl UploadPlaces {
    /// Admits an upload. [`Kind::Busy`] if there is no place for it.
    pub(super) fn begin(&self, user: UserId, is_paid: bool) -> Result<UploadPermit> {
        let mut uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_account = uploads.iter().filter(|upload| upload.user == user).count();
        let is_admitted = of_account < MAX_OF_ACCOUNT
            && (is_paid || make_room(&mut uploads, MAX_UNPAID, |upload| !upload.is_paid))
            && make_room(&mut uploads, MAX_UPLOADS, |_| true);
        if !is_admitted {
            let text = format!(
                "too many files are being received; an account can upload {MAX_OF_ACCOUNT} at once: try again in a few \
                 seconds"
            );
            return Err(Fault::new(Kind::Busy, text).retry_after(Duration::from_secs(5)));
        }
        let upload = Arc::new(ActiveUpload {
            user,
            is_paid,
            since: Instant::now(),
            speed: UploadSpeed::new(),
            lost: CancellationToken::new(),
        });
        uploads.push(Arc::clone(&upload));
        Ok(UploadPermit { upload, uploads: Arc::clone(&self.0) })
    }
}

/// Makes room for one more among at most `most` uploads of a group. Returns `false` if none of them is slow.
fn make_room(
    uploads: &mut Vec<Arc<ActiveUpload>>,
    most: usize,
    in_group: impl Fn(&ActiveUpload) -> bool,
) -> bool {
    if uploads.iter().filter(|upload| in_group(upload)).count() < most {
        return true;
    }
    let slow = uploads.iter().enumerate().filter(|(_, upload)| in_group(upload) && upload.is_slow());
    let Some((slowest, _)) = slow.min_by_key(|(_, upload)| upload.speed.per_second()) else { return false };
    uploads.swap_remove(slowest).lost.cancel();
    true
}

impl ActiveUpload {
    fn is_slow(&self) -> bool {
        self.since.elapsed() >= TIME_TO_START && self.speed.per_second() < SLOW_KIB << 10
    }
}

impl UploadPermit {
    /// Notes received bytes.
    pub fn received(&self, bytes: u64) {
        self.upload.speed.received(bytes);
    }

    /// Waits until the upload loses its place to another one, and returns the fault that says so.
    pub async fn lost(&self) -> Fault {
        self.upload.lost.cancelled().await;
        let text = format!(
            "the upload was slower than {SLOW_KIB} KiB/s and ended, because others waited for its place; send it again"
        );
        Fault::new(Kind::IncompleteBody, text)
    }
}

impl Drop for UploadPermit {
    fn drop(&mut self) {
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.retain(|upload| !Arc::ptr_eq(upload, &self.upload));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn user(number: u8) -> UserId {
        UserId::from_random([number; 16])
    }

    fn admitted(uploads: &UploadPlaces, users: std::ops::Range<u8>, is_paid: bool) -> Vec<UploadPermit> {
        users
            .flat_map(|number| (0..9).map_while(move |_| uploads.begin(user(number), is_paid).ok()))
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_without_money_share_a_part_of_the_places() {
        let uploads = UploadPlaces::default();
        assert_eq!(admitted(&uploads, 0..1, true).len(), 4);
        let unpaid = admitted(&uploads, 0..8, false);
        assert_eq!(unpaid.len(), 8);
        let paid = admitted(&uploads, 10..30, true);
        assert_eq!(paid.len(), 24);
        assert!(uploads.begin(user(40), true).is_err());
        drop((unpaid, paid));
        assert!(uploads.0.lock().unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_upload_ends_when_the_places_are_taken() {
        let uploads = UploadPlaces::default();
        let permits = admitted(&uploads, 0..8, true);
        assert_eq!(permits.len(), 32);
        let speed = |place: usize| if place == 7 { 1 } else { 10 + place as u64 };
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(uploads.begin(user(9), true).is_err(), "all had too little time");
        tokio::time::advance(Duration::from_secs(1)).await;
        for (place, permit) in permits.iter().enumerate() {
            permit.received((speed(place) << 10) * 10);
        }
        let next = uploads.begin(user(9), true).unwrap();
        let lost: Vec<usize> =
            (0..32).filter(|place| permits[*place].lost().now_or_never().is_some()).collect();
        assert_eq!(lost, [7]);
        for permit in permits.iter().chain([&next]) {
            permit.received(SLOW_KIB << 20);
        }
        assert!(uploads.begin(user(10), true).is_err(), "none of them is slow");
        drop(permits);
        assert_eq!(uploads.0.lock().unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_was_fast_can_lose_its_place() {
        let uploads = UploadPlaces::default();
        let permits = admitted(&uploads, 0..2, false);
        for permit in &permits {
            permit.received(SLOW_KIB << 20);
        }
        for _ in 0..8 {
            tokio::time::advance(Duration::from_secs(3)).await;
            for permit in &permits {
                permit.received(1);
            }
        }
        let _next = uploads.begin(user(3), false).unwrap();
        assert_eq!(permits.iter().filter(|permit| permit.lost().now_or_never().is_some()).count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_without_money_end_no_upload_of_others() {
        let uploads = UploadPlaces::default();
        let paid = admitted(&uploads, 10..16, true);
        let unpaid = admitted(&uploads, 0..2, false);
        tokio::time::advance(Duration::from_secs(20)).await;
        let _next = uploads.begin(user(3), false).unwrap();
        assert!(paid.iter().all(|permit| permit.lost().now_or_never().is_none()));
        assert_eq!(unpaid.iter().filter(|permit| permit.lost().now_or_never().is_some()).count(), 1);
    }

    /// An account does not end its own uploads by beginning more.
    #[tokio::test(start_paused = true)]
    async fn an_account_ends_none_of_its_own_uploads() {
        let uploads = UploadPlaces::default();
        let permits = admitted(&uploads, 0..1, true);
        tokio::time::advance(Duration::from_secs(20)).await;
        assert!(uploads.begin(user(0), true).is_err());
        assert!(permits.iter().all(|permit| permit.lost().now_or_never().is_none()));
    }
}
