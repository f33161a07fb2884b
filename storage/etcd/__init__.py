"""The store in etcd v3, by a thin client of our own (docs/adr/0001-own-etcd-client.md says why). The only
user of gRPC."""
