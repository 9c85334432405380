//! Variables that look like settings and are none.

use ep_site::config::VARIABLES;

use super::secret_variables::SECRETS;
use super::spelling::nearest;

/// Variables that begin with `EP_` and are not settings of `ep.toml`: the file itself, and those of builds and tests.
const OTHERS: &[&str] = &[
    "EP_CONFIG",
    "EP_FIXTURES_PURE_CARD",
    "EP_GIT_COMMIT",
    "EP_SCHEMAS",
    "EP_STOPPING_DATA",
    "EP_TEST_POSTGRES_URL",
    "EP_VOTES_DATA",
];

/// Returns a warning for each variable of the environment that begins with `EP_` and is unknown.
pub fn unknown_variables(environment: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut unknown: Vec<String> = environment
        .into_iter()
        .filter(|(name, value)| name.starts_with("EP_") && !is_known(name) && !is_of_kubernetes(name, value))
        .map(|(name, _)| name)
        .collect();
    unknown.sort_unstable();
    let warning = |name: String| match nearest(&name, known()) {
        Some(known) => format!("the variable {name} is unknown and has no effect; did you mean {known}?"),
        None => format!("the variable {name} is unknown and has no effect; `ep config` lists all variables"),
    };
    unknown.into_iter().map(warning).collect()
}

fn known() -> impl Iterator<Item = &'static str> {
    let settings = VARIABLES.iter().map(|(variable, ..)| *variable);
    settings.chain(SECRETS.iter().copied()).chain(OTHERS.iter().copied())
}

fn is_known(name: &str) -> bool {
    let file_of = |name: &str| name.strip_suffix("_FILE").is_some_and(|secret| SECRETS.contains(&secret));
    file_of(name) || known().any(|known| known == name)
}

/// True for a variable that Kubernetes sets in every container for a service called `ep`, or `ep-` and a name:
/// `EP_SERVICE_HOST`, `EP_SERVICE_PORT_HTTP`, `EP_PORT=tcp://10.0.0.1:80`, `EP_PORT_80_TCP_ADDR`.
fn is_of_kubernetes(name: &str, value: &str) -> bool {
    let is_url = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || (name.ends_with("_PORT") && is_url)
        || name.rsplit_once("_PORT_").is_some_and(|(_, port)| is_port(port))
}

/// True for the end of a port's variable: a number, a protocol, and possibly a part.
fn is_port(text: &str) -> bool {
    let mut parts = text.split('_');
    let is_number = parts.next().is_some_and(|number| number.parse::<u16>().is_ok());
    let is_protocol = parts.next().is_some_and(|protocol| ["TCP", "UDP", "SCTP"].contains(&protocol));
    let part = parts.next();
    let is_part = part.is_none_or(|part| ["PROTO", "PORT", "ADDR"].contains(&part));
    is_number && is_protocol && is_part && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(variables: &[(&str, &str)]) -> Vec<String> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        unknown_variables(owned)
    }

    #[test]
    fn a_misspelt_variable_is_named_with_the_nearest_one() {
        let warned = warnings(&[
            ("EP_UPSTREM_URL", "http://127.0.0.1:1"),
            ("EP_PORT", "8080"),
            ("PATH", "/bin"),
            ("EPOCH", "1"),
        ]);
        assert_eq!(
            warned,
            [
                "the variable EP_PORT is unknown and has no effect; `ep config` lists all variables",
                "the variable EP_UPSTREM_URL is unknown and has no effect; did you mean EP_UPSTREAM_URL?",
            ]
        );
        let long = format!("EP_{}", "X".repeat(100_000));
        assert_eq!(warnings(&[(&long, "")]).len(), 1);
    }

    #[test]
    fn settings_secrets_and_other_variables_are_known() {
        for name in known() {
            assert!(warnings(&[(name, "")]).is_empty(), "{name}");
        }
        for secret in SECRETS {
            assert!(warnings(&[(&format!("{secret}_FILE"), "/run/secret")]).is_empty(), "{secret}");
        }
        assert_eq!(warnings(&[("EP_LISTEN_FILE", "/run/x")]).len(), 1, "an address is no secret");
    }

    #[test]
    fn variables_of_a_kubernetes_service_are_known() {
        for name in [
            "EP_SERVICE_HOST",
            "EP_SERVICE_PORT",
            "EP_SERVICE_PORT_HTTP",
            "EP_SERVICE_PORT_METRICS_2",
            "EP_PORT_8080_TCP",
            "EP_PORT_8080_TCP_PROTO",
            "EP_PORT_8080_TCP_PORT",
            "EP_PORT_8080_TCP_ADDR",
            "EP_PORT_53_UDP_ADDR",
            "EP_REDIS_SERVICE_HOST",
            "EP_REDIS_PORT_6379_TCP_PORT",
        ] {
            assert!(warnings(&[(name, "10.0.0.1")]).is_empty(), "{name}");
        }
        assert!(warnings(&[("EP_PORT", "tcp://10.0.0.1:80")]).is_empty());
        for name in ["EP_PORT_HTTP", "EP_PORT_8080", "EP_PORT_8080_TCP_NAME", "EP_HOST", "EP_SERVICE"] {
            assert_eq!(warnings(&[(name, "1")]).len(), 1, "{name}");
        }
    }
}
