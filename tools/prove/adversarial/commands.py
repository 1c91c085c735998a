"""Commands: every refused option in all its spellings, every allowed one at work, every shell construct."""

from __future__ import annotations

import os
import random
import subprocess
from typing import TYPE_CHECKING

from tools.prove.adversarial.batch import Case, refused, run, worked
from tools.prove.place import Place, document
from tools.prove.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.prove.place import User

NOT_ALLOWED = ("command_not_allowed",)
RULES = ("command_not_allowed", "path_escape", "permission_denied", "symlink_not_allowed", "exec_failed")

# Command lines that must not run without approval: short, bundled, long, abbreviated and `=` forms.
REFUSED = """
mv -t folder file|mv --target-directory=folder file|mv -b file g|mv --backup file g|mv --backup=numbered file g
mv -S .x file g|mv --suffix=.x file g|mv -i file g|mv --interactive file g|mv -Z file g|mv -fi file g|mv --bac file g
rm -i file|rm -I file|rm --interactive file|rm --interactive=always file|rm -ri file|rm --no-preserve-root -r folder
rm --no-pres -r folder|rm --one-file-system -r folder
cp -L link g|cp -H link g|cp -s file g|cp -l file g|cp --parents folder/file folder|cp -t folder file|cp -b file g
cp -S .x file g|cp -i file g|cp -Z file g|cp --attributes-only file g|cp --copy-contents file g|cp -rL folder g
cp --symbolic-link file g|cp --link file g|cp --dereference file g|cp --targ=folder file|cp -al file g
mkdir -Z x|mkdir -m 1777 x|mkdir -m 4755 x|mkdir --mode=2755 x|mkdir --context x
touch -r file g|touch --reference=file g|touch --ref=file g|touch -cr file g
chmod -R 755 folder|chmod --recursive 755 folder|chmod 4755 file|chmod u+s file|chmod g+s file|chmod +t file
chmod --reference=file g|chmod --ref=file g
cat|cat -|cat file -|cat --show-al file|cat -x file
head -|head --lin=3 file|head -nope file
tail -f file|tail -F file|tail --follow file|tail --follow=name file|tail --fol file|tail -5f file|tail -n5f file
tail --retry file|tail --pid=1 file|tail -s 1 file|tail --sleep-interval=1 file|tail --max-unchanged-stats=3 file|tail -qf file
grep -f file x|grep --file=file x|grep --fil=file x|grep -R old .|grep --dereference-recursive old .|grep -D read old file
grep -d recurse old .|grep --directories=recurse old .|grep --label=x old file|grep --color=always old file
grep --exclude-from=file old .|grep -if file x|grep --devices=read old file|grep --colour=always old file
find . -exec cat {} +|find . -execdir cat {} +|find . -ok cat {} +|find . -okdir cat {} +|find . -delete|find . -fprint x
find . -fprint0 x|find . -fprintf x %p|find . -fls x|find -files0-from file|find -L .|find -H .|find . -follow|find -D all .
find . -newer /etc/passwd|find . -anewer ../outside/secret|find . -samefile /etc/passwd|find /|find ..
ls -L|ls -H|ls --dereference|ls --dereference-command-line|ls --hyperlink|ls --hyperlink=always|ls -D|ls -N
ls --show-control-chars|ls -Z|ls --color=always|ls --deref|ls -lL|ls /|ls ..
tree -o x|tree -l|tree -R|tree -H x|tree -T x|tree --fromfile file|tree --info|tree --infofile file|tree --gitfile file
tree -N|tree -C|tree -al|tree ..
wc --files0-from=file|wc --files0-from file|wc --fil=file|wc -
diff -l file g|diff --paginate file g|diff --from-file=file g|diff --to-file=g file|diff -X file file g|diff -S x file g
diff -D X file g|diff --line-format=x file g|diff --old-line-format=x file g|diff --palette=x file g|diff --color=always file g
diff --exclude-from=file folder folder|diff --ifdef=X file g|diff - file|diff --pag file g|diff file /etc/passwd
file -C|file -m file file|file -f file|file -z file|file -Z file|file -s file|file -L file|file -p file|file -P x=1 file
file -S file|file -r file|file -d file|file -c file|file -l|file --compile|file --magic-file=file file|file -bz file
stat -L file|stat --dereference file|stat --deref file|stat -tL file|stat /etc/passwd
realpath link|realpath --relative-to=/etc file|realpath /etc/passwd
xxd file out|xxd -r file|xxd -revert file|xxd -re file|xxd -r -p file out|xxd -p file out|xxd -
git -C .. status|git -c core.pager=x status|git --git-dir=x status|git --work-tree=.. status|git --exec-path=x status
git --help|git status --help|git -p status|git --paginate log|git --namespace=x status|git --bare status|git --config-env=a=b status
git status --ignore-submodules|git status --ignore-submodules=none|git status --column
git diff --output=x|git diff --output x|git diff --outp=x|git diff --no-index file /etc/passwd|git diff -O file|git diff -Ofile
git diff --ext-diff|git diff --textconv|git diff --submodule|git diff --submodule=diff|git log --output=x|git log --stdin
git log --show-signature|git log --show-sig|git log --format=%G?|git log --pretty=format:%GS|git show --output=x
git show --textconv HEAD|git show --ext-diff HEAD|git show --format=%GK HEAD|git diff /etc/passwd|git diff ../outside
git branch new|git branch -d main|git branch -D main|git branch -m other|git branch -M other|git branch -c other
git branch -C other|git branch -f main|git branch -u origin|git branch -t x|git branch --edit-description|git branch --del main
git stash drop|git stash clear|git stash branch x|git stash create|git stash store x|git stash save|git stash -p|git stash push -p
git stash push --patch|git stash push --pat
git ls-files -X file|git ls-files --exclude-from=file|git ls-files --exclude-per-directory=file
git ls-files --recurse-submodules|git ls-files --with-tree=HEAD|git ls-files --exclude-fr=file
git commit -m x|git add .|git push|git pull|git fetch|git clone x|git checkout main|git reset --hard|git clean -fd|git config x y
git rebase|git merge x|git gc|git submodule update|git worktree add x|git apply file|git am file|git hook run x|git rm file
sh -c true|bash -c true|env cat file|xargs cat|sudo cat file|python3 -c pass|perl -e 1|awk 1 file|sed -i s/a/b/ file|tee x
dd if=file of=x|ln -s /etc x|curl http://localhost|wget http://localhost|nc localhost 1|make|npm test|./planted|/bin/cat file
folder/../planted|command cat file|exec cat file|eval true|source file|. file|time cat file|nice cat file|timeout 1 cat file
"""

