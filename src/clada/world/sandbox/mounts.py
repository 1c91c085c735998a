"""The mounts of a confined command besides its workspace: system directories, and programs in the home.

Everything else is hidden, because it is not named here: homes hold keys and tokens under names that cannot be
listed, and sockets of services lie anywhere.
"""

from __future__ import annotations

import os
import stat

from clada.world.sandbox.guard import PROTECTED, folders_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clada.world.sandbox.layers import Confinement

    Mount = tuple[str, ...]  # an option of bubblewrap with its arguments; the last one is where it is seen


# By reason. None of these has a home in it, or a place where services put their sockets.
SYSTEM = {
    "programs, libraries and what belongs to them": """
        /usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /snap /nix/store /gnu/store
        /run/current-system /run/booted-system /run/opengl-driver""",
    "settings of the system: names, time zones, certificates": "/etc /var/lib/ca-certificates",
    "what the machine has: processors, limits of memory": "/sys",
}
ALL_SYSTEM = tuple(path for paths in SYSTEM.values() for path in paths.split())
_IN_SYSTEM = tuple(f"{path}/" for path in ALL_SYSTEM)
# With the network: where names of hosts are resolved.
NETWORK = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")
# What root can read of the system, and others cannot.
ROOT_ONLY = """
    /etc/shadow /etc/shadow- /etc/ssh /etc/ssl/private /etc/krb5.keytab /etc/wireguard
    /etc/NetworkManager/system-connections
""".split()
# By reason: the parts of a home that hold programs, never whole folders, which hold tokens and caches too.
HOME = {
    "Rust: compilers, the name of the default one, cargo and what it installed": """
        .rustup/toolchains .rustup/settings.toml .cargo/bin""",
    "Python: versions, their shims, and packages and programs of pip, pipx and uv": """
        .pyenv/versions .pyenv/version .pyenv/shims .pyenv/libexec .local/bin
        .local/lib .local/pipx/venvs .local/share/pipx/venvs .local/share/uv/python
        .local/share/uv/tools""",
    "JavaScript: versions of node, deno and bun": """
        .nvm/versions .nvm/alias .nvm/nvm.sh .fnm/node-versions .local/share/fnm/node-versions .volta/bin
        .volta/tools .bun/bin .deno/bin""",
    "Go: versions, and what it installed": "sdk go/bin",
    "Ruby: versions": """
        .rbenv/versions .rbenv/version .rbenv/shims .rbenv/libexec .rvm/rubies .rvm/gems .rvm/bin""",
    "others: Java, Haskell, Lean, .NET": """
        .sdkman/candidates .ghcup/bin .ghcup/ghc .elan/bin .elan/toolchains .dotnet/dotnet .dotnet/host
        .dotnet/sdk .dotnet/shared""",
    "managers of several languages": """
        .asdf/bin .asdf/lib .asdf/installs .asdf/shims .asdf/plugins .local/share/mise/installs
        .local/share/mise/shims""",
}
_HOME: dict[str, list[str]] = {}  # the same by the first name on the way
for _name in " ".join(HOME.values()).split():
    _HOME.setdefault(_name.partition("/")[0], []).append(_name)
# Folders of a home in which programs write nothing: where rights go by path, one link to all of it will do.
ONLY_PROGRAMS = ".rustup .pyenv .nvm .fnm .volta .rbenv .rvm .sdkman .ghcup .elan .asdf sdk".split()
# Folders of installed packages with their data, and with the sockets of their services.
_CHANGING = ("var", "run", "tmp", "sockets")
_FEW = 16  # entries of a folder of /opt that may be a maker's, with a folder for each product
_FOLDERS = ("bin", "sbin", "Scripts")  # of programs
# Folders beside one of programs that these need, if the folder above holds more than programs.
_BESIDE = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include")
# A file that marks a folder in a home as an installation and nothing else, by what is installed.
_INSTALLED = {
    "conda": "conda-meta",
    "a virtual environment of Python": "pyvenv.cfg",
    "Go, which needs its src and pkg": "pkg/tool",
    "Java, which needs its conf and release": "lib/modules",
}


