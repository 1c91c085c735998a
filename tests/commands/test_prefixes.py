"""Approval by prefix, and texts that can never match: tables of what is approved, and of what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clada.commands import words
from clada.commands.prefixes import covers, refusal, uncovered
from clada.operations.run.approvable import mismatch
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Return a workspace."""
    with Workspace(str(tmp_path_factory.mktemp("workspace"))) as files:
        yield files


def split(text: str) -> tuple[str, ...]:
    """Return the words of one command."""
    read = words.read(text)
    assert not isinstance(read, words.Refusal)
    (command,) = read
    return command.words


PREFIXES = """
pytest
pytest tests/unit
.venv/bin/pytest
python3 -m unittest
python3 -m unittest discover
python -m pytest
python3.12 -m pytest
.venv/bin/python -m pytest -q
python3 tools/check.py
node test.js
ruby test/run.rb
bash run-tests.sh
sh scripts/build.sh
perl Makefile.PL
npm test
npm run
npm run lint
pnpm test
yarn test
npx jest
npx tsc
uvx ruff
uv run pytest
poetry run pytest
bundle exec rspec
cargo test
cargo run
go test
deno test
bun test
dotnet test
mvn test
git push
git commit
make
make test
./gradlew
./run.sh
ruff check
mypy
eslint
tox
docker-lint
"""

NO_PREFIXES = """
/lib64/ld-linux-x86-64.so.2
/lib/ld-musl-x86_64.so.1 ./run
java
java -jar
toybox
sudo-rs
python
python3
python3.12
/usr/bin/python3
.venv/bin/python
./python
Python3
python3 -u
python3 -c
python3 -m
python3 -m pip
python3 -m pdb
python3 -m timeit
python3 -m cProfile
python3 -m runpy
python3 -X dev tools/check.py
python3 ../check.py
python3 /tmp/check.py
python3 -
node
nodejs
node -e
node --eval
ruby
ruby -e
perl
perl -e
php -r
lua
deno
deno run
deno eval
bun
bun x
bun run
awk
gawk
sed
sqlite3
sqlite3 my.db
psql
vim
emacs
gdb
sh
bash
bash -c
/bin/sh
dash
zsh
fish
busybox
busybox sh
npx
npx -y jest
npx --package evil jest
npx node
pnpx
bunx
uvx
pipx
npm
npm exec
npm x
npm exec node
npm --prefix
pnpm dlx
yarn dlx
yarn node
uv run
uv run python
uv run --with evil pytest
poetry run
poetry run python
poetry run bash -c
bundle exec
bundle exec ruby
cargo
go
go run
git
git -c
git bisect
git submodule
git rebase
nix-shell
nix run
corepack
sudo
sudo pytest
doas
su
pkexec
env
env pytest
/usr/bin/env
nice
nice pytest
nohup
timeout
timeout 5 pytest
xargs
xargs pytest
setsid
stdbuf
strace
ssh
docker
docker run
podman
kubectl
chroot
unshare
systemd-run
find
grep
ls
cat
diff
tree
/usr/bin/find
git log
git diff
git stash
git --no-pager
mv
rm
cp
mkdir
echo
cd
chmod
true
"""


@pytest.mark.parametrize("text", PREFIXES.strip().split("\n"))
def test_words_that_may_be_a_prefix(text: str) -> None:
    """They name what does the work."""
    assert refusal(split(text)) is None
    assert covers(split(text), split(text))
    assert covers(split(text), (*split(text), "a", "b/c.py", "-v", "--verbose"))


@pytest.mark.parametrize("text", NO_PREFIXES.strip().split("\n"))
def test_words_that_run_whatever_follows_are_no_prefix(text: str, files: Workspace) -> None:
    """Nor do they approve anything where a file says that they are one."""
    assert refusal(split(text))
    assert not covers(split(text), split(text))
    assert not covers(split(text), (*split(text), "evil.py"))
    assert mismatch(text, files, prefix=True)