# What a shell would act on, each with its own name.
SHELL = """
cat file | wc§cat file; true§true &§true & true§echo x > out§echo x >> out§cat < file§cat <<EOF§cat <<< x§echo $HOME
echo "$HOME"§echo ${HOME}§echo `id`§echo "`id`"§echo $(id)§echo "$(id)"§( true )§(true)§false || true§echo *
echo ?§echo [a]§echo fi*e§ls ~§ls ~root§echo {a,b}§echo {1..3}§! true§if true§while true§for x§case x§{ true§[[ x§X=1 cat file
X=1§echo "a$(id)b"§echo a$((1))§2>out true§true 2>&1§true >&2§echo $'a'§echo $"a"§cat <(true)§echo a|b§a=(1)§echo >out§true&&&true
echo "unclosed§echo 'unclosed§echo x \\§true &&§&& true§function f§until x§select x§time -p x§coproc x§echo !(x) (
"""

# Every allowed option, at work.
ALLOWED = """
mv -f a1 a2|mv -n a2 b3|mv -u b3 a3|mv -v a3 a4|mv -T a4 a5|mv --force a5 a6|mv --no-clobber a6 a7|mv --verbose a7 a8
mv --update a8 a9|mv --no-target-directory a9 a1|mv -- a1 a2|mv a2 folder/|mv folder/a2 a1
cp -r folder c1|cp -R folder c2|cp -a folder c3|cp -d file c4|cp -P file c5|cp -p file c6|cp --preserve=mode file c7
cp -f file c8|cp -n file c9|cp -u file c10|cp -v file c11|cp -T file c12|cp --recursive folder c13|cp --archive folder c14
rm -r c1|rm -R c2|rm -f c4|rm -rf c3|rm -v c5|rm --recursive --force c13|rm --verbose c6|rm -f not-there|rm -- c7
mkdir d1|mkdir -p d2/e/f|mkdir -v d3|mkdir -m 700 d4|mkdir --parents d5/e|mkdir --mode=755 d6|mkdir -pv d7/e|rm -d d1
touch t1|touch -a t1|touch -c t2|touch -m t1|touch -d 2020-01-01 t1|touch -t 202001010000 t1|touch --no-create t3
chmod +x t1|chmod -x t1|chmod u+x t1|chmod go-w t1|chmod a=r t1|chmod 644 t1|chmod 0755 t1|chmod u=rwx,go=rx t1
pwd|pwd -P|pwd -L|echo hello|echo -n hello|echo|true|dirname folder/file|dirname -z folder/file|cd folder && cat file
cat file|cat -A file|cat -b file|cat -e file|cat -E file|cat -n file|cat -s file|cat -t file|cat -T file|cat -u file|cat -v file
cat --number file|cat --show-all file|cat -nA file g|cat -- file
head file|head -n 1 file|head -n1 file|head -n -1 file|head -c 3 file|head -c -1 file|head -2 file|head -q file g|head -v file
head -z file|head --lines=2 file|head --bytes=3 file|head --quiet file g
tail file|tail -n 1 file|tail -n +2 file|tail -c 3 file|tail -c +2 file|tail -2 file|tail +2 file|tail -q file g|tail -v file|tail -z file
grep -E old file|grep -F old file|grep -G old file|grep -P old file|grep -e old file|grep -i OLD file|grep -w old file|grep -x old file
grep -v zzz file|grep -c old file|grep -l old file|grep -L old file|grep -o ol file|grep -q old file|grep -s old file|grep -n old file
grep -H old file|grep -h old file|grep -b old file|grep -m 1 old file|grep -A 1 old file|grep -B1 old file|grep -C 1 old file|grep -2 old file
grep -r old .|grep -a old file|grep -I old file|grep -z old file|grep -lZ old file|grep -T old file|grep -r --include=fi* old .
grep -r --exclude=g old .|grep -r --exclude-dir=.git old .|grep --binary-files=text old file|grep --color=never old file|grep -rn old folder
find .|find -P .|find . -name file|find . -iname FILE|find . -path ./folder/file|find . -regex .*file|find . -type f|find . -size +0
find . -mtime -1|find . -mmin -100|find . -perm 644|find . -perm -u=r|find . -maxdepth 1|find . -mindepth 1|find . -empty
find . -name x -prune -o -print|find . -quit|find . -print0|find . -printf %p|find . -ls|find . -newermt 2020-01-01
find . \\( -name a -o -name b \\)|find . ! -name a|find . -not -name a -a -type f|find folder -type d|find . '(' -name a ')'
ls|ls -l|ls -a|ls -la|ls -A|ls -R|ls -1|ls -t|ls -r|ls -S|ls -h|ls -d folder|ls -i|ls -F|ls -p|ls --all|ls --color=never|ls -ltrh folder
tree|tree -a|tree -d|tree -f|tree -i|tree -x|tree -L 1|tree -P f*|tree -I x|tree --gitignore|tree --prune|tree --noreport
tree --filelimit 9|tree -p|tree -u|tree -g|tree -s|tree -h|tree --du|tree -D|tree -F|tree -t|tree -r|tree --dirsfirst|tree -J|tree -X|tree --charset ascii
wc file|wc -c file|wc -m file|wc -l file|wc -w file|wc -L file|wc --lines file g|wc -lw file
diff file same|diff -u file same|diff -U 1 file same|diff -c file same|diff -C 1 file same|diff -y file same|diff -W 80 -y file same
diff -r folder folder|diff -q file same|diff -s file same|diff -N file same|diff -i file same|diff -E file same|diff -Z file same
diff -b file same|diff -w file same|diff -B file same|diff -a file same|diff -x y folder folder|diff -I y file same|diff -p file same
diff -F y file same|diff -t file same|diff -T file same|diff -e file same|diff -n file same|diff -d file same|diff --normal file same
diff --label x -u file same|diff --strip-trailing-cr file same|diff --color=never file same|diff --unified=2 file same
file file|file -b file|file -i file|file --mime file|file --mime-type file|file --mime-encoding file|file --extension file|file -k file
file -h file|file -N file|file -n file|file -0 file|file -F : file|file -bi file
stat file|stat -c %s file|stat --printf %s file|stat -t file|stat -f file|stat --format=%n file
realpath file|realpath -e file|realpath -m missing|realpath -q file|realpath -s file|realpath -z file|realpath --relative-to=folder file
realpath --relative-base=folder file
xxd file|xxd -a file|xxd -b file|xxd -c 8 file|xxd -e file|xxd -g 1 file|xxd -i file|xxd -l 3 file|xxd -o 1 file|xxd -p file|xxd -s 1 file|xxd -u file
git status|git status -s|git status -b|git status -v|git status -u|git status --porcelain|git status --long|git status --show-stash
git status --ignored|git status -z|git --no-pager status|git status --porcelain=v2|git status -sb
git diff|git diff --stat|git diff --numstat|git diff --shortstat|git diff --name-only|git diff --name-status|git diff --summary
git diff --cached|git diff --staged|git diff -w|git diff -b|git diff --word-diff|git diff --diff-filter=M|git diff -M|git diff -C|git diff HEAD
git diff HEAD~1 HEAD|git diff HEAD -- file|git diff -U1|git diff --relative|git diff -S old|git diff -G old|git diff -z
git log|git log -p|git log -n 1|git log -1|git log --oneline|git log --graph|git log --all|git log --decorate|git log --since=2020-01-01
git log --until=2090-01-01|git log --author=x|git log --grep=x|git log --format=%H|git log --pretty=oneline|git log --date=iso
git log --follow -- file|git log --reverse|git log --no-merges|git log --first-parent|git log -L 1,1:file|git log --oneline HEAD~1..HEAD
git show|git show HEAD|git show HEAD:file|git show --stat HEAD|git show HEAD~1|git show --format=%s HEAD
git branch|git branch --show-current|git branch -a|git branch -r|git branch -v|git branch -vv|git branch -l|git branch --list
git branch --contains HEAD|git branch --no-contains HEAD|git branch --merged|git branch --no-merged|git branch --points-at HEAD
git branch --sort=refname|git branch --format=%H|git branch --list m*
git ls-files|git ls-files -c|git ls-files -d|git ls-files -m|git ls-files -o|git ls-files -i -o --exclude-standard|git ls-files -s|git ls-files -t
git ls-files -u|git ls-files -k|git ls-files -z|git ls-files -o -x y|git ls-files --full-name|git ls-files --error-unmatch file
git stash list|git stash|git stash list|git stash show|git stash show -p|git stash show --stat|git stash pop|git stash push -m x|git stash apply
git stash push -u -k -q
"""
QUOTED_GLOBS = ("fi*", "f*", ".*file", "m*", "FILE*")
PIECES = ("a", "'b c'", '"d e"', "\\ ", "\\\\", "'\\'", '"\\""', "'\"'", '"\'"', "\\$", '"\\$"', "\\*", "'*'", "#", "\\#", '""', "é", "=", "{}", "!", "@{0}", "~", "%")  # fmt: skip


