"""Examples for each row of the table of commands that run without asking: what passes, and what does not."""

from __future__ import annotations

from typing import NamedTuple


class Examples(NamedTuple):
    """Command lines of one row, one a line: those that run without asking, and those that must not."""

    passes: str
    refuses: str = ""


# Shared by diff, log and show, as their options are.
HISTORY_REFUSES = """
    git {} --output=x
    git {} --output x
    git {} --outp=x
    git {} --no-index a b
    git {} -O x
    git {} -Oorder
    git {} -wOorder
    git {} --ext-diff
    git {} --ext
    git {} --textconv
    git {} --submodule
    git {} --submodule=log
    git {} --stdin
    git {} --show-signature
    git {} --show-sig
    git {} --help
    git {} -- --help
    git {} '--format=%G?'
    git {} --format=%h%+GK
    git {} --pretty=format:%GS
    git {} --pretty=tformat:%-GS
    git {} --pretty=mine
    git {} --format=one
    git {} --word-diff=color
    git {} -L /a:b/,+1:../x:y
    git {} ':(top)x'
    git {} ':!x'
    git {} ':^x'
    git {} -- . ':!x'
    git {} -- ':x'
    git {} -- ':/'
    git {} -
    git {} --author --output=x
    git {} -S -Ox
    git {} -pS -Ox
"""

