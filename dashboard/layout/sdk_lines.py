"""What a site adds to the other SDKs that it runs already, so that their profiles come here (docs/sdks.md)."""

from projects.keys import write_dsn_key


def write_dsn(base_url: str, public_key: str, project_id: int) -> str:
    """Returns the DSN of a key, for Sentry's SDKs."""
    scheme, _, host = base_url.partition("://")
    return f"{scheme}://{write_dsn_key(public_key)}@{host}/sentry/{project_id}"


def write_sentry_lines(dsn: str) -> str:
    """Returns the lines with which errors stay at Sentry, profiles come here, and spans go to both."""
    return f"""const SENTRY = 'your present DSN';
const FIELDFLAME = '{dsn}';
Sentry.init({{
  dsn: SENTRY, release: '1.0.0', tracesSampleRate: 0.1,
  profileSessionSampleRate: 0.1, profileLifecycle: 'trace',
  integrations: [Sentry.browserTracingIntegration(), Sentry.browserProfilingIntegration()],
  transport: Sentry.makeMultiplexedTransport(Sentry.makeFetchTransport, ({{ envelope }}) => {{
    const types = envelope[1].map(([header]) => header.type);
    if (types.includes('profile_chunk')) return [FIELDFLAME];
    return types.includes('span') || types.includes('transaction') ? [SENTRY, FIELDFLAME] : [];
  }}),
}});"""


def write_datadog_lines(base_url: str, public_key: str) -> str:
    """Returns the option with which all but profiles stays at Datadog."""
    return f"""datadogRum.init({{
  applicationId: '…', clientToken: '…', version: '1.0.0', profilingSampleRate: 20,
  proxy: ({{ path, parameters, subdomain }}) => path.includes('v2/profil')
    ? `{base_url}/datadog/{public_key}${{path}}?${{parameters}}`
    : `https://${{subdomain ? subdomain + '.' : ''}}browser-intake-datadoghq.com${{path}}?${{parameters}}`,
}});"""
