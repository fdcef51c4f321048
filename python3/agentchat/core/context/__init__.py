"""The context of a chat: what of its history the model is sent, and how much of the window it takes."""
