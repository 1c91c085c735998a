"""The commands, one module each; a few short ones share a module with the command that they belong to.

A command is a function of its own name: `undo(options, arguments, console)` returns the exit code. The table
in `clada.cli.flags` says which module has it; modules are loaded only when their command is asked for.
"""
