"""Writes files only if their content changes, so that a build recompiles as little as possible."""

C_NOTE = "Written by api/generate.py from the tables in api/; change those instead."


def write_if_changed(path, text):
    """True if the file was written."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def wrap(items, indent="    ", width=110, first=0, separator=", "):
    """Joins items by a separator and breaks lines before `width`. `first`: columns in use on line one."""
    lines, column, line = [], first, ""
    for index, item in enumerate(items):
        piece = item + (separator.rstrip() if index + 1 < len(items) else "")
        if line and column + len(piece) + 1 > width:
            lines.append(line)
            line, column = indent + piece, len(indent) + len(piece)
        else:
            line += (" " if line else "") + piece
            column += len(piece) + 1
    return "\n".join(lines + [line])