def rows(user: User, quick: bool) -> Iterator[Row]:
    """Yield the rows about commands."""
    refusals = [line for line in REFUSED.replace("\n", "|").split("|") if line]
    yield from refused(user, _repository, [Case(f"`{line}`", run(line), RULES) for line in refusals])
    constructs = [line for line in SHELL.strip().replace("\n", "§").split("§") if line]
    yield from refused(user, _tree, [Case(f"`{line}`", run(line), NOT_ALLOWED) for line in constructs])
    yield from _allowed(user)
    yield _same_words_as_bash(user, 50 if quick else 2000)
    yield from _planted(user)
    yield from _long_arguments(user)


def _tree(place: Place) -> None:
    for name in ("file", "same"):
        place.put(name, "old\nline\n")
    place.put("folder/file")
    place.put("g", "other\n")
    place.put("a1", "a\n")
    (place.inside / "link").symlink_to("file")


def _repository(place: Place) -> None:
    _tree(place)
    place.put("planted", f"#!/bin/sh\ntouch {place.outside}/marker\n", 0o755)
    place.repository()


def _allowed(user: User) -> Iterator[Row]:
    """Yield a row for each command that needs no approval: it really does its work."""
    lines = [line for line in ALLOWED.replace("\n", "|").split("|") if line]
    shown = [_quoted(line) for line in lines]
    present = [line for line in shown if _installed(line.split()[0])]
    for line in shown:
        if line not in present:
            yield Row(f"`{line}`", "success", "not installed here", None)
    yield from worked(user, _changed_repository, [Case(f"`{line}`", run(line)) for line in present])


