"""What models read before they write: the descriptions of tools, with the syntax of a document."""

from __future__ import annotations

SYNTAX = """\
<---WRITE file="src/greet.py"--->
def greet(name):
    return "Hello " + name
<---END--->
<---SEARCH file="src/app.py"--->
    return "Hello " + name
<---REPLACE--->
    return f"Hello {name}"
<---END--->
<---RUN--->
mv src/old.py src/new.py
<---END--->"""
EXAMPLE = """\
<---SEARCH file="path/to/file"--->
lines exactly as they are in the file
<---REPLACE--->
the new lines
<---END--->"""
DOCUMENT = '<---WRITE file="notes.txt"--->\nHello!\n<---END--->'
APPLY = f"""\
Carry out a document in the workspace: create, edit, move and delete files and run commands, any number of \
them in one call, in order. The run is recorded, and undo reverts it. A document looks like this:

{SYNTAX}

- A marker stands alone on its line, at the first column, exactly as here. Text outside of markers is ignored.
- WRITE creates a file, or replaces all of it; append="true" adds to its end. Folders are made as needed.
- SEARCH edits a file: the lines before REPLACE must be in it exactly once, character by character; give \
more lines until they are unique. count="3" or count="all" replaces several. An empty replacement deletes; \
to delete whole lines, end the text to search with an empty line.
- SEARCH … TO … REPLACE … END replaces everything from the first text to the second one, both included.
- RUN runs commands: mv, cp, rm, mkdir, ls, cat, grep, find, git diff and the like. Other programs need the \
user's approval. dir="src" runs them in that folder.
- Operations between <---TASKS---> and <---END---> belong together: after a failure the rest of them \
is skipped.
- Paths are relative to the workspace.

Search/replace blocks (<<<<<<< SEARCH), patches (*** Begin Patch), unified diffs, whole files in fences \
under their path, JSON and XML tool calls are understood, too."""
PLAN = """\
Show what apply would do with this document, with a diff. Nothing is changed, and no program runs."""
READ = """\
Return the content of files. Read a file before you edit it: SEARCH needs its lines exactly."""
SEARCH = """\
Find a text or a regular expression in the files of the workspace, except those that git ignores. Returns \
path:line: text for each line that matches."""
UNDO = """\
Revert the last run that changed something, or the one with this number. Files that were changed since are \
left alone, and named. Undoing an undo is redo."""
RESUME = """\
Carry out what failed or was skipped in the last run, from the document that it had, and nothing else: for \
example after the user has approved a command."""
HISTORY = """\
List the runs in this workspace, newest first: number, time, how each ended, what it did."""
WRITE_FILE = """\
Create a file, or replace all of it. Folders are made as needed. Recorded: undo reverts it."""
EDIT_FILE = """\
Edit one file by replacing texts. All edits are made, or none. Recorded: undo reverts it."""
SERVER = """\
Changes files and runs allowed commands in one directory, the workspace. `read` and `search` look at it, \
`apply` carries out a document with any number of operations, `plan` shows what it would do, `undo` reverts \
the last run. After a failure, send what failed, corrected, and what was skipped, and nothing else; or call \
`resume` once the cause is gone."""
