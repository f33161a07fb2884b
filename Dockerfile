# syntax=docker/dockerfile:1
FROM python:3.11-slim AS build
WORKDIR /src
RUN python -m venv /opt/inference-apiserver
ENV PATH=/opt/inference-apiserver/bin:$PATH
# The packages first: they change less often than the sources.
COPY pyproject.toml README.md requirements.lock ./
COPY deploy/image_requirements.py deploy/
RUN python deploy/image_requirements.py > /tmp/requirements.txt \
 && pip install --no-cache-dir --disable-pip-version-check --only-binary=:all: -r /tmp/requirements.txt
COPY apiserver apiserver
COPY storage storage
COPY certs certs
COPY deploy deploy
RUN pip install --no-cache-dir --disable-pip-version-check --no-deps .

FROM python:3.11-slim
ARG SOURCE_COMMIT=""
ARG BUILD_DATE=""
LABEL org.opencontainers.image.title="inference-apiserver" \
      org.opencontainers.image.description="An aggregated Kubernetes API server that binds InferenceJobs to GPU nodes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${SOURCE_COMMIT}" \
      org.opencontainers.image.created="${BUILD_DATE}"
COPY --from=build /opt/inference-apiserver /opt/inference-apiserver
ENV PATH=/opt/inference-apiserver/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SOURCE_COMMIT=${SOURCE_COMMIT} \
    BUILD_DATE=${BUILD_DATE}
# A user without a name, a home or a shell; nothing is ever written outside of mounted volumes.
USER 65532:65532
WORKDIR /tmp
EXPOSE 8443
ENTRYPOINT ["inference-apiserver"]
CMD ["serve"]
