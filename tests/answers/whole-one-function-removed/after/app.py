import os
import sys


def first(path):
    return os.stat(path)


def main():
    print(first(sys.argv[1]))


if __name__ == "__main__":
    main()
