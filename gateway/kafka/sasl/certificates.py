"""Users by client certificate.

Standard: `SslAuthenticator`, `DefaultKafkaPrincipalBuilder`, `SslPrincipalMapper`.
"""

from __future__ import annotations

from typing import Any

from mqgateway.engine.options.principal_rules import PrincipalRules


class CertificateUsers:
    """Users by the names of verified certificates, by `kafkaPrincipalMappingRules`."""

    def __init__(self, rules: str) -> None:
        self._rules = PrincipalRules.parse(rules)

    def user_of(self, transport: Any) -> str | None:
        """Return the user of a TLS transport; None without a certificate, or if no rule applies to it."""
        certificate = transport.getPeerCertificate()
        if certificate is None:
            return None
        return self._rules.user_of(certificate.to_cryptography().subject.rfc4514_string()) or None
