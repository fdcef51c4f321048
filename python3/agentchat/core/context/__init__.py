"""The context of a chat: what of its history the model is sent, in the room that it has."""
