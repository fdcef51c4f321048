"""Wire formats of model servers: how a request is written and how its answer is read."""
