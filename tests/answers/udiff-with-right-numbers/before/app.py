import os
import sys


def greet(name):
    print('Hello, ' + name)


def main():
    greet("world")
    return 0


if __name__ == "__main__":
    sys.exit(main())
