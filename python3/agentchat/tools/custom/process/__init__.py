"""The processes in which the user's functions run, and the plugin's side of them."""
