"""What the prompt of a chat can begin with or mention: commands, skills, rules files."""