COVERED = [
    ("pytest", "pytest"),
    ("pytest", "pytest -x -vv -k 'a and b' tests/test_a.py::test_b"),
    ("pytest", "pytest --lf --tb=short -m 'not slow' --cov=src"),
    ("pytest", "'pytest' \"tests\""),
    ("python3 -m unittest", "python3 -m unittest -v tests.test_a"),
    ("python3 -m unittest", "python3 -m unittest discover -s tests -p 'test_*.py'"),
    ("npm test", "npm test -- --watch=false"),
    ("npm run", "npm run lint"),
    ("npm install", "npm install @types/node"),
    ("make", "make -j4 -k all"),
    ("go test", "go test -race -count=1 -run TestA ./..."),
    ("cargo test", "cargo test --release -- --nocapture"),
    ("git push", "git push -u origin main"),
    ("git commit", "git commit -am 'x = y'"),
    ("eslint", "eslint --fix src"),
    ("mypy", "mypy --strict src"),
]

UNCOVERED = [
    ("pytest", "pytestx"),
    ("pytest", "./pytest"),
    ("pytest", "/tmp/pytest"),
    ("pytest tests", "pytest"),
    ("pytest tests", "pytest -x tests"),
    ("pytest", "pytest -p evil"),
    ("pytest", "pytest -pevil"),
    ("pytest", "pytest -vp evil"),
    ("pytest", "pytest tests -c evil.ini"),
    ("pytest", "pytest -o python_files=evil.py"),
    ("pytest", "pytest --rootdir=/"),
    ("pytest", "pytest --rootdir /"),
    ("pytest", "pytest --rootd=/"),
    ("pytest", "pytest --pdb"),
    ("pytest", "pytest -- --basetemp=/home"),
    ("pytest", "pytest @options.txt"),
    ("python3 -m pytest", "python3 -m pytest -p evil"),
    ("uv run pytest", "uv run pytest -p evil"),
    ("python3 -m unittest", "python3 -m unittests"),
    ("python3 -m unittest", "python3 -c unittest"),
    ("python3 -m unittest", "python3 -mcode -m unittest"),
    ("python3 -m unittest", "python3 -m unittest -t /"),
    ("npm test", "npm test --prefix=/other"),
    ("npm test", "npm test --script-shell=./evil"),
    ("npm run", "npm run --node-options=--require=./evil.js lint"),
    ("npm run", "npm exec evil"),
    ("make", "make -f evil.mk"),
    ("make", "make -sf evil.mk"),
    ("make", "make --file=evil.mk"),
    ("make", "make --eval='x:;evil'"),
    ("make", "make SHELL=./evil"),
    ("make", "make test CC=./evil"),
    ("make", "make SHELL:=./evil"),
    ("make", "make X!=./evil"),
    ("make", "make .SHELLFLAGS=./evil"),
    ("make", "make -- SHELL=./evil"),
    ("git clone", "git clone -u ./evil . copy"),
    ("git clone", "git clone --upload-p=./evil . copy"),
    ("git archive", "git archive -o /x HEAD"),
    ("tar", "tar -xIevil -f a.tar"),
    ("tar", "tar --checkpoint-action=exec=./evil -cf a.tar b"),
    ("rsync", "rsync -e ./evil a b"),
    ("go test", "go test -ldflags=-extld=./evil"),
    ("make", "make -C /elsewhere"),
    ("go test", "go test -exec ./evil"),
    ("go test", "go test --exec=./evil"),
    ("go test", "go test -toolexec=./evil"),
    ("go test", "go test -o /tmp/x"),
    ("cargo test", "cargo test --config build.rustc=./evil"),
    ("cargo test", "cargo test --manifest-path /elsewhere/Cargo.toml"),
    ("git push", "git push --receive-pack=./evil origin"),
    ("git push", "git push --exec=./evil origin"),
    ("git commit", "git commit -S"),
    ("eslint", "eslint --config evil.js"),
    ("eslint", "eslint -c evil.js"),
    ("eslint", "eslint --conf evil.js"),
    ("tool", "tool --output=/x"),
    ("tool", "tool -o/x"),
    ("tool", "tool -vo x"),
    ("tool", "tool -e 'evil'"),
    ("tool", "tool LD_PRELOAD=./evil.so"),
    ("tool", "tool @response"),
    ("tool a", "tool b a"),
]


@pytest.mark.parametrize(("prefix", "command"), COVERED)
def test_further_arguments_are_covered(prefix: str, command: str) -> None:
    """Any that are not in the list."""
    assert covers(split(prefix), split(command))


