"""Client certificates of the cluster's client authority: CN is the user, each O a group.

Source of the behaviour: `k8s.io/apiserver/pkg/authentication/request/x509` (CommonNameUserConversion).
"""

from __future__ import annotations

from apiserver.auth.request import Credentials
from apiserver.auth.user import UserInfo
from apiserver.auth.x509 import CertificateVerifier, InvalidCertificateError
from apiserver.machinery.errors import unauthorized

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class ClientCertificateAuthenticator:
    """Takes a verified certificate at its word."""

    def __init__(self, verifier: CertificateVerifier) -> None:
        """`verifier` knows the client authority only."""
        self._verifier = verifier

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        """See `Authenticator`. A certificate without a common name names nobody."""
        if credentials.peer_certificate is None or not self._verifier.configured():
            return None
        try:
            certificate = self._verifier.verify(credentials.peer_certificate, credentials.peer_intermediates)
        except InvalidCertificateError as error:
            raise unauthorized() from error
        if not certificate.common_name:
            return None
        if len(certificate.uids) > 1 or "" in certificate.uids:
            raise unauthorized()
        return UserInfo(
            name=certificate.common_name,
            uid="".join(certificate.uids),
            groups=certificate.organizations,
            extra={CREDENTIAL_ID: (f"X509SHA256={certificate.fingerprint}",)},
        )
