"""Where a request comes from, as far as logins need it. Nothing keeps it except as part of a hash, for minutes."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

IPV6_PREFIX = 64  # one household or machine has all addresses of such a network


def name_network(request: HttpRequest) -> str:
    """Returns the visitor's IPv4 address or IPv6 network, or what stands for it if there is no address.

    Behind a proxy it is the last address of X-Forwarded-For: the one that the proxy itself saw. The sender may have
    written those before it. The sign in front keeps a name and an address apart where django-axes joins them.
    """
    address_text = request.META.get("REMOTE_ADDR", "")
    if settings.BEHIND_PROXY:
        address_text = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip() or address_text
    try:
        address = ip_address(address_text)
    except ValueError:
        return "|"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return f"|{address.ipv4_mapped}"
        return f"|{ip_network((address, IPV6_PREFIX), strict=False)}"
    return f"|{address}"