def _quoted(line: str) -> str:
    """Return the line with its patterns in quotes, as it has to be written."""
    return " ".join(f"'{word}'" if any(glob in word for glob in QUOTED_GLOBS) else word for word in line.split(" "))


def _installed(program: str) -> bool:
    builtin = program in "mv cp rm mkdir touch chmod pwd echo true cd".split()
    return builtin or any(os.access(f"{folder}/{program}", os.X_OK) for folder in ("/usr/bin", "/bin"))


def _changed_repository(place: Place) -> None:
    _tree(place)
    place.repository()
    place.put("file", "old\nline\nand more\n")
    place.put("same", "old\nline\nand more\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "second")
    place.put("g", "changed\n")
    place.put("untracked")


def _same_words_as_bash(user: User, count: int) -> Row:
    """Return whether words are what bash makes of the same text: `echo` is built in, and prints them."""
    chance = random.Random(8)  # noqa: S311 (it has to be repeatable)
    texts = ["echo " + " ".join("".join(chance.choices(PIECES, k=3)) for _ in range(3)) for _ in range(count)]
    with Place(user) as place:
        place.give()
        result = place.clada(document(*(run(text) for text in texts)), "--no-git", "--summary=json")
    said = dict[str, str]()
    for line in result.out.splitlines():
        label, found, text = line.partition(":exec] ")
        if found:
            said[label.removeprefix("[task-")] = text
    wrong, compared = list[str](), 0
    for text, task in zip(texts, result.tasks, strict=True):
        if task["status"] != "success":
            continue  # refused: bash would act on something in it
        compared += 1
        real = subprocess.run(["bash", "-c", text], capture_output=True, check=False, text=True, cwd="/")
        if real.stdout != said.get(task["label"], "") + "\n":
            wrong.append(f"{text}: bash {real.stdout!r}, clada {said.get(task['label'])!r}")
    observed = wrong[0] if wrong else f"{compared} equal, {count - compared} refused"
    return Row(f"quoting, {count} random texts", "the words that bash makes of it", observed, not wrong and compared > 0)


def _planted(user: User) -> Iterator[Row]:
    """Yield rows about a program in the workspace that has the name of an allowed one."""
    for name, path in {"PATH starts with .": ".", "PATH starts with the workspace": "{inside}"}.items():
        with Place(user) as place:
            _tree(place)
            for program in ("cat", "git", "ls", "grep", "bwrap", "python3", "bash"):
                place.put(program, f"#!/bin/sh\ntouch {place.outside}/marker\n", 0o755)
            place.repository()
            search = f"{path.format(inside=place.inside)}:{os.environ['PATH']}"
            operations = [run(text) for text in ("cat file", "git status", "ls", "grep -r old .", "./cat file")]
            place.clada(document(*operations), environment={"PATH": search})
            ran = (place.outside / "marker").exists()
        yield Row(f"programs planted in the workspace, {name}", "none is started", "started" if ran else "none", not ran)


def _long_arguments(user: User) -> Iterator[Row]:
    """Yield rows about arguments that are longer than the system takes."""
    cases = {"one of 200 KB": "x" * 204_800, "200 KB of many": " ".join(["x"] * 102_400)}
    for name, words in cases.items():
        with Place(user) as place:
            _tree(place)
            place.give()
            result = place.clada(document(run(f"grep -c {words}"), run(f"echo {words}")), "--no-git", "--summary=none")
        lines = [line[:60] for line in result.out.splitlines() if ":exec]" not in line]
        clean = result.code == 1 and "Traceback" not in result.err and "internal error" not in result.out
        yield Row(f"arguments: {name}", "a clear error or success", "; ".join(lines)[:150], clean and len(lines) == 2)  # noqa: PLR2004 (tasks)
