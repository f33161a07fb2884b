"""Authentication and authorization as a server beside a cluster has them: the cluster is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from apiserver.auth.access_review import AccessReviewAuthorizer
from apiserver.auth.anonymous import AnonymousAuthenticator
from apiserver.auth.authorizer import Authorizer, PathAuthorizer, PrivilegedGroupAuthorizer, UnionAuthorizer
from apiserver.auth.clientcert import ClientCertificateAuthenticator
from apiserver.auth.configmap import LiveConfig
from apiserver.auth.requestheader import RequestHeaderAuthenticator
from apiserver.auth.reviews import Reviewer, Reviews
from apiserver.auth.token import TokenAuthenticator
from apiserver.auth.union import UnionAuthenticator
from apiserver.auth.x509 import CertificateVerifier

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

Errors = tuple[type[Exception], ...]


def delegated_authenticator(
    live: LiveConfig, reviews: Reviews, *, anonymous: bool, unreachable: Errors
) -> UnionAuthenticator:
    """Front proxy, client certificate, token, and anonymous if that is allowed: in this order."""
    proxies = CertificateVerifier(live.request_header_ca, now=_now)
    clients = CertificateVerifier(live.client_ca, now=_now)
    tokens = Reviewer(reviews, TOKEN_REVIEWS, unreachable=unreachable)
    return UnionAuthenticator(
        (
            RequestHeaderAuthenticator(live.request_header, proxies),
            ClientCertificateAuthenticator(clients),
            TokenAuthenticator(tokens),
        ),
        anonymous=AnonymousAuthenticator() if anonymous else None,
    )


def delegated_authorizer(reviews: Reviews, paths: Sequence[str], *, unreachable: Errors) -> Authorizer:
    """`system:masters` and the open paths, then the cluster's word."""
    return UnionAuthorizer(
        (
            PrivilegedGroupAuthorizer(),
            PathAuthorizer(_with_below(paths)),
            AccessReviewAuthorizer(Reviewer(reviews, ACCESS_REVIEWS, unreachable=unreachable)),
        )
    )


def _with_below(paths: Sequence[str]) -> tuple[str, ...]:
    """Open paths as given; for the health paths also the single checks below them."""
    below = tuple(f"{path}/*" for path in paths if path in ("/healthz", "/livez", "/readyz"))
    return (*paths, *below)


def _now() -> datetime:
    return datetime.now(UTC)