@pytest.mark.parametrize(("prefix", "command"), UNCOVERED)
def test_other_words_and_listed_options_are_not_covered(prefix: str, command: str) -> None:
    """In whatever form: with a value, attached, bundled, abbreviated, behind `--`."""
    assert not covers(split(prefix), split(command))


def test_each_option_that_is_not_covered_is_one_that_people_can_read() -> None:
    """They are shown when the prefix is added."""
    for text in PREFIXES.strip().split("\n"):
        options = uncovered(split(text))
        assert options
        assert all(option.startswith("-") or option in ("@FILE", "NAME=VALUE") for option in options)


UNMATCHABLE = [
    ("pytest *", "`*` is not available", (("--prefix", "pytest"), ("--shell", "pytest *"))),
    ("pytest tests/test_?.py", "`?` is not available", None),
    ("python3 *", "`*` is not available", (("--shell", "python3 *"),)),
    ("a; b", "`;` is not available", (("--shell", "a; b"),)),
    ("a || b", "`||` is not available", (("--shell", "a || b"),)),
    ("a > out", "`>` is not available", (("--shell", "a > out"),)),
    ("a &", "`&` is not available", (("--shell", "a &"),)),
    ("echo $HOME", "`$` is not available", (("--shell", "echo $HOME"),)),
    ("FOO=1 make", "`FOO=` is not available", (("--shell", "FOO=1 make"),)),
    ("if true", "`if` is not available", (("--shell", "if true"),)),
    ("source x", "`source` is not available", (("--shell", "source x"),)),
    ("ls ~", "`~` is not available", (("--shell", "ls ~"),)),
    ("cat {a,b}", "is not available", (("--shell", "cat {a,b}"),)),
    ("echo 'a", "opens a quotation that is never closed", ()),
    ("make &&", "`&&` must stand between two commands", ()),
    ("make \\", "has nothing to escape", ()),
    ("make \0", "a NUL", ()),
    ("cd a b", "cd takes one directory", ()),
    ("make && cd", "cd takes one directory", ()),
    ("# comment", "there is no command in it: name a program", ()),
    (
        "cat /etc/hostname",
        "absolute paths are not allowed; use a path in the workspace, or --allow-escape",
        (),
    ),
    ("cat ../b | head -1", "../b: the path leads out of the workspace; --allow-escape would allow it", ()),
    ("rm ../x", "../x: the path leads out of the workspace; --allow-escape would allow it", ()),
    ("make && rm ../x", "../x: the path leads out of the workspace", ()),
    ("cd /tmp", "absolute paths are not allowed; use a path in the workspace, or --allow-escape", ()),
    ("cat .git/config", ".git is protected; clada and git have commands of their own", ()),
    ("rm -rf .git", ".git is protected; clada and git have commands of their own", ()),
    ("rm -rf .", ".: is the workspace itself; name what is in it", ()),
    ("mv a/.. b", "a/..: is the workspace itself; name what is in it", ()),
]


@pytest.mark.parametrize(("text", "why", "instead"), UNMATCHABLE)
def test_what_can_never_match_is_known_with_what_would(
    files: Workspace, text: str, why: str, instead: tuple[tuple[str, str], ...] | None
) -> None:
    """The reason is the one that a document would get."""
    found = mismatch(text, files)
    assert found
    assert why in found.message
    if instead is not None:
        assert found.instead == instead
    for flag, other in found.instead:
        assert not mismatch(other, files, shell=flag == "--shell", prefix=flag == "--prefix")


@pytest.mark.parametrize(
    "text",
    ["npm test", "npm  test", "make && make install", "make\nmake install", "make # all", "ls -la",
     "cd sub && rm ../x", "cd sub && make", "mv a .",
     "x\u00a0y", "python3 -c 'print(6 * 7)'", "git push --force", "'a b' \"c\""],
)  # fmt: skip
def test_what_can_match_may_be_approved(text: str, files: Workspace) -> None:
    """By its exact text, however odd."""
    assert mismatch(text, files) is None


@pytest.mark.parametrize("text", [row[0] for row in UNMATCHABLE if row[2]])
def test_what_needs_a_shell_may_be_approved_for_one(text: str, files: Workspace) -> None:
    """Whole, and never as a prefix."""
    assert mismatch(text, files, shell=True) is None
    assert mismatch(text, files, prefix=True)