def home() -> str:
    """Return the person's home, as it is really called."""
    return os.path.realpath(os.path.expanduser("~"))


def is_in(path: str, directory: str) -> bool:
    """Return whether a path is a directory, or in it, going by their names."""
    return f"{path}/".startswith(f"{directory.rstrip('/')}/")


def system() -> list[str]:
    """Return the system's own directories that this machine has; links among them as they are."""
    return [path for path in ALL_SYSTEM if os.path.lexists(path)]


def system_paths_to_hide(listening: Sequence[str]) -> list[str]:
    """Return the system paths that may hold sockets of services, which are hidden.

    Mounts cannot keep a command from a socket that it can see. Installed packages keep their changing data
    in folders with these names; sockets that a service listens at are hidden as well.
    """
    packages = _folders("/opt", 1000) if _is_real_folder("/opt") else []
    products = [path for package in packages for path in _folders(package, _FEW)]
    tops = (*filter(_is_real_folder, ("/usr/local", "/opt")), *packages, *products)
    return outermost((*_data_folders(tops), *_sockets_below(ALL_SYSTEM, listening)))


def _data_folders(tops: Iterable[str]) -> Iterable[str]:
    return filter(_is_real_folder, (f"{top}/{name}" for top in tops for name in _CHANGING))


def _is_real_folder(path: str) -> bool:
    """Return whether a path is a folder and not a link: a link may lead to where no command sees anything."""
    return _exists(path) and os.path.isdir(path) and not os.path.islink(path)


def _exists(path: str) -> bool:
    """Return whether a path exists; for a missing one, which most are, faster than os.path.exists."""
    return os.access(path, os.F_OK)


