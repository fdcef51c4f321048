"""What a tool, a call and a chat's set of tools are."""
