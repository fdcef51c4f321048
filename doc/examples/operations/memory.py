"""Files in memory: they begin as one note, and are gone when the chat is closed."""

from posixpath import join

FILES = {"/notes.txt": b"one\ntwo\nthree\n"}


class Memory:
    """Files by their absolute path; a directory is where files are below."""

    def __init__(self, files):
        self.files = dict(files)

    def kind(self, path):
        """Return what a path is."""
        if path in self.files:
            return "file"
        return "directory" if path == "/" or self._below(path) else None

    def read_file(self, path):
        """Return the content of a file."""
        return self.files[path]

    def list_directory(self, path):
        """Return the kind of each entry by its name."""
        start = len(path.rstrip("/")) + 1
        names = {file[start:].split("/")[0] for file in self._below(path)}
        return {name: self.kind(join(path, name)) for name in names}

    def write_file(self, path, data):
        """Replace or create a file."""
        self.files[path] = data

    def delete_file(self, path):
        """Remove a file."""
        del self.files[path]

    async def run(self, command, cwd, output):
        """Run the only command there is."""
        if command == "count":
            output(b"%d files\n" % len(self.files))
            return 0
        output(f"{command}: there is only `count` here\n".encode())
        return 127

    def _below(self, path):
        start = path.rstrip("/") + "/"
        return [file for file in self.files if file.startswith(start)]


operations = Memory(FILES)