EXAMPLES: dict[str, Examples] = {
    "cd": Examples(
        passes="""
            cd src
            cd ..
            cd -- -x
        """,
        refuses="""
            cd
            cd -
            cd -- -
            cd -P src
            cd a b
            cd ''
        """,
    ),
    "mv": Examples(
        passes="""
            mv a b
            mv -fv a b dir
            mv a b --verbose
            mv --no-clobber -- -a b
        """,
        refuses="""
            mv -t dir a
            mv -fi a b
            mv --backup a b
            mv --backup=numbered a b
            mv -b a b
            mv -S .old a b
            mv --suffix=.old a b
            mv -Z a b
            mv --forc a b
            mv --update=none a b
            mv --strip-trailing-slashes a b
            mv - b
        """,
    ),
    "rm": Examples(
        passes="""
            rm a
            rm -rf build
            rm build -r
            rm --recursive --force --verbose a
            rm -- -a
        """,
        refuses="""
            rm -i a
            rm -rI a
            rm --interactive=never a
            rm --interactive a
            rm --no-preserve-root -r a
            rm --one-file-system a
            rm --rec a
            rm a -i
        """,
    ),
    "cp": Examples(
        passes="""
            cp a b
            cp -r src dst
            cp -aT a b
            cp --preserve a b
            cp --preserve=mode,timestamps a b
        """,
        refuses="""
            cp -L a b
            cp -rH a b
            cp -s a b
            cp -l a b
            cp --link a b
            cp --parents a b
            cp -t dir a
            cp --target-directory=dir a
            cp -b a b
            cp -S x a b
            cp -i a b
            cp -Z a b
            cp --attributes-only a b
            cp --copy-contents a b
            cp --preserve=context a b
            cp --no-preserve=mode a b
            cp --reflink a b
            cp --sparse=always a b
            cp -x a b
        """,
    ),
    "mkdir": Examples(
        passes="""
            mkdir a
            mkdir -p a/b/c
            mkdir -pv -m 755 a
            mkdir -m0700 a
            mkdir --mode=u=rwx,go= a
        """,
        refuses="""
            mkdir -Z a
            mkdir --context=x a
            mkdir -m 1777 a
            mkdir -m 4755 a
            mkdir -m u+s a
            mkdir --mode=+t a
            mkdir --par a
        """,
    ),
    "touch": Examples(
        passes="""
            touch a
            touch -acm a b
            touch -d '2 days ago' a
            touch --date=2024-01-01 a
            touch -t 202401010000 a
        """,
        refuses="""
            touch -r b a
            touch -cr b a
            touch --reference=b a
            touch --ref=b a
            touch -h a
            touch --time=atime a
            touch -
        """,
    ),
    "chmod": Examples(
        passes="""
            chmod +x run.sh
            chmod -x run.sh
            chmod u+x,go-w a b
            chmod 755 a
            chmod 0644 a
            chmod u=rwX,g=u a
            chmod -- -w a
        """,
        refuses="""
            chmod -R 755 a
            chmod 755 -R a
            chmod --recursive 755 a
            chmod 4755 a
            chmod 2755 a
            chmod 1777 a
            chmod u+s a
            chmod g+xs a
            chmod +t a
            chmod -s a
            chmod -v 755 a
            chmod --reference=b a
            chmod -x -w a
        """,
    ),
    "pwd": Examples(
        passes="""
            pwd
            pwd -P
            pwd -LP
        """,
        refuses="""
            pwd -W
            pwd --phys
        """,
    ),
    "echo": Examples(
        passes="""
            echo
            echo hello 'wide  world'
            echo -n a -e
            echo -nn a
            echo --help -x -
        """,
        refuses=r"""
            echo -e 'a\tb'
            echo -E a
            echo -ne a
            echo -n -e a
        """,
    ),
    "true": Examples(
        passes="""
            true
        """,
    ),
    "false": Examples(
        passes="""
            false --x -
        """,
    ),
    "dirname": Examples(
        passes="""
            dirname src/app.js
            dirname -z a/b c/d
        """,
        refuses="""
            dirname -
            dirname --zer a
            dirname -x a
        """,
    ),
    "cat": Examples(
        passes="""
            cat a
            cat -n a b
            cat a -AbeEnstTuv
            cat -- -x
        """,
        refuses="""
            cat
            cat -n
            cat -
            cat a -
            cat --numb a
            cat --version
        """,
    ),
    "head": Examples(
        passes="""
            head a
            head -5 a
            head -n 5 a
            head -n -5 a
            head -n5 -qv a b
            head --lines=5 a
            head --bytes 1K a
            head a -c 10
        """,
        refuses="""
            head
            head -5
            head -
            head -n x a
            head --line=5 a
            head -n
            head -5q a
        """,
    ),
    "tail": Examples(
        passes="""
            tail a
            tail -5 a
            tail +5 a
            tail -n +5 a
            tail -c 10 -q a b
            tail --lines=+2 a
            tail a +5
        """,
        refuses="""
            tail
            tail -n 5
            tail -f a
            tail -F a
            tail -qf a
            tail -5f a
            tail +5f -f a
            tail -cf a
            tail --follow a
            tail --follow=name a
            tail --fol a
            tail --f=name a
            tail --retry a
            tail --pid=1 a
            tail --pid 1 a
            tail -s 1 a
            tail --sleep-interval=1 a
            tail --max-unchanged-stats=1 a
            tail a -f
            tail -n 5 a -f
        """,
    ),
    "grep": Examples(
        passes="""
            grep a b
            grep -rn 'a b' src
            grep -e -f -e b file
            grep -e a -- -file
            grep -A3 -B 2 --context=1 a b
            grep -5i a b
            grep - a
            grep --include='*.py' --exclude-dir node_modules -r a .
            grep --color=never a b
            grep a b -i
            grep -r a
            grep --recursive -e a
        """,
        refuses="""
            grep a
            grep -i a
            grep -e a
            grep -f patterns a
            grep -if patterns a
            grep --file=patterns a
            grep --file patterns a
            grep --fil=patterns a
            grep --exclude-from=x -r a
            grep --exclude-fr=x -r a
            grep -R a .
            grep -nR a .
            grep --dereference-recursive a
            grep -D read a b
            grep -d recurse a b
            grep --devices=read a b
            grep --directories=recurse a b
            grep --label=x a b
            grep --color=always a b
            grep --color a b
            grep a -
            grep -e a -
            grep a b -R
        """,
    ),
    "find": Examples(
        passes=r"""
            find
            find .
            find src tests -name '*.py' -type f
            find . -maxdepth 2 ! -name a -o -not '(' -size +1k -a -empty ')' -print0
            find . -newer src -newermt 2024-01-01
            find -P . -name node_modules -prune -o -printf '%p\n'
            find . -true , -ls -quit
        """,
        refuses="""
            find . -exec rm '{}' +
            find . -execdir rm '{}' +
            find . -ok rm '{}' ';'
            find . -okdir rm '{}' ';'
            find . -delete
            find . --delete
            find . -name a -delete
            find . '(' -delete ')'
            find . -fprint out
            find . -fprint0 out
            find . -fprintf out %p
            find . -fls out
            find . -files0-from list
            find -L .
            find -H .
            find . -follow
            find -D exec .
            find -O3 .
            find . -samefile /etc/passwd
            find . -xtype f
            find - -name a
            find -- .
            find . -name
            find . -name a b
        """,
    ),
    "ls": Examples(
        passes="""
            ls
            ls -la
            ls -lhtr src
            ls src -R
            ls --sort=size --color=never
            ls -I '*.o' -w80
        """,
        refuses="""
            ls -L
            ls -lL
            ls -H a
            ls --dereference a
            ls --dereference-command-line a
            ls --dereference-command-line-symlink-to-dir a
            ls --deref a
            ls --hyperlink
            ls --hyperlink=always
            ls -D
            ls --dired
            ls -N
            ls --literal
            ls --quoting-style=literal
            ls --show-control-chars
            ls -Z
            ls --context
            ls --color=always
            ls --color
            ls --al
            ls -
            ls src -L
        """,
    ),
    "tree": Examples(
        passes="""
            tree
            tree -a -L 2 src
            tree -aL 2
            tree -L2
            tree -I 'node_modules|dist' --dirsfirst
            tree --filelimit=10 --charset ascii src -d
        """,
        refuses="""
            tree -o out
            tree -ao out
            tree -Po x out
            tree -Pfoo
            tree -l
            tree -al
            tree -R
            tree -H x
            tree -T x
            tree --fromfile a
            tree --info
            tree --infofile=x
            tree --infofile x
            tree --gitfile=x
            tree --gitfile x
            tree --fflinks
            tree -N
            tree -C
            tree --hintro=x
            tree --noreports
            tree --char=x
            tree src -l
            tree -
        """,
    ),
    "wc": Examples(
        passes="""
            wc -l a
            wc -cmlwL a b
            wc a --lines
        """,
        refuses="""
            wc
            wc -l
            wc --files0-from=a
            wc --files0-from a
            wc --files a
            wc -
            wc --line a
            wc --total=never a
        """,
    ),
    "diff": Examples(
        passes="""
            diff a b
            diff -u a b
            diff -U5 a b
            diff --unified=5 a b
            diff -ruN old new -x '*.o'
            diff --label A --label=B a b
        """,
        refuses="""
            diff -l a b
            diff -ul a b
            diff --paginate a b
            diff --pag a b
            diff --from-file=a b
            diff --from-file a b
            diff --to-file=a b
            diff -X list a b
            diff --exclude-from=list a b
            diff -S x a b
            diff --starting-file=x a b
            diff -D X a b
            diff --ifdef=X a b
            diff --line-format=%L a b
            diff --old-line-format=%L a b
            diff --changed-group-format=%= a b
            diff --unchanged-group-format= a b
            diff --palette=x a b
            diff --color=always a b
            diff --color a b
            diff a -
            diff a b -l
        """,
    ),
    "file": Examples(
        passes="""
            file a
            file -bi a
            file --mime-type a b
            file -F : a
        """,
        refuses="""
            file -C -m x
            file -m x a
            file --magic-file=x a
            file --compile
            file -f list
            file -bf list
            file --files-from=list
            file --files-from list
            file --files=list
            file -z a
            file --uncompress a
            file -Z a
            file -s a
            file --special-files a
            file -L a
            file --dereference a
            file -p a
            file --preserve-date a
            file -P bytes=1 a
            file --parameter bytes=1 a
            file -S a
            file --no-sandbox a
            file -r a
            file --raw a
            file -d a
            file -c a
            file -l
            file a -L
            file -
        """,
    ),
    "stat": Examples(
        passes=r"""
            stat a
            stat -c %s a
            stat --printf='%n\n' a b
            stat -tf .
        """,
        refuses="""
            stat -L a
            stat -tL a
            stat --dereference a
            stat --deref a
            stat --cached=never a
            stat -
            stat a -L
        """,
    ),
    "realpath": Examples(
        passes="""
            realpath a
            realpath -emqsz a
            realpath --relative-to=src a
            realpath --relative-base src a
        """,
        refuses="""
            realpath -L a
            realpath -P a
            realpath --logical a
            realpath --relative=src a
            realpath -
        """,
    ),
    "xxd": Examples(
        passes="""
            xxd a
            xxd -p a
            xxd -c16 -l 0x20 a
            xxd -s -4 a
            xxd -- a
        """,
        refuses="""
            xxd
            xxd -p
            xxd a b
            xxd -r
            xxd -revert
            xxd -r a
            xxd -re a
            xxd -revert a
            xxd --revert a
            xxd --r a
            xxd -rp a
            xxd -pr a
            xxd -p -r a b
            xxd a -r
            xxd -
            xxd -c x a
            xxd -E a
            xxd -n x a
        """,
    ),
    "git status": Examples(
        passes="""
            git status
            git --no-pager status -sb
            git status --porcelain=v2 -uall -z
            git status -- src
        """,
        refuses="""
            git status --ignore-submodules
            git status --ignore-submodules=all
            git status --ignore-sub
            git status --help
            git status --porc
            git status --column
            git -C x status
            git -Cx status
            git -c a.b=c status
            git --git-dir=x status
            git --git-dir x status
            git --work-tree=x status
            git --exec-path=x status
            git --namespace=x status
            git -p status
            git --paginate status
            git --bare status
            git --help
            git --version
            git
            git commit -m x
            git push
        """,
    ),
    "git diff": Examples(
        passes="""
            git diff
            git diff --cached --stat
            git diff HEAD~1 -- src/app.js
            git diff main..dev -U5 -w
            git diff HEAD:a HEAD:b
            git diff -M90% --name-status -z
        """,
        refuses=HISTORY_REFUSES.replace("{}", "diff"),
    ),
    "git log": Examples(
        passes="""
            git log
            git log --oneline -5
            git log -n 5 --graph --all
            git log --format='%h %s' --date=short
            git log --pretty=format:%h --since=yesterday --author me
            git log -L 1,5:src/app.js
            git log -L:main:src/app.js
            git log --follow -- src/app.js
            git log 'HEAD@{2024-01-01 10:00}'
        """,
        refuses=HISTORY_REFUSES.replace("{}", "log"),
    ),
    "git show": Examples(
        passes="""
            git show
            git show HEAD~1 --stat
            git show HEAD:src/app.js
            git show :src/app.js
            git show --pretty=oneline --name-only HEAD
        """,
        refuses=HISTORY_REFUSES.replace("{}", "show"),
    ),
    "git branch": Examples(
        passes="""
            git branch
            git branch -avv
            git branch --show-current
            git branch --list 'feature/*'
            git branch --merged main
            git branch --contains
            git branch --sort=-committerdate --format='%(refname:short)'
        """,
        refuses="""
            git branch new
            git branch -v new
            git branch new main
            git branch -- new
            git branch -d x
            git branch -rd x
            git branch -D x
            git branch --delete x
            git branch --del x
            git branch -m x
            git branch --move x
            git branch -M x
            git branch -c x
            git branch --copy x
            git branch -C x
            git branch -f x
            git branch --force x
            git branch -u x
            git branch --set-upstream-to=x
            git branch --unset-upstream
            git branch -t x
            git branch --track x
            git branch --edit-description
            git branch --format='%(signature)'
            git branch --sort=signature
            git branch --help
        """,
    ),
    "git ls-files": Examples(
        passes="""
            git ls-files
            git ls-files -co --exclude-standard -z
            git ls-files -x '*.o' src
            git ls-files --error-unmatch -- a
        """,
        refuses="""
            git ls-files -X list
            git ls-files -cX list
            git ls-files --exclude-from=list
            git ls-files --exclude-from list
            git ls-files --exclude-fr=list
            git ls-files --exclude-per-directory=.x
            git ls-files --recurse-submodules
            git ls-files --with-tree=HEAD
            git ls-files -f
            git ls-files --help
            git ls-files ':/'
        """,
    ),
    "git stash push": Examples(
        passes="""
            git stash
            git stash -u
            git stash push
            git stash push -u -m 'half done'
        """,
        refuses="""
            git stash -p
            git stash push -p
            git stash push -up
            git stash push --patch
            git stash push --pat
            git stash push src
            git stash push -- src
            git stash push -a
            git stash push --all
            git stash push -S
            git stash push --pathspec-from-file=x
            git stash drop
            git stash clear
            git stash branch x
            git stash create
            git stash store x
            git stash save x
            git stash --help
        """,
    ),
    "git stash pop": Examples(
        passes="""
            git stash pop
            git stash pop stash@{1}
        """,
        refuses="""
            git stash pop --index
            git stash pop x y
            git stash pop HEAD
        """,
    ),
    "git stash apply": Examples(
        passes="""
            git stash apply
            git stash apply 1
        """,
        refuses="""
            git stash apply --index
            git stash apply main
        """,
    ),
    "git stash list": Examples(
        passes="""
            git stash list
        """,
        refuses="""
            git stash list -p
            git stash list '--format=%G?'
            git stash list HEAD
        """,
    ),
    "git stash show": Examples(
        passes="""
            git stash show
            git stash show -p stash@{0}
            git stash show --stat
        """,
        refuses="""
            git stash show --ext-diff
            git stash show --textconv
            git stash show -u
            git stash show --output=x
        """,
    ),
}
