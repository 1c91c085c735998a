import os
import sys


def first(path):
    return os.stat(path)


def second(path):
    return os.listdir(path)


def main():
    print(first(sys.argv[1]), second(sys.argv[1]))


if __name__ == "__main__":
    main()
