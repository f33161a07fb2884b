"""The differential test: the same requests to our server and to a CRD with the same schema.

Both stand behind the same kube-apiserver, so what differs is ours to explain.
`cases` is the table of requests, `differences` the table of what differs on purpose;
this package must not know how either side is implemented.
"""