def _folders(path: str, most: int) -> list[str]:
    """Return the folders in a folder; none if it has more entries than that."""
    try:
        with os.scandir(path) as entries:
            found = [entry for entry, _ in zip(entries, range(most + 1), strict=False)]
            few = found if len(found) <= most else []
            return [entry.path for entry in few if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def listening() -> list[str]:
    """Return the sockets that services listen at, by their real paths."""
    try:
        with open("/proc/net/unix", "rb", buffering=0) as file:
            names = [line.partition(" /")[2] for line in os.fsdecode(file.read()).split("\n")]
    except OSError:
        return []
    return [path for path in {os.path.realpath(f"/{name}") for name in names if name} if _is_socket(path)]


def _sockets_below(places: Iterable[str], sockets: Sequence[str]) -> list[str]:
    """Return the sockets that are below these places, by the names they have there."""
    tops = [(os.path.realpath(place), place) for place in places] if sockets else []
    return [
        place + path[len(real) :]
        for path in sockets
        for real, place in tops
        if is_in(path, real) and path != real
    ]


def _is_socket(path: str) -> bool:
    """Return whether there is a socket; the name may be one of another container, and here something else."""
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def programs(environment_path: str, program: str) -> list[str]:
    """Return other paths with programs: parts of the home, folders of PATH, and the program itself."""
    whole = home()
    named = [f"{whole}/{name}" for top in _HOME.keys() & _names(whole) for name in _HOME[top]]
    folders = [os.path.normpath(entry) for entry in environment_path.split(":") if entry.startswith("/")]
    executed = {program, os.path.realpath(program)} if program.startswith("/") else set()
    folders += [folder for folder in map(os.path.dirname, executed) if _holds_programs(folder, whole)]
    found = dict.fromkeys(path for folder in dict.fromkeys(folders) for path in _prefix(folder, whole))
    alone = (path for path in executed if is_in(path, whole))
    return outermost(filter(_exists, {*named, *found, *alone}))


def _names(folder: str) -> set[str]:
    """Return the names in a folder: one look there is quicker than one for each that may be missing."""
    try:
        return set(os.listdir(folder))
    except PermissionError:
        return set(_HOME)  # it may be possible to go through
    except OSError:
        return set()


def _holds_programs(folder: str, whole: str) -> bool:
    """Return whether a folder is open with a program in it; in a home, anything may lie beside one."""
    return os.path.basename(folder) in _FOLDERS or not is_in(folder, whole)


def _prefix(folder: str, whole: str) -> Sequence[str]:
    """Return a folder of programs with their dependencies: everything that is installed beside it.

    Not for a project, a home or a folder above it. In a home there is more beside programs, unless the folder
    is known to hold an installation.
    """
    if f"{folder}/".startswith(_IN_SYSTEM):
        return ()
    if is_in(whole, folder) or os.path.dirname(folder) == "/" or folder == "/var/tmp":  # noqa: S108
        return ()
    above = os.path.dirname(folder)
    if os.path.basename(folder) not in _FOLDERS or is_in(whole, above):
        return (folder,)
    if is_in(above, whole):
        is_whole = any(_exists(f"{above}/{name}") for name in _INSTALLED.values())
    else:
        is_whole = os.path.dirname(above) != "/" and not os.path.lexists(f"{above}/.git")
    return (above,) if is_whole else [f"{above}/{name}" for name in (*_BESIDE, *homebrew_folders(above))]


def homebrew_folders(top: str) -> tuple[str, ...]:
    """Return the folders that programs need beside theirs, if Homebrew installed them."""
    return ("Cellar", "opt") if os.path.isdir(f"{top}/Cellar") else ()


def outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths without those that lie in others of them."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: f"{path}/"):
        if not (kept and is_in(path, kept[-1])):
            kept.append(path)
    return kept


# The mounts, as options of bubblewrap. `--overlay` and `--bind-inside` are our own: see namespace.py.

OWN: tuple[Mount, ...] = (
    ("--dev", "/dev"),
    ("--proc", "/proc"),
    ("--tmpfs", "/tmp"),  # noqa: S108 (of the command's own)
    ("--tmpfs", "/run"),
    ("--tmpfs", "/var/tmp"),  # noqa: S108
    ("--symlink", "../run", "/var/run"),
)
# Comes last: there are many mounts below it, and bubblewrap reads the list of all for each that it makes.
_MACHINE = "/sys"
_PRIVATE = ("/tmp", "/run", "/var/tmp", "/dev", "/proc")  # noqa: S108 (the sandbox has its own)
_READ_ONLY_ROOT = ("--remount-ro", "/")


def bare_mounts() -> list[Mount]:
    """Return the mounts for a command that sees the system only."""
    return [*OWN, *system_mounts(listening()), _READ_ONLY_ROOT]


def mounts(confinement: Confinement, path: str, program: str) -> list[Mount]:
    """Return the mounts for all that the command sees. A later mount covers an earlier one."""
    whole, installed, sockets = home(), programs(path, program), listening()
    opened = sorted(_open_mounts(confinement, whole, installed), key=lambda mount: mount[-1].count("/"))
    late = [] if any(is_in(mount[-1], _MACHINE) for mount in opened) else [_MACHINE]
    made = [*OWN, *system_mounts(sockets, without=late)]
    made += _binds("--ro-bind-try", NETWORK if confinement.network else ())
    made += [*opened, *_covers(_sockets_to_hide(confinement, installed, sockets))]
    if whole == confinement.workspace:
        made += _hide_settings_of(confinement.workspace)
        made += _binds("--ro-bind-try", confinement.read) + _binds("--bind-try", _writable(confinement))
    return [*made, *_protect(confinement), *_binds("--ro-bind-try", late), _READ_ONLY_ROOT]


def _open_mounts(confinement: Confinement, home: str, programs: Iterable[str]) -> list[Mount]:
    """Return the mounts of visible paths; of several for the same path, the last one counts."""
    workspace = confinement.workspace
    # A program in the workspace could not be written any more.
    outside = [path for path in programs if not is_in(path, workspace)]
    return [
        *([("--tmpfs", home)] if _can_be_replaced(home) else []),
        *_binds("--ro-bind-try", (*outside, *confinement.read)),
        *_binds("--bind-try", _writable(confinement)),
        ("--overlay", confinement.overlay, workspace)
        if confinement.overlay
        else ("--bind", workspace, workspace),
    ]


def _writable(confinement: Confinement) -> Sequence[str]:
    """Return the writable paths outside of the workspace; those in an overlay must not lead past it."""
    if not confinement.overlay:
        return confinement.write
    return [path for path in confinement.write if not is_in(path, confinement.workspace)]


def _sockets_to_hide(
    confinement: Confinement, programs: Iterable[str], listening: Sequence[str]
) -> Iterator[str]:
    """Yield the hidden parts of visible paths: sockets of services, except where the command may write."""
    own = (confinement.workspace, *confinement.write)
    tops = tuple(programs)
    sockets = _sockets_below((*tops, *confinement.read), listening)
    for path in outermost((*_data_folders(tops), *sockets)):
        has_own = any(is_in(place, path) for place in (*own, *confinement.read))
        if not has_own and not any(is_in(path, place) for place in own):
            yield path


def _protect(confinement: Confinement) -> list[Mount]:
    """Return the mounts that make repositories and approvals read-only.

    The folders above them become mounts too: those cannot be moved away, with another one put in their place.
    """
    names = confinement.protected
    paths = sorted(set(names) - set(not_mountable(confinement.workspace, names)))
    option = "--bind-inside" if confinement.overlay else "--bind"
    above = _binds(option, (f"{confinement.workspace}/{path}" for path in folders_above(paths)))
    return above + _binds("--ro-bind", (f"{confinement.workspace}/{path}" for path in paths))


def _binds(option: str, paths: Iterable[str]) -> list[Mount]:
    return [(option, path, path) for path in paths]


def system_mounts(listening: Sequence[str], without: Sequence[str] = ()) -> list[Mount]:
    """Return the mounts of the system's own directories; root's rights in them are taken away."""
    made: list[Mount] = [
        ("--symlink", os.readlink(path), path) if os.path.islink(path) else ("--ro-bind", path, path)
        for path in system()
        if path not in without
    ]
    made += _covers(system_paths_to_hide(listening))
    if os.geteuid():
        return made
    # There are settings of the kernel that root could write even without capabilities.
    return [*made, *_covers(path for path in ROOT_ONLY if os.path.exists(path)), ("--remount-ro", "/proc")]


def _covers(paths: Iterable[str]) -> list[Mount]:
    """Return the mounts that hide these paths."""
    return [("--tmpfs", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path) for path in paths]


def _can_be_replaced(home: str) -> bool:
    """Return whether an empty home can be put in the place of this one."""
    if home in ("/", *_PRIVATE) or is_in(home, "/dev") or is_in(home, "/proc"):
        return False
    near = (path for path in ALL_SYSTEM if is_in(home, path) or is_in(path, home))
    within = list(filter(os.path.lexists, near))
    return not within or (os.path.isdir(home) and home not in within)


def _hide_settings_of(home: str) -> list[Mount]:
    """Hide the settings in a home that is the workspace."""
    names = [name for name in os.listdir(home) if name.startswith(".") and name not in PROTECTED]
    paths = (f"{home}/{name}" for name in sorted(names))
    return _covers(path for path in paths if not os.path.islink(path))


def not_mountable(workspace: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the protected paths that a mount cannot protect: those that are missing or a link."""
    paths = {name: os.path.join(workspace, name) for name in names}
    return tuple(name for name, path in paths.items() if os.path.islink(path) or not os.path.exists(path))
