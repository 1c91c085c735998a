"""Approval by prefix, and texts that can never match: tables of what is approved, and of what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clada.commands import words
from clada.commands.prefixes import HARMLESS, covered_options, covers, refusal
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


PREFIXES = """\
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
""".splitlines()

NO_PREFIXES = """\
hyperfine
hyperfine make
ssh-agent
ssh-agent make
coverage run
coverage run -m
python3 -m coverage
python3 -m coverage run
pre-commit
pre-commit try-repo
parallel
script
watch
strace
run0
socat
mpirun
torchrun
pyenv exec
rustup run
npm config
linux32
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
""".splitlines()


def test_words_that_may_be_a_prefix() -> None:
    """They name what does the work."""
    for text in PREFIXES:
        assert refusal(split(text)) is None, text
        assert covers(split(text), split(text)), text
        assert covers(split(text), (*split(text), "a", "b/c.py", "-", "--", "c")), text


def test_words_that_run_whatever_follows_are_no_prefix(files: Workspace) -> None:
    """Nor do they approve anything where a file says that they are one."""
    for text in NO_PREFIXES:
        assert refusal(split(text)), text
        assert not covers(split(text), split(text)), text
        assert not covers(split(text), (*split(text), "evil.py")), text
        assert mismatch(text, files, prefix=True), text


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
    ("npm install", "npm install -DE --ignore-scripts left-pad"),
    ("tar", "tar xzf a.tgz b"),
    ("tar", "tar -xzf a.tgz --strip-components=1"),
    ("tar", "tar -fa.tar -x"),
    ("ruff check", "ruff check --fix --select=E,F src"),
    ("prettier", "prettier -wl ."),
    ("git grep", "git grep -in -C3 word"),
    ("python3 -m mypy", "python3 -m mypy --strict -p clada"),
    ("npx jest", "npx jest -t 'a b' --ci"),
    ("go test", "go test --race -count 1 ./..."),
    ("mvn test", "mvn test -q -pl core -am --batch-mode"),
    ("coverage report", "coverage report -m --fail-under=90"),
    ("./gradlew", "./gradlew test --offline --tests '*A'"),
    ("tool", "tool a/b.c d"),
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
    ("tool", "tool --verbose"),
    ("tool", "tool -v"),
    ("tool", "tool /p:X"),
    ("tool", "tool +cmd"),
    ("tar", "tar cIf ./evil a.tar b"),
    ("tar", "tar cfI a.tar ./evil b"),
    ("tar", "tar cf a.tar b -I ./evil"),
    ("tar", "tar cf a.tar b --use-compress-prog=./evil"),
    ("tar", "tar xf a.tar --to-command=./evil"),
    ("tar", "tar xFf ./evil a.tar"),
    ("git grep", "git grep --open-files-in-pager=./evil x"),
    ("git grep", "git grep -O./evil x"),
    ("git grep", "git grep -nO./evil x"),
    ("git log-tree", "git log-tree --ext-diff"),
    ("git push", "git push --force origin"),
    ("git fetch", "git fetch --upload-pack=./evil"),
    ("git clone", "git clone -c core.sshCommand=./evil . copy"),
    ("git difftool-x", "git difftool-x -x ./evil"),
    ("npm install", "npm install --git=./evil x"),
    ("npm install", "npm install -g x"),
    ("npm install", "npm install --script-shell ./evil"),
    ("npm test", "npm test -- --config ./evil.js"),
    ("npm test", "npm test -- --require=./evil.js"),
    ("sort", "sort --compress-program=./evil a"),
    ("fd", "fd -x ./evil"),
    ("fd", "fd --exec ./evil"),
    ("rg", "rg --pre ./evil x"),
    ("gcc", "gcc -fplugin=./evil.so a.c"),
    ("gcc", "gcc -wrapper ./evil a.c"),
    ("gcc", "gcc -B. a.c"),
    ("gcc", "gcc @options a.c"),
    ("clang", "clang -Xclang -load -Xclang ./evil.so a.c"),
    ("rsync", "rsync --rsync-path=./evil a b"),
    ("rsync", "rsync -ave ./evil a b"),
    ("scp", "scp -S ./evil a b:c"),
    ("curl", "curl -K evil.conf"),
    ("wget", "wget --use-askpass=./evil x"),
    ("zip", "zip a.zip b -TT ./evil"),
    ("man", "man -P ./evil x"),
    ("less", "less +!./evil x"),
    ("mypy", "mypy --config-file=evil.ini"),
    ("mypy", "mypy --python-executable=./evil"),
    ("pylint", "pylint --load-plugins=evil"),
    ("pylint", "pylint --init-hook=evil"),
    ("pylint", "pylint -f evil.Reporter"),
    ("flake8", "flake8 --append-config=evil"),
    ("black", "black --config evil.toml"),
    ("ruff check", "ruff check --config evil.toml"),
    ("prettier", "prettier --plugin=./evil.js"),
    ("eslint", "eslint --rulesdir evil"),
    ("eslint", "eslint -f ./evil.js"),
    ("eslint", "eslint --resolve-plugins-relative-to evil"),
    ("npx jest", "npx jest --globalSetup=./evil.js"),
    ("npx jest", "npx jest -c evil.js"),
    ("npx jest", "npx jest --env=./evil.js"),
    ("npx vitest", "npx vitest --reporter=./evil.js"),
    ("npx mocha", "npx mocha -r ./evil.js"),
    ("npx mocha", "npx mocha -br ./evil.js"),
    ("npx tsc", "npx tsc @evil"),
    ("tox", "tox -c evil.ini"),
    ("tox", "tox -x testenv.commands=./evil"),
    ("nox", "nox -f evil.py"),
    ("bundle exec rspec", "bundle exec rspec -r ./evil.rb"),
    ("rubocop", "rubocop --require ./evil.rb"),
    ("cmake", "cmake -P evil.cmake"),
    ("cmake", "cmake -DCMAKE_C_COMPILER=./evil ."),
    ("cmake", "cmake -E env ./evil"),
    ("ctest", "ctest -S evil.cmake"),
    ("ctest", "ctest --build-and-test a b"),
    ("ninja", "ninja -f evil.ninja"),
    ("ninja", "ninja -C elsewhere"),
    ("mvn test", "mvn test -Dexec.executable=./evil"),
    ("./gradlew", "./gradlew -I evil.gradle"),
    ("./gradlew", "./gradlew --init-script=evil.gradle"),
    ("./gradlew", "./gradlew -Pa=b"),
    ("cargo build", "cargo build --config=build.rustc-wrapper=./evil"),
    ("cargo test", "cargo test -Zunstable-options"),
    ("deno test", "deno test -A"),
    ("bun test", "bun test --preload ./evil.ts"),
    ("dotnet test", "dotnet test /p:X=Y"),
    ("dotnet test", "dotnet test --settings evil"),
    ("terraform plan", "terraform plan -var-file=x"),
    ("phpunit", "phpunit --bootstrap evil.php"),
    ("mix test", "mix test --require evil.exs"),
    ("pre-commit run", "pre-commit run -c evil.yaml"),
    ("poetry install", "poetry install -C elsewhere"),
]


def test_further_arguments_are_covered() -> None:
    """Any that are not in the list."""
    for prefix, command in COVERED:
        assert covers(split(prefix), split(command)), (prefix, command)


def test_other_words_and_listed_options_are_not_covered() -> None:
    """In whatever form: with a value, attached, bundled, abbreviated, behind `--`."""
    for prefix, command in UNCOVERED:
        assert not covers(split(prefix), split(command)), (prefix, command)


def test_the_person_is_shown_the_options_that_are_covered() -> None:
    """Each of them is covered; where there are none, no option is."""
    for text in PREFIXES:
        for option in covered_options(split(text)):
            assert covers(split(text), (*split(text), option))
    assert covered_options(("tool",)) == ()
    assert "-k" in covered_options(("pytest",))


# Options by which programs that have them mostly run, load, configure or write something else.
HARMFUL = set(
    """
    -C -I --chdir --command --compress-program --config-file --cwd --debugger --directory --editor
    --eval --exec --exec-path --execute --ext-diff --git --import --init-hook --init-script --load
    --load-plugins --loader --makefile --node-options --open-files-in-pager --out --output --output-dir
    --output-file --pager --plugin --plugins --pre --preload --prefix --rcfile --receive-pack --require
    --rootdir --rsh --rsync-path --script-shell --settings --shell --textconv --to-command --toolexec
    --upload-pack --use-compress-program --userconfig --workdir -exec -toolexec -ldflags -o -c -e -f -r
    -p -x
    """.split()
)
# Short names, and `--shell` of shellcheck, that mean something else to these programs.
MEANT_OTHERWISE = {
    "git grep": {"-C", "-c", "-e"}, "git switch": {"-c"}, "isort": {"-c"}, "prettier": {"-c"},
    "rsync": {"-c", "-r", "-x"},
    "shellcheck": {"-e", "-f", "-o", "--shell"}, "unittest": {"-c", "-f", "-p"}, "jest": {"-e"},
    "mocha": {"-f"}, "nox": {"-e", "-p", "-r"}, "tox": {"-e", "-p", "-r"}, "pylint": {"-e", "-r"},
    "pytest": {"-r", "-x"}, "py.test": {"-r", "-x"}, "rspec": {"-e"}, "rubocop": {"-x"}, "ruff": {"-e"},
    "tar": {"-c", "-f", "-p", "-x"}, "tsc": {"-p"}, "make": {"-r"}, "gmake": {"-r"}, "mvn": {"-e", "-o"},
    "cargo": {"-p", "-r"}, "git fetch": {"-p"}, "go": {"-p", "-x"}, "gofmt": {"-e"}, "mypy": {"-p"},
}  # fmt: skip


def test_no_row_has_an_option_that_does_harm_in_most_programs() -> None:
    """Those that mean something else are listed above, so that each was looked at."""
    assert len({name.partition(" ")[0] for name in HARMLESS}) >= 30
    for name, row in HARMLESS.items():
        options = {option.rstrip("=") for option in row.split()}
        assert options & HARMFUL == MEANT_OTHERWISE.get(name, set()), name


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
    ("cat .git/config", ".git is protected; use git or clada commands", ()),
    ("rm -rf .git", ".git is protected; use git or clada commands", ()),
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
