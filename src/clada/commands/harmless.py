"""The options that an approval by prefix covers: those that neither run, load nor write anything else.

One row for each program, or for one of its commands. An option that is missing needs approval of the exact
command, and so does every option of a program that has no row. So an option that a new version of a program
adds is not covered until somebody has looked at it.

`-x` is a switch, and may stand in a bundle; `-k=` takes a value, which may be attached; `--name` is the whole
name, with a value or without. Where options have long names behind one dash (`-race`), there are no bundles.
`NAME=VALUE` and `@NAME` stand for operands of that form: make takes the one for a variable, and many programs
read more options from the file that the other one names.
"""

from __future__ import annotations

ASSIGNMENT, RESPONSE = "NAME=VALUE", "@NAME"
OLD_STYLE = ("tar", "gtar", "bsdtar")  # their first word is a bundle of options, with a dash or without

_PYTEST = """
    -h -k= -l -m= -n= -q -r= -s -v -x --capture --co --collect-only --color --cov --cov-fail-under
    --deselect --disable-warnings --dist --durations --durations-min --exitfirst --failed-first --ff
    --fixtures --ignore --last-failed --lf --markers --maxfail --new-first --nf --no-cov --no-header
    --no-summary --numprocesses --quiet --reruns --setup-show --showlocals --stepwise --strict-markers
    --sw --tb --timeout --verbose --version NAME=VALUE
"""
# Behind `--`, npm and its like hand on the rest to a script: these mean the same to most test runners.
_NPM = """
    -D -E -s --all --bail --ci --coverage --dev --dry-run --frozen-lockfile --ignore-scripts --include
    --if-present --json --legacy-peer-deps --loglevel --no-audit --no-color --no-fund --offline --omit
    --prefer-offline --production --recursive --runInBand --save-dev --save-exact --silent
    --testNamePattern --verbose --watch --watchAll --workspace --workspaces @NAME
"""
_MAKE = """
    -B -O -S -i -j= -k -l= -n -q -r -s -w --always-make --dry-run --ignore-errors --jobs --just-print
    --keep-going --load-average --no-print-directory --output-sync --print-directory --question --quiet
    --silent --trace
"""
_GRADLE = """
    -i -m -q -s -w --build-cache --console --continue --daemon --dry-run --info --no-build-cache
    --no-daemon --offline --parallel --quiet --rerun-tasks --stacktrace --tests --warn
"""
_TAR = """
    -J -c -f= -j -p -t -v -x -z --bzip2 --create --exclude --extract --file --get --gzip --list
    --no-same-owner --strip-components --verbose --xz --zstd
"""
HARMLESS = {
    "black": """
        -S -l= -q -t= -v --check --color --diff --fast --line-length --no-color --preview --quiet --safe
        --skip-string-normalization --target-version --verbose
    """,
    "bun": "-t= --bail --coverage --only --rerun-each --test-name-pattern --timeout --todo --watch",
    "cargo": """
        -A= -D= -F= -W= -j= -p= -q -r -v --all --all-features --all-targets --bench --bin --bins --check
        --color --doc --exact --example --examples --exclude --features --frozen --ignored
        --include-ignored --jobs --keep-going --lib --list --locked --message-format --no-default-features
        --no-deps --no-fail-fast --no-run --nocapture --offline --package --profile --quiet --release
        --show-output --skip --test --test-threads --tests --verbose --workspace
    """,
    "cmake": "-j= -t= -v --build --clean-first --config --parallel --target --verbose --version",
    "coverage": """
        -i -m --fail-under --include --omit --precision --show-missing --skip-covered --skip-empty --sort
    """,
    "ctest": """
        -E= -L= -N -R= -V -j= --output-on-failure --parallel --progress --quiet --rerun-failed --timeout
        --verbose
    """,
    "deno fmt": "-q --check --quiet",
    "deno lint": "-q --compact --json --quiet",
    "deno test": "-q --doc --fail-fast --filter --no-run --parallel --quiet --shuffle",
    "eslint": """
        --cache-strategy --color --debug --ext --fix --fix-dry-run --fix-type --ignore-pattern
        --max-warnings --no-color --no-error-on-unmatched-pattern --no-inline-config --quiet
        --report-unused-disable-directives --version
    """,
    "flake8": """
        -j= -q -v --color --count --exclude --extend-ignore --extend-select --ignore --jobs
        --max-complexity --max-line-length --quiet --select --show-source --statistics --verbose
    """,
    "git add": "-A -N -n -u -v --all --dry-run --intent-to-add --update --verbose @NAME",
    "git checkout": "-b= -q -t --detach --quiet --track @NAME",
    "git clone": "-b= -q -v --branch --depth --no-checkout --no-tags --quiet --single-branch --verbose",
    "git commit": """
        -a -m= -q -s -v --all --allow-empty --dry-run --message --no-edit --quiet --signoff --verbose
        NAME=VALUE @NAME
    """,
    "git fetch": "-p -q -t -v --all --depth --dry-run --prune --quiet --tags --unshallow --verbose @NAME",
    "git grep": """
        -E -F -L -P -c -e= -h -i -l -n -w -A= -B= -C= --cached --count --files-with-matches
        --fixed-strings --heading --ignore-case --line-number --name-only --word-regexp NAME=VALUE @NAME
    """,
    "git merge": """
        -m= -q -v --abort --ff --ff-only --no-edit --no-ff --quiet --squash --stat NAME=VALUE @NAME
    """,
    "git mv": "-n -v --dry-run --verbose @NAME",
    "git pull": """
        -q -v --all --depth --ff-only --no-edit --no-rebase --prune --quiet --tags --verbose @NAME
    """,
    "git push": "-n -q -u -v --dry-run --follow-tags --quiet --set-upstream --tags --verbose @NAME",
    "git restore": "-S -W -q -s= --quiet --source --staged --worktree @NAME",
    "git switch": "-c= -q -t --create --detach --quiet --track @NAME",
    "git tag": "-a -l -m= -n= --annotate --list --message NAME=VALUE @NAME",
    "go": """
        -a -bench -benchmem -benchtime -count -cover -covermode -coverpkg -cpu -failfast -fullpath -json
        -list -m -n -p -parallel -race -run -short -shuffle -skip -tags -timeout -trimpath -u -v -x
    """,
    "gofmt": "-d -e -l -s -w",
    "golangci-lint": "-v --fast --fix --issues-exit-code --new --timeout --verbose",
    "gradle": _GRADLE,
    "gradlew": _GRADLE,
    "gmake": _MAKE,
    "isort": "-c -q -v --check --check-only --diff --line-length --quiet --verbose",
    "jest": """
        -b -e -i -t= -w= --bail --ci --colors --coverage --detectOpenHandles --expand --findRelatedTests
        --forceExit --listTests --maxWorkers --no-cache --onlyChanged --passWithNoTests --runInBand
        --silent --testNamePattern --testPathPattern --testPathPatterns --verbose --watch --watchAll
    """,
    "make": _MAKE,
    "mix test": """
        --cover --exclude --failed --include --max-failures --only --seed --slowest --stale --trace
    """,
    "mocha": "-b -f= -g= -i -t= --bail --exit --fgrep --forbid-only --grep --invert --slow --timeout",
    "mvn": """
        -B -N -T -U -X -am -amd -batch-mode -e -fae -ff -fn -ntp -o -offline -pl -q -quiet -show-version
        -V
    """,
    "mypy": """
        -m= -p= -v --check-untyped-defs --disallow-untyped-defs --exclude --explicit-package-bases
        --follow-imports --ignore-missing-imports --module --namespace-packages --no-error-summary
        --no-incremental --package --pretty --python-version --show-error-codes --strict --strict-optional
        --verbose --version --warn-return-any --warn-unreachable --warn-unused-ignores
    """,
    "ninja": "-j= -k= -l= -n -v --quiet --verbose --version",
    "nox": """
        -R -e= -k= -l -p= -r -s= -t= --list --no-install --reuse-existing-virtualenvs --session --sessions
    """,
    "npm": _NPM,
    "phpunit": """
        --colors --exclude-group --filter --group --list-tests --no-coverage --no-progress --order-by
        --stop-on-error --stop-on-failure --testdox --testsuite
    """,
    "pnpm": _NPM,
    "poetry": """
        -n -q -v --all-extras --all-groups --dry-run --extras --no-ansi --no-interaction --no-root --only
        --quiet --sync --verbose --with --without
    """,
    "pre-commit": "-a -v --all-files --color --files --from-ref --show-diff-on-failure --to-ref --verbose",
    "prettier": """
        -c -l -u -w --check --ignore-unknown --list-different --log-level --loglevel --no-color
        --print-width --single-quote --tab-width --write
    """,
    "py.test": _PYTEST,
    "pylint": """
        -E -d= -e= -j= -r= -s= -v --disable --enable --errors-only --jobs --reports --score --verbose
    """,
    "pyright": "--level --outputjson --pythonplatform --pythonversion --skipunannotated --stats --warnings",
    "pytest": _PYTEST,
    "rspec": "-b -e= -t= --backtrace --dry-run --example --fail-fast --only-failures --order --seed --tag",
    "rsync": """
        -P -a -c -h -n -q -r -t -u -v -x -z --archive --checksum --compress --dry-run --exclude
        --human-readable --include --itemize-changes --partial --progress --quiet --recursive --stats
        --times --update --verbose
    """,
    "rubocop": "-A -D -L -a -x --autocorrect --display-cop-names --except --fail-level --only --parallel",
    "ruff": """
        -e -n -q -s -v --check --diff --exclude --exit-zero --extend-ignore --extend-select --fix
        --fix-only --ignore --line-length --no-cache --output-format --preview --quiet --select
        --show-files --show-fixes --silent --statistics --target-version --unsafe-fixes --verbose
    """,
    "shellcheck": """
        -S= -a -e= -f= -i= -o= -s= --color --enable --exclude --format --include --severity --shell
    """,
    "tar": _TAR,
    "terraform": "-check -compact-warnings -diff -json -list -no-color -recursive",
    "tox": "-e= -l -p= -q -r -v --colored --list --notest --parallel --quiet --recreate --verbose",
    "tsc": "-p -w --noEmit --pretty --project --skipLibCheck --strict --target --version --watch",
    "unittest": """
        -b -c -f -h -k= -p= -q -s= -v --buffer --catch --failfast --help --locals --pattern --quiet
        --start-directory --verbose
    """,
    "vitest": "-t= --bail --changed --no-color --passWithNoTests --run --silent --testNamePattern --watch",
    "yarn": _NPM,
}  # fmt: skip
