//! The limit on the process's open files, shared out between connections and model calls. Without free descriptors,
//! the process could reach neither its database nor its models.

use std::sync::LazyLock;

use ep_site::config::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number of files that the process may open; `None` if there is no limit. The first use raises it to its
/// maximum.
static FILES: LazyLock<Option<usize>> = LazyLock::new(|| {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let files = match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(error) => {
            tracing::debug!(%error, "failed to raise the open-file limit");
            current
        }
    };
    files.and_then(|files| usize::try_from(files).ok())
});

/// Files reserved for the database and everything else.
const RESERVED: usize = 256;

/// Returns the maximum number of concurrent model calls: that of the settings, or half of the files.
pub(super) fn model_calls(config: &Config) -> usize {
    let calls = most_calls(config.upstream.max_concurrent, *FILES);
    log_lowered("upstream.max_concurrent", config.upstream.max_concurrent, calls);
    calls
}

/// Returns the maximum number of connections: that of the settings, or what the model calls leave. Zero means no
/// limit.
pub(super) fn connections(config: &Config) -> usize {
    let requested = config.server.max_connections;
    let calls = most_calls(config.upstream.max_concurrent, *FILES);
    let connections = most_connections(requested, calls, *FILES);
    log_lowered("server.max_connections", requested, connections);
    connections
}

fn most_calls(requested: usize, files: Option<usize>) -> usize {
    files.map_or(requested, |files| requested.min(files / 2).max(1))
}

fn most_connections(requested: usize, calls: usize, files: Option<usize>) -> usize {
    let Some(files) = files else { return requested };
    let left = files.saturating_sub(RESERVED + calls).max(files / 4).max(1);
    if requested == 0 { left } else { requested.min(left) }
}

fn log_lowered(setting: &str, requested: usize, value: usize) {
    if value != requested {
        tracing::info!(setting, value, files = ?*FILES, "the open-file limit lowers a setting");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_calls_take_at_most_half_of_the_files() {
        assert_eq!(most_calls(2048, None), 2048);
        assert_eq!(most_calls(2048, Some(20_000)), 2048);
        assert_eq!(most_calls(2048, Some(1024)), 512);
        assert_eq!(most_calls(2048, Some(1)), 1);
    }

    #[test]
    fn connections_take_what_is_left() {
        for (files, calls, connections) in
            [(20_000, 2048, 4096), (4096, 2048, 1792), (1768, 512, 1000), (1024, 512, 256), (100, 50, 25)]
        {
            assert_eq!(most_connections(4096, calls, Some(files)), connections, "{files}");
        }
        assert_eq!(most_connections(4096, 2048, None), 4096);
        assert_eq!(most_connections(0, 512, Some(1768)), 1000);
    }

    #[test]
    fn files_suffice_for_both() {
        for files in [1024, 1025, 4096, 65_536, 1 << 20] {
            for calls in [1, 512, 2048, 100_000] {
                for requested in [0, 1, 4096, 1 << 21] {
                    let calls = most_calls(calls, Some(files));
                    let connections = most_connections(requested, calls, Some(files));
                    assert!(calls + connections + RESERVED <= files, "{calls} + {connections} of {files}");
                }
            }
        }
    }
}
