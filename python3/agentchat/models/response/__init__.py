"""What a model server answers: a stream of events that becomes a reply, or a refusal."""
